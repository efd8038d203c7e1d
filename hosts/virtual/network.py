"""A topology in virtual time as the RDMA lab has it: a scheme's program on all switches, its RPs
and NPs at the hosts.

Python decides what the algorithms decide, a few times in a window of each flow; the engine does all
else.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcn.base import memory, signals
from pcn.base.errors import error_text, nearest
from pcn.controller import marking
from pcn.controller.configure import Programmer, packet_generator, plan, require_tables
from pcn.controller.constants import WAITING
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.pfc import PfcPort
from pcn.controller.programs import Program
from pcn.hosts import wire
from pcn.hosts.algorithms import (
    Ack,
    Cnm,
    Cnp,
    Configured,
    Demand,
    Grant,
    Hop,
    Loss,
    Mark,
    Telemetry,
    Turn,
    Window,
)
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability
from pcn.hosts.virtual.explain import Explanations
from pcn.hosts.virtual.flow_maker import Array, FlowMaker, Wanted
from pcn.hosts.virtual.flows import FlowBatch, FlowList, VirtualFlow, VirtualFlows
from pcn.hosts.virtual.latency import BUCKETS, Latency
from pcn.hosts.virtual.memory import Memory
from pcn.hosts.virtual.native import (
    NO_GROUP,
    OF_GROUP,
    OF_RECEIVERS,
    SENDER_SOURCES,
    FlowStats,
    parts,
)
from pcn.hosts.virtual.nics import Nics
from pcn.hosts.virtual.paths import FlowPaths
from pcn.hosts.virtual.reroute import Reroute
from pcn.hosts.virtual.sources import Sources
from pcn.topologies import headroom, queue_depth
from pcn.topologies.ecn import COLOURS, GREEN
from pcn.topologies.flow_columns import FlowColumns
from pcn.topologies.lossless import CONTROL_CLASS, CREDITS
from pcn.topologies.model import Endpoint, FlowSpec, Topology
from pcn.topologies.routing import Routing
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.parts import Part, Transport
from pcn.virtualnet.samples import Source
from pcn.virtualnet.switch import LoadedProgram, VirtualSwitch, load, room_for
from pcn.virtualnet.timed import TimedNetwork
from pcn.virtualnet.times import picoseconds

_T = TypeVar("_T")
_CLASSES = (Window, Cnp, Cnm, Ack, Loss, Telemetry, Hop, Demand, Grant)
_MARKS = tuple(map(Mark, range(4)))
_TURNS = tuple(Turn)
_TOGETHER = 1 << 15
"""Flows that one call adds: what it needs of each is freed then."""
_PORT_MAC = 0x02_50_43_4E_00_00


def _there_already(number: int) -> VirtualError:
    """Returns the error; so does `_over`."""
    return VirtualError(f"flow {number} is there already")


def _over(number: int, start_s: float) -> VirtualError:
    return VirtualError(f"flow {number} starts at {start_s:g} s, which is over")


def _both_ends(
    n: int,
    parts: Iterable[tuple[list[int], NDArray[Any]]],
    senders: NDArray[Any],
    receivers: NDArray[Any],
) -> NDArray[Any]:
    """Returns `n` flows' counts, of each field from the process that has that end; packets are lost
    anywhere. `parts`: by process flows' numbers, and their rows there."""
    rows = np.zeros(n, np.dtype(FlowStats))
    for process, (which, of) in enumerate(parts):
        flows = np.array(which, np.int64)
        for name in rows.dtype.names:
            if name == "lost":
                rows[name][flows] += of[name]
                continue
            here = (receivers if name in OF_RECEIVERS else senders)[flows] == process
            rows[name][flows[here]] = of[name][here]
    return rows


