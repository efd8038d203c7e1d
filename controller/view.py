"""The picture that `pcn watch` draws of a snapshot, fitted to a terminal's width and height."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from controller.observe import FlowState, PortState, Snapshot
from topologies.record import Record

BAR_COLUMNS = 100  # from this width on utilisation is a bar, too
_BAR_CELLS = 20
# Rows beside the tables' own: title, two headings of two lines with a rule, space between, two captions.
_OTHER_ROWS = 1 + 2 * 3 + 1 + 1 + 1
_PORT_HEADINGS = (
    "port",
    "link",
    "queue\nKB",
    "pn",
    "PAUSE\nout/ms",
    "PAUSE\nin/ms",
    "marked",
    "sends\nGb/s",
    "of\nlink",
)


@dataclass(frozen=True)
class _FlowRow:
    """A flow, or several of one pair of hosts together."""

    name: str
    src: str
    dst: str
    state: str
    rate_bps: float
    goodput_bps: float
    marked_share: float | None


def picture(record: Record, now: Snapshot, width: int, height: int | None = None) -> Group:
    """Everything, or, where it wouldn't fit into `height` rows, what is in use, and flows by pair of hosts."""
    ports, flows = list(now.ports), _rows(now.flows)
    if height is not None and _needed(ports, flows) > height:
        flows = _by_pair(now.flows)
    shown_of = len(flows)
    if height is not None and _needed(ports, flows) > height:
        ports = [port for port in ports if _in_use(port)]
        room = max(4, height - _OTHER_ROWS)
        flows = flows[: max(room // 3, room - len(ports))]
        ports = sorted(sorted(ports, key=_busy, reverse=True)[: room - len(flows)], key=now.ports.index)
    ended = sum(flow.state not in ("waiting", "sending") for flow in now.flows)
    return Group(
        _title(record, now),
        _port_table(ports, len(now.ports) - len(ports), width),
        "",
        _flow_table(flows, shown_of - len(flows), ended),
    )


def _needed(ports: Sequence[PortState], flows: Sequence[_FlowRow]) -> int:
    return len(ports) + max(1, len(flows)) + _OTHER_ROWS


def _in_use(port: PortState) -> bool:
    return bool(
        port.queue_packets or port.rate_bps or port.paused or port.pausing or port.pauses_sent_per_s
        or port.pauses_received_per_s
    )  # fmt: skip


def _busy(port: PortState) -> tuple[bool, int, float]:
    return (port.paused or port.pausing, port.queue_bytes, port.utilisation)


def _title(record: Record, now: Snapshot) -> Text:
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append(record.name, "bold")
    title.append(f"  {record.scheme}, {record.target}, k = {record.dilation:g}")
    title.append(f"  {now.time_s * 1e3:.1f} ms", "bold")
    title.append(f", the last {now.over_s * 1e3:.2f} ms (nominal)")
    return title


def _port_table(ports: Sequence[PortState], hidden: int, width: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for number, heading in enumerate(_PORT_HEADINGS):
        table.add_column(heading, justify="left" if number < 2 else "right", no_wrap=True)
    table.add_column("", no_wrap=True)
    if width >= BAR_COLUMNS:
        table.add_column("", no_wrap=True)
    for port in ports:
        cells: list[str | Text] = [
            Text(port.port, "bold red" if port.paused else ""),
            port.link,
            _some(f"{port.queue_bytes / 1e3:.1f}", port.queue_bytes > 0),
            "-" if port.pn is None else _some(str(port.pn), port.pn > 0),
            _some(f"{port.pauses_sent_per_s / 1e3:.2f}", port.pauses_sent_per_s > 0, "yellow"),
            _some(f"{port.pauses_received_per_s / 1e3:.2f}", port.pauses_received_per_s > 0, "red"),
            _percent(port.marked_share),
            _some(f"{port.rate_bps / 1e9:.2f}", port.rate_bps > 0),
            _some(f"{port.utilisation:.0%}", port.utilisation > 0),
            Text("PAUSED", "bold red") if port.paused else Text("pauses", "yellow") if port.pausing else "",
        ]
        if width >= BAR_COLUMNS:
            cells.append(Text("█" * round(min(1.0, port.utilisation) * _BAR_CELLS), "red" if port.paused else "green"))
        table.add_row(*cells)
    if hidden:
        table.caption, table.caption_justify = f"{hidden} more ports", "left"
    return table


def _flow_table(flows: Sequence[_FlowRow], hidden: int, ended: int) -> Table:
    rest = [f"{hidden} more"] * bool(hidden) + [f"{ended} flows have ended"] * bool(ended)
    table = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        caption="; ".join(rest) or None,
        caption_justify="left",
    )
    for number, heading in enumerate(("flow", "from", "to", "state", "rate\nGb/s", "goodput\nGb/s", "marked")):
        table.add_column(heading, justify="left" if number < 4 else "right", no_wrap=True)
    for flow in flows:
        table.add_row(
            flow.name,
            flow.src,
            flow.dst,
            flow.state,
            f"{flow.rate_bps / 1e9:.3f}",
            f"{flow.goodput_bps / 1e9:.3f}",
            _percent(flow.marked_share),
        )
    if not flows:
        table.add_row("none", "", "", "", "", "", "")
    return table


def _rows(flows: Sequence[FlowState]) -> list[_FlowRow]:
    return [
        _FlowRow(str(one.id), one.src, one.dst, one.state, one.rate_bps, one.goodput_bps, one.marked_share)
        for one in flows
        if one.state in ("waiting", "sending")
    ]


def _by_pair(flows: Sequence[FlowState]) -> list[_FlowRow]:
    pairs: dict[tuple[str, str, str], list[FlowState]] = {}
    for flow in flows:
        if flow.state in ("waiting", "sending"):
            pairs.setdefault((flow.src, flow.dst, flow.state), []).append(flow)
    rows = []
    for (src, dst, state), some in pairs.items():
        goodput = sum(one.goodput_bps for one in some)
        marked = sum((one.marked_share or 0) * one.goodput_bps for one in some)
        name = str(some[0].id) if len(some) == 1 else f"{len(some)} flows"
        rate = sum(one.rate_bps for one in some)
        rows.append(_FlowRow(name, src, dst, state, rate, goodput, marked / goodput if goodput else None))
    return rows


def _some(text: str, there: bool, style: str = "") -> Text:
    """Zeros stay in the background."""
    return Text(text, style if there else "dim")


def _percent(share: float | None) -> Text:
    return Text("-", "dim") if share is None else _some(f"{share:.1%}", share > 0, "yellow")
