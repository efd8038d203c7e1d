"""What each switch of a topology is programmed with: routes, the clone session of PFC frames, PFC thresholds by port,
and what the scheme's marking point is told.

The data plane's clock is real time. So everything that is a time here is dilated: at k times slower links, a pause
quantum, 512 bit times, lasts k times longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from controller.routes import MultipathRoute, PortGroup, Route, group_entry, host_routes, join, route_entry
from controller.switch import CloneSession, TableAction, TableEntry, TableMatch
from controller.target import RECIRCULATION_PORT
from hosts import wire
from hosts.algorithms import DcqcnParameters, PcnParameters, PcnTimeParameters, QcnParameters, Scheme
from topologies.model import Topology, TopologyError

# p4src/shared/constants.p4 has these two; the p4info can't tell them.
PFC_CLONE_SESSION = 1
CNM_CLONE_SESSION = 2
LOSSLESS_CLASSES = 0b0000_1000  # RoCE data, class 3
QUANTUM_BITS = 512  # IEEE 802.1Qbb: a pause quantum is 512 bit times
MAX_QUANTA = 0xFFFF
# A switch in stretched time is a thread, which wakes late: on two busy cores seldom by more (docs/tofino.md).
LATE_US = 5000


@dataclass(frozen=True)
class PfcPort:
    """One port's entry of pfc_config: thresholds of what came in there, and its PAUSE frames. Times are real.

    Raises ValueError for what can't work.
    """

    port: int
    xoff_bytes: int
    xon_bytes: int
    quanta: int
    quantum_q16_us: int
    lossless: int = LOSSLESS_CLASSES

    def __post_init__(self) -> None:
        if not 0 <= self.xon_bytes <= self.xoff_bytes < 2**32:
            raise ValueError(f"XON {self.xon_bytes}, XOFF {self.xoff_bytes} bytes: 0 <= XON <= XOFF < 2^32 must hold")
        if not 2 <= self.quanta <= MAX_QUANTA:
            raise ValueError(f"PAUSE of {self.quanta} quanta: 2 to {MAX_QUANTA} are possible")

    @property
    def refresh_us(self) -> int:
        """Half of a pause's time: one lost PAUSE frame then still doesn't let the neighbour go."""
        return max(1, self.quanta * self.quantum_q16_us // 65536 // 2)

    @property
    def pause_s(self) -> float:
        """How long one PAUSE of ours holds the neighbour, if it isn't refreshed."""
        return self.quanta * self.quantum_q16_us / 65536 * 1e-6


@dataclass(frozen=True)
class RedPort:
    """One egress port's entry of red_config: DCQCN's K_min, K_max and P_max. Raises ValueError for what can't work."""

    port: int
    k_min_bytes: int
    k_max_bytes: int
    p_max: float

    def __post_init__(self) -> None:
        if not 0 <= self.k_min_bytes <= self.k_max_bytes < 2**32:
            raise ValueError(
                f"K_min {self.k_min_bytes} and K_max {self.k_max_bytes} bytes: 0 <= K_min <= K_max < 2^32 must hold"
            )
        if not 0 <= self.p_max <= 1:
            raise ValueError(f"P_max {self.p_max:g}: it must be from 0 to 1")

    @property
    def slope_q48(self) -> int:
        """What a byte above K_min adds to the probability, times 2^48. The data plane can't divide."""
        span = self.k_max_bytes - self.k_min_bytes
        return min(round(self.p_max * 2**48 / span), 2**48 - 1) if span else 0


