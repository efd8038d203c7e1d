"""The command line's options: their meaning, defaults and checks."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

from softswitch import tls_files
from softswitch.errors import OptionError as OptionError
from softswitch.pace import Place
from softswitch.trimming import Trimming
from softswitch.values import (
    MAX_PORT,
    number,
    parse_channel,
    parse_delay,
    parse_pace,
    parse_process_link,
    parse_rate,
    parse_size,
    per_port,
    per_queue,
)

if TYPE_CHECKING:
    from softswitch.p4runtime.server import Tls

MAX_PACKET_ID: Final = 2**16 - 1
LEAST_PERIOD_NS: Final = 1000
MESSAGE_BYTES: Final = 16_000_000
LOG_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}

EPILOG: Final = """\
examples:
  softswitch --no-p4 --device-id 1 -i 1@s1-eth1 -i 2@s1-eth2 -- --grpc-server-addr 127.0.0.1:50051 --cpu-port 255
  softswitch p4src/compiled/pcn.json -i 1@veth0 -i 2@veth2 --rate 10M --rate 2=5M --delay 1ms

Options may stand before or after `--`. The program comes with the command line, or later over P4Runtime
(SetForwardingPipelineConfig). The switch prints one line with `listening` when it is ready; SIGTERM and Ctrl-C end it.
Exit status: 0 ended in order, 1 could not start, 2 bad arguments.
"""

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


# Beside that they are ignored: what there is in place of what they do in simple_switch_grpc.
_INSTEAD: Final = {
    "--log-console": "the log goes to stderr, or to --log-file; with -L debug or -L trace it has a line for each step",
}

_Port = TypeVar("_Port", int, int | None)
_Of = TypeVar("_Of")


class Shape(NamedTuple):
    """A port's rate in bit/s (0: unshaped) and link delay in ns."""

    rate_bps: int = 0
    delay_ns: int = 0


class Generator(NamedTuple):
    """The packet generator: every `period_ns` a frame comes in on `port` for each packet id."""

    port: int
    period_ns: int
    packet_ids: tuple[int, ...]


class Channel(NamedTuple):
    """A port's link in memory, to a port of another device of the process."""

    port: int
    device_id: int
    other_port: int


class Options(NamedTuple):
    """A parsed command line."""

    program: Path | None
    interfaces: tuple[tuple[int, str | None], ...]  # None: with the manual clock, a port without
    manual_clock: bool
    reentry_ns: int  # with the manual clock
    device_id: int
    grpc_address: str
    cpu_port: int
    drop_port: int
    priorities: int
    queue_depths: tuple[tuple[int | None, int | None, int], ...]  # port, queue, packets; None: all; in order
    queue_rates: tuple[tuple[int | None, int | None, int], ...]  # likewise, packets/s
    trimming: tuple[tuple[int, ...], Trimming] | None  # the queues that trim; None: none
    seed: int
    rates: dict[int | None, int]  # by port; None: every other
    delays: dict[int | None, int]
    generator: Generator | None
    slack_ns: int  # how late what is due may be done, for fewer wake-ups
    pace: tuple[int, Place] | None  # how late a frame may be, ns, and where to report; None: nowhere
    log_level: str
    log_file: Path | None
    trace: Path | None  # a file for each step, in JSON
    pcap: Path | None  # the folder of captures
    tls_files: tuple[Path, Path, Path | None] | None  # certificate, key, the CA of clients
    message_bytes: int  # of the largest request
    thrift_port: int | None  # of BMv2's runtime interface; 0: a free one; None: there is none
    channels: tuple[Channel, ...]  # in a file of --together
    process_links: dict[int, tuple[int, int, int]]  # likewise: by port, descriptors of memory and bell, and the end
    namespace: int | None  # the pid of a process in the network namespace of its interfaces; None: this one's
    ignored: tuple[str, ...]

    def warnings(self) -> list[str]:
        """Returns a line for each option that doesn't do what it does in simple_switch_grpc."""
        return [
            f"{option}: {_INSTEAD.get(option, 'this option has no meaning here and is ignored')}"
            for option in dict.fromkeys(self.ignored)
            if option != "--log-console" or not self.logs_steps
        ]

    @property
    def logs_steps(self) -> bool:
        """Whether the log has a line for each step of a packet."""
        return self.log_level in ("trace", "debug")

    @property
    def traced(self) -> bool:
        """Whether programs report their steps."""
        return self.logs_steps or self.trace is not None

    def shapes(self) -> dict[int, Shape]:
        """Returns what each port is set to; ports that were only named in --rate or --delay are in it."""
        ports = {port for port, _ in self.interfaces} | {p for p in (*self.rates, *self.delays) if p is not None}
        shapes = {}
        for port in sorted(ports):
            shape = Shape(
                self.rates.get(port, self.rates.get(None, 0)), self.delays.get(port, self.delays.get(None, 0))
            )
            if shape != Shape():
                shapes[port] = shape
        return shapes

    def tls(self) -> Tls | None:
        """Returns the server's certificate, read from its files; None: without TLS. Raises OptionError."""
        if self.tls_files is None:
            return None
        return tls_files.load(self.tls_files)


