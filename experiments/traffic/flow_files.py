"""Files of flows: this project's CSV, HPCC's flow.txt, htsim's .cm. docs/formats.md has the formats."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.data.errors import ExperimentError
from softswitch.units import Kind, quantity
from topologies import lossless
from topologies.errors import nearest
from topologies.formats import ns3_units
from topologies.formats.source import FormatError, Line, Source
from topologies.model import FlowSpec

LONGEST_S = 1e6
"""No flow starts later, and runs last no longer."""
_MOST_BYTES, _MOST_FLOWS = 2**63, 10_000_000
_KINDS: Mapping[str, Kind | None] = {
    "src": None,
    "dst": None,
    "start": "time",
    "size": "size",
    "rate": "rate",
    "class": "count",
    "id": "count",
}
_UNITS = {"bytes": "B"}
_SI = ("s", "B", "bps")
_BARE = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True)
class FlowFormat:
    """`read` yields the flows with ids from 0, or those of the file."""

    name: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterator[FlowSpec]]
    fields: Mapping[str, str]
    """What its files have, and what becomes of it: docs/formats.md has these as a table."""


def read_flows(path: Path) -> list[FlowSpec]:
    """The flows of a file, whose format its content decides. Raises ExperimentError that names file and line."""
    try:
        source = Source.of(path)
        form = next((one for one in FLOW_FORMATS.values() if one.recognises(source)), CSV)
        made = list(form.read(source))
    except FormatError as error:
        raise ExperimentError(str(error)) from None
    if not made:
        raise ExperimentError(f"{path} has no flow")
    return made


def _checked(source: Source, line: int, flow: FlowSpec) -> FlowSpec:
    """Raises FormatError where no run can have the flow."""
    size = flow.size_bytes or 0
    if flow.start_s > LONGEST_S:
        raise source.error(line, f"start {flow.start_s:g} s: flows start within {LONGEST_S:,.0f} s")
    if not 0 < size < _MOST_BYTES:
        raise source.error(line, f"size {size}: from 1 B to 2^63 - 1 B are possible")
    if not 0 <= flow.traffic_class < lossless.CONTROL_CLASS:
        raise source.error(line, f"class {flow.traffic_class}: flows have 0 to {lossless.CONTROL_CLASS - 1}")
    if flow.rate_bps is not None and not flow.rate_bps > 0:
        raise source.error(line, "a rate must be above 0")
    return flow


def _csv(source: Source) -> Iterator[FlowSpec]:
    table = csv.reader(io.StringIO(source.text, newline=""), strict=True)
    try:
        columns = _columns(source, next(table, []))
        for number, row in enumerate(row for row in table if row):
            yield _row(source, table.line_num, columns, row, number)
    except csv.Error as error:
        raise source.error(table.line_num, str(error)) from None


def _columns(source: Source, header: list[str]) -> list[tuple[str, str]]:
    """Name and unit of each column."""
    found = []
    for text in header:
        name, _, unit = text.strip().partition("_")
        if name == "after":
            raise source.error(1, "column 'after': flows start at a time here; none waits for another one")
        kind = _KINDS.get(name)
        if name not in _KINDS or (unit and kind not in ("time", "size", "rate")):
            raise source.error(1, f"no column {text.strip()!r}; {nearest(text.strip(), _KINDS)}")
        if unit and kind:
            try:
                quantity(kind, f"1{_UNITS.get(unit, unit)}")
            except ValueError:
                raise source.error(1, f"column {text.strip()!r}: {unit!r} is no unit of a {kind}") from None
        found.append((name, _UNITS.get(unit, unit)))
    names = [name for name, _ in found]
    missing = [name for name in ("src", "dst", "size") if name not in names]
    if missing or len(set(names)) < len(names):
        fault = f"{', '.join(missing)} missing" if missing else "a column stands there twice"
        raise source.error(1, f"{fault}: the first line has the columns, as src,dst,start_s,size_bytes")
    return found


def _row(source: Source, line: int, columns: list[tuple[str, str]], row: list[str], number: int) -> FlowSpec:
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
    flow = FlowSpec(
        int(value("id", number)),
        cells["src"].strip(),
        cells["dst"].strip(),
        value("start", 0.0),
        int(value("size", 0)),
        None if rate_bps == math.inf else rate_bps,
        traffic_class=int(value("class", lossless.DATA_CLASS)),
    )
    return _checked(source, line, flow)


def _hpcc(source: Source) -> Iterator[FlowSpec]:
    lines = source.lines()
    head = next(lines)
    count, made = int(head.words[0]), list[FlowSpec]()
    for line in lines:
        if len(made) == count:
            break
        made.append(_checked(source, line.number, _hpcc_flow(source, line, len(made))))
    if len(made) < count:
        raise source.error(head.number, f"{len(made)} flows: the first line counts {count}")
    first_s = min((flow.start_s for flow in made), default=0.0)
    yield from (replace(flow, start_s=flow.start_s - first_s) for flow in made)


def _hpcc_flow(source: Source, line: Line, number: int) -> FlowSpec:
    if len(line.words) != 6 or not all(word.isascii() and word.isdigit() and len(word) < 20 for word in line.words[:5]):
        raise source.error(line.number, "a flow is SRC DST PG DPORT SIZE START, as 2 1 3 100 200000000 2")
    src, dst, group, _, size = map(int, line.words[:5])
    try:
        start_s = ns3_units.time(line.words[5])
    except ValueError as error:
        raise source.error(line.number, str(error)) from None
    return FlowSpec(number, f"h{src}", f"h{dst}", start_s, size, traffic_class=group)


def _htsim(source: Source) -> Iterator[FlowSpec]:
    number = 0
    for line in source.lines("#"):
        first = line.words[0]
        if first in ("Nodes", "Connections"):
            continue
        if first in ("Triggers", "Failures", "trigger", "failure"):
            if line.words[1:] == ["0"]:
                continue
            raise source.error(line.number, f"{first}: neither triggers nor failures of links are possible here")
        yield _checked(source, line.number, _htsim_flow(source, line, number))
        number += 1


def _htsim_flow(source: Source, line: Line, number: int) -> FlowSpec:
    ends = re.match(r"([0-9]{1,9})->([0-9]{1,9})\Z", line.words[0])
    words = dict(zip(line.words[1::2], line.words[2::2], strict=False))
    if ends is None or len(line.words) % 2 == 0:
        raise source.error(line.number, "a connection is SRC->DST start PS size BYTES, as 0->13 start 0 size 2000000")
    for word in words:
        if "trigger" in word:
            raise source.error(line.number, f"{word}: a flow that waits for another one isn't possible here")
        if word not in ("start", "size", "id", "prio"):
            near = nearest(word, ("start", "size", "id"))
            raise source.error(line.number, f"no word {word!r} of a connection; {near}")
    try:
        start_s = ns3_units.time(f"{words['start']}ps")
        size = int(quantity("count", words["size"]))
    except KeyError as error:
        raise source.error(line.number, f"{error.args[0]} is missing") from None
    except ValueError as error:
        raise source.error(line.number, str(error)) from None
    return FlowSpec(number, f"h{ends[1]}", f"h{ends[2]}", start_s, size)


def _is_hpcc(source: Source) -> bool:
    head = next(source.lines(), None)
    return head is not None and len(head.words) == 1 and head.words[0].isdigit() and int(head.words[0]) <= _MOST_FLOWS


def _is_htsim(source: Source) -> bool:
    head = next(source.lines("#"), None)
    return head is not None and (head.words[0] in ("Nodes", "Connections") or "->" in head.words[0])


CSV = FlowFormat(
    name="csv",
    recognises=lambda source: "," in source.text.partition("\n")[0],
    read=_csv,
    fields={
        "`src`, `dst`": "hosts' names",
        "`start`": "with a unit in the cell (`10us`), or in the column's name (`start_s`, `start_us`); without the "
        "column 0",
        "`size`": "payload, likewise (`64KB`; `size_bytes`, `size_KB`)",
        "`class`": "the traffic class, 0 to 6; without it 3",
        "`rate`": "a limit beside the scheme's, likewise (`5G`; `rate_bps`, `rate_Gbps`); empty: none",
        "`id`": "the flow's number; without it, its place from 0",
        "`after`, other columns": "refused",
    },
)
FLOW_FORMATS: dict[str, FlowFormat] = {
    one.name: one
    for one in (
        CSV,
        FlowFormat(
            name="flow-txt",
            recognises=_is_hpcc,
            read=_hpcc,
            fields={
                "first line": "count of flows; what follows them is left out",
                "`SRC`, `DST`": "the hosts `h2`, `h1`, as the reader of topology.txt names them",
                "`PG`": "the traffic class, 0 to 6; PFC protects class 3 unless `lossless_classes` has more",
                "`DPORT`": "left out",
                "`SIZE`": "payload in bytes",
                "`START`": "in seconds, counted from the first flow's start",
            },
        ),
        FlowFormat(
            name="cm",
            recognises=_is_htsim,
            read=_htsim,
            fields={
                "`Nodes`, `Connections`": "left out",
                "`SRC->DST`": "the hosts `h0`, `h13`, as the reader of .topo names them",
                "`start`": "in ps",
                "`size`": "payload in bytes",
                "`id`, `prio`": "left out",
                "`trigger`, `send_done_trigger`, `recv_done_trigger`, `Triggers`, `Failures`": "refused",
            },
        ),
    )
}
