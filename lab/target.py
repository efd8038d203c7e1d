"""The two live targets behind one interface: how each is started, and what only its own interfaces
can do.

The embedded switch shapes ports in bit/s, delays them, and gives registers over P4Runtime. BMv2 has
queue depth and rate (packets/s) and registers over Thrift alone, and no delay: that comes from
netem where the kernel has it.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pcn.base import owner_only
from pcn.base.errors import LabError
from pcn.base.frames import MAX_FRAME
from pcn.base.python_process import python_command
from pcn.controller.constants import RECIRCULATION_PORT
from pcn.hosts.wire import CNP_BYTES
from pcn.softswitch.tick import TICK_NS
from pcn.softswitch.trimming import Trimming
from pcn.topologies import extras
from pcn.topologies.lossless import CONTROL_CLASS

if TYPE_CHECKING:
    from pcn.controller.marking_contract import PacketGenerator
    from pcn.controller.switch import RegisterAccess

PRIORITIES = 8
# More than a lossless network can hold: PFC keeps the queues below XOFF and what is in flight.
QUEUE_DEPTH_PACKETS = 16384
CPU_PORT = 509
MAX_MTU = MAX_FRAME - 14  # behind the Ethernet header
THRIFT_PORT = 9090  # in the switch's own namespace
BMV2 = "simple_switch_grpc"


class TargetError(LabError):
    """A target that is missing, or refused a request."""


@dataclass(frozen=True)
class PortSpec:
    """A port as the target sees it: real (dilated) rate in bit/s and delay in seconds."""

    port: int
    interface: str
    rate_bps: float
    delay_s: float


@dataclass(frozen=True)
class LaunchSpec:
    name: str
    device_id: int
    ports: tuple[PortSpec, ...]
    address: str  # gRPC's name for where the P4Runtime server listens
    queue_depth: int = QUEUE_DEPTH_PACKETS
    queue_options: tuple[str, ...] = ()  # of the embedded switch alone: of single queues
    priorities: int = PRIORITIES
    cpu_port: int = CPU_PORT  # 0: none
    seed: int = 1
    nominal_packet_bytes: int = 1058  # what BMv2's packets/s stand for ...
    notification_bytes: int = CNP_BYTES  # ... and in the class of notifications
    # the embedded switch's time stands (pcn.softswitch.clock), and its ports have no interfaces
    manual_clock: bool = False
    reentry_s: float = (
        0.0  # with that clock: how long what is resubmitted or recirculated is on its way
    )
    # of the clock that the program reads, real time; finer: the embedded switch's alone
    tick_ns: int = TICK_NS
    slack_s: float = 0.0  # real: how late frames may leave, for fewer wake-ups
    late_s: float = 0.0  # real: how late a frame may be, for a report ...
    place: str | None = (
        None  # ... there, on the network's board (pcn.softswitch.pace); None: nowhere
    )
    generator: PacketGenerator | None = None  # the embedded switch's alone
    trimming: tuple[tuple[int, ...], Trimming] | None = (
        None  # queues that trim what they refuse; likewise
    )
    trace: bool = False  # likewise: each step of each packet, to a file beside its log
    pcap: Path | None = None  # likewise: the folder of all ports' captures
    coverage: Path | None = None  # likewise: the file of what packets ran through
    # the engine's alone: by port, weights of its classes (0: strict), and the order among packets
    # of a class (None: of arrival)
    weights: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    arbitration: str | None = None
    thrift_port: int | None = None  # likewise: of BMv2's runtime interface


@dataclass(frozen=True)
class Together:
    """A switch of a process that may have several. Of its ports with links in memory: `links`, to a
    port of a device of the process, and `process_links`, to another process, with descriptors of
    memory and bell and the end."""

    spec: LaunchSpec
    namespace_pid: int
    log: str | None  # None: what the process writes
    links: Mapping[int, tuple[int, int]]
    process_links: Mapping[int, tuple[int, int, int]]
    trace: str | None = None  # the file of its steps


class Target(Protocol):
    """A kind of switch."""

    name: str
    shapes_delay: bool  # whether the switch itself delays its ports
    least_tick_ns: int  # the finest clock that programs can read there

    def require(self) -> None:
        """Raises TargetError where it isn't installed."""
        ...

    def command(self, spec: LaunchSpec) -> list[str]: ...

    def mtu(self, needed: int) -> int:
        """Returns the MTU that interfaces should have where packets of `needed` bytes must pass."""
        ...

    def ready(self, namespace_pid: int) -> bool:
        """Returns whether its own servers answer, beside P4Runtime's."""
        ...

    def configure(self, spec: LaunchSpec, namespace_pid: int) -> None:
        """After the start: settings that the command line lacks."""
        ...

    def registers(self, namespace_pid: int) -> RegisterAccess | None:
        """Returns the register access of the target's own; None: P4Runtime has it."""
        ...

    def before_down(self, namespace_pid: int, port: int) -> None:
        """A port's interface is about to be set down, or is down already."""
        ...

    def after_up(self, namespace_pid: int, port: int, interface: str) -> None:
        """A port's interface is up, again or all the time."""
        ...