def parse(arguments: Sequence[str]) -> Options:
    """Parses a command line (without the program's name). Raises OptionError; --help and --version exit."""
    words = list(arguments)
    if "--" in words:  # simple_switch_grpc wants its target options behind it; here all are equal
        words.remove("--")
    given = _parser().parse_args(words)
    if given.program is None and not given.no_p4:
        raise OptionError("name a program (p4c's BMv2 JSON), or --no-p4 to wait for one over P4Runtime")
    if given.program is not None and given.no_p4:
        raise OptionError(f"--no-p4 would ignore the program {given.program}: leave one of them out")
    interfaces = _interfaces(given.interface, given.cpu_port, given.clock == "manual")
    return Options(
        program=given.program,
        interfaces=interfaces,
        manual_clock=given.clock == "manual",
        reentry_ns=_reentry(given),
        device_id=given.device_id,
        grpc_address=given.grpc_server_addr,
        cpu_port=given.cpu_port,
        drop_port=given.drop_port,
        priorities=given.priority_queues,
        queue_depths=_there("--queue-depth", given.queue_depth, given.priority_queues),
        queue_rates=_there("--queue-rate", given.queue_rate, given.priority_queues),
        trimming=_trimming(given.trim, given.priority_queues),
        seed=given.seed,
        rates=_by_port("--rate", given.rate),
        delays=_by_port("--delay", given.delay),
        generator=_generator(given.packet_generator, dict(interfaces)),
        slack_ns=given.slack,
        pace=given.pace,
        log_level=given.log_level,
        log_file=given.log_file,
        trace=given.trace,
        pcap=given.pcap,
        tls_files=tls_files.named(given),
        message_bytes=given.grpc_max_message_size,
        thrift_port=given.thrift_port,
        channels=tuple(Channel(port, *other) for port, other in _by_port("--channel", given.channel).items()),
        process_links=_by_port("--process-link", given.process_link),
        namespace=given.namespace,
        ignored=tuple(given.ignored or ()),
    )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message} (see softswitch --help)")


class _Ignore(argparse.Action):
    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        namespace.ignored = [*(namespace.ignored or []), option]


