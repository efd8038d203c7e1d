"""The command line's grammar: arguments, their help texts and defaults."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

from pcn.softswitch.errors import OptionError
from pcn.softswitch.tick import TICK_NS
from pcn.softswitch.values import (
    LOG_LEVELS,
    MAX_PORT,
    MESSAGE_BYTES,
    number,
    parse_channel,
    parse_delay,
    parse_pace,
    parse_process_link,
    parse_rate,
    parse_size,
    parse_weights,
    per_port,
    per_queue,
)

EPILOG: Final = """\
examples:
  softswitch --no-p4 --device-id 1 -i 1@s1-eth1 -i 2@s1-eth2 -- --grpc-server-addr 127.0.0.1:50051 --cpu-port 255
  softswitch p4src/compiled/pcn.json -i 1@veth0 -i 2@veth2 --rate 10M --rate 2=5M --delay 1ms

Options may stand before or after `--`. The program comes with the command line, or later over P4Runtime
(SetForwardingPipelineConfig). The switch prints one line with `listening` when it is ready; SIGTERM and Ctrl-C end it.
Exit status: 0 ended in order, 1 could not start, 2 bad arguments.
"""  # noqa: E501

# simple_switch_grpc's options without a meaning here: with the number of arguments that they take.
_IGNORED: Final[dict[str, int | str]] = {
    "--nanolog": 1,
    "--log-console": 0,
    "--log-flush": 0,
    "--log-file-max-size": 1,
    "--log-file-max-files": 1,
    "--notifications-addr": 1,
    "--debugger": 0,
    "--debugger-addr": 1,
    "--restore-state": 1,
    "--dump-packet-data": 1,
    "--max-port-count": 1,
    "--disable-swap": 0,
    "--dp-grpc-server-addr": 1,
    "--max-mc-groups": 1,
    "--max-l1-entries": 1,
    "--max-l2-entries": 1,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message} (see softswitch --help)")


class _Ignore(argparse.Action):
    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        namespace.ignored = [*(namespace.ignored or []), option]


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        # Each argument's check makes one; the terminal's width, which is slow to find, is help's
        # alone.
        super().__init__(prog, width=None if {"-h", "--help"} & {*sys.argv} else 80)


class _Version(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> NoReturn:
        # late: it takes half as long to load as all else here
        from importlib.metadata import (
            version,
        )

        print(f"softswitch {version('pcn-lab')}")
        sys.exit()


def new_parser() -> argparse.ArgumentParser:
    """Returns the parser of a switch's arguments. It raises OptionError; --help and --version
    exit."""
    parser = _Parser(
        prog="softswitch",
        usage="softswitch [PROGRAM.json | --no-p4] -i PORT@INTERFACE ... [options] [-- options]",
        description="A v1model switch on Linux interfaces, controlled over P4Runtime. "
        "Takes simple_switch_grpc's options, and options for a rate, a delay and a queue depth.",
        epilog=EPILOG,
        formatter_class=_Help,
        allow_abbrev=False,
    )
    parser.add_argument(
        "program",
        nargs="?",
        type=Path,
        metavar="PROGRAM.json",
        help="what p4c's BMv2 backend wrote; runs at once",
    )
    parser.add_argument("--no-p4", action="store_true", help="start without a program")
    parser.add_argument(
        "-i",
        "--interface",
        action="append",
        default=[],
        metavar="PORT@INTERFACE",
        help=(
            "attach an interface as a port; repeatable. With --clock manual PORT alone is a port "
            "without one"
        ),
    )
    parser.add_argument(
        "--clock",
        choices=("live", "manual"),
        default="live",
        help=(
            "manual: for tests, the switch's time stands until pcn.softswitch.clock moves it "
            "(default: live)"
        ),
    )
    parser.add_argument(
        "--reentry",
        type=parse_delay,
        metavar="TIME",
        help=(
            "with --clock manual: how long resubmitted and recirculated packets are on their way, "
            "as 1us (default: 0)"
        ),
    )
    parser.add_argument(
        "--tick",
        type=parse_delay,
        default=TICK_NS,
        metavar="TIME",
        help="of the clock that programs read, 1ns to 1us: what timestamps of standard metadata "
        "count (default: 1us, "
        "as BMv2)",
    )
    parser.add_argument(
        "--device-id",
        type=number(0, 2**64 - 1),
        default=0,
        metavar="N",
        help="P4Runtime's device id (default: 0)",
    )
    parser.add_argument(
        "-L",
        "--log-level",
        choices=LOG_LEVELS,
        default="warn",
        help="trace and debug: with a line for each step of a packet, as parser states, tables and "
        "primitives, which "
        "takes much time (default: warn)",
    )
    parser.add_argument(
        "--log-file", type=Path, metavar="FILE", help="log there instead of to stderr"
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="each step of a packet to FILE, as a line of JSON",
    )
    parser.add_argument(
        "--coverage",
        type=Path,
        metavar="FILE",
        help="which parser states, tables, actions and branches packets ran through, written "
        "at the switch's end: .json (counts, for `pcn p4 coverage`), .info (lcov), .xml "
        "(Cobertura), .html (a page), or a folder for all (default: not counted)",
    )
    parser.add_argument(
        "--pcap",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="DIR",
        help=(
            "capture all frames of ports: INTERFACE_in.pcap and INTERFACE_out.pcap in DIR, a "
            "folder (default: here)"
        ),
    )
    parser.add_argument(
        "-v", "--version", action=_Version, nargs=0, help="show the version and exit"
    )

    traffic = parser.add_argument_group("queues and links")
    traffic.add_argument(
        "--priority-queues",
        type=number(1, 8),
        default=8,
        metavar="N",
        help="queues a port, 1 to 8; the highest number is served first (default: 8)",
    )
    traffic.add_argument(
        "--queue-depth",
        action="append",
        type=per_queue(number(1, 2**24)),
        default=[],
        metavar="[PORT[/QUEUE]=]PACKETS",
        help=(
            "packets that a queue holds: of one, of a port's or of all; repeatable, a later one "
            "counts (default: 64)"
        ),
    )
    traffic.add_argument(
        "--queue-rate",
        action="append",
        type=per_queue(number(0, 2**32 - 1)),
        default=[],
        metavar="[PORT[/QUEUE]=]PACKETS/S",
        help=(
            "packets/s that leave a queue, as simple_switch's set_queue_rate; 0: unlimited "
            "(default: unlimited)"
        ),
    )
    traffic.add_argument(
        "--trim",
        metavar="QUEUE,...[:NAME=N,...]",
        help="trim what these queues refuse, by SONiC's names: size (default: 64), dscp_value "
        "(48), queue_index "
        "(6), and weight (32), how many trimmed ones leave in a row while others wait, as "
        "0,1:size=128,dscp_value=40; "
        "default: none",
    )
    traffic.add_argument(
        "--engine",
        action="store_true",
        help="the engine of virtual time moves the packets, by the switch's clock (default: the "
        "switch's own queues do)",
    )
    traffic.add_argument(
        "--weights",
        action="append",
        type=parse_weights,
        default=[],
        metavar="PORT=CLASS:WEIGHT,...",
        help="with --engine: classes of a port that share its rate by weights, as 2=3:3,4:1; the "
        "others stay strict, and come first (default: all are strict)",
    )
    traffic.add_argument(
        "--arbitration",
        metavar="NAME|FILE.c:NAME",
        help="with --engine: the order among packets of a class that leave by a port, as "
        "round_robin: over the ports by which they came, or a scheduler of your own (default: in "
        "order of arrival)",
    )
    traffic.add_argument(
        "--rate",
        action="append",
        type=per_port(parse_rate),
        default=[],
        metavar="[PORT=]RATE",
        help="bit/s of Ethernet frames, as 10M or 1.5G, of one port or of all (default: unshaped)",
    )
    traffic.add_argument(
        "--delay",
        action="append",
        type=per_port(parse_delay),
        default=[],
        metavar="[PORT=]TIME",
        help="link delay, as 5us, 1ms or 0.5s, of one port or of all",
    )
    traffic.add_argument(
        "--packet-generator",
        metavar="PORT=PERIOD:ID,...",
        help="as Tofino's timer application: every PERIOD, as 1ms, the switch itself makes a frame "
        "for each packet ID, "
        "which comes in on PORT, one without interface; without it there are none",
    )
    traffic.add_argument(
        "--slack",
        type=parse_delay,
        default=0,
        metavar="TIME",
        help="how late frames may leave, as 40us, so that one wake-up serves several (default: 0)",
    )
    traffic.add_argument(
        "--pace",
        type=parse_pace,
        metavar="TIME@FILE:SLOT",
        help="how late a frame may be, as 4ms, and the place on a board of shared memory where the "
        "switch reports "
        "whether it keeps pace, as networks have it (default: no report)",
    )
    traffic.add_argument(
        "--seed", type=number(0, 2**64 - 1), default=1, metavar="N", help="of random() (default: 1)"
    )
    traffic.add_argument(
        "--drop-port",
        type=number(0, MAX_PORT),
        default=MAX_PORT,
        metavar="PORT",
        help="default: 511",
    )

    together = parser.add_argument_group("several switches in a process")
    together.add_argument(
        "--together",
        type=Path,
        metavar="FILE",
        help="a switch for each line, with the options there; alone",
    )
    together.add_argument(
        "--channel",
        action="append",
        type=parse_channel,
        default=[],
        metavar="PORT=DEVICE:PORT",
        help=(
            "in such a file: the link of a port, of an interface, to a port of another device is "
            "in memory"
        ),
    )
    together.add_argument(
        "--process-link",
        action="append",
        type=parse_process_link,
        default=[],
        metavar="PORT=MEMORY:BELL:END",
        help="in such a file: the link of a port, of an interface, to another process, a host's "
        "agent or a switch, is "
        "in memory; two descriptors, and which end of the memory this is, 0 or 1",
    )
    together.add_argument(
        "--namespace",
        type=number(1, 2**22),
        metavar="PID",
        help="in such a file: whose network namespace has the ports",
    )

    control = parser.add_argument_group("P4Runtime")
    control.add_argument(
        "--grpc-server-addr",
        default="127.0.0.1:9559",
        metavar="HOST:PORT",
        help="address of P4Runtime, gNMI and the manual clock; port 0: any free one; unix:PATH: a "
        "socket for this "
        "user alone. Without TLS there is no authentication: every client that reaches the address "
        "programs the switch "
        "(default: 127.0.0.1:9559)",
    )
    control.add_argument(
        "--grpc-max-message-size",
        type=parse_size,
        default=MESSAGE_BYTES,
        metavar="SIZE",
        help="size of the largest request, as 64MB (default: 16MB)",
    )
    control.add_argument(
        "--cpu-port",
        type=number(1, MAX_PORT),
        default=0,
        metavar="PORT",
        help="port of packet-in and packet-out; without it there are none",
    )
    control.add_argument(
        "--thrift-port",
        type=number(0, 65535),
        metavar="PORT",
        help="BMv2's runtime interface, for simple_switch_CLI, at this port of 127.0.0.1; 0: any "
        "free one. It has no "
        "authentication (default: none)",
    )
    control.add_argument(
        "--thrift-interface",
        action="append",
        default=[],
        metavar="NAME",
        help="an interface that clients of --thrift-port may add as a port, beside those of -i; "
        "may be repeated "
        "(default: none)",
    )
    control.add_argument(
        "--grpc-server-ssl", action="store_true", help="use TLS; needs a certificate and a key"
    )
    control.add_argument(
        "--grpc-server-cert", type=Path, metavar="PEM", help="the server's certificate"
    )
    control.add_argument("--grpc-server-key", type=Path, metavar="PEM", help="the server's key")
    control.add_argument(
        "--grpc-server-cacert",
        type=Path,
        metavar="PEM",
        help="the authority of clients' certificates; needs --grpc-server-with-client-auth",
    )
    control.add_argument(
        "--grpc-server-with-client-auth",
        action="store_true",
        help="accept only clients with a certificate of --grpc-server-cacert",
    )

    ignored = parser.add_argument_group(
        "accepted and ignored",
        "options of simple_switch_grpc without a meaning here: " + ", ".join(_IGNORED),
    )
    for option, count in _IGNORED.items():
        ignored.add_argument(
            option,
            dest="ignored",
            action=_Ignore,
            nargs=None if count == 1 else count,
            help=argparse.SUPPRESS,
        )
    return parser
