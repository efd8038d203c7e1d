"""The options of a command line: what they mean together, and their checks."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from pcn.base import address
from pcn.softswitch import tls_files
from pcn.softswitch.command_line import new_parser
from pcn.softswitch.errors import OptionError as OptionError
from pcn.softswitch.tick import TICK_NS
from pcn.softswitch.trimming import Trimming
from pcn.softswitch.values import MAX_PORT, parse_delay

if TYPE_CHECKING:
    from pcn.softswitch.pace import Place
    from pcn.softswitch.tls_files import Tls

MAX_PACKET_ID: Final = 2**16 - 1
LEAST_PERIOD_NS: Final = 1000

# Beside that they are ignored: what there is in place of what they do in simple_switch_grpc.
_INSTEAD: Final = {
    "--log-console": (
        "the log goes to stderr, or to --log-file; with -L debug or -L trace it has a line for "
        "each step"
    ),
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
    tick_ns: int  # of the clock that programs read
    device_id: int
    grpc_address: str
    cpu_port: int
    drop_port: int
    priorities: int
    # port, queue, packets; None: all; in order
    queue_depths: tuple[tuple[int | None, int | None, int], ...]
    queue_rates: tuple[tuple[int | None, int | None, int], ...]  # likewise, packets/s
    trimming: tuple[tuple[int, ...], Trimming] | None  # the queues that trim; None: none
    seed: int
    rates: dict[int | None, int]  # by port; None: every other
    delays: dict[int | None, int]
    generator: Generator | None
    slack_ns: int  # how late what is due may be done, for fewer wake-ups
    # how late a frame may be, ns, and where to report; None: nowhere
    pace: tuple[int, Place] | None
    log_level: str
    log_file: Path | None
    trace: Path | None  # a file for each step, in JSON
    coverage: Path | None  # a file or folder of what packets ran through
    pcap: Path | None  # the folder of captures
    tls_files: tuple[Path, Path, Path | None] | None  # certificate, key, the CA of clients
    message_bytes: int  # of the largest request
    thrift_port: int | None  # of BMv2's runtime interface; 0: a free one; None: there is none
    thrift_interfaces: tuple[str, ...]  # that its clients may add as ports, beside those above
    channels: tuple[Channel, ...]  # in a file of --together
    # likewise: by port, descriptors of memory and bell, and the end
    process_links: dict[int, tuple[int, int, int]]
    # the pid of a process in the network namespace of its interfaces; None: this one's
    namespace: int | None
    engine: bool  # an engine moves its packets, in place of its own queues
    weights: dict[int, tuple[int, ...]]  # by port, one a class, 0: strict; an engine's
    arbitration: str | None  # likewise: among packets of a class
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
        """Returns what each port is set to; ports that were only named in --rate or --delay are in
        it."""
        ports = {port for port, _ in self.interfaces} | {
            p for p in (*self.rates, *self.delays) if p is not None
        }
        shapes = {}
        for port in sorted(ports):
            shape = Shape(
                self.rates.get(port, self.rates.get(None, 0)),
                self.delays.get(port, self.delays.get(None, 0)),
            )
            if shape != Shape():
                shapes[port] = shape
        return shapes

    def tls(self) -> Tls | None:
        """Returns the server's certificate, read from its files; None: without TLS. Raises
        OptionError."""
        if self.tls_files is None:
            return None
        return tls_files.load(self.tls_files)


def parse(arguments: Sequence[str]) -> Options:
    """Parses a command line (without the program's name). Raises OptionError; --help and --version
    exit."""
    words = list(arguments)
    if "--" in words:  # simple_switch_grpc wants its target options behind it; here all are equal
        words.remove("--")
    args = new_parser().parse_args(words)
    if args.program is None and not args.no_p4:
        raise OptionError(
            "name a program (p4c's BMv2 JSON), or --no-p4 to wait for one over P4Runtime"
        )
    if args.program is not None and args.no_p4:
        raise OptionError(f"--no-p4 would ignore the program {args.program}: leave one of them out")
    try:
        address.check(args.grpc_server_addr)
    except address.AddressError as error:
        raise OptionError(f"--grpc-server-addr {error}") from None
    _check_engine(args)
    interfaces = _interfaces(args.interface, args.cpu_port, args.clock == "manual")
    return Options(
        program=args.program,
        interfaces=interfaces,
        manual_clock=args.clock == "manual",
        reentry_ns=_reentry(args),
        tick_ns=_tick(args.tick),
        device_id=args.device_id,
        grpc_address=args.grpc_server_addr,
        cpu_port=args.cpu_port,
        drop_port=args.drop_port,
        priorities=args.priority_queues,
        queue_depths=_there("--queue-depth", args.queue_depth, args.priority_queues),
        queue_rates=_there("--queue-rate", args.queue_rate, args.priority_queues),
        trimming=_trimming(args.trim, args.priority_queues),
        seed=args.seed,
        rates=_by_port("--rate", args.rate),
        delays=_by_port("--delay", args.delay),
        generator=_generator(args.packet_generator, dict(interfaces)),
        slack_ns=args.slack,
        pace=args.pace,
        log_level=args.log_level,
        log_file=args.log_file,
        trace=args.trace,
        coverage=args.coverage,
        pcap=args.pcap,
        tls_files=tls_files.named(args),
        message_bytes=args.grpc_max_message_size,
        thrift_port=args.thrift_port,
        thrift_interfaces=tuple(args.thrift_interface),
        channels=tuple(
            Channel(port, *far_end) for port, far_end in _by_port("--channel", args.channel).items()
        ),
        process_links=_by_port("--process-link", args.process_link),
        namespace=args.namespace,
        engine=args.engine,
        weights=_by_port("--weights", args.weights),
        arbitration=args.arbitration,
        ignored=tuple(args.ignored or ()),
    )


def _by_port(option: str, pairs: Sequence[tuple[_Port, _Of]]) -> dict[_Port, _Of]:
    values: dict[_Port, _Of] = {}
    for port, value in pairs:
        if port in values:
            raise OptionError(
                f"{option} is given twice for {'all ports' if port is None else f'port {port}'}"
            )
        values[port] = value
    return values


def _there(
    option: str, settings: Sequence[tuple[int | None, int | None, int]], priorities: int
) -> tuple[tuple[int | None, int | None, int], ...]:
    for port, queue, value in settings:
        if queue is not None and queue >= priorities:
            raise OptionError(f"{option} {port}/{queue}={value}: queues are 0 to {priorities - 1}")
    return tuple(settings)


def _interfaces(
    texts: Sequence[str], cpu_port: int, manual: bool
) -> tuple[tuple[int, str | None], ...]:
    interfaces: dict[int, str | None] = {}
    for text in texts:
        match = re.fullmatch(r"(\d+)(?:@(.+))?", text)
        if not match or int(match[1]) > MAX_PORT:
            raise OptionError(
                f"-i {text}: write PORT@INTERFACE with a port from 0 to {MAX_PORT}, as 1@veth0"
            )
        port, interface = int(match[1]), match[2]
        if interface is None and not manual:
            raise OptionError(
                f"-i {text}: write PORT@INTERFACE, as {port}@veth0; ports without need --clock "
                "manual"
            )
        if port in interfaces:
            there = interfaces[port]
            raise OptionError(
                f"-i {text}: port {port} "
                f"{'is there' if there is None else f'has the interface {there}'} already"
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
        raise OptionError(
            f"{option}: write PORT=PERIOD:ID,... with a port from 0 to {MAX_PORT}, as 508=1ms:1,2"
        )
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
        raise OptionError(
            f"{option}: port {port} is one of -i: frames from outside must not come in there"
        )
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
    if unknown := named.keys() - set(Trimming._fields):
        raise OptionError(f"{option}: {min(unknown)}: choose from {', '.join(Trimming._fields)}")
    try:
        trimming = Trimming(**{name: int(value) for name, value in named.items()})
    except ValueError as error:
        raise OptionError(f"{option}: {error}") from None
    if max(*queues, trimming.queue_index) >= priorities or trimming.queue_index in queues:
        raise OptionError(
            f"{option}: queues are 0 to {priorities - 1}, and queue_index is another than those "
            "that trim"
        )
    return queues, trimming


def _check_engine(args: argparse.Namespace) -> None:
    wants = "--weights" if args.weights else "--arbitration" if args.arbitration else None
    if wants is not None and not args.engine:
        raise OptionError(f"{wants} needs --engine: the switch's own queues have no such thing")
    if args.weights and args.trim is not None:
        raise OptionError(
            "--weights and --trim: a port whose classes have weights trims no packets"
        )


def _tick(ns: int) -> int:
    if not 1 <= ns <= TICK_NS:
        raise OptionError(f"--tick {ns}ns: 1ns to {TICK_NS // 1000}us are possible")
    return ns


def _reentry(args: argparse.Namespace) -> int:
    if args.reentry is None:
        return 0
    if args.clock != "manual":
        raise OptionError("--reentry needs --clock manual: the live clock has no such setting")
    return int(args.reentry)
