"""The picture that `pcn watch` draws of a snapshot, fitted to a terminal's width and height."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Protocol

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pcn.lab.observe import GOING_ON, FlowState, PortState, Snapshot
from pcn.rates import rate_text, rate_unit

_BAR_CELLS = 20
_GAP = 2  # between columns
# Rows beside the tables' own: title, two headings of two lines with a rule, space between, two
# captions.
_OTHER_ROWS = 1 + 2 * 3 + 1 + 1 + 1
_BESIDE, _FLOWS_WIDTH = 170, 76
"""Width from which the tables stand side by side, and that of flows there."""
_OTHER_ROWS_BESIDE = 1 + 3 + 1


class Titled(Protocol):
    """What is watched: a network's record, or a run."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def has_scheme(self) -> bool: ...


@dataclass(frozen=True)
class _Column:
    """`room`: cells that it usually takes, so that a number that grows doesn't hide another column.
    Where the terminal is narrow, columns go by `goes`, the smallest first; those without stay. An
    `optional` one that is empty in all rows isn't shown."""

    heading: str
    room: int = 0
    goes: int | None = None
    left: bool = False
    optional: bool = False


_PORT_COLUMNS = (
    _Column("port", left=True),
    _Column("link", goes=2, left=True),
    _Column("queue\nKB", 8, optional=True),
    _Column("queue\npackets", 7, optional=True),
    _Column("pn", 4, goes=3),
    _Column("PAUSE\nout/ms", 6, goes=4),
    _Column("PAUSE\nin/ms", 6, goes=5),
    _Column("marked", 6, goes=6),
    _Column("UE", 6, goes=6, optional=True),
    _Column("sends\nRATE", 5, goes=7),
    _Column("of\nlink", 4),
    _Column("", 6),
    _Column("pace", optional=True),
    _Column(f"sends, of its link\n0%{'100%':>{_BAR_CELLS - 2}}", _BAR_CELLS, goes=1, left=True),
)
_FLOW_COLUMNS = (
    _Column("flow", left=True),
    _Column("from", left=True),
    _Column("to", left=True),
    _Column("state", 7, goes=1, left=True),
    _Column("sends\nRATE", 6),
    _Column("may send\nRATE", 6, goes=3, optional=True),
    _Column("window\nKB", 6, goes=5, optional=True),
    _Column("in flight\nKB", 6, goes=6, optional=True),
    _Column("goodput\nRATE", 6, goes=4),
    _Column("marked", 6, goes=2),
    _Column("UE", 6, goes=2, optional=True),
    _Column("pace", optional=True),
)


Chosen = tuple[str, ...]
"""A row: ("port", NAME), or ("flow", NAME, SRC, DST)."""


@dataclass(frozen=True)
class FlowRow:
    """A flow, or several of one pair of hosts together, whose name isn't a number."""

    name: str
    src: str
    dst: str
    state: str
    sent_bps: float | None
    rate_bps: float | None
    goodput_bps: float
    marked_share: float | None
    marked_ue_share: float | None
    kept_pace: bool
    window_bytes: float | None
    in_flight_bytes: float | None


@dataclass(frozen=True)
class Shown:
    """The rows that a picture has; `hidden_flows`: those of flows that don't fit."""

    ports: tuple[PortState, ...]
    flows: tuple[FlowRow, ...]
    hidden_flows: int = 0

    @property
    def rows(self) -> list[Chosen]:
        """All of them, from the top."""
        return [("port", port.port) for port in self.ports] + [
            flow_row(flow) for flow in self.flows
        ]


def flow_row(row: FlowRow) -> Chosen:
    """Returns what chooses the row."""
    return ("flow", row.name, row.src, row.dst)


