"""A topology in virtual time as the RDMA lab has it: a scheme's program on all switches, its RPs
and NPs at the hosts.

Python decides what the algorithms decide, a few times in a window of each flow; the engine does all
else.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability
from pcn.hosts.virtual.additions import Additions
from pcn.hosts.virtual.explain import Explanations
from pcn.hosts.virtual.flow_maker import FlowMaker
from pcn.hosts.virtual.flows import FlowList, VirtualFlow, VirtualFlows
from pcn.hosts.virtual.latency import BUCKETS, Latency
from pcn.hosts.virtual.memory import Memory
from pcn.hosts.virtual.native import (
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
from pcn.topologies.lossless import CONTROL_CLASS, CREDITS
from pcn.topologies.model import Endpoint, Topology
from pcn.topologies.routing import Routing
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.parts import Part, Transport
from pcn.virtualnet.samples import Source
from pcn.virtualnet.switch import LoadedProgram, VirtualSwitch, load
from pcn.virtualnet.timed import TimedNetwork
from pcn.virtualnet.times import picoseconds

_T = TypeVar("_T")
_CLASSES = (Window, Cnp, Cnm, Ack, Loss, Telemetry, Hop, Demand, Grant)
_MARKS = tuple(map(Mark, range(4)))
_TURNS = tuple(Turn)
_PORT_MAC = 0x02_50_43_4E_00_00


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


class VirtualNetwork(TimedNetwork, Additions, Sources, Explanations):
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
        if not isinstance(scheme, Configured):
            raise VirtualError(
                f"a {type(scheme).__name__} isn't configured: find_scheme('pcn').configure() is"
            )
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
