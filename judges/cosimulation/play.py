"""A network's switches on the manual clock, each by itself, and the links between them: a frame
that leaves a port comes in at its neighbour when the link's delay is over. Nothing here takes real
time, and the same network gives the same frames each time."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from cosimulation.network import (
    CLASSES,
    CPU,
    HOPS,
    Arrival,
    CableSet,
    Held,
    Network,
    PacketOut,
    Place,
    QueueSet,
    Shape,
    Step,
    Threshold,
    Way,
)

from pcn.controller.configure import packet_generator, plan, program_switch
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.hosts.algorithms import find_scheme
from pcn.softswitch.codegen.build import build_source
from pcn.softswitch.embed.switch import EmbeddedSwitch, NativeSwitch
from pcn.softswitch.native import Replica
from pcn.softswitch.trimming import Trimming
from pcn.topologies.model import MAX_PORT, Topology
from pcn.virtualnet.live import EngineSwitch
from pcn.virtualnet.native import switch_library

Make = Callable[..., NativeSwitch]
TICK_NS = 1
"""Of hops.c, which writes times into frames. Schemes have BMv2's."""
_WAYS, _HELD = 0, 0
_COUNTERS = (("arrived", 0), ("sent_round", 1))
_REGISTERS = (("held", 0), ("drawn", 1))
_CELLS, _WIDTH = 16, 8
_CELLS_OF_PORTS = ((0, 16 * CLASSES), ((MAX_PORT + 1) * CLASSES, 4 * CLASSES))
"""Of schemes' counters, which have a cell for each class of each port: first, number. All of them
take half of a play to read."""


class Departure(NamedTuple):
    """A frame that has left a port, also if by a link to a switch."""

    at_ns: int
    place: Place
    frame: bytes


class Message(NamedTuple):
    """A digest, a packet-in or a line of a switch's program, or a line of the switch."""

    at_ns: int
    switch: int
    kind: int
    data: bytes


@dataclass(frozen=True)
class Outcome:
    """`departures` in order of time, and at one moment of ports; `state` by the names of counters,
    registers and ports' counts."""

    departures: Sequence[Departure]
    messages: Sequence[Message]
    state: Mapping[str, Any]


def queues(**options) -> NativeSwitch:
    """Returns a switch with its own queues."""
    return NativeSwitch(switch_library(), manual=True, **options)


def by_engine(**options) -> NativeSwitch:
    """Returns a switch whose packets the engine moves."""
    return EngineSwitch(switch_library(), manual=True, **options)


WAYS = {"queues": queues, "engine": by_engine}


@lru_cache(maxsize=1)
def _hops() -> Path:
    return build_source(Path(__file__).with_name("hops.c").read_text(encoding="utf-8"))


@dataclass
class _Node:
    """A switch, and what is on its way to it: time, port, number, frame."""

    number: int
    native: NativeSwitch
    plane: InProcessSwitch | None
    coming: list[tuple[int, int, int, bytes]] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def advance(self, until_ns: int):
        while not self.native.advance(until_ns):
            self.hear()

    def hear(self):
        while (event := self.native.next_event(0)) is not None:
            self.messages.append(Message(event.now_ns, self.number, event.kind, event.data))


class _Play:
    """One play. `made` switches are closed by the stack."""

    def __init__(self, network: Network, make: Make, stack: ExitStack):
        self._network = network
        self._topology = network.topology() if network.program != HOPS else None
        self._nodes: list[_Node] = []
        for number, ports in enumerate(network.ports):
            native = stack.enter_context(_switch(network, make))
            for place, port in enumerate(ports, start=1):
                native.port_add(place, None)
                native.port_shape(place, rate_bps=port.rate_bps, delay_ns=port.delay_ns)
            self._nodes.append(_Node(number, native, self._program(number, native)))
        self._up = [True] * len(network.cables)
        self._ends = {
            end: (number, far)
            for number, cable in enumerate(network.cables)
            for end, far in ((cable.a, cable.b), (cable.b, cable.a))
        }
        self._sent = 0
        self.departures: list[Departure] = []

    def _program(self, number: int, native: NativeSwitch) -> InProcessSwitch | None:
        network = self._network
        if self._topology is None:
            program_hops(network, number, native)
            return None
        return program_scheme(network, self._topology, number, native)

    def run(self):
        network = self._network
        window_ns = min((cable.delay_ns for cable in network.cables), default=network.until_ns)
        steps = iter(network.steps)
        step, now_ns = next(steps, None), 0
        while True:
            while step is not None and step.at_ns <= now_ns:
                self._take(step)
                step = next(steps, None)
            if now_ns >= network.until_ns:
                return
            # What leaves after now arrives after the window, whatever link it takes.
            now_ns = min(
                now_ns + window_ns, network.until_ns, *([step.at_ns] if step is not None else [])
            )
            for node in self._nodes:
                self._run(node, now_ns)

    def _run(self, node: _Node, until_ns: int):
        while node.coming and node.coming[0][0] <= until_ns:
            at_ns, port, _, frame = heapq.heappop(node.coming)
            if not self._up[self._ends[Place(node.number, port)][0]]:
                continue
            node.advance(at_ns)
            node.native.inject(port, frame)
        node.advance(until_ns)
        self._collect(node)

    def _collect(self, node: _Node):
        node.hear()
        for port, at_ns, frame in node.native.departed():
            place = Place(node.number, port)
            self.departures.append(Departure(at_ns, place, frame))
            if place not in self._ends:
                continue
            number, far = self._ends[place]
            due_ns = at_ns + self._network.cables[number].delay_ns
            self._sent += 1
            heapq.heappush(self._nodes[far.switch].coming, (due_ns, far.port, self._sent, frame))

    def _take(self, step: Step):
        if isinstance(step, CableSet):
            self._up[step.cable] = step.up
            return
        node = self._nodes[step.switch if isinstance(step, PacketOut | Way) else step.place.switch]
        if isinstance(step, Arrival):
            node.native.inject(step.place.port, step.frame)
        elif isinstance(step, PacketOut):
            node.native.packet_out(CPU, step.frame)
        else:
            change(self._network, node.native, node.plane, step)
            node.advance(step.at_ns)  # as a server does after a Write
        self._collect(node)

    def outcome(self) -> Outcome:
        messages = sorted(
            (message for node in self._nodes for message in node.messages),
            key=lambda message: message[:2],
        )
        state = {}
        for node in self._nodes:
            cells = hops_state(node.native) if node.plane is None else scheme_state(node.plane)
            for name, value in cells.items():
                state[f"s{node.number} {name}"] = value
            for number in range(1, len(self._network.ports[node.number]) + 1):
                stats = node.native.port_stats(number)
                state[f"s{node.number}:{number}"] = stats._replace(
                    queue_packets=tuple(stats.queue_packets)
                )
        departures = sorted(self.departures, key=lambda left: left[:2])
        return Outcome(departures, messages, state)


