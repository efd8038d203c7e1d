"""What a network that is up does now: every switch port and every flow, over the time between two
looks.

observer = Observer(lab)
time.sleep(1)
now = observer.look()
now.port("s1:2").queue_bytes, now.port("s1:2").utilisation
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from pcn.base.errors import LabError
from pcn.controller import interface_counters
from pcn.controller.constants import index
from pcn.controller.control_plane import Counter
from pcn.controller.errors import SwitchError, UnknownNameError
from pcn.lab import flows
from pcn.lab.inside.client import request
from pcn.lab.links import running_interfaces
from pcn.lab.pace import Overload, Pacing
from pcn.lab.running import Running
from pcn.topologies.model import Endpoint

# What a program may have; what it hasn't is None in `PortState`.
_COUNTERS = ("transmitted", "marked", "marked_ue", "pause_sent", "pause_received")
_REGISTERS = ("waiting_packets", "waiting_bytes", "held_bytes", "pn", "tx_paused", "xoff_sent")
_REQUIRED = ("transmitted", "pause_received", "waiting_packets", "waiting_bytes", "tx_paused")
GOING_ON = ("waiting", "sending", "idle")
"""States of flows that haven't ended; those of hosts without agents are idle or sending."""


@dataclass(frozen=True)
class PortState:
    """A switch's port, its lossless class. Rates are nominal, over the time since the last look;
    the rest is of now.

    `paused`: its neighbour pauses it; `pausing`: it pauses its neighbour. `pauses_sent_per_s` and
    `pauses_received_per_s` count PAUSE frames. `marked_share`, `marked_ue_share`: of the packets
    that left, those that this port marked CE, and UE. None: the switch's program doesn't have it.
    `up`: its link is; one that is down sends nothing. `lost`: frames that were to leave by it and
    didn't, since the switch started, as the link was down or a queue full; None if the switch
    doesn't count them (BMv2). `kept_pace`: its switch did, all the time since the last look. The
    totals count since the switch's program began. A program without these registers and counters
    (any P4 network's): the counters of the switch's interfaces give rate, totals sent, queue (of
    all classes, without bytes), loss and link.
    """

    port: str
    link: str
    queue_packets: int | None
    queue_bytes: int | None
    held_bytes: int | None
    pn: int | None
    paused: bool
    pausing: bool
    rate_bps: float
    utilisation: float
    marked_share: float | None
    marked_ue_share: float | None
    pauses_sent_per_s: float
    pauses_received_per_s: float
    up: bool = True
    lost: int | None = None
    kept_pace: bool = True
    sent_bytes_total: int | None = None
    sent_packets_total: int | None = None
    marked_packets_total: int | None = None
    marked_ue_packets_total: int | None = None
    pauses_sent_total: int | None = None
    pauses_received_total: int | None = None


@dataclass(frozen=True)
class FlowState:
    """A flow. `rate_bps` is what its scheme and its own limit let it send, and `window_bytes` in
    flight (None: it has no window), where `in_flight_bytes` are; `sent_bps` (of frames, at the
    sender; None: it isn't counted), goodput (of payload, at the receiver) and the shares of packets
    that arrive marked CE and UE are over the time since the last look. `kept_pace`: its hosts and
    all switches did, all that time. `src_port`: of a sender with several NICs the one by which it
    leaves, else None. A host without an agent, beside a switch that is seen by its interfaces, is a
    flow with its name as `id` and no `dst`: whole frames that it sends to all (`rate_bps`), and
    that it receives (`goodput_bps`)."""

    id: int | str
    src: str
    dst: str
    state: str
    rate_bps: float | None
    goodput_bps: float
    marked_share: float | None
    marked_ue_share: float | None
    kept_pace: bool = True
    window_bytes: float | None = None
    in_flight_bytes: int | None = 0
    src_port: int | None = None
    sent_bps: float | None = None

    @property
    def sender(self) -> str:
        """As `flows.sender_name`."""
        return flows.sender_name(self.src, self.src_port)


@dataclass(frozen=True)
class HostState:
    """A host's port: what its flows send into its link, bit/s over the time since the last look,
    and the share of the link's rate."""

    port: str
    rate_bps: float
    utilisation: float


