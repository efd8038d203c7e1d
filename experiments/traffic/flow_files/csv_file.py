"""CSV of this project: a row a flow, columns by name, units in the cells or in the columns'
names."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping

from pcn.base.errors import nearest
from pcn.base.units import Kind, quantity
from pcn.experiments.traffic.flow_files.base import FlowFile, FlowFormat
from pcn.topologies import lossless
from pcn.topologies.ecn import COLOURS, GREEN
from pcn.topologies.formats.source import Source
from pcn.topologies.model import FlowSpec

_KINDS: Mapping[str, Kind | None] = {
    "src": None,
    "dst": None,
    "start": "time",
    "size": "size",
    "rate": "rate",
    "class": "count",
    "id": "count",
    "after": None,
    "colour": None,
    "acknowledged": None,
}
_UNITS = {"bytes": "B"}
_SI = ("s", "B", "bps")
_BARE = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z")


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    source = file.text
    table = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    try:
        columns = _columns(source, next(table, []))
        for number, row in enumerate(row for row in table if row):
            yield file.checked(_row(source, table.line_num, columns, row, number), table.line_num)
    except csv.Error as error:
        raise source.error(table.line_num, str(error)) from None


def _columns(source: Source, header: list[str]) -> list[tuple[str, str]]:
    """Returns the name and unit of each column."""
    columns = []
    for text in header:
        name, _, unit = text.strip().partition("_")
        kind = _KINDS.get(name)
        if name not in _KINDS or (unit and kind not in ("time", "size", "rate")):
            raise source.error(1, f"no column {text.strip()!r}; {nearest(text.strip(), _KINDS)}")
        if unit and kind:
            try:
                quantity(kind, f"1{_UNITS.get(unit, unit)}")
            except ValueError:
                raise source.error(
                    1, f"column {text.strip()!r}: {unit!r} is no unit of a {kind}"
                ) from None
        columns.append((name, _UNITS.get(unit, unit)))
    names = [name for name, _ in columns]
    missing = [name for name in ("src", "dst", "size") if name not in names]
    if missing or len(set(names)) < len(names):
        fault = f"{', '.join(missing)} missing" if missing else "a column stands there twice"
        raise source.error(
            1, f"{fault}: the first line has the columns, as src,dst,start_s,size_bytes"
        )
    return columns


def _row(
    source: Source, line: int, columns: list[tuple[str, str]], row: list[str], number: int
) -> FlowSpec:
    if len(row) != len(columns):
        raise source.error(line, f"{len(row)} columns, not the {len(columns)} of the first line")
    cells = dict(zip((name for name, _ in columns), row, strict=True))
    units = dict(columns)

    def value(name: str, usual: float) -> float:
        text = cells.get(name, "").strip()
        kind = _KINDS[name]
        if not text or kind is None:
            return usual
        unit = units[name]
        try:
            if unit == "B" and text.isascii() and text.isdigit() and len(text) < 20:
                return int(text)  # beyond a float's 53 bits, too
            if unit in _SI:
                return quantity(kind, text, si=True)
            return quantity(kind, text + unit if _BARE.match(text) else text)
        except ValueError as error:
            raise source.error(line, f"{name}: {error}") from None

    rate_bps = value("rate", math.inf)
    after = _after(source, line, cells.get("after", ""))
    return FlowSpec(
        int(value("id", number)),
        cells["src"].strip(),
        cells["dst"].strip(),
        value("start", 0.0),
        int(value("size", 0)),
        None if rate_bps == math.inf else rate_bps,
        traffic_class=int(value("class", lossless.DATA_CLASS)),
        after=tuple(after),
        after_s=tuple(wait_s for wait_s in after.values() if wait_s is not None),
        colour=_colour(source, line, cells.get("colour", "")),
        acknowledged=_acknowledged(source, line, cells.get("acknowledged", ""), after),
    )


def _colour(source: Source, line: int, text: str) -> str:
    if (colour := text.strip() or GREEN) not in COLOURS:
        raise source.error(line, f"colour: {colour!r}; {nearest(colour, COLOURS)}")
    return colour


def _after(source: Source, line: int, text: str) -> dict[int, float | None]:
    """Returns times by ids of flows, of `0 1` or `0+5us 1+0us`."""
    waits: dict[int, float | None] = {}
    for word in text.split():
        number, plus, time = word.partition("+")
        if not (number.isascii() and number.isdigit() and len(number) < 20):
            raise source.error(
                line,
                f"after: {text.strip()!r} isn't the id of a flow, or several with blanks between",
            )
        try:
            waits[int(number)] = quantity("time", time) if plus else None
        except ValueError as error:
            raise source.error(line, f"after: {error}") from None
    if None in waits.values() and any(wait is not None for wait in waits.values()):
        raise source.error(
            line,
            f"after: {text.strip()!r}: each flow has a time behind it, or none has: 0+5us 1+0us",
        )
    return waits


def _acknowledged(
    source: Source, line: int, text: str, after: Mapping[int, float | None]
) -> tuple[int, ...]:
    names = {str(number): number for number in after}
    for word in text.split():
        if word not in names:
            raise source.error(
                line,
                f"acknowledged: {word[:20]!r} is no id of the row's `after`: name it there, too",
            )
    return tuple(names[word] for word in text.split())


def written(flows: Iterable[FlowSpec]) -> Iterator[str]:
    """Yields the lines of a file that is read as equal flows, without their groups."""
    yield "id,src,dst,start_s,size_bytes,class,rate_bps,after,colour,acknowledged\n"
    for flow in flows:
        rate = "" if flow.rate_bps is None else repr(flow.rate_bps)
        times = [f"+{one_s!r}s" for one_s in flow.after_s] or [""] * len(flow.after)
        after = " ".join(
            f"{predecessor}{time}" for predecessor, time in zip(flow.after, times, strict=True)
        )
        ends = f"{flow.id},{flow.src},{flow.dst},{flow.start_s!r},{flow.size_bytes}"
        colour = "" if flow.colour == GREEN else flow.colour
        acknowledged = " ".join(map(str, flow.acknowledged))
        yield f"{ends},{flow.traffic_class},{rate},{after},{colour},{acknowledged}\n"


CSV = FlowFormat(
    name="csv",
    recognises=lambda file: "," in file.text.text.partition("\n")[0],
    read=_read,
    fields={
        "`src`, `dst`": "hosts' names",
        "`start`": "with a unit in the cell (`10us`), or in the column's name (`start_s`, "
        "`start_us`); without the "
        "column 0",
        "`size`": "payload, likewise (`64KB`; `size_bytes`, `size_KB`)",
        "`class`": "the traffic class, 0 to 6; without it 3",
        "`colour`": (
            "of classes 1 to 4: `green`, `yellow` or `red`, the drop precedence of the DSCP; "
            "without it green"
        ),
        "`rate`": (
            "a limit beside the scheme's, likewise (`5G`; `rate_bps`, `rate_Gbps`); empty: none"
        ),
        "`id`": "the flow's number; without it, its place from 0",
        "`after`": "ids of flows, with blanks between: the flow starts when all of these have "
        "arrived whole, `start` "
        "later; in virtual time alone. With a time behind each id, `0+5us 1+0us`, it starts when "
        "that time has "
        "passed since each arrival, and not before `start`",
        "`acknowledged`": "those of `after` that count not when they have arrived, but when their "
        "senders have the last acknowledgement; without acknowledgements, as if nothing delayed "
        "one",
        "other columns": "refused",
    },
)
