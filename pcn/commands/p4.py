"""`pcn p4`: networks of P4 switches with any v1model programs, live and in virtual time."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from pcn.commands.common import (
    FilePath,
    Quantity,
    alone_options,
    control_option,
    exercise_program_option,
    jumbo_option,
    port_option,
    print_json,
    print_table,
    rate_and_seed_options,
    refuse,
    strict_option,
)
from pcn.commands.exec import exec_
from pcn.commands.output import note, output_options, say
from pcn.commands.p4_coverage import coverage as merge_coverage
from pcn.commands.p4_execution import complain, empty, end, prepare
from pcn.commands.p4_import import import_
from pcn.commands.p4_trace import trace as trace_ways
from pcn.commands.watch import page_of

_LIVE, _VIRTUAL = (
    ("name", "logs", "trace", "thrift", "control"),
    ("until", "sends", "script", "sample", "seed", "as_json", "rate", "jumbo", "top"),
)


@click.group()
def p4() -> None:
    """Run networks of P4 switches with any program.

    p4lang/tutorials' exercises run as they are, live or in virtual time.

    \b
    Examples:
      pcn p4 run examples/router --clock virtual
    """


p4.add_command(exec_, "exec")
p4.add_command(trace_ways, "trace")
p4.add_command(import_, "import")
p4.add_command(merge_coverage, "coverage")


@p4.command()
@click.argument("place", metavar="DIR|FILE", type=FilePath(exists=True))
@click.option(
    "--clock",
    type=click.Choice(["live", "virtual"]),
    default="live",
    show_default=True,
    help="Which time.",
)
@exercise_program_option
@click.option(
    "--name", "-n", metavar="NAME", help="Name of a live network (default: the folder's)."
)
@click.option(
    "--logs",
    type=FilePath(),
    metavar="DIR",
    help="Logs of a live network (default: below results/p4).",
)
@click.option(
    "--for",
    "until",
    type=Quantity("time"),
    metavar="TIME",
    default="1s",
    show_default=True,
    help="Simulated time, after which what is inside still leaves.",
)
@click.option(
    "--send",
    "sends",
    multiple=True,
    metavar="SRC,DST[,NAME=VALUE...]",
    help="Traffic to a host or an address: rate, length, times, tos, from, until ...; "
    "tcp=reno|cubic|dctcp; "
    "ping=COUNT; or SRC,hex=FRAME, SRC,pcap=FILE (default: one datagram a pair).",
)
@click.option(
    "--script",
    type=FilePath(),
    metavar="FILE.py",
    help="Python file whose `start(network)` prepares the run.",
)
@click.option(
    "--pcap",
    type=FilePath(),
    metavar="DIR",
    help="Captures of all ports, SWITCH-ethPORT_in and _out.pcap.",
)
@click.option(
    "--coverage",
    type=FilePath(),
    metavar="FILE|DIR",
    help=(
        "What of programs packets ran through: .json (counts), .info (lcov), .xml (Cobertura), "
        ".html (page), or a folder of all (default: not counted)."
    ),
)
@click.option(
    "--trace",
    is_flag=True,
    help="Each step of each packet to SWITCH.steps.jsonl below --logs; live.",
)
@click.option(
    "--thrift", is_flag=True, help="BMv2's runtime interface at 127.0.0.1 from port 9090 on; live."
)
@click.option(
    "--sample",
    type=Quantity("time"),
    metavar="TIME",
    help="Sample all queues every TIME: mean and longest.",
)
@rate_and_seed_options
@click.option(
    "--web",
    is_flag=True,
    help="A page that shows the run: virtual with a frame each --sample, live each second.",
)
@port_option
@control_option
@jumbo_option
@alone_options
@strict_option
@click.option(
    "--top",
    is_flag=True,
    help="The run in virtual time on this terminal, as `pcn watch`; q ends the view.",
)
@output_options
def run(
    place: Path,
    clock: str,
    program: Path | None,
    name: str | None,
    logs: Path | None,
    until: float,
    sends: tuple[str, ...],
    script: Path | None,
    pcap: Path | None,
    coverage: Path | None,
    trace: bool,
    thrift: bool,
    sample: float | None,
    rate: float,
    seed: int,
    web: bool,
    port: int,
    control: bool,
    topology: str | None,
    hosts: int | None,
    jumbo: bool,
    strict: bool,
    top: bool,
    as_json: bool,
) -> None:
    """Run a folder DIR or a network's FILE, of p4lang/tutorials, p4-utils or p4app, or a program
    alone, x.p4 or x.json.

    Live, hosts have the kernel's network stack, each switch's P4Runtime server listens at 127.0.0.1
    from port 50051 on, and the network stays up until Ctrl-C. In virtual time, sources send frames,
    and a table shows what arrived.

    \b
    Examples:
      pcn p4 run examples/router
      pcn p4 run examples/router --clock virtual --pcap captures
      pcn p4 run examples/router --clock virtual --send h1,h3,rate=9M,length=1000,tos=1
      pcn p4 run examples/router/router.json --hosts 3 --clock virtual
      pcn p4 run examples/router --clock virtual --web
      pcn p4 run examples/router --clock virtual --coverage coverage
      pcn p4 run examples/router --web --control
    """
    from pcn.p4net.alone import network_at

    virtual = clock == "virtual"
    refuse(
        f"is for the {'live' if virtual else 'virtual'} clock alone",
        *(_LIVE if virtual else _VIRTUAL),
    )
    if (port or control) and not web:
        raise click.UsageError(f"{'--port' if port else '--control'} is of the page: add --web")
    if web:
        from pcn.topologies import extras

        extras.require("web")
    network = network_at(place, program, rate, topology=topology, hosts=hosts)
    for text in network.notes:
        note(text)
    if coverage is not None:
        from pcn.p4net.coverage import Coverage

        covered = Coverage(coverage, [place, *([program] if program is not None else [])])
    else:
        covered = None
    if not virtual:
        from pcn.lab.p4 import hold

        stay = {"stay": partial(_stay, port, control)} if web else {}
        hold(
            network,
            name,
            logs,
            say,
            note,
            trace=trace,
            pcap=pcap,
            coverage=covered,
            thrift=thrift,
            strict=strict,
            **stay,
        )
        return
    from pcn.p4net.report import Queues, whole
    from pcn.p4net.virtual import FRAME_BYTES, JUMBO_BYTES, VirtualP4

    if web:
        from pcn.web.p4 import p4_on_page
    if top:
        from pcn.top import on_terminal, require_terminal
        from pcn.web.p4 import shown_p4

        refuse("not beside --top", "web")
        require_terminal()
    with contextlib.ExitStack() as stack:
        simulation = stack.enter_context(
            VirtualP4(
                network,
                seed=seed,
                strict=strict,
                frame_bytes=JUMBO_BYTES if jumbo else FRAME_BYTES,
                covered=covered is not None,
            )
        )
        complain(simulation)
        if script is None:  # which may read frames
            for host in network.topology.hosts:
                simulation.count_alone(host.name)
        page = stack.enter_context(p4_on_page(simulation, until, sample, port)) if web else None
        queues = Queues(simulation, sample, until) if sample else None
        prepare(simulation, until, sends, script, pcap, seed)
        if top:
            with on_terminal() as history:
                shown_p4(simulation, until, sample, history).run(until)
        elif page:
            page.run(until)
        else:
            simulation.run(until_s=until)
        empty(simulation)
        if covered is not None:
            covered.write(simulation.coverage())
        _print(whole(simulation, queues), as_json)
        end(simulation.written.values(), as_json)


def _stay(port: int, control: bool, name: str) -> None:
    """Serves the page of a network, which outlives it, until a signal. Raises PortError."""
    from pcn.base import signals
    from pcn.base.errors import LabError
    from pcn.web.server import PortError

    try:
        page_of(name, port, control)
    except PortError:
        raise
    except LabError as error:
        click.echo(f"the page has ended, the network stays until Ctrl-C: {error}", err=True)
        signals.wait()


def _print(report: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    for name, lines in report["entries_read"].items():
        for line in lines:
            say(f"{name}: {line}")
    rows = [
        (
            *(
                host["host"],
                host["sent_frames"],
                host["received_frames"],
                host["received_bytes"],
                host["marked_ce_frames"],
            ),
            *(_microseconds(host[key]) for key in ("mean_delay_s", "longest_delay_s")),
        )
        for host in report["hosts"]
    ]
    received = (
        "received\nframes",
        "received\nbytes",
        "marked\nCE",
        "mean\ndelay, us",
        "longest\ndelay, us",
    )
    print_table("Hosts", ("host", "sent\nframes", *received), rows)
    sampled = "queue_most_packets" in report["ports"][0]
    ports = [
        (
            *(port["port"], port["to"], port["sent_frames"], port["sent_bytes"]),
            *((f"{port['queue_mean_packets']:.2f}", port["queue_most_packets"]) if sampled else ()),
            _by_queue(port),
        )
        for port in report["ports"]
    ]
    waiting = ("mean\nqueue", "longest\nqueue") if sampled else ()
    columns = ("port", "to", "sent\nframes", "sent\nbytes", *waiting, "tail drops\nby queue")
    print_table("Ports of switches", columns, ports)
    connections = [
        (
            *(
                connection["from"],
                connection["to"],
                connection["algorithm"],
                connection["acknowledged_bytes"],
                f"{connection['goodput_bps'] / 1e6:.3f}",
            ),
            *(
                connection["retransmitted_segments"],
                connection["timeouts"],
                connection["marked_segments"],
            ),
            "-" if connection["finished_s"] is None else f"{connection['finished_s']:.6f}",
        )
        for connection in report["tcp"]
    ]
    if report["pings"]:
        times = ("rtt_least_s", "rtt_mean_s", "rtt_most_s")
        pings = [
            (
                ping["from"],
                ping["to"],
                ping["requests"],
                ping["answers"],
                *(_microseconds(ping[key]) for key in times),
            )
            for ping in report["pings"]
        ]
        print_table(
            "Ping", ("from", "to", "requests", "answers", "least\nRTT, us", "mean", "most"), pings
        )
    if connections:
        sent = (
            "acknowledged\nbytes",
            "goodput,\nMbit/s",
            "sent\nagain",
            "timeouts",
            "marked",
            "finished,\ns",
        )
        print_table("TCP", ("from", "to", "algorithm", *sent), connections)
    for unanswered in report["arp_unanswered"]:
        say(
            f"{unanswered['host']} got no answer to ARP for {unanswered['address']}; a static "
            "entry: `arp -s` in its commands"
        )
    others = (
        ("for_ports_without_link", "to ports without a link"),
        ("for_unknown_groups", "to groups that don't exist"),
        ("inside", "still inside"),
    )
    lost = "".join(f", {report[key]} {text}" for key, text in others if report[key])
    say(
        f"{report['traversals']} passes of switches, {report['dropped_by_programs']} dropped by "
        f"programs{lost}; digest {report['digest']}"
    )


def _microseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:.3f}"


def _by_queue(port: dict[str, Any]) -> str:
    drops = port["tail_drops_by_queue"]
    return ", ".join(f"{queue}: {count}" for queue, count in enumerate(drops) if count) or "0"