def shown(now: Snapshot, width: int, height: int | None = None, idle: bool = True) -> Shown:
    """Returns everything, or, where it wouldn't fit into `height` rows, what is in use, the busiest
    first, and flows by pair of hosts, in the order of the fastest; without `idle` no port that
    isn't in use."""
    ports, flows = list(now.ports), flow_rows(now.flows)
    if not idle:
        ports = [port for port in ports if _in_use(port)]
    if height is not None:
        height -= len(_overload(now, width))
    if height is not None and _needed(ports, flows, width) > height:
        flows = pair_rows(sorted(now.flows, key=_sent, reverse=True))
    shown_of = len(flows)
    if height is not None and _needed(ports, flows, width) > height:
        ports = sorted(filter(_in_use, ports), key=_busy, reverse=True)
        if width >= _BESIDE:
            room = max(4, height - _OTHER_ROWS_BESIDE)
            flows, ports = flows[:room], ports[:room]
        else:
            room = max(4, height - _OTHER_ROWS)
            flows = flows[: max(room // 3, room - len(ports))]
            ports = ports[: room - len(flows)]
    return Shown(tuple(ports), tuple(flows), shown_of - len(flows))


def picture(
    about: Titled,
    now: Snapshot,
    width: int,
    height: int | None = None,
    chosen: Chosen | None = None,
    idle: bool = True,
) -> Group:
    """Returns what `shown` does as tables; the chosen row stands out."""
    fitting = shown(now, width, height, idle)
    ended = sum(flow.state not in GOING_ON for flow in now.flows)
    knows_ue = any(port.marked_ue_share is not None for port in now.ports)
    beside = width >= _BESIDE
    of_ports, of_flows = (width - _FLOWS_WIDTH, _FLOWS_WIDTH) if beside else (width, width)
    hidden, scheme = len(now.ports) - len(fitting.ports), about.has_scheme
    ports = _port_table(fitting.ports, hidden, of_ports - _GAP * beside, scheme, chosen)
    flows = _flow_table(
        fitting.flows, fitting.hidden_flows, ended, of_flows, knows_ue, scheme, chosen
    )
    tables: list[RenderableType] = [ports, "", flows]
    if beside:
        grid = Table.grid(padding=(0, 2 * _GAP, 0, 0))
        grid.add_row(ports, flows)
        tables = [grid]
    return Group(_title(about, now, width), *_overload(now, width), *tables)


def _overload(now: Snapshot, width: int) -> list[Text]:
    return (
        []
        if now.overload is None
        else [Text(line, "bold red") for line in wrap(str(now.overload), width)]
    )


def _needed(ports: Sequence[PortState], flows: Sequence[FlowRow], width: int) -> int:
    if width >= _BESIDE:
        return max(len(ports), len(flows), 1) + _OTHER_ROWS_BESIDE
    return len(ports) + max(1, len(flows)) + _OTHER_ROWS


def _in_use(port: PortState) -> bool:
    return bool(
        not port.up or port.lost or port.queue_packets or port.rate_bps or port.paused
        or port.pausing or port.pauses_sent_per_s or port.pauses_received_per_s
    )  # fmt: skip


def _busy(port: PortState) -> tuple[bool, bool, float, float]:
    waiting = port.queue_bytes or port.queue_packets or 0
    return (not port.up, port.paused or port.pausing, waiting, port.utilisation)


def _sent(flow: FlowState) -> float:
    return flow.goodput_bps if flow.sent_bps is None else flow.sent_bps


def _state(port: PortState) -> Text:
    if not port.up:
        return Text("DOWN", "bold red")
    return (
        Text("PAUSED", "bold red")
        if port.paused
        else Text("pauses" if port.pausing else "", "yellow")
    )


def _pace(kept_pace: bool) -> Text:
    return Text("") if kept_pace else Text("late", "bold red")


def _title(about: Titled, now: Snapshot, width: int) -> Text:
    """Returns what fits of it: no number is cut."""
    time_ms, over = (
        f"  {now.time_s * 1e3:.1f} ms",
        f", the last {now.over_s * 1e3:.2f} ms (nominal)",
    )
    title = Text()
    for middle, end in ((f"  {about.description}", over), ("", over), ("", " (nominal)"), ("", "")):
        title = Text.assemble((about.name, "bold"), middle, (time_ms, "bold"), end, no_wrap=True)
        if title.cell_len <= width:
            break
    return title


def _port_table(
    ports: Sequence[PortState], hidden: int, width: int, scheme: bool, chosen: Chosen | None
) -> Table:
    rows = [
        (
            Text(port.port, "bold red" if port.paused else ""),
            Text(port.link),
            Text("")
            if port.queue_bytes is None
            else _some(f"{port.queue_bytes / 1e3:,.1f}", port.queue_bytes > 0),
            _packets(port),
            Text("-") if port.pn is None else _some(f"{port.pn:.0f}", port.pn > 0),
            _some(f"{port.pauses_sent_per_s / 1e3:.2f}", port.pauses_sent_per_s > 0, "yellow"),
            _some(f"{port.pauses_received_per_s / 1e3:.2f}", port.pauses_received_per_s > 0, "red"),
            _percent(port.marked_share),
            Text("") if port.marked_ue_share is None else _percent(port.marked_ue_share),
            _some(rate_text(port.rate_bps, scheme, 2), port.rate_bps > 0),
            _some(f"{port.utilisation:.0%}", port.utilisation > 0),
            _state(port),
            _pace(port.kept_pace),
            Text(
                "█" * round(min(1.0, port.utilisation) * _BAR_CELLS),
                "red" if port.paused else "green",
            ),
        )
        for port in ports
    ]
    rest = [f"{hidden} more ports"] * bool(hidden)
    if losing := [f"{port.port} {port.lost:,}" for port in ports if port.lost]:
        rest.append(f"frames lost: {', '.join(losing)}")
    places = [place for place, port in enumerate(ports) if ("port", port.port) == chosen]
    return _table(_PORT_COLUMNS, scheme, rows, width, "; ".join(rest) or None, places)


def _flow_table(
    flows: Sequence[FlowRow],
    hidden: int,
    ended: int,
    width: int,
    knows_ue: bool,
    scheme: bool,
    chosen: Chosen | None,
) -> Table:
    rest = [f"{hidden} more"] * bool(hidden) + [f"{ended} flows have ended"] * bool(ended)
    rows = [
        (
            *map(Text, (flow.name, flow.src, flow.dst, flow.state)),
            Text(rate_text(flow.sent_bps, scheme, 3)),
            Text(rate_text(flow.rate_bps, scheme, 3) if scheme else ""),
            _kilobytes(flow.window_bytes),
            _kilobytes(None if flow.window_bytes is None else flow.in_flight_bytes),
            Text(rate_text(flow.goodput_bps, scheme, 3)),
            _percent(flow.marked_share),
            _percent(flow.marked_ue_share) if knows_ue else Text(""),
            _pace(flow.kept_pace),
        )
        for flow in flows
    ]
    none = (Text("none"), *[Text("")] * (len(_FLOW_COLUMNS) - 1))
    places = [place for place, flow in enumerate(flows) if flow_row(flow) == chosen]
    return _table(_FLOW_COLUMNS, scheme, rows or [none], width, "; ".join(rest) or None, places)


def _table(
    columns: Sequence[_Column],
    scheme: bool,
    rows: Sequence[Sequence[Text]],
    width: int,
    caption: str | None,
    chosen: Sequence[int],
) -> Table:
    """Returns a table with the columns that fit whole into `width` characters. `chosen`: numbers of
    highlighted rows."""
    headings = [column.heading.replace("RATE", rate_unit(scheme)) for column in columns]
    needs = [
        max(
            column.room,
            *map(len, headings[number].split("\n")),
            *(row[number].cell_len for row in rows),
        )
        + _GAP
        for number, column in enumerate(columns)
    ]
    left = [
        n
        for n, column in enumerate(columns)
        if not column.optional or any(row[n].cell_len for row in rows)
    ]
    for number in sorted((n for n in left if columns[n].goes), key=lambda n: columns[n].goes or 0):
        if sum(needs[n] for n in left) - _GAP > width:
            left.remove(number)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption=caption,
        caption_justify="left",
    )
    for number in left:
        table.add_column(
            headings[number], justify="left" if columns[number].left else "right", no_wrap=True
        )
    for place, row in enumerate(rows):
        table.add_row(
            *(row[number] for number in left), style="reverse" if place in chosen else None
        )
    return table


def flow_rows(flows: Sequence[FlowState]) -> list[FlowRow]:
    """Returns a row for each flow that waits or sends."""
    return [
        FlowRow(
            str(flow.id),
            flow.sender,
            flow.dst,
            flow.state,
            flow.sent_bps,
            flow.rate_bps,
            flow.goodput_bps,
            flow.marked_share,
            flow.marked_ue_share,
            flow.kept_pace,
            flow.window_bytes,
            flow.in_flight_bytes,
        )
        for flow in flows
        if flow.state in GOING_ON
    ]


def pair_rows(flows: Sequence[FlowState]) -> list[FlowRow]:
    """Returns a row for the flows of each pair of hosts that wait or send."""
    pairs: dict[tuple[str, str, str], list[FlowState]] = {}
    for flow in flows:
        if flow.state in GOING_ON:
            pairs.setdefault((flow.src, flow.dst, flow.state), []).append(flow)
    rows = []
    for (src, dst, state), some in pairs.items():
        goodput = sum(flow.goodput_bps for flow in some)
        ce, ue = (
            sum((share or 0) * flow.goodput_bps for flow, share in zip(some, shares, strict=True))
            for shares in (
                [flow.marked_share for flow in some],
                [flow.marked_ue_share for flow in some],
            )
        )
        name = str(some[0].id) if len(some) == 1 else f"{len(some)} flows"
        ce_share, ue_share = (ce / goodput, ue / goodput) if goodput else (None, None)
        kept_pace = all(flow.kept_pace for flow in some)
        window, in_flight = (
            _sum(flow.window_bytes for flow in some),
            _sum(flow.in_flight_bytes for flow in some),
        )
        rows.append(
            FlowRow(
                name,
                src,
                dst,
                state,
                _sum(flow.sent_bps for flow in some),
                _sum(flow.rate_bps for flow in some),
                goodput,
                ce_share,
                ue_share,
                kept_pace,
                window,
                in_flight,
            )
        )
    return rows


def _sum(values: Iterable[float | None]) -> float | None:
    """Returns the sum of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _some(text: str, there: bool, style: str = "") -> Text:
    """Zeros stay in the background."""
    return Text(text, style if there else "dim")


def _packets(port: PortState) -> Text:
    """Returns the queue in packets, where there are no bytes."""
    if port.queue_bytes is not None:
        return Text("")
    return (
        Text("-", "dim")
        if port.queue_packets is None
        else _some(f"{port.queue_packets:,.0f}", port.queue_packets > 0)
    )


def _kilobytes(size_bytes: float | None) -> Text:
    return Text("") if size_bytes is None else Text(f"{size_bytes / 1e3:,.1f}")


def _percent(share: float | None) -> Text:
    return Text("-", "dim") if share is None else _some(f"{share:.1%}", share > 0, "yellow")