class _Version(argparse.Action):
    def __call__(self, parser: Any, *_: Any) -> NoReturn:
        from importlib.metadata import version  # late: it takes half as long to load as all else here

        print(f"softswitch {version('pcn-lab')}")
        sys.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="softswitch",
        usage="softswitch [PROGRAM.json | --no-p4] -i PORT@INTERFACE ... [options] [-- options]",
        description="A v1model switch on Linux interfaces, controlled over P4Runtime. "
        "Takes simple_switch_grpc's options, and options for a rate, a delay and a queue depth.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "program", nargs="?", type=Path, metavar="PROGRAM.json", help="what p4c's BMv2 backend wrote; runs at once"
    )
    parser.add_argument("--no-p4", action="store_true", help="start without a program")
    parser.add_argument(
        "-i",
        "--interface",
        action="append",
        default=[],
        metavar="PORT@INTERFACE",
        help="attach an interface as a port; repeatable. With --clock manual PORT alone is a port without one",
    )
    parser.add_argument(
        "--clock",
        choices=("live", "manual"),
        default="live",
        help="manual: for tests, the switch's time stands until softswitch.clock moves it (default: live)",
    )
    parser.add_argument(
        "--reentry",
        type=parse_delay,
        metavar="TIME",
        help="with --clock manual: how long resubmitted and recirculated packets are on their way, as 1us (default: 0)",
    )
    parser.add_argument(
        "--device-id", type=number(0, 2**64 - 1), default=0, metavar="N", help="P4Runtime's device id (default: 0)"
    )
    parser.add_argument(
        "-L",
        "--log-level",
        choices=LOG_LEVELS,
        default="warn",
        help="trace and debug: with a line for each step of a packet, as parser states, tables and primitives, which "
        "takes much time (default: warn)",
    )
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log there instead of to stderr")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="each step of a packet to FILE, as a line of JSON")
    parser.add_argument(
        "--pcap",
        nargs="?",
        const=Path(),
        type=Path,
        metavar="DIR",
        help="capture all frames of ports: INTERFACE_in.pcap and INTERFACE_out.pcap in DIR, a folder (default: here)",
    )
    parser.add_argument("-v", "--version", action=_Version, nargs=0, help="show the version and exit")

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
        help="packets that a queue holds: of one, of a port's or of all; repeatable, a later one counts (default: 64)",
    )
    traffic.add_argument(
        "--queue-rate",
        action="append",
        type=per_queue(number(0, 2**32 - 1)),
        default=[],
        metavar="[PORT[/QUEUE]=]PACKETS/S",
        help="packets/s that leave a queue, as simple_switch's set_queue_rate; 0: unlimited (default: unlimited)",
    )
    traffic.add_argument(
        "--trim",
        metavar="QUEUE,...[:NAME=N,...]",
        help="trim what these queues refuse, by SONiC's names: size (default: 64), dscp_value (48), queue_index "
        "(6), and weight (32), how many trimmed ones leave in a row while others wait, as 0,1:size=128,dscp_value=40; "
        "default: none",
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
        help="as Tofino's timer application: every PERIOD, as 1ms, the switch itself makes a frame for each packet ID, "
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
        help="how late a frame may be, as 4ms, and the place on a board of shared memory where the switch reports "
        "whether it keeps pace, as networks have it (default: no report)",
    )
    traffic.add_argument("--seed", type=number(0, 2**64 - 1), default=1, metavar="N", help="of random() (default: 1)")
    traffic.add_argument("--drop-port", type=number(0, MAX_PORT), default=MAX_PORT, metavar="PORT", help="default: 511")

    together = parser.add_argument_group("several switches in a process")
    together.add_argument(
        "--together", type=Path, metavar="FILE", help="a switch for each line, with the options there; alone"
    )
    together.add_argument(
        "--channel",
        action="append",
        type=parse_channel,
        default=[],
        metavar="PORT=DEVICE:PORT",
        help="in such a file: the link of a port, of an interface, to a port of another device is in memory",
    )
    together.add_argument(
        "--process-link",
        action="append",
        type=parse_process_link,
        default=[],
        metavar="PORT=MEMORY:BELL:END",
        help="in such a file: the link of a port, of an interface, to another process, a host's agent or a switch, is "
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
        help="address of P4Runtime, gNMI and the manual clock; port 0: any free one; unix:PATH: a socket for this "
        "user alone. Without TLS there is no authentication: every client that reaches the address programs the switch "
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
        help="BMv2's runtime interface, for simple_switch_CLI, at this port of 127.0.0.1; 0: any free one. It has no "
        "authentication (default: none)",
    )
    control.add_argument("--grpc-server-ssl", action="store_true", help="use TLS; needs a certificate and a key")
    control.add_argument("--grpc-server-cert", type=Path, metavar="PEM", help="the server's certificate")
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
        "accepted and ignored", "options of simple_switch_grpc without a meaning here: " + ", ".join(_IGNORED)
    )
    for option, count in _IGNORED.items():
        ignored.add_argument(
            option, dest="ignored", action=_Ignore, nargs=None if count == 1 else count, help=argparse.SUPPRESS
        )
    return parser


def _by_port(option: str, pairs: Sequence[tuple[_Port, _Of]]) -> dict[_Port, _Of]:
    values: dict[_Port, _Of] = {}
    for port, value in pairs:
        if port in values:
            raise OptionError(f"{option} is given twice for {'all ports' if port is None else f'port {port}'}")
        values[port] = value
    return values