@dataclass(frozen=True)
class QcnPort:
    """One egress port's entry of qcn_config: QCN's set point Q_eq, its weight w, and the bytes between two samples.

    Raises ValueError for what can't work.
    """

    port: int
    q_eq_bytes: int
    w: int
    sample_bytes: int

    def __post_init__(self) -> None:
        for name, value, least in (("Q_eq", self.q_eq_bytes, 1), ("w", self.w, 0), ("sample", self.sample_bytes, 1)):
            if not least <= value < 2**31:
                raise ValueError(f"{name} {value}: it must be from {least} to 2^31 - 1")

    @property
    def scale_q32(self) -> int:
        """63 over the F_b that has it (IEEE 802.1Qau), (2 w + 1) Q_eq, times 2^32. Rounded up, so that it does."""
        return -(-63 * 2**32 // ((2 * self.w + 1) * self.q_eq_bytes))

    @property
    def sample_range(self) -> tuple[int, int]:
        """15% less and more: QCN's jitter."""
        return round(self.sample_bytes * 0.85), round(self.sample_bytes * 1.15)


@dataclass(frozen=True)
class NpEcnPort:
    """One egress port's entries of np_ecn_config, which NP-ECN by time has: how far apart two dequeues can be while
    packets wait (real us), and which classes are marked. Raises ValueError for what can't work."""

    port: int
    gap_us: int
    lossless: int = LOSSLESS_CLASSES

    def __post_init__(self) -> None:
        if not 1 <= self.gap_us < 2**31:
            raise ValueError(f"a gap of {self.gap_us} us: it must be from 1 to 2^31 - 1")

    @property
    def actions(self) -> dict[int, str]:
        """By class. Strict priorities: any class above the lowest lossless one can keep a lossless one waiting."""
        lossless = [number for number in range(wire.CLASSES) if self.lossless >> number & 1]
        return {
            number: "set_np_ecn" if number in lossless else "goes_before"
            for number in range(min(lossless, default=wire.CLASSES), wire.CLASSES)
        }


@dataclass(frozen=True)
class SwitchPlan:
    """Everything that one switch is programmed with."""

    switch: str
    routes: tuple[Route | MultipathRoute, ...]
    pfc: tuple[PfcPort, ...]
    groups: tuple[PortGroup, ...] = ()
    red: tuple[RedPort, ...] = ()
    qcn: tuple[QcnPort, ...] = ()
    np_ecn: tuple[NpEcnPort, ...] = ()


def quantum_q16_us(rate_bps: float, dilation: float) -> int:
    """A pause quantum at a port of this nominal rate, in real us * 65536, rounded. Fits bit<32>, or raises."""
    value = round(QUANTUM_BITS * dilation / rate_bps * 1e6 * 65536)
    if not 1 <= value < 2**32:
        raise TopologyError(
            f"a pause quantum at {rate_bps:g} bit/s and k = {dilation:g} is {value / 65536:g} us: "
            "the data plane counts 1/65536 to 65535 us"
        )
    return value


def pfc_port(topology: Topology, switch: str, port: int, dilation: float) -> PfcPort:
    """A port's thresholds from the topology's parameters xoff_bytes, xon_bytes and pause_quanta."""
    try:
        return PfcPort(
            port,
            xoff_bytes=round(topology.number("xoff_bytes")),
            xon_bytes=round(topology.number("xon_bytes")),
            quanta=round(topology.number("pause_quanta")),
            quantum_q16_us=quantum_q16_us(topology.link_at(switch, port).rate_bps, dilation),
        )
    except ValueError as error:
        raise TopologyError(f"{switch}:{port}: {error}") from None


def red_port(port: int, parameters: DcqcnParameters) -> RedPort:
    """Raises TopologyError."""
    try:
        return RedPort(port, round(parameters.k_min_bytes), round(parameters.k_max_bytes), parameters.p_max)
    except ValueError as error:
        raise TopologyError(str(error)) from None


def qcn_port(port: int, parameters: QcnParameters) -> QcnPort:
    """Raises TopologyError."""
    try:
        return QcnPort(port, round(parameters.q_eq_bytes), round(parameters.w), round(parameters.sample_bytes))
    except ValueError as error:
        raise TopologyError(str(error)) from None


def gap_us(rate_bps: float, largest_frame_bytes: float, late_us: int = 0) -> int:
    """How far apart two dequeues at a port of this real rate can be while packets wait: the largest frame, PFC frames
    that may go before the next one, and how late the switch may be. Rounded up, as the data plane counts us."""
    return math.ceil((largest_frame_bytes + 2 * wire.PFC_LENGTH) * 8 / rate_bps * 1e6) + late_us


def np_ecn_port(
    topology: Topology, switch: str, port: int, dilation: float, parameters: PcnTimeParameters
) -> NpEcnPort:
    """Raises TopologyError."""
    rate_bps = topology.link_at(switch, port).rate_bps / dilation
    largest = max(parameters.largest_frame_bytes, topology.number("mtu_bytes"))
    try:
        return NpEcnPort(port, gap_us(rate_bps, largest, LATE_US if dilation > 1 else 0))
    except ValueError as error:
        raise TopologyError(f"{switch}:{port}: {error}") from None


def plan(topology: Topology, switch: str, dilation: float, scheme: object = None) -> SwitchPlan:
    """A switch's program from the topology and `scheme`, the scheme's parameters. Raises TopologyError."""
    topology.switch(switch)
    ports = topology.ports(switch)
    ways, groups = host_routes(topology, switch)
    return SwitchPlan(
        switch,
        routes=tuple(join(ways)),
        groups=tuple(groups),
        pfc=tuple(pfc_port(topology, switch, port, dilation) for port in ports),
        red=tuple(red_port(port, scheme) for port in ports) if isinstance(scheme, DcqcnParameters) else (),
        qcn=tuple(qcn_port(port, scheme) for port in ports) if isinstance(scheme, QcnParameters) else (),
        np_ecn=tuple(np_ecn_port(topology, switch, port, dilation, scheme) for port in ports)
        if isinstance(scheme, PcnTimeParameters)
        else (),
    )


def pfc_entry(port: PfcPort) -> TableEntry:
    return TableEntry(
        "pfc_config",
        match=TableMatch(port=port.port),
        action=TableAction(
            "set_pfc",
            xoff_bytes=port.xoff_bytes,
            xon_bytes=port.xon_bytes,
            quanta=port.quanta,
            refresh_us=port.refresh_us,
            quantum_q16_us=port.quantum_q16_us,
            lossless=port.lossless,
        ),
    )


def red_entry(port: RedPort) -> TableEntry:
    return TableEntry(
        "red_config",
        match=TableMatch(port=port.port),
        action=TableAction(
            "set_red", k_min_bytes=port.k_min_bytes, k_max_bytes=port.k_max_bytes, slope_q48=port.slope_q48
        ),
    )


def qcn_entry(port: QcnPort) -> TableEntry:
    sample_min, sample_max = port.sample_range
    return TableEntry(
        "qcn_config",
        match=TableMatch(port=port.port),
        action=TableAction(
            "set_qcn",
            q_eq_bytes=port.q_eq_bytes,
            w=port.w,
            scale_q32=port.scale_q32,
            sample_min_bytes=sample_min,
            sample_max_bytes=sample_max,
        ),
    )


def np_ecn_entries(port: NpEcnPort) -> list[TableEntry]:
    return [
        TableEntry(
            "np_ecn_config",
            match=TableMatch({"port": port.port, "class": number}),
            action=TableAction(action, gap_us=port.gap_us),
        )
        for number, action in port.actions.items()
    ]


def clone_sessions() -> list[CloneSession]:
    """Of every program and plan."""
    sessions = (PFC_CLONE_SESSION, CNM_CLONE_SESSION)
    return [CloneSession(session, replicas=[RECIRCULATION_PORT]) for session in sessions]


def agent_parameters(topology: Topology, scheme: Scheme) -> dict[str, float]:
    """What a topology says of its hosts' scheme. PCN's weights, and T: the largest RTT (6.2), but the paper's 50 us at
    least. Other schemes have their defaults."""
    if not issubclass(scheme.parameters, PcnParameters):
        return {}
    weights = {name: topology.number(name) for name in ("w_min", "w_max")}
    return {**weights, "period_s": max(topology.max_rtt_s(), PcnParameters().period_s)}


def entries(plan: SwitchPlan) -> list[TableEntry]:
    """All table entries of a plan."""
    return [
        *map(pfc_entry, plan.pfc),
        *map(red_entry, plan.red),
        *map(qcn_entry, plan.qcn),
        *(entry for port in plan.np_ecn for entry in np_ecn_entries(port)),
        *map(group_entry, plan.groups),
        *map(route_entry, plan.routes),
    ]


class Writable(Protocol):
    """A switch that takes entries by name: over P4Runtime, or in this process."""

    def insert(self, entries: Iterable[TableEntry | CloneSession]) -> None: ...


def program_switch(client: Writable, plan: SwitchPlan) -> None:
    """Writes a plan into a switch whose pipeline is set and whose tables are empty. The clone sessions come first: PFC
    works from the first packet on."""
    client.insert(clone_sessions())
    client.insert(entries(plan))