def _switch(network: Network, make: Make) -> NativeSwitch:
    ours = {"tick_ns": TICK_NS, "cpu_port": CPU} if network.program == HOPS else {}
    queues = network.queues
    return make(queue_depth=queues.depth, priorities=queues.priorities, seed=network.seed, **ours)


def program_hops(network: Network, number: int, native: NativeSwitch):
    """Loads hops.c into a switch of the network, and its entries."""
    load_hops(network, number, native)
    _set_up(network, native)


def load_hops(network: Network, number: int, native: NativeSwitch):
    """Does so in a switch whose queues are an engine's."""
    native.load(_hops())
    for label, port in enumerate(network.entries.ways[number]):
        native.table_add(_WAYS, bytes((label,)), None, 0, 0, 0, [port])  # its handle: the label
    for session, replicas in enumerate(network.entries.clones[number], start=1):
        native.clone_session(session, [Replica(*replica) for replica in replicas])
    for group, replicas in enumerate(network.entries.groups[number], start=1):
        native.multicast_group(group, [Replica(*replica) for replica in replicas])


def program_scheme(
    network: Network, topology: Topology, number: int, native: NativeSwitch
) -> InProcessSwitch:
    """Loads the scheme's program into a switch of the network, its routes, PFC and marking."""
    name = f"s{number}"
    scheme = find_scheme(network.program).configure()
    plane = InProcessSwitch(name, EmbeddedSwitch(native))
    plane.set_pipeline(Program.compiled(scheme.scheme.program))
    program_switch(plane, plan(topology, name, 1.0, scheme))
    _set_up(network, native)
    generator = packet_generator(topology, name, 1.0, scheme)
    if generator is not None:
        native.generate(generator.port, generator.period_us * 1000, generator.packet_ids)
    return plane


def _set_up(network: Network, native: NativeSwitch):
    native.set_reentry(network.queues.reentry_ns)
    if network.queues.trimming:
        queues = network.queues
        trimming = Trimming(size=queues.trimmed_bytes, tail_percent=queues.tail_percent)
        native.set_trimming(queues.trimming, trimming)


def change(network: Network, native: NativeSwitch, plane: InProcessSwitch | None, step: Step):
    """Does in a switch what is neither a frame's nor a link's step."""
    if isinstance(step, Shape):
        native.port_shape(step.place.port, rate_bps=step.to.rate_bps, delay_ns=step.to.delay_ns)
    elif isinstance(step, QueueSet):
        native.set_queue(step.place.port, step.queue, depth=step.depth, rate_pps=step.rate_pps)
    elif isinstance(step, Held):
        native.set_registers(_HELD, _WIDTH, step.place.port, [int(step.held)])
    elif isinstance(step, Way):
        native.table_modify(_WAYS, step.label, 0, [step.port])
    elif isinstance(step, Threshold):
        (entry,) = (
            entry
            for entry in plan(network.topology(), plane.name, 1.0).pfc
            if entry.port == step.place.port
        )
        changed = replace(entry, xoff_bytes=step.xoff_bytes, xon_bytes=step.xoff_bytes // 2)
        plane.modify(changed.entries())


def hops_state(native: NativeSwitch) -> dict[str, Any]:
    """Returns what hops.c has counted and stored."""
    return {
        **{name: native.counters(number, 0, _CELLS) for name, number in _COUNTERS},
        **{name: native.registers(number, _WIDTH, 0, _CELLS) for name, number in _REGISTERS},
    }


def scheme_state(plane: InProcessSwitch) -> dict[str, Any]:
    """Returns what a scheme's program has counted and stored, without zeros."""
    state = {name: plane.nonzero_cells(name) for name in plane.registers()}
    for name in plane.counters():
        number = plane.counter(name).c_index
        state[name] = {
            first + at: cell
            for first, n in _CELLS_OF_PORTS
            for at, cell in enumerate(plane.native.counters(number, first, n))
            if cell.packets or cell.bytes
        }
    return state


def play(network: Network, way: str) -> Outcome:
    """Plays a network one way of WAYS. Raises NativeError, SwitchError."""
    with ExitStack() as stack:
        playing = _Play(network, WAYS[way], stack)
        playing.run()
        return playing.outcome()
