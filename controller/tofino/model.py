"""A Tofino switch and its lab, as ports.yaml describes them, and what must hold between the
parts."""

from __future__ import annotations

import ipaddress
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from pcn.controller.constants import PFC_BYTES
from pcn.controller.tofino.chips import (
    GROUPS_A_PIPE,
    LANES_BY_SPEED,
    PORTS_A_PIPE,
    RS_LANE_BPS,
    TOFINO,
    Chip,
)

CULPRITS = ("arrival", "sojourn")  # of QCN at inputs
FCS_BYTES = 4
WIRE_BYTES = FCS_BYTES + 20  # of each frame: FCS, preamble and gap

Fault = tuple[int, str]  # a line of the file, and what is wrong there


@dataclass(frozen=True)
class Pfc:
    """PFC of a port, for each lossless class: the bytes that it holds above which it sends PAUSE,
    below which RESUME, and those that still arrive after the PAUSE."""

    xoff_bytes: int
    xon_bytes: int
    headroom_bytes: int


@dataclass(frozen=True)
class Class:
    """A traffic class, which is the DSCP / 8 and also the number of its queue. The highest priority
    is served first."""

    number: int
    priority: int
    lossless: bool


@dataclass(frozen=True)
class Port:
    """`number` is the driver's, the device port, which P4Runtime uses too. `connector` and `lane`
    are its place at the front."""

    number: int
    connector: int
    lane: int
    speed_bps: int
    fec: bool
    autoneg: bool
    pfc: Pfc
    gap_ns: int
    line: int

    @property
    def pipe(self) -> int:
        return self.number // PORTS_A_PIPE

    @property
    def panel(self) -> str:
        return f"{self.connector}/{self.lane}"

    @property
    def lanes(self) -> range:
        return range(self.lane, self.lane + LANES_BY_SPEED[self.speed_bps])


@dataclass(frozen=True)
class Prefix:
    """Packets for `network` leave by `port`, with `mac` as their destination."""

    network: ipaddress.IPv4Network
    mac: str
    port: int
    line: int


@dataclass(frozen=True)
class Tcd:
    """TCD and its RED, of all ports: RED's thresholds, the delay of a link one way, and what
    max(Ton) and congestion take (docs/tcd.md). The values are those of `RedParameters` and
    `TcdParameters`."""

    k_min_bytes: int = 5_000
    k_max_bytes: int = 200_000
    p_max: float = 0.01
    delay_s: float = 1e-6
    epsilon: float = 0.05
    looks: int = 6


@dataclass(frozen=True)
class Qcn:
    """QCN, of all ports and lossless classes: the set point, the bytes between two samples, and how
    an input's sample selects the flow to notify, one of CULPRITS. The values are those of
    `CommonParameters` and of scheme qcn-os-sojourn."""

    q_eq_bytes: int = 26_000
    sample_bytes: int = 150_000
    culprit: str = "sojourn"


@dataclass(frozen=True)
class TofinoLab:
    """`device` is Stratum's node id and P4Runtime's device id. `mtu` is the largest frame, with its
    Ethernet header and without FCS."""

    switch: str
    device: int
    pipes: int
    mtu: int
    classes: tuple[Class, ...]
    ports: tuple[Port, ...]
    routes: tuple[Prefix, ...]
    tcd: Tcd = Tcd()
    qcn: Qcn = Qcn()
    chip: Chip = TOFINO

    @property
    def lossless(self) -> tuple[Class, ...]:
        return tuple(traffic_class for traffic_class in self.classes if traffic_class.lossless)

    @property
    def delaying(self) -> tuple[Class, ...]:
        """Those that can keep a lossless one waiting: of its priority, or a higher one."""
        least = min(traffic_class.priority for traffic_class in self.lossless)
        return tuple(
            traffic_class
            for traffic_class in self.classes
            if not traffic_class.lossless and traffic_class.priority >= least
        )

    def faults(self) -> Iterator[Fault]:
        """Yields what can't be, with the way out."""
        yield from _twice("port", ((port.number, port.line) for port in self.ports))
        yield from _twice("prefix", ((str(route.network), route.line) for route in self.routes))
        for port in self.ports:
            yield from self._port_faults(port)
        known = sorted(port.number for port in self.ports)
        for route in self.routes:
            if route.port not in known:
                there = ", ".join(map(str, known)) or "none"
                yield (
                    route.line,
                    f"route {route.network}: no port {route.port}; `ports` has {there}",
                )
        pfc, chip = [port.pfc for port in self.ports], self.chip
        size = len(self.lossless) * sum(
            chip.cells(port_pfc.xoff_bytes) + chip.cells(port_pfc.headroom_bytes)
            for port_pfc in pfc
        )
        if size > chip.free_cells:
            yield (
                self.ports[0].line,
                "xoff and headroom of all ports and lossless classes are "
                f"{size * chip.cell_bytes / 1e6:.1f} MB, the buffer has "
                f"{chip.free_cells * chip.cell_bytes / 1e6:.1f} free: lower them",
            )
        for pipe in range(self.pipes):
            groups = len(self.lossless) * sum(port.pipe == pipe for port in self.ports)
            if groups > GROUPS_A_PIPE:
                yield (
                    self.ports[0].line,
                    f"pipe {pipe} needs {groups} priority groups, one for each port and lossless "
                    f"class; it has {GROUPS_A_PIPE}: make fewer classes lossless",
                )

    def _port_faults(self, port: Port) -> Iterator[Fault]:
        if port.pipe >= self.pipes:
            yield (
                port.line,
                (
                    f"port {port.number} is in pipe {port.pipe}; with `pipes: {self.pipes}` there "
                    "is none"
                ),
            )
        if port.pfc.xoff_bytes < self.mtu:
            yield (
                port.line,
                (
                    f"port {port.number}: xoff {port.pfc.xoff_bytes} B is less than a frame, "
                    f"{self.mtu} B"
                ),
            )
        if port.pfc.headroom_bytes < 2 * self.mtu:
            yield (
                port.line,
                f"port {port.number}: headroom {port.pfc.headroom_bytes} B: give it two frames at "
                f"least, {2 * self.mtu} B: one that its neighbour has begun, and one of ours that "
                "a PAUSE waits for",
            )
        if not port.fec and port.speed_bps >= RS_LANE_BPS * len(port.lanes):
            yield (
                port.line,
                (
                    f"port {port.number}: {port.speed_bps / 1e9:g}G needs `fec: yes`: its lanes "
                    "have 50 Gbit/s"
                ),
            )
        for neighbour in self.ports:
            if (
                neighbour is not port
                and neighbour.connector == port.connector
                and port.lane <= neighbour.lane < port.lanes.stop
            ):
                yield (
                    neighbour.line,
                    (
                        f"panel {neighbour.panel} is a lane of port {port.number}, which starts at "
                        f"{port.panel}"
                    ),
                )


def usual_gap_ns(speed_bps: int, mtu: int) -> int:
    """Returns how far apart two frames of the pipeline can leave a port while frames wait: the
    largest, and a PAUSE and a RESUME of the MAC's own that go before the next. Rounded up, as the
    data plane counts ns."""
    return -(-8 * 1_000_000_000 * (mtu + 2 * PFC_BYTES + 3 * WIRE_BYTES) // speed_bps)


def _twice(kind: str, occurrences: Iterable[tuple[Hashable, int]]) -> Iterator[Fault]:
    seen: dict[Hashable, int] = {}
    for value, line in occurrences:
        if value in seen:
            yield line, f"{kind} {value} stands in line {seen[value]} already"
        seen.setdefault(value, line)