@dataclass(frozen=True)
class Snapshot:
    """One look. `time_s` is the network's nominal time, `over_s` the nominal time since the last
    look. `overload`: the nodes that don't keep pace now; None: all do. `hosts`: those that have
    sent."""

    time_s: float
    over_s: float
    ports: tuple[PortState, ...]
    flows: tuple[FlowState, ...]
    overload: Overload | None = None
    hosts: tuple[HostState, ...] = ()

    def port(self, name: str) -> PortState:
        """Returns a port by its name, as "s1:2". Raises UnknownNameError."""
        for port in self.ports:
            if port.port == name:
                return port
        raise UnknownNameError("port", name, [port.port for port in self.ports])


class Observer:
    """Looks at a network. The first look, which rates count from, is when it is made."""

    def __init__(self, lab: Running, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: real seconds, which rates of ports are over, but those inside an engine, which
        are over its time. Those of flows are over the agents' own times."""
        self._lab = lab
        self._clock = clock
        self._began_s = self._now()
        self._since = _Since()
        self._switches = [switch.name for switch in lab.topology.switches]
        self._by_interface = {switch for switch in self._switches if self._lacks(switch)}
        self._received_bps: dict[Endpoint, float] = {}
        self._pacing = Pacing(lab.record)
        self._behind: frozenset[str] = frozenset()
        self.look()

    def _lacks(self, switch: str) -> bool:
        """Returns whether a switch's program, or one that isn't loaded yet, lacks the cells of a
        look. Raises LabError where the switch doesn't count by interface either (BMv2)."""
        client = self._lab.switches[switch]
        there: set[str] = set()
        with suppress(SwitchError):  # there is no program
            there = {*client.counters(), *client.registers()}
        missing = [name for name in _REQUIRED if name not in there]
        if missing and interface_counters.read(client) is None:
            raise LabError(
                f"{switch} runs a program without {', '.join(missing)}, of which a look at ports "
                f"consists; `pcn counters {switch}` and `pcn registers {switch}` print what it has"
            )
        return bool(missing)

    def look(self) -> Snapshot:
        """Returns everything as it is now. Raises LabError or AgentError."""
        over_s, _ = self._since.last("all", self._now(), {})
        self._behind = self._pacing.behind_since_last()
        ports = tuple(port for switch in self._switches for port in self._ports(switch))
        stats = flows.ask(self._lab.agents)
        flow_states = [
            self._flow(flow, stats.get(flow.dst, stats[flow.src]).now_s)
            for flow in flows.flows(self._lab.topology, stats)
        ]
        now_s = max((stat.now_s for stat in stats.values()), default=self._now() - self._began_s)
        hosts = (
            tuple(self._hosts({port.port: port for port in ports})) if self._by_interface else ()
        )
        sends = tuple(self._sends((*flow_states, *hosts)))
        return Snapshot(
            now_s, over_s, ports, (*flow_states, *hosts), self._pacing.overload(), sends
        )

    def _sends(self, flow_states: Iterable[FlowState]) -> Iterator[HostState]:
        """Yields what hosts send, of those with several NICs where their flows name them."""
        topology, sent = self._lab.topology, defaultdict[Endpoint, float](float)
        for flow in flow_states:
            ports = topology.ports(flow.src)
            if flow.sent_bps is not None and (flow.src_port is not None or len(ports) == 1):
                sent[Endpoint(flow.src, ports[0] if flow.src_port is None else flow.src_port)] += (
                    flow.sent_bps
                )
        for end, rate_bps in sent.items():
            yield HostState(
                str(end), rate_bps, rate_bps / topology.link_at(end.node, end.port).rate_bps
            )

    def _now(self) -> float:
        if self._lab.record.is_inside:
            return float(request(self._lab.record, "now"))
        return self._clock() / self._lab.record.dilation

    def _ports(self, switch: str) -> list[PortState]:
        """Returns the counters and registers of all ports of a switch, in one call."""
        client, topology = self._lab.switches[switch], self._lab.topology
        if switch in self._by_interface:
            return self._interfaces(switch)
        cells = {port: index(port) for port in topology.ports(switch)}
        wanted = list(cells.values())
        before = self._now()
        counters, registers = client.read_cells(
            [name for name in _COUNTERS if name in client.counters()],
            [name for name in _REGISTERS if name in client.registers()],
            wanted,
        )
        read_at_s = (before + self._now()) / 2
        # Again: what was marked meanwhile is among these, so that a share is of more packets rather
        # than of fewer.
        after = client.read_counters("transmitted", wanted)
        by_port = self._interface_states(switch, list(cells))
        return [
            self._port(
                Endpoint(switch, port),
                read_at_s,
                {name: cells[cell] for name, cells in counters.items()},
                after[cell].packets - counters["transmitted"][cell].packets,
                {name: cells[cell] for name, cells in registers.items()},
                by_port[port],
            )
            for port, cell in cells.items()
        ]

    def _interface_states(self, switch: str, ports: Iterable[int]) -> dict[int, _InterfaceState]:
        """Returns what isn't a program's of a switch's ports."""
        record = self._lab.record
        if record.is_inside:
            counted = request(record, "ports", switch=switch)
            return {port: _InterfaceState(**counted[str(port)]) for port in ports}
        discards = interface_counters.read(self._lab.switches[switch]) or {}
        interfaces = {port: Endpoint(switch, port).interface for port in ports}
        running = running_interfaces(record, switch, list(interfaces.values()))
        return {
            port: _InterfaceState(
                interface in running, discards[port].out_discards if port in discards else None
            )
            for port, interface in interfaces.items()
        }

    def _port(
        self,
        end: Endpoint,
        read_at_s: float,
        counters: Mapping[str, Counter],
        meanwhile: int,
        registers: Mapping[str, int],
        state: _InterfaceState,
    ) -> PortState:
        """Returns the state of a port. `meanwhile`: packets transmitted while the counters were
        read."""
        totals = {name: counter.packets for name, counter in counters.items()}
        if state.pause_sent is not None:
            totals["pause_sent"] = state.pause_sent
        over_s, new = self._since.last(
            str(end), read_at_s, {**totals, "bytes": counters["transmitted"].bytes or 0}
        )
        # The program counts what it gives to the port, which is lost there while the link is down.
        rate_bps = _per_s(8 * new["bytes"], over_s) if state.up else 0.0
        line_bps = self._lab.topology.link_at(end.node, end.port).rate_bps
        if self._lab.record.is_inside:
            # An engine's port can't send faster: what is above it is the moment of the reading
            rate_bps = min(rate_bps, line_bps)
        left = new["transmitted"] and new["transmitted"] + meanwhile
        return PortState(
            port=str(end),
            link=self._lab.topology.link_name(end.node, end.port),
            queue_packets=registers["waiting_packets"],
            queue_bytes=registers["waiting_bytes"],
            held_bytes=registers.get("held_bytes"),
            pn=registers.get("pn"),
            paused=bool(registers["tx_paused"]),
            pausing=bool(registers.get("xoff_sent")),
            rate_bps=rate_bps,
            utilisation=rate_bps / line_bps,
            marked_share=_share(new.get("marked"), left),
            marked_ue_share=_share(new.get("marked_ue"), left),
            pauses_sent_per_s=_per_s(new.get("pause_sent", 0), over_s),
            pauses_received_per_s=_per_s(new["pause_received"], over_s),
            up=state.up,
            lost=state.lost,
            kept_pace=end.node not in self._behind,
            sent_bytes_total=counters["transmitted"].bytes,
            sent_packets_total=totals["transmitted"],
            marked_packets_total=totals.get("marked"),
            marked_ue_packets_total=totals.get("marked_ue"),
            pauses_sent_total=totals.get("pause_sent"),
            pauses_received_total=totals["pause_received"],
        )

    def _interfaces(self, switch: str) -> list[PortState]:
        """Returns all ports of a switch by what it counts whatever its program, in one call."""
        before = self._now()
        counted = interface_counters.read(self._lab.switches[switch]) or {}
        read_at_s = (before + self._now()) / 2
        ends = [Endpoint(switch, port) for port in self._lab.topology.ports(switch)]
        return [self._interface(end, read_at_s, counted[end.port]) for end in ends]

    def _interface(
        self, end: Endpoint, read_at_s: float, counts: interface_counters.PortCounts
    ) -> PortState:
        totals = {"sent": counts.out_bytes, "received": counts.in_bytes}
        over_s, new = self._since.last(str(end), read_at_s, totals)
        self._received_bps[end] = _per_s(8 * new["received"], over_s)
        rate_bps = _per_s(8 * new["sent"], over_s)
        return PortState(
            port=str(end),
            link=self._lab.topology.link_name(end.node, end.port),
            queue_packets=counts.queued_packets,
            queue_bytes=None,
            held_bytes=None,
            pn=None,
            paused=False,
            pausing=False,
            rate_bps=rate_bps,
            utilisation=rate_bps / self._lab.topology.link_at(end.node, end.port).rate_bps,
            marked_share=None,
            marked_ue_share=None,
            pauses_sent_per_s=0.0,
            pauses_received_per_s=0.0,
            up=counts.up,
            lost=counts.out_discards,
            kept_pace=end.node not in self._behind,
            sent_bytes_total=counts.out_bytes,
            sent_packets_total=counts.out_packets,
        )

    def _hosts(self, ports: Mapping[str, PortState]) -> Iterator[FlowState]:
        """Yields hosts without agents, as flows: by the interfaces of switches that they are linked
        to."""
        topology, agents = self._lab.topology, set(self._lab.agents)
        for host in topology.hosts:
            peers = [topology.peer(host.name, port) for port in topology.ports(host.name)]
            ends = [peer for peer in peers if peer in self._received_bps]
            if not ends or host.name in agents:
                continue
            sends_bps = sum(self._received_bps[end] for end in ends)
            yield FlowState(
                id=host.name,
                src=host.name,
                dst="",
                state="sending" if sends_bps else "idle",
                rate_bps=sends_bps,
                sent_bps=sends_bps,
                goodput_bps=sum(ports[str(end)].rate_bps for end in ends),
                marked_share=None,
                marked_ue_share=None,
                kept_pace=all(ports[str(end)].kept_pace for end in ends),
            )

    def _flow(self, flow: flows.Flow, now_s: float) -> FlowState:
        totals = {
            "sent": flow.sent_bytes,
            "packets": flow.received_packets,
            "bytes": flow.received_payload_bytes,
            "marked": flow.marked,
            "marked_ue": flow.marked_ue,
        }
        over_s, new = self._since.last(f"flow {flow.id}", now_s, totals)
        return FlowState(
            id=flow.id,
            src=flow.src,
            dst=flow.dst,
            state=flow.state,
            rate_bps=flow.rate_bps if flow.state == "sending" else 0.0,
            goodput_bps=_per_s(8 * new["bytes"], over_s),
            marked_share=_share(new["marked"], new["packets"]),
            marked_ue_share=_share(new["marked_ue"], new["packets"]),
            kept_pace=self._behind.isdisjoint({flow.src, flow.dst, *self._switches}),
            window_bytes=flow.window_bytes,
            in_flight_bytes=flow.in_flight_bytes,
            src_port=flow.src_port,
            sent_bps=_per_s(8 * new["sent"], over_s),
        )


class _InterfaceState(NamedTuple):
    """Of a port, beside its program: whether its link is up, what it lost, and, where PFC is the
    engine's, its PAUSE frames."""

    up: bool
    lost: int | None
    pause_sent: int | None = None


class _Since:
    """What was counted since the last time, by whose counters they are."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, Mapping[str, int]]] = {}

    def last(
        self, whose: str, now_s: float, totals: Mapping[str, int]
    ) -> tuple[float, dict[str, int]]:
        """Returns the seconds since, and by how much each total grew. The first time, and after a
        reset: 0, and nothing."""
        then_s, before = self._seen.get(whose, (now_s, totals))
        if now_s < then_s or any(totals[name] < before[name] for name in totals):
            then_s, before = now_s, totals
        self._seen[whose] = (now_s, totals)
        return now_s - then_s, {name: totals[name] - before[name] for name in totals}


def _per_s(count: float, over_s: float) -> float:
    return count / over_s if over_s else 0.0


def _share(part: int | None, whole: int) -> float | None:
    return part / whole if part is not None and whole else None