class VirtualNetwork(TimedNetwork, Sources, Explanations):
    """All switches run `program` (the scheme's, with native PFC) and are programmed as live ones
    are.

    `response_s`: from the arrival of a PFC frame to its effect. `pfc` False: no PFC outside the
    program, for those that do it themselves. `cpu_port`: of every switch, by which packets come
    from its controller and go there; 0: none. `notification_class`: of CNPs and ACKs; None: their
    flow's, where they are Not-ECT unless they echo a mark. `reliability`: by class, what its flows
    do about lost packets; those of other classes what the scheme's RP has, which for most is
    nothing. `cnp_delay_s`: how long a NIC takes to make a CNP, from its NP's decision on. `tick_s`:
    frames on links and the gaps of paced flows take whole multiples of it, cut off, and at least
    one, as in simulators whose clocks tick; 0: no such clock, times are exact to the picosecond.
    `switch_tick_s`: of the clock that programs of switches read, 1 ns to 1 us, in whole ns; None:
    as the scheme's marking points have it. `reroute_s`: how long after a link went down or up
    routes change everywhere; None: they don't. `paths`: which of equal paths packets take; None: as
    the scheme's RP does, or by flow. No result depends on the rest: `queues` is how events wait for
    their turn, each node's by themselves or all in one queue; `inplace` False takes the program's
    general form; `prefetch` False doesn't fetch the state of coming events into the processor's
    caches; `threads` run it; `in_c` False runs RPs and NPs in Python even where their classes name
    C files; `explain` accounts for each flow's time (`explained`), at some cost. `transport`: of
    several processes that share the network (docs/virtualnet.md): each has the switches of its part
    alone in `switches`, makes the same calls, and `gather` brings the counts together. A context
    manager. Raises LabError.
    """

    def __init__(
        self,
        topology: Topology,
        scheme: Configured,
        *,
        program: str | LoadedProgram | None = None,
        seed: int = 1,
        payload_bytes: int = 1000,
        response_s: float = 0.0,
        pfc: bool = True,
        queues: Literal["nodes", "one"] = "nodes",
        inplace: bool = True,
        prefetch: bool = True,
        threads: int = 1,
        in_c: bool = True,
        cpu_port: int = 0,
        reliability: Mapping[int, Reliability] = MappingProxyType({}),
        paths: Paths | None = None,
        notification_class: int | None = CONTROL_CLASS,
        reroute_s: float | None = None,
        cnp_delay_s: float = 0.0,
        tick_s: float = 0.0,
        explain: bool = False,
        switch_tick_s: float | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.topology = topology
        self.scheme = scheme
        self.switches: dict[str, InProcessSwitch] = {}
        self.on_rate: Callable[[VirtualFlow, float], None] | None = None
        """Called after an RP's event: the flow, and simulated seconds. Other nodes are up to two
        links' delays ahead or behind, so the network can't be changed from here, or from
        `on_window`: `at` calls what may."""
        self.on_window: Callable[[VirtualFlow, float, Window, Cnp | None], None] | None = None
        """Called after an NP's window: the flow, simulated seconds, the window, and what the NP
        made of it."""
        self.failures: dict[tuple[int, str], str] = {}
        """What RPs and NPs raised that ended no run (`survive`), by flow and "RP" or "NP": of an RP
        the flow was stopped, of an NP it goes on without CNPs."""
        self._tick_ns = round(
            (marking.tick_s(scheme.scheme.marking) if switch_tick_s is None else switch_tick_s)
            * 1e9
        )
        self.switch_tick_s = self._tick_ns / 1e9
        self._maker = FlowMaker(scheme, seed, payload_bytes, in_c, paths, notification_class)
        self._reliability = reliability
        self._groups: dict[str, int] = {}
        self._reroute: Reroute | None = None
        self._all_flow_stats: NDArray[Any] | None = None
        if topology.flow_control == CREDITS and not pfc:
            raise VirtualError(
                f"{topology.name}: credits are counted by switches themselves, not by a program"
            )
        part = None
        if transport is not None:
            part = self._part = self._share(transport, explain, cpu_port, reroute_s)
        virtual_switches: dict[str, VirtualSwitch] = {}
        for switch in topology.switches:
            if switch.output is not None and not pfc:
                raise VirtualError(
                    f"{switch.name}: output buffers need PFC by the switch itself, not by a program"
                )
            if (switch.buffer is not None or switch.watchdog is not None) and not pfc:
                raise VirtualError(
                    f"{switch.name}: its buffer and its watchdog need PFC by the switch itself, "
                    "not by a program"
                )
        frame_bytes = wire.data_bytes(payload_bytes, False, False)
        if pfc and (small := list(headroom.faults(topology, frame_bytes, response_s))):
            raise VirtualError("\n".join(small))
        try:
            if not isinstance(program, LoadedProgram):
                compiled = (
                    Program.compiled(program)
                    if program
                    else Program.find(scheme.scheme.program, native=True)
                )
                require_tables(compiled, scheme.scheme)
                program = load(compiled, inplace)
            whose = f"{len(topology.hosts):,} hosts, {len(topology.switches):,} switches"
            way_out = "take a smaller network, or a machine with more"
            needs = Memory(explain, part.n if part else 1).network(topology)
            memory.require(whose, needs, way_out)
            room_for(len(topology.switches))
            for switch in topology.switches:
                if part is not None and not part.holds(switch.name):
                    continue
                if cpu_port and cpu_port in topology.ports(switch.name):
                    raise VirtualError(
                        f"{switch.name}: port {cpu_port} is its CPU port, and has a link"
                    )
                virtual_switches[switch.name] = VirtualSwitch(
                    switch.name, program, seed + switch.device_id, cpu_port, tick_ns=self._tick_ns
                )
                self.switches[switch.name] = InProcessSwitch(
                    switch.name, virtual_switches[switch.name]
                )
            super().__init__(
                topology,
                {name: virtual_switch.native for name, virtual_switch in virtual_switches.items()},
                endpoints=("rdma",),
                response_s=response_s,
                queues=queues,
                prefetch=prefetch,
                threads=threads,
                parts=parts(explain),
                part=part,
            )
            self._by_index = FlowList(self._library, self._alive)
            self.flows = VirtualFlows(self._by_index, self._unknown_flow)
            for virtual_switch in virtual_switches.values():
                virtual_switch.join(self)
            if explain:
                self.call("vn_explain", reroute_s is not None or not pfc)
            if tick_s:
                if not 0 < tick_s < 1e-3:
                    raise VirtualError(
                        f"a tick of {tick_s:g} s: more than 0 and less than 1 ms is possible"
                    )
                self._check(
                    self._library.vn_set_tick(self._changing(), max(picoseconds(tick_s), 1))
                )
            self._configure(pfc)
            if not 0 <= cnp_delay_s < math.inf:
                raise VirtualError(f"a CNP takes {cnp_delay_s:g} s: 0 or more are possible")
            self.call("vn_set_cnp_delay", picoseconds(cnp_delay_s))
            self.call("vn_set_telemetry_tick", self._tick_ns / 1e9)
            if reroute_s is not None:
                if not pfc:
                    raise VirtualError(
                        "routes change with PFC by the switch itself alone, not by a program"
                    )
                self._reroute = Reroute(self, self.switches, self.route_flows, reroute_s)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Frees the engine and the switches. Samples stay readable."""
        super().close()
        for switch in self.switches.values():
            switch.close()

    def add_flow(
        self,
        spec: FlowSpec,
        start_s: float | None = None,
        end_s: float | None = None,
        paths: Paths | None = None,
    ) -> VirtualFlow:
        """Returns a flow between hosts of the topology, from `start_s` (simulated seconds; default:
        the spec's) to `end_s` (default: the spec's duration later). One that waits for others,
        which are there already and haven't arrived, starts `start_s` after them. `paths`: default:
        the network's."""
        if spec.after or self._part is not None:
            return self.add_flows([(spec, start_s, end_s)], paths)[0]
        handle, index = self._changing(), len(self._by_index)
        if spec.id in self.flows.places:
            raise _there_already(spec.id)
        start_s = spec.start_s if start_s is None else start_s
        if start_s < self.now_s:
            raise _over(spec.id, start_s)
        if end_s is None and spec.duration_s is not None:
            end_s = start_s + spec.duration_s
        self._require_class(spec)
        nics = self._nics.between(spec.src, spec.dst, spec.id)
        group = self._groups.get(spec.group, len(self._groups)) if spec.group else NO_GROUP
        batch = self._maker.make_single(
            spec, nics, (start_s, end_s), group, self.topology.host_places, self._reliability, paths
        )
        if not self._library.vn_add_flows(
            handle, batch.configs.ctypes.data, 1, batch.rps, batch.nps
        ):
            raise VirtualError(self._library.vn_error(handle).decode())
        batch.added()
        if spec.group:
            self._groups[spec.group] = group
        self._by_index.add(batch, 1)
        self.flows.places[spec.id] = index
        return self._by_index[index]

    def add_flows(
        self,
        flows: Iterable[tuple[FlowSpec, float | None, float | None]],
        paths: Paths | None = None,
    ) -> Sequence[VirtualFlow]:
        """Returns flows in their order, each as `add_flow` has it with a start and an end. Raises
        VirtualError; flows before the one that it names may be there then."""
        first, rest = len(self._by_index), iter(flows)
        while part := list(islice(rest, _TOGETHER)):
            specs = [spec for spec, _, _ in part]
            start_s = [spec.start_s if start is None else start for spec, start, _ in part]
            end_s = [math.nan if end is None else end for _, _, end in part]
            self._maker.check(specs)
            columns = FlowColumns.of(specs, self.topology.host_places)
            self.add_columns(columns, np.array(start_s, float), np.array(end_s, float), paths)
        return self._by_index[first:]

    def add_columns(
        self, columns: FlowColumns, start_s: Array, end_s: Array, paths: Paths | None = None
    ) -> Sequence[VirtualFlow]:
        """Returns flows as `add_flows` does, of which there may be hundreds of thousands; hosts are
        by their places in the topology. `end_s`: NaN: the spec's duration later. Raises
        VirtualError."""
        before = len(self._by_index)
        for first in range(0, len(columns), _TOGETHER):
            part = slice(first, first + _TOGETHER)
            self._add_together(columns.part(first, part.stop), start_s[part], end_s[part], paths)
        return self._by_index[before:]

    def _unknown_flow(self, number: int) -> VirtualError:
        return VirtualError(f"no flow {number}; {nearest(str(number), map(str, self.flows))}")

    def stop_flow(self, number: int) -> None:
        """The flow starts no further frame; what has started arrives."""
        self._check(self._library.vn_stop_flow(self._changing(), self.flows[number].index))

    def set_ports(self, number: int, port: int | None = None, back_port: int | None = None) -> None:
        """Has a flow's data leave its sender by this port from now on, and CNPs and ACKs its
        receiver by `back_port`; None: as before. What waits at the old ones stays there. Raises
        LabError."""
        flow = self.flows[number]
        port = flow.port if port is None else port
        back_port = flow.back_port if back_port is None else back_port
        ends = Endpoint(flow.spec.src, port), Endpoint(flow.spec.dst, back_port)
        for end in ends:
            self.topology.link_at(end.node, end.port)  # raises
        self._check(
            self._library.vn_flow_ports(
                self._changing(), flow.index, *(self._links[end] for end in ends)
            )
        )
        flow.port, flow.back_port = port, back_port

    def route_flows(self, routing: Routing) -> None:
        """Has hosts send by this routing from now on: flows of a port that leads nowhere go by
        another one until it does."""
        self._nics.route(routing)
        for number, flow in self.flows.items():
            src, dst = flow.spec.src, flow.spec.dst
            if self._nics.has_several(src) or self._nics.has_several(dst):
                leaving, back = self._nics.between(src, dst, number)
                self.set_ports(number, leaving.end.port, back.end.port)

    def set_pfc(self, switch: str, port: PfcPort) -> None:
        """PFC of a switch's port, by itself; while the network runs its lossless classes stay.
        Raises VirtualError."""
        self.protect(
            switch, port.port, xoff_bytes=port.xoff_bytes, xon_bytes=port.xon_bytes,
            quanta=port.quanta,
            refresh_s=port.refresh_us * self._tick_ns / 1e9, classes=port.lossless,
            mac=(_PORT_MAC | port.port).to_bytes(6, "big"),
        )  # fmt: skip

    def set_link(
        self, node: str, port: int, *, rate_bps: float | None = None, up: bool | None = None
    ) -> None:
        """As of every network; with `reroute_s` routes change, and a switch loses what is to leave
        by a link that is down."""
        super().set_link(node, port, rate_bps=rate_bps, up=up)
        if up is not None and self._reroute is not None:
            self._reroute.link_changed(node, port, up)

    def flow_stats(self, part: slice = slice(None)) -> NDArray[Any]:
        """Counts of all flows, or of those of a `part` of successive ones, in the order in which
        they were added: a row each of `FlowStats`' fields as the engine has them, times in ps
        (NEVER: not yet)."""
        if self._all_flow_stats is not None:
            return self._all_flow_stats[part]
        indices = range(len(self._by_index))[part]
        rows = np.empty(len(indices), np.dtype(FlowStats))
        self._check(
            self._library.vn_flow_stats(self._alive(), indices.start, rows.size, rows.ctypes.data)
        )
        return rows

    def flow_ports(self) -> NDArray[np.int32]:
        """Returns by which ports flows' data leaves their senders now, CNPs and ACKs their
        receivers: a row of two each, in the order in which they were added."""
        return self._by_index.ports()

    def log_paths(self) -> None:
        """Logs from now on by which port each flow's data first leaves each switch."""
        self._only_in_one("paths are logged at all switches of a flow")
        self._check(self._library.vn_log_paths(self._changing()))

    def set_paths(self, paths: FlowPaths) -> None:
        """The data of these flows, which are there, leaves switches by these ports, whatever
        programs choose, and its sender by one of that host's; from the next packet on. Raises
        VirtualError."""
        for number, ends in paths.items():
            if number not in self.flows:
                raise VirtualError(f"a path of flow {number}: no such flow")
            for end in ends:
                self.topology.link_at(end.node, end.port)  # raises
                if end.node == self.flows[number].spec.src:
                    self.set_ports(number, end.port)
                    continue
                index = self.flows.place(number)
                try:
                    self._check(
                        self._library.vn_set_path(self._changing(), index, self._links[end])
                    )
                except VirtualError as error:
                    raise VirtualError(f"a path of flow {number} by {end}: {error}") from None

    def paths(self) -> dict[int, tuple[Endpoint, ...]]:
        """Returns the paths of all flows, logged and set: the sender's port, if it has several, the
        ports of switches in order, and last the ports of switches off that way, by name."""
        ends = tuple(self._links)  # in the order of their numbers
        links = ctypes.POINTER(ctypes.c_uint32)()
        paths = {}
        for number, flow in self.flows.items():
            n = self._library.vn_path(self._alive(), flow.index, ctypes.byref(links))
            hops = {
                end.node: end for end in sorted((ends[links[hop]] for hop in range(n)), key=str)
            }
            host, node = flow.spec.src, self.topology.peer(flow.spec.src, flow.port).node
            way = [Endpoint(host, flow.port)] if len(self.topology.ports(host)) > 1 else []
            while node in hops:
                way.append(hops.pop(node))
                node = self.topology.peer(node, way[-1].port).node
            paths[number] = (*way, *hops.values())
        return paths

    def measure_latency(self) -> None:
        """Measures how long each data packet takes; before any is sent."""
        self._only_in_one("latency is measured at all hosts")
        self._check(self._library.vn_measure_latency(self._changing()))

    def latency(self, traffic_class: int) -> Latency:
        """Returns the latency of a class's packets that have arrived so far. Raises VirtualError
        where it isn't measured."""
        counts = self._library.vn_latency(self._alive(), traffic_class)
        if not counts:
            raise VirtualError(
                f"class {traffic_class}: no latency was measured: call measure_latency before the "
                "run"
            )
        return Latency(np.ctypeslib.as_array(counts, (BUCKETS,)).astype(np.int64))

    # ---- of several processes ----

    def layout(self, switch: str) -> InProcessSwitch:
        """Returns the switch or, where another process has it, one with the same program: what its
        registers and counters are called, and where they are."""
        return self.switches.get(switch) or next(iter(self.switches.values()))

    def received_packets(self) -> int:
        """Returns how many packets of data have arrived, at hosts of all processes."""
        received = int(self.flow_stats()["received"].sum())
        return received if self._part is None else sum(self._part.shared(received))

    def collected(self, read: Mapping[str, _T]) -> dict[str, _T]:
        """Returns what this process has read by name, of its switches; in the first process what
        all have, in the topology's order."""
        if self._part is None:
            return dict(read)
        everything: dict[str, _T] = {}
        for part in self._part.gather(read):
            everything |= part
        return {
            switch.name: everything[switch.name]
            for switch in self.topology.switches
            if switch.name in everything
        }

    def gather(self) -> bool:
        """Brings flows' counts together, too."""
        part = self._part
        if part is None:
            return True
        rows = self.flow_stats()
        owners = np.array([part.owner(host.name) for host in self.topology.hosts])
        flows = [*self._by_index.columns()]
        senders, receivers = (
            owners[np.concatenate([getattr(of, end) for of in flows] or [[]]).astype(int)]
            for end in ("src", "dst")
        )
        here = np.flatnonzero(
            (senders == part.number) | (receivers == part.number) | (rows["lost"] > 0)
        )
        gathered = part.gather((here, rows[here]))
        if gathered:
            self._all_flow_stats = _both_ends(len(rows), gathered, senders, receivers)
        return super().gather()

    def _share(
        self, transport: Transport, explain: bool, cpu_port: int, reroute_s: float | None
    ) -> Part:
        """Returns this process's part. Raises VirtualError for what needs all nodes in one."""
        for wanted, reason in (
            (explain, "a flow's time is explained by what both its ends have seen"),
            (cpu_port, "CPU ports lead to controllers, which have all switches"),
            (reroute_s is not None, "routes change everywhere at once"),
        ):
            if wanted:
                raise VirtualError(f"{reason}: run it in one process, without mpirun")
        return Part.of(self.topology, transport, native.engine(parts(explain)))

    def _owner_of(self, source: Source) -> int | None:
        assert self._part is not None
        if source.source < native.OF_ENDPOINTS:
            return super()._owner_of(source)
        if source.number == OF_GROUP:
            return None
        spec = self._by_index.spec(source.object)
        return self._part.owner(spec.src if source.source in SENDER_SOURCES else spec.dst)

    # ---- inside ----

    def _add_together(
        self, columns: FlowColumns, start_s: Array, end_s: Array, paths: Paths | None
    ) -> None:
        handle, first, n = self._changing(), len(self._by_index), 0
        places = dict(zip(columns.ids.tolist(), range(first, first + len(columns)), strict=True))
        self._require_new(columns, places)
        self.flows.places |= places  # those behind may wait for them
        try:
            batch = self._make(columns, first, start_s, end_s, paths)
            n = self._library.vn_add_flows(
                handle, batch.configs.ctypes.data, len(columns), batch.rps, batch.nps
            )
            batch.added()
            self._by_index.add(batch, n)
            if n < len(columns):
                raise VirtualError(self._library.vn_error(handle).decode())
        finally:
            if n < len(columns):
                for number in columns.ids[n:].tolist():
                    del self.flows.places[number]
                groups = {
                    part.groups[group]
                    for part in self._by_index.columns()
                    for group in np.unique(part.group).tolist()
                }
                self._groups = {
                    name: number for name, number in self._groups.items() if name in groups
                }
        for at in np.flatnonzero(columns.waits).tolist():
            self._wait(columns.specs[at], first + at, picoseconds(float(start_s[at])))

    def _wait(self, spec: FlowSpec, index: int, start_ps: int) -> None:
        """Has a flow that is there start after others."""
        if not self.holds(spec.src):
            return
        delays_s, least_ps = spec.after_s, start_ps if spec.after_s else 0
        acknowledged = frozenset(spec.acknowledged)
        for place, predecessor in enumerate(spec.after):
            delay_ps = picoseconds(delays_s[place]) if delays_s else start_ps
            before = self.flows.place(predecessor)
            back_ps = (
                self._back_ps(self._by_index.spec(before))
                if predecessor in acknowledged
                else native.NEVER
            )
            self._check(
                self._library.vn_flow_after(
                    self._handle, index, before, delay_ps, back_ps, least_ps
                )
            )

    def _require_new(self, columns: FlowColumns, places: Mapping[int, int]) -> None:
        """Raises VirtualError for the first flow whose number another one has."""
        if len(places) == len(columns) and self.flows.places.keys().isdisjoint(places):
            return
        seen = set(self.flows.places)
        for number in columns.ids.tolist():
            if number in seen:
                raise _there_already(number)
            seen.add(number)

    def _back_ps(self, spec: FlowSpec) -> int:
        """Returns how long an acknowledgement takes from a flow's receiver where nothing waits."""
        trail = self.topology.trail(spec.dst, spec.src)
        return picoseconds(
            sum(delay_s + 8 * wire.ACK_BYTES / rate_bps for rate_bps, delay_s in trail)
        )

    def _make(
        self, columns: FlowColumns, first: int, start_s: Array, end_s: Array, paths: Paths | None
    ) -> FlowBatch:
        """Returns flows to be added, `first` being the index of the first. Raises VirtualError."""
        specs, waits = columns.specs, columns.waits
        for at in np.flatnonzero(waits).tolist():
            self._require_waiting(columns, at, first, float(start_s[at]))
        if (over := ~waits & (start_s < self.now_s)).any():
            at = int(np.argmax(over))
            raise _over(specs[at].id, float(start_s[at]))
        lasting = ~waits & np.isnan(end_s)
        end_s = np.where(lasting, start_s + columns.duration_s, end_s)
        self._require_classes(columns)
        holds = self._hosts_here
        leaving, back = self._nics.of_flows(columns)
        here = holds[columns.src] | holds[columns.dst]
        groups = [
            self._groups.setdefault(name, len(self._groups)) if name else NO_GROUP
            for name in (columns.groups[group] for group in dict.fromkeys(columns.group.tolist()))
        ]
        numbers = np.zeros(len(columns.groups), np.uint32)
        numbers[[*dict.fromkeys(columns.group.tolist())]] = groups
        batch = self._maker.make(
            Wanted(
                columns, self._nics.columns, leaving, back, np.where(waits, np.nan, start_s),
                end_s, numbers[columns.group], here, self._reliability, paths,
            )
        )  # fmt: skip
        if self._part is not None and batch.in_python is not None:
            self._only_in_one(
                f"flow {specs[batch.in_python].id}: {self.scheme.scheme.name} runs in Python, "
                "where flows of several processes may share state"
            )
        return batch

    @cached_property
    def _hosts_here(self) -> NDArray[np.bool_]:
        """Whether this process has each host, in the topology's order."""
        return np.array([self.holds(host.name) for host in self.topology.hosts], bool)

    def _require_classes(self, columns: FlowColumns) -> None:
        """Raises VirtualError for a flow of a class or a colour that it can't have."""
        pairs = columns.traffic_class * len(columns.colours) + columns.colour
        for first in sorted(np.unique(pairs, return_index=True)[1].tolist()):
            self._require_class(columns.specs[first])

    def _require_class(self, spec: FlowSpec) -> None:
        traffic_class, colour = spec.traffic_class, spec.colour
        why = ""
        if not 0 <= traffic_class < native.CLASSES:
            why = f"class {traffic_class}: 0 to {native.CLASSES - 1} are possible"
        elif colour != GREEN and not (colour in COLOURS and 0 < traffic_class < 5):
            why = f"{colour} in class {traffic_class}: classes 1 to 4 have colours"
        why = why or without_signal(self.topology, self.scheme.scheme, traffic_class)
        if why:
            raise VirtualError(f"flow {spec.id}: {why}")

    def _require_waiting(self, columns: FlowColumns, at: int, first: int, delay_s: float) -> None:
        """Raises VirtualError where a flow can't wait for those of its `after`; `first`: the index
        of the first one of `columns`."""
        spec, index = columns.specs[at], first + at
        if spec.duration_s is not None:
            raise VirtualError(f"flow {spec.id} waits for others: it has a size, and no duration")
        for one_s in (delay_s, *spec.after_s):
            if not 0 <= one_s < math.inf:
                raise VirtualError(
                    f"flow {spec.id} starts {one_s:g} s after others: 0 or later is possible"
                )
        for predecessor in spec.after:
            before = self.flows.places.get(predecessor, index)
            if before >= index:
                raise VirtualError(
                    f"flow {spec.id} waits for flow {predecessor}: add that one before it"
                )
            there = before < len(self._by_index)
            earlier = self._by_index.spec(before) if there else columns.specs[before - first]
            ends = [earlier.dst, *[earlier.src] * (predecessor in spec.acknowledged)]
            for end in ends:
                if self._part and self._part.owner(end) != self._part.owner(spec.src):
                    self._only_in_one(
                        f"flow {spec.id} of {spec.src} starts when flow {predecessor} is over at "
                        f"{end}, in another process: no link's delay is between them"
                    )
            arrived = there and self.now_s > 0 and self.holds(earlier.dst)
            if earlier.size_bytes is None or (
                arrived and self._by_index[before].stats().complete_s is not None
            ):
                raise VirtualError(
                    f"flow {spec.id} waits for flow {predecessor}, which has arrived, or "
                    "never does whole"
                )

    def _prepare(self) -> None:
        self._check(self._library.vn_rdma(self._handle, _CLASSES, _MARKS, _TURNS))

    def _before_events(self) -> object:
        if self.on_rate is not None or self.on_window is not None:
            self._only_in_one("on_rate and on_window see the flows of all nodes")
        # the engine holds no reference
        calls = self._by_index, self.on_window, self.on_rate, self._note_failure
        self._library.vn_rdma_calls(self._alive(), *calls)
        return calls

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[Callable[[], None]]:
        """Yields a check: Ctrl-C never comes in the middle of a callback."""
        with signals.deferred(once=True) as signal:
            yield signal.check

    def _note_failure(self, flow: VirtualFlow, now_s: float, of_np: bool, error: Exception) -> None:
        self.failures[flow.spec.id, "NP" if of_np else "RP"] = error_text(error)

    def _raiser(self, error: Exception) -> str:
        if self._exchange.reason != native.CALLBACK:
            return super()._raiser(error)
        end = "NP" if self._exchange.np else "RP"
        return f"{end} of flow {self._by_index.spec(self._exchange.flow).id}"

    def _configure(self, pfc: bool) -> None:
        """Programs the switches by the scheme's plan."""
        self._nics = Nics(self.topology, self._links)
        programmer = Programmer()
        for name, control_plane in self.switches.items():
            planned = plan(self.topology, name, 1.0, self.scheme, self._tick_ns)
            programmer.program(control_plane, planned)
            if set(WAITING) <= set(control_plane.registers()):
                self.call(
                    "vn_count_waiting",
                    self._nodes[name],
                    *(control_plane.register(register).c_index for register in WAITING),
                )
            generator = packet_generator(self.topology, name, 1.0, self.scheme)
            if generator is not None:
                control_plane.native.generate(
                    generator.port, generator.period_us * 1000, generator.packet_ids
                )
            for port in planned.pfc if pfc else ():
                self.set_pfc(name, port)
            shared = self.topology.switch(name).buffer
            if shared is not None:
                self.share_buffer(name, shared, self.topology.lossless_classes)
        lossless, depth = (
            self.topology.lossless_classes,
            queue_depth.queue_packets(self.topology.parameters),
        )
        limited = [
            traffic_class
            for traffic_class in range(CONTROL_CLASS)
            if depth and traffic_class not in lossless
        ]
        for switch in self.topology.switches:  # behind all that is built
            if not self.holds(switch.name):
                continue
            for number in self.topology.ports(switch.name):
                for traffic_class in limited:
                    self.set_queue(switch.name, number, traffic_class, depth=depth)
                schedule = switch.schedule(number)
                if schedule is not None and any(schedule.weights):
                    self.set_weights(switch.name, number, schedule.weights)
                if schedule is not None and schedule.caps_bps:
                    self.set_caps(switch.name, number, schedule.caps_bps)
                if switch.watchdog is not None and switch.watchdog.applies(number):
                    self.set_watchdog(switch.name, number, switch.watchdog)