class SoftswitchTarget:
    name = "softswitch"
    module = "pcn.softswitch"
    shapes_delay = True
    least_tick_ns = 1

    def require(self) -> None:
        """It is a part of this project."""

    def command(self, spec: LaunchSpec) -> list[str]:
        return [*python_command(self.module), *self._options(spec)]

    def together(self, specs: Sequence[Together], file: Path) -> list[str]:
        """Returns the command of one process for switches, whose options it finds in the file."""
        lines = []
        for spec in specs:
            more = ["--namespace", str(spec.namespace_pid)]
            if spec.log is not None:
                more += ["--log-file", spec.log]
            for port, (device_id, other_port) in spec.links.items():
                more += ["--channel", f"{port}={device_id}:{other_port}"]
            for port, (memory, bell, end) in spec.process_links.items():
                more += ["--process-link", f"{port}={memory}:{bell}:{end}"]
            if spec.trace is not None:
                more += ["--trace", spec.trace]
            lines.append(shlex.join([*more, *self._options(spec.spec)]))
        with os.fdopen(owner_only.new_file(file), "w", encoding="utf-8") as lines_file:
            lines_file.write("\n".join(lines) + "\n")
        return [*python_command(self.module), "--together", str(file)]

    def _options(self, spec: LaunchSpec) -> list[str]:
        shape: list[str] = []
        for port in spec.ports:
            shape += [
                "--rate",
                f"{port.port}={round(port.rate_bps)}bps",
                "--delay",
                f"{port.port}={port.delay_s:.9f}s",
            ]
        return [
            *_common(spec),
            *(
                "--queue-depth",
                str(spec.queue_depth),
                *spec.queue_options,
                "--seed",
                str(spec.seed),
            ),
            *_generator(spec),
            *_trimming(spec),
            *(("--pcap", str(spec.pcap)) if spec.pcap is not None else ()),
            *(("--coverage", str(spec.coverage)) if spec.coverage is not None else ()),
            *(("--thrift-port", str(spec.thrift_port)) if spec.thrift_port is not None else ()),
            *(("--tick", f"{spec.tick_ns}ns") if spec.tick_ns != TICK_NS else ()),
            *(("--slack", f"{spec.slack_s:.9f}s") if spec.slack_s else ()),
            *(("--pace", f"{spec.late_s:.9f}s@{spec.place}") if spec.place else ()),
            *(
                ("--clock", "manual", "--reentry", f"{spec.reentry_s:.9f}s")
                if spec.manual_clock
                else ()
            ),
            *shape,
            *("--", *_target_options(spec)),
        ]

    def mtu(self, needed: int) -> int:
        """Returns all that it can take; more costs nothing."""
        return max(needed, MAX_MTU)

    def ready(self, namespace_pid: int) -> bool:
        return True

    def configure(self, spec: LaunchSpec, namespace_pid: int) -> None:
        """Everything was on the command line."""

    def registers(self, namespace_pid: int) -> RegisterAccess | None:
        return None

    def before_down(self, namespace_pid: int, port: int) -> None:
        """It sees for itself."""

    def after_up(self, namespace_pid: int, port: int, interface: str) -> None:
        """Likewise."""


class EngineTarget(SoftswitchTarget):
    """The embedded switch, whose packets virtual time's engine moves."""

    name = "engine"
    module = "pcn.switch_command"

    def _options(self, spec: LaunchSpec) -> list[str]:
        weights: list[str] = []
        for port, of_port in spec.weights.items():
            pairs = [f"{number}:{weight}" for number, weight in enumerate(of_port) if weight]
            weights += ["--weights", f"{port}={','.join(pairs)}"] if pairs else []
        return [
            "--engine",
            *weights,
            *(("--arbitration", spec.arbitration) if spec.arbitration is not None else ()),
            *super()._options(spec),
        ]


EMBEDDED = (SoftswitchTarget.name, EngineTarget.name)
"""Names of targets that are the embedded switch."""