def _there(
    option: str, given: Sequence[tuple[int | None, int | None, int]], priorities: int
) -> tuple[tuple[int | None, int | None, int], ...]:
    for port, queue, value in given:
        if queue is not None and queue >= priorities:
            raise OptionError(f"{option} {port}/{queue}={value}: queues are 0 to {priorities - 1}")
    return tuple(given)


def _interfaces(texts: Sequence[str], cpu_port: int, manual: bool) -> tuple[tuple[int, str | None], ...]:
    interfaces: dict[int, str | None] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+)(?:@(.+))?", text)
        if not match or int(match[1]) > MAX_PORT:
            raise OptionError(f"-i {text}: write PORT@INTERFACE with a port from 0 to {MAX_PORT}, as 1@veth0")
        port, interface = int(match[1]), match[2]
        if interface is None and not manual:
            raise OptionError(f"-i {text}: write PORT@INTERFACE, as {port}@veth0; ports without need --clock manual")
        if port in interfaces:
            there = interfaces[port]
            raise OptionError(
                f"-i {text}: port {port} {'is there' if there is None else f'has the interface {there}'} already"
            )
        if interface is not None and interface in interfaces.values():
            raise OptionError(f"-i {text}: {interface} is a port already")
        if cpu_port and port == cpu_port:
            raise OptionError(f"-i {text}: port {port} is the CPU port (--cpu-port)")
        interfaces[port] = interface
    return tuple(interfaces.items())


def _generator(text: str | None, interfaces: Mapping[int, str | None]) -> Generator | None:
    if text is None:
        return None
    option = f"--packet-generator {text}"
    match = re.fullmatch(r"(\d+)=([^:]+):(\d+(?:,\d+)*)", text)
    if not match or int(match[1]) > MAX_PORT:
        raise OptionError(f"{option}: write PORT=PERIOD:ID,... with a port from 0 to {MAX_PORT}, as 508=1ms:1,2")
    port, packet_ids = int(match[1]), tuple(map(int, match[3].split(",")))
    try:
        period_ns = parse_delay(match[2])
    except argparse.ArgumentTypeError as error:
        raise OptionError(f"{option}: {error}") from None
    if period_ns < LEAST_PERIOD_NS:
        raise OptionError(f"{option}: a period of at least {LEAST_PERIOD_NS} ns")
    if max(packet_ids) > MAX_PACKET_ID:
        raise OptionError(f"{option}: packet ids are from 0 to {MAX_PACKET_ID}")
    if port in interfaces:
        raise OptionError(f"{option}: port {port} is one of -i: frames from outside must not come in there")
    return Generator(port, period_ns, packet_ids)


def _trimming(text: str | None, priorities: int) -> tuple[tuple[int, ...], Trimming] | None:
    if text is None:
        return None
    option = f"--trim {text}"
    if not re.fullmatch(r"\d(,\d)*(:[a-z_]+=\d{1,9}(,[a-z_]+=\d{1,9})*)?", text):
        raise OptionError(f"{option}: write QUEUE,...:NAME=N,..., as 0,1:size=128,dscp_value=40")
    queues_text, _, settings = text.partition(":")
    queues = tuple(sorted({int(queue) for queue in queues_text.split(",")}))
    named = dict(pair.split("=") for pair in settings.split(",") if pair)
    if unknown := named.keys() - set(Trimming.__dataclass_fields__):
        raise OptionError(f"{option}: {min(unknown)}: there are {', '.join(Trimming.__dataclass_fields__)}")
    try:
        trimming = Trimming(**{name: int(value) for name, value in named.items()})
    except ValueError as error:
        raise OptionError(f"{option}: {error}") from None
    if max(*queues, trimming.queue_index) >= priorities or trimming.queue_index in queues:
        raise OptionError(
            f"{option}: queues are 0 to {priorities - 1}, and queue_index is another than those that trim"
        )
    return queues, trimming


def _reentry(given: argparse.Namespace) -> int:
    if given.reentry is None:
        return 0
    if given.clock != "manual":
        raise OptionError("--reentry needs --clock manual: with the live clock it takes what it takes")
    return int(given.reentry)
