"""`pcn host`: this machine as a host of a lab."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import FilePath, Quantity, assignments, print_json, print_table
from pcn.commands.output import output_options, say, tell
from pcn.complete import complete_scheme

if TYPE_CHECKING:
    from pcn.hosts.stats import AgentStats
    from pcn.lab.nic_host import NicHost

_LOOK_S = 0.2


@click.command()
@click.option(
    "--iface", "interface", metavar="NAME", required=True, help="NIC cabled to the switch."
)
@click.option("--ip", metavar="ADDRESS", help="IP address of the host (default: the interface's).")
@click.option(
    "--line-rate",
    type=Quantity("rate"),
    help="Line rate (default: 1G, or the interface's if lower).",
)
@click.option(
    "--scheme",
    default="pcn",
    show_default=True,
    shell_complete=complete_scheme,
    help="Congestion control.",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the scheme, e.g. w_min=0.05.",
)
@click.option(
    "--to",
    "receivers",
    multiple=True,
    metavar="ADDRESS",
    help="Destination of a flow; repeat for more flows.",
)
@click.option("--via", metavar="MAC", help="MAC address of the next hop, for switches of others.")
@click.option(
    "--rate", type=Quantity("rate"), help="Highest rate of a flow, e.g. 500M (default: the line's)."
)
@click.option(
    "--size", type=Quantity("size"), help="Payload of a flow, e.g. 10MB (default: unlimited)."
)
@click.option(
    "--payload",
    type=Quantity("size"),
    default="1KB",
    show_default=True,
    help="Payload of a packet.",
)
@click.option(
    "--for", "duration", type=Quantity("time"), help="Duration, e.g. 10s (default: until Ctrl-C)."
)
@click.option(
    "--log", type=FilePath(), metavar="FILE", help="File of events, in JSON lines (default: none)."
)
@output_options
def host(
    interface: str,
    ip: str | None,
    line_rate: float | None,
    scheme: str,
    parameters: tuple[str, ...],
    receivers: tuple[str, ...],
    via: str | None,
    rate: float | None,
    size: float | None,
    payload: float,
    duration: float | None,
    log: Path | None,
    as_json: bool,
) -> None:
    """Run the agent of a lab's host on a NIC, in real time.

    The agent receives, sends CNPs with the rate, and sends flows --to others, which end with their
    --size, --for or Ctrl-C. Then it shows what was sent and received. Rates are those that a raw
    socket carries: see docs/tofino.md.

    \b
    Examples:
      pcn host --iface eth2 --for 2s
      pcn host --iface eth2 --to 10.0.0.2 --rate 500M --for 2s
    """
    from pcn.base.units import quantity_text
    from pcn.lab.nic_host import NEXT_HOP, NicError, NicHost, SchemeError, find_nic, settings

    if not receivers and (rate or size or via):
        raise click.UsageError(
            "--rate, --size and --via are of flows: give a flow's destination with --to ADDRESS"
        )
    values = assignments(parameters, "w_min=0.05")
    try:
        wanted = settings(find_nic(interface), ip, line_rate, scheme, values, log)
    except SchemeError as error:
        raise click.UsageError(str(error)) from None
    if wanted.ip in receivers:
        raise click.UsageError(f"--to {wanted.ip}: that is this host's own address")
    with NicHost(wanted) as running:
        lasts = f", for {quantity_text('time', duration)}" if duration else ""
        tell(
            f"{interface}: {wanted.ip}, {wanted.nic.mac}, {wanted.line_rate_bps / 1e9:g} Gbit/s, "
            f"{scheme}{lasts}; Ctrl-C ends it"
        )
        for number, receiver in enumerate(receivers, 1):
            running.agent.start(
                number,
                receiver,
                via or NEXT_HOP,
                rate_bps=rate,
                size_bytes=None if size is None else round(size),
                payload_bytes=round(payload),
            )
        try:
            _wait(running, duration, until_sent=bool(receivers) and size is not None)
        except KeyboardInterrupt:
            if duration is None:
                tell("")
        stats = running.agent.stats()
    if as_json:
        print_json(stats.as_json())
    else:
        _show(stats, rate)
    if failed := list(stats.failed()):
        raise NicError("; ".join(failed))


def _wait(running: NicHost, duration: float | None, until_sent: bool) -> None:
    """Until the time is over, all flows have ended, or the agent did. Raises LabError then."""
    end = time.monotonic() + duration if duration is not None else float("inf")
    while (left := end - time.monotonic()) > 0:
        if until_sent and all(flow.end_s is not None for flow in running.agent.flows()):
            return
        running.wait(min(_LOOK_S, left))


def _show(stats: AgentStats, most_bps: float | None) -> None:
    """`most_bps`: a flow's, whatever its reaction point would allow."""
    if stats.sent:
        print_table(
            "sent",
            ("flow", "to", "state", "packets", "payload\nMB", "rate\nGb/s", "CNPs"),
            [
                (
                    *(flow.flow, flow.dst_ip, flow.state, flow.packets, _mb(flow.payload_bytes)),
                    *(_gbps(min(flow.rate_bps, most_bps or flow.rate_bps)), flow.cnps),
                )
                for flow in stats.sent
            ],
        )
    if stats.received:
        print_table(
            "received",
            (
                "flow",
                "from",
                "packets",
                "payload\nMB",
                "goodput\nGb/s",
                "marked",
                "missing",
                "CNPs",
            ),
            [
                (
                    *(flow.flow, flow.src_ip, flow.packets, _mb(flow.payload_bytes)),
                    _gbps(8 * flow.payload_bytes / (flow.last_s - flow.first_s))
                    if flow.last_s > flow.first_s
                    else "-",
                    *(f"{flow.marked_ce / flow.packets:.1%}", flow.gaps, flow.cnps),
                )
                for flow in stats.received
            ],
        )
    for pauses in stats.pauses:
        say(
            f"class {pauses.priority}: {pauses.pause} PAUSE and {pauses.resume} RESUME, paused "
            f"{pauses.paused_s:.3f} s"
        )
    if not (stats.sent or stats.received):
        say("nothing was sent or received")
    if not stats.kept_pace:
        say(
            f"this machine was too slow: in some second only {stats.worst_pace:.0%} of the rates "
            "were sent"
        )
    for line in stats.refused():
        say(line)


def _mb(count: float) -> str:
    return f"{count / 1e6:.3f}"


def _gbps(rate_bps: float) -> str:
    return f"{rate_bps / 1e9:.3f}"