class Bmv2Target:
    name = "bmv2"
    shapes_delay = False
    least_tick_ns = TICK_NS

    def require(self) -> None:
        extras.require("bmv2")
        if shutil.which(BMV2) is None:
            raise TargetError(
                f"target bmv2: {BMV2} is not installed, or not on PATH; `pcn doctor` shows how to "
                "get it"
            )

    def command(self, spec: LaunchSpec) -> list[str]:
        if spec.manual_clock:
            raise TargetError("BMv2 has no manual clock: the embedded switch alone has one")
        if spec.generator is not None:
            raise TargetError(
                "BMv2 has no packet generator: take --target softswitch, or QCN at inputs with "
                "keep_alive=1, which samples what departs"
            )
        if spec.trimming is not None:
            raise TargetError("BMv2's queues trim no packets: take --target softswitch")
        self.require()
        return [
            BMV2,
            *_common(spec),
            *("--log-console", "--thrift-port", str(THRIFT_PORT)),
            *("--", *_target_options(spec)),
        ]

    def mtu(self, needed: int) -> int:
        """Returns just enough. libpcap cuts its receive ring, 2 MB, into slots of the MTU: at 9216
        B it would hold 128 packets, and a burst would be lost before BMv2 sees it."""
        return needed

    def ready(self, namespace_pid: int) -> bool:
        """Returns whether BMv2's Thrift server listens, which starts after its P4Runtime server."""
        from pcn.lab.thrift import Bmv2Thrift

        try:
            Bmv2Thrift.connect(namespace_pid, THRIFT_PORT).close()
        except LabError:
            return False
        return True

    def configure(self, spec: LaunchSpec, namespace_pid: int) -> None:
        """Queue depth and rate of each port. The rate is in packets: of the nominal size, in the
        class of notifications of a CNP's, or an acknowledgement of each packet would wait for a
        line as long as its packet's. The internal port has no rate, but a burst of PFC frames to be
        must fit into it too."""
        from pcn.lab.thrift import Bmv2Thrift

        with Bmv2Thrift.connect(namespace_pid, THRIFT_PORT) as thrift:
            thrift.set_queue_depth(RECIRCULATION_PORT, spec.queue_depth)
            for port in spec.ports:
                thrift.set_queue_depth(port.port, spec.queue_depth)
                thrift.set_queue_rate(
                    port.port, round(port.rate_bps / (8 * spec.nominal_packet_bytes))
                )
                thrift.set_class_rate(
                    port.port, CONTROL_CLASS, round(port.rate_bps / (8 * spec.notification_bytes))
                )

    def registers(self, namespace_pid: int) -> RegisterAccess | None:
        from pcn.lab.thrift import Bmv2Thrift

        return Bmv2Thrift.connect(namespace_pid, THRIFT_PORT)

    def before_down(self, namespace_pid: int, port: int) -> None:
        """Takes the port out. The thread that receives from all ports would otherwise wait in
        libpcap for the next frame of the interface that went down; two switches whose link comes up
        again would wait for each other without end."""
        from pcn.lab.thrift import Bmv2Thrift

        with Bmv2Thrift.connect(namespace_pid, THRIFT_PORT) as thrift:
            if port in thrift.ports():
                thrift.remove_port(port)

    def after_up(self, namespace_pid: int, port: int, interface: str) -> None:
        from pcn.lab.thrift import Bmv2Thrift

        with Bmv2Thrift.connect(namespace_pid, THRIFT_PORT) as thrift:
            if port not in thrift.ports():
                thrift.add_port(port, interface)


def _common(spec: LaunchSpec) -> list[str]:
    ports: list[str] = []
    for port in spec.ports:
        ports += ["-i", str(port.port) if spec.manual_clock else f"{port.port}@{port.interface}"]
    return [
        *("--no-p4", "--device-id", str(spec.device_id), "-L", "warn"),
        *ports,
    ]


def _generator(spec: LaunchSpec) -> list[str]:
    if spec.generator is None:
        return []
    ids = ",".join(map(str, spec.generator.packet_ids))
    return ["--packet-generator", f"{spec.generator.port}={spec.generator.period_us}us:{ids}"]


def _trimming(spec: LaunchSpec) -> list[str]:
    if spec.trimming is None:
        return []
    queues, trimming = spec.trimming
    settings = ",".join(f"{name}={value}" for name, value in trimming._asdict().items())
    return ["--trim", f"{','.join(map(str, queues))}:{settings}"]


def _target_options(spec: LaunchSpec) -> list[str]:
    return [
        *("--priority-queues", str(spec.priorities), "--grpc-server-addr", spec.address),
        *(("--cpu-port", str(spec.cpu_port)) if spec.cpu_port else ()),
    ]


def tick_ns(where: Target, tick_s: float, dilation: float) -> int:
    """Returns the tick of a switch's clock in real time, whole ns: of `tick_s` in nominal time, or
    what the target has."""
    return min(max(int(tick_s * dilation * 1e9 * (1 + 1e-9)), where.least_tick_ns), TICK_NS)


TARGETS: dict[str, Callable[[], Target]] = {
    "softswitch": SoftswitchTarget,
    "engine": EngineTarget,
    "bmv2": Bmv2Target,
}


def target(name: str) -> Target:
    """Returns a target by name. Raises TargetError, with the names there are."""
    if name not in TARGETS:
        raise TargetError(f"no target {name!r}; choose from {', '.join(TARGETS)}")
    return TARGETS[name]()
