"""`pcn flow`: start and stop flows in a network that is up, and see what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pcn.commands.common import Quantity, network_option, print_json, print_pace, print_table
from pcn.commands.output import output_options, say
from pcn.complete import complete_flow, complete_host
from pcn.controller.texts import marks_text
from pcn.topologies.lossless import CLASSES, DATA_CLASS

if TYPE_CHECKING:
    from pcn.lab.flows import Flow


@click.group()
def flow() -> None:
    """Start, stop and watch flows. Rates and times are nominal, sizes are payload.

    \b
    Examples:
      pcn flow start h0 r0
      pcn flow list
      pcn flow stop --all
    """


@flow.command()
@click.argument("src", shell_complete=complete_host)
@click.argument("dst", shell_complete=complete_host)
@click.option(
    "--size", type=Quantity("size"), help="Payload of a flow, e.g. 64KB (default: unlimited)."
)
@click.option("--rate", type=Quantity("rate"), help="Highest rate, e.g. 5G (default: the line's).")
@click.option(
    "--duration", type=Quantity("time"), help="Nominal time, e.g. 10ms (default: unlimited)."
)
@click.option(
    "--count", type=click.IntRange(1, 4096), default=1, show_default=True, help="Number of flows."
)
@click.option(
    "--class", "traffic_class", type=click.IntRange(0, CLASSES - 1), default=DATA_CLASS,
    show_default=True,
    help="Class of their data; 3 is lossless by default.",
)  # fmt: skip
@network_option
@output_options
def start(
    src: str,
    dst: str,
    size: float | None,
    rate: float | None,
    duration: float | None,
    count: int,
    traffic_class: int,
    network: str | None,
    as_json: bool,
) -> None:
    """Start flows from the host SRC to the host DST, at line rate first, as the scheme has it.

    \b
    Examples:
      pcn flow start h0 r0
      pcn flow start h0 r0 --size 64KB --count 16
      pcn flow start h1 r1 --rate 5G --duration 10ms
    """
    from pcn.controller.texts import dilated_text
    from pcn.hosts.algorithms import find_scheme
    from pcn.lab import flows
    from pcn.lab.attach import attach

    with attach(network) as lab:
        numbers = flows.start(
            lab.topology,
            lab.agents,
            src,
            dst,
            count=count,
            size_bytes=None if size is None else round(size),
            rate_bps=rate,
            duration_s=duration,
            traffic_class=traffic_class,
            scheme=find_scheme(lab.record.scheme) if lab.record.has_scheme else None,
        )
        lasts = "" if duration is None else f" for {dilated_text(duration, lab.record.dilation)}"
    if as_json:
        print_json({"started": numbers})
    else:
        say(f"started {_numbers(numbers)} from {src} to {dst}{lasts}")


@flow.command()
@click.argument("numbers", nargs=-1, type=int, metavar="[FLOW]...", shell_complete=complete_flow)
@click.option("--all", "every", is_flag=True, help="Every flow.")
@network_option
@output_options
def stop(numbers: tuple[int, ...], every: bool, network: str | None, as_json: bool) -> None:
    """Stop flows by number, or --all. What they counted stays.

    \b
    Examples:
      pcn flow stop 1 2
      pcn flow stop --all
    """
    from pcn.lab import flows
    from pcn.lab.attach import attach

    if bool(numbers) == every:
        raise click.UsageError("name the flows to stop, or --all")
    with attach(network) as lab:
        stopped = flows.stop(lab.agents, None if every else numbers)
    if as_json:
        print_json({"stopped": stopped})
    else:
        say(f"stopped {_numbers(stopped)}" if stopped else "nothing was sending")


@flow.command("list")
@network_option
@output_options
def list_flows(network: str | None, as_json: bool) -> None:
    """Flows, their state and sending rate.

    \b
    Examples:
      pcn flow list
      pcn flow list --json
    """
    from pcn.lab import flows
    from pcn.lab.attach import attach

    with attach(network) as lab:
        stats = flows.at_once(lab.agents)
        listed, below = flows.flows(lab.topology, stats), flows.remarks(stats)
        print_pace(lab.record, as_json)
    if as_json:
        print_json(
            [
                {key: value for key, value in asdict(flow).items() if key in _LISTED}
                for flow in listed
            ]
        )
        return
    print_table(
        "flows",
        ("flow", "from", "to", "state", "rate", "sent\npackets"),
        [
            (
                flow.id,
                flow.sender,
                flow.dst,
                flow.state,
                _rate(flow.rate_bps if flow.state == "sending" else None),
                flow.sent_packets,
            )
            for flow in listed
        ],
    )
    for line in below:
        say(line)


_LISTED = ("id", "src", "dst", "state", "rate_bps", "sent_packets", "error", "src_port")


@flow.command()
@network_option
@output_options
def stats(network: str | None, as_json: bool) -> None:
    """What each flow sent, what arrived of it, how much was marked, and how quick it was.

    Missing: once a flow has ended, everything that was sent and hasn't come; before, gaps. Lines
    below the table name PAUSE, RESUME and CNP frames that were lost, flows that failed, what hosts
    dropped, programs that have ended, and lines that logs had no room for.

    \b
    Examples:
      pcn flow stats
      pcn flow stats --json
    """
    from pcn.lab import control_frames, flows
    from pcn.lab.attach import attach

    with attach(network) as lab:
        read = flows.ask(lab.agents)
        listed, remarks = flows.flows(lab.topology, read), flows.remarks(read)
        lost = [str(loss) for loss in control_frames.lost(lab)]
        print_pace(lab.record, as_json)
        ended = [
            node for node in lab.record.nodes.values() if node.process and not node.process.alive()
        ]
    below = (
        [f"the program of {node.name} has ended; its log: {node.log}" for node in ended]
        + remarks
        + lost
    )
    if as_json:
        print_json(
            [
                {
                    **asdict(flow),
                    "marked_fraction": flow.marked_fraction,
                    "marked_ue_fraction": flow.marked_ue_fraction,
                }
                for flow in listed
            ]
        )
        for line in below:
            click.echo(line, err=True)
        return
    print_flows(listed)
    for line in below:
        say(line)


def print_flows(listed: Sequence[Flow]) -> None:
    """Prints what each flow sent, and what became of it."""
    print_table(
        "flows",
        (
            *(
                "flow",
                "from",
                "to",
                "state",
                "sent\npackets",
                "arrived\npackets",
                "missing\npackets",
            ),
            *("marked", "CNPs", "goodput\nGb/s", "FCT\nms"),
        ),
        [
            (
                flow.id,
                flow.src,
                flow.dst,
                flow.state,
                flow.sent_packets,
                flow.received_packets,
                flow.missing,
                "-"
                if flow.marked_fraction is None
                else marks_text(flow.marked_fraction, flow.marked_ue_fraction or 0.0),
                flow.cnps,
                "-" if flow.goodput_bps is None else f"{flow.goodput_bps / 1e9:.3f}",
                "-" if flow.fct_s is None else f"{flow.fct_s * 1e3:.3f}",
            )
            for flow in listed
        ],
    )


def _rate(rate_bps: float | None) -> str:
    return "-" if rate_bps is None else f"{rate_bps / 1e9:.3f} Gbit/s"


def _numbers(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"flow {numbers[0]}"
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"flows {numbers[0]} to {numbers[-1]}"
    return f"flows {', '.join(map(str, numbers))}"
