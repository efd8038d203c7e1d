"""Plays a scenario, and returns its violations."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any

from cycles import buffers_can_wait_in_a_circle
from faults import Faults
from scenario import Scenario

from pcn.base.errors import LabError
from pcn.controller.programs import Program
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.flows import VirtualFlow
from pcn.topologies.lossless import CREDITS, PFC
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.virtualnet.counts import Deadlock
from pcn.virtualnet.switch import LoadedProgram, load

INSIDE = ("waiting_packets", "waiting_bytes", "held_bytes", "slots_used", "flow_bytes")
"""Registers of our programs that count what is inside a switch."""
LARGE = ("free_slots", "positions", "occupants", "flow_bytes")
"""Registers with a cell for each flow: too large to be compared each time."""
DRAIN_S = 10.0
"""Whatever is inside leaves within that: a frame at the slowest rate, a PAUSE of 65,535 quanta
there."""
CLOSED_S = {PFC: 0.5, CREDITS: 0.06}
"""The longest PAUSE; two periods after which credits are sent again at the slowest link. A packet
that doesn't move for this time never will."""


@dataclass(frozen=True)
class Played:
    """How a scenario ended. `state` is all that a second run has to agree about; `calls`, each call
    of an RP in order, is what a run with several threads has to agree about, too."""

    violations: tuple[str, ...]
    state: dict[str, Any]
    facts: dict[str, Any]
    calls: tuple[tuple[int, float, float], ...]


def violations(scenario: Scenario) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Of the scenario played as it is, as its variant, and by several threads; and what it had in
    it."""
    first = play(scenario)
    texts = list(first.violations)
    second = play(scenario, **scenario.variant)
    for name, value in first.state.items():
        if second.state.get(name) != value:
            texts.append(
                f"again as {scenario.variant}: {name} was {value}, is {second.state.get(name)}"
            )
    threads = 2 + scenario.seed % 7
    third = play(scenario, threads=threads, explain=True)
    for name in ("violations", "state", "calls"):
        single, several = getattr(first, name), getattr(third, name)
        if single != several:
            texts.append(
                f"again by {threads} threads, explained: {name} were {single}, are {several}"
            )
    return tuple(texts), first.facts


def play(scenario: Scenario, **options) -> Played:
    """Raises LabError where the network is refused before it runs."""
    texts: list[str] = []
    with VirtualNetwork(
        scenario.topology,
        scenario.scheme,
        program=_loaded(
            scenario.program or scenario.scheme.scheme.program, options.get("inplace", True)
        ),
        seed=scenario.seed,
        payload_bytes=scenario.payload_bytes,
        response_s=scenario.response_s,
        **options,
    ) as network:
        for flow in scenario.flows:
            network.add_flow(flow)
        faults = Faults(network)
        calls: list[tuple[int, float, float]] = []
        network.on_rate = partial(_watch_rate, network, texts, calls)
        for fault in scenario.faults:
            network.at(fault.time_s, partial(faults.happen, fault.method, fault.arguments))
        try:
            network.run(until_s=scenario.faults_end_s)
            faults.end()
            network.run(until_s=scenario.stop_s)
            for number in network.flows:
                network.stop_flow(number)
            deadlock = _drain(network)
            if options.get("explain"):
                network.explained()  # raises where a flow's parts don't sum to its time
            texts += _at_the_end(network, faults, deadlock)
            if deadlock is None and network.totals().packets == 0:
                texts += _probe(network, scenario.payload_bytes)
        except LabError as error:
            return Played((*texts, f"{type(error).__name__}: {error}"), {}, {}, tuple(calls))
        return Played(
            tuple(texts), _state(network), _facts(network, faults, deadlock), tuple(calls)
        )


@lru_cache
def _loaded(program: str, inplace: bool) -> LoadedProgram:
    return load(Program.find(program, native=True), inplace)


def _watch_rate(
    network: VirtualNetwork,
    texts: list[str],
    calls: list[tuple[int, float, float]],
    flow: VirtualFlow,
    now_s: float,
):
    calls.append((flow.spec.id, now_s, flow.rp.rate_bps))
    rate, line = flow.rp.rate_bps, network.topology.link_at(flow.spec.src, 0).rate_bps
    if not 0 < rate <= line * (1 + 1e-9) and len(texts) < 5:
        texts.append(
            f"flow {flow.spec.id} at {now_s * 1e6:.3f} us: its RP's rate is {rate:g} bit/s of "
            f"{line:g}"
        )


def _drain(network: VirtualNetwork) -> Deadlock | None:
    """Until nothing is on its way, or what is never will be again."""
    step_s, end_s = 1e-3, network.now_s + DRAIN_S
    buffered = any(switch.output for switch in network.topology.switches)
    while network.totals().packets and network.now_s < end_s - 1e-9:  # it counts in picoseconds
        if not buffered and (deadlock := network.deadlock()):
            return deadlock
        before = _moved(network)
        network.run(until_s=min(network.now_s + step_s, end_s))
        if step_s > CLOSED_S[network.topology.flow_control] and _moved(network) == before:
            return None
        step_s *= 2
    return None


def _moved(network: VirtualNetwork) -> tuple[int, int, int]:
    """How often data has come into a switch, and to its host; and what is inside, as
    acknowledgements and grants may leave for long after the last data."""
    came = sum(flow.stats().received_packets for flow in network.flows.values())
    totals = network.totals()
    return totals.data_traversals, came, totals.packets


def _ends(network: VirtualNetwork) -> Iterator[Endpoint]:
    for link in network.topology.links:
        yield from (link.a, link.b)


def _at_the_end(
    network: VirtualNetwork, faults: Faults, deadlock: Deadlock | None
) -> Iterator[str]:
    links = {end: network.link_stats(end.node, end.port) for end in _ends(network)}
    flows = [flow.stats() for flow in network.flows.values()]
    totals = network.totals()
    buffered = any(switch.output for switch in network.topology.switches)
    for end, stats in links.items():
        if stats.held_max > stats.held_limit:
            yield (
                f"{end}: {stats.held_max} bytes were inside of what it sent, "
                f"{stats.held_limit} may be"
            )
        if stats.overrun and not faults.delays_pause:
            yield (
                f"{end}: {stats.overrun} frames overran its far end, though no PAUSE was lost or "
                "late"
            )
    lost = sum(stats.lost_packets for stats in flows)
    explained = sum(stats.lost + stats.overrun + stats.refused for stats in links.values())
    explained += totals.dropped if faults.forgets else 0
    if lost > explained:
        yield f"{lost} data packets are lost, {explained} by faults"
    if totals.bad_frames or totals.stray_frames or totals.unusable_cnps:
        yield (
            f"{totals.bad_frames} bad frames, {totals.stray_frames} stray, "
            f"{totals.unusable_cnps} CNPs without a rate"
        )
    in_order = all(flow.rp.paths is None for flow in network.flows.values())  # none is sprayed
    if in_order and not lost and any(stats.out_of_order for stats in flows):
        yield f"packets are out of order: {[stats.out_of_order for stats in flows]}"
    if deadlock is not None:
        yield from _of_the_deadlock(network, deadlock)
        return
    if totals.packets:
        if not (buffered and buffers_can_wait_in_a_circle(network.topology)):
            yield (
                f"{totals.packets} packets are inside long after the last flow stopped, and no "
                "deadlock is"
            )
        return
    for number, stats in enumerate(flows):
        again = stats.duplicate_packets + stats.refused_packets
        if stats.sent_packets != stats.received_packets + again + stats.lost_packets:
            came = (
                f"{stats.received_packets} came, {again} more than once, {stats.lost_packets} are "
                "lost"
            )
            yield f"flow {number}: {stats.sent_packets} packets sent, {came}"
    for end, stats in links.items():
        if stats.held_bytes or stats.output_bytes:
            yield (
                f"{end}: {stats.held_bytes} bytes held, {stats.output_bytes} in its output buffer: "
                "of nothing"
            )
    # A packet that finds no room was counted at ingress, before.
    full = any(stats.overrun or stats.refused for stats in links.values())
    for name, switch in network.switches.items() if not full else ():
        for register in set(INSIDE) & set(switch.registers()):
            left = {cell: value for cell, value in switch.read_registers(register).items() if value}
            if left:
                yield f"{name}: {register} counts packets that have left: {left}"


def _of_the_deadlock(network: VirtualNetwork, deadlock: Deadlock) -> Iterator[str]:
    if not buffers_can_wait_in_a_circle(network.topology):
        yield f"{deadlock} But no buffers can wait for each other"
    network.run(until_s=network.now_s + 1e-3)
    after = network.deadlock()
    if (
        after is None
        or not set(deadlock.circle) <= {*after.circle}
        or after.since_s != deadlock.since_s
    ):
        yield f"{deadlock} A millisecond later: {after}"


def _probe(network: VirtualNetwork, payload_bytes: int) -> Iterator[str]:
    """All gates are open, all links up, all entries there: three packets from each host to the next
    one arrive."""
    names = [host.name for host in network.topology.hosts]
    classes = sorted({flow.spec.traffic_class for flow in network.flows.values()})
    probes = []
    for i, (src, dst) in enumerate(zip(names, [*names[1:], names[0]], strict=True)):
        spec = FlowSpec(
            1000 + i, src, dst, network.now_s, 3 * payload_bytes,
            traffic_class=classes[i % len(classes)],
        )  # fmt: skip
        probes.append(network.add_flow(spec))
    network.run(until_s=network.now_s + CLOSED_S[network.topology.flow_control])
    for probe in probes:
        stats = probe.stats()
        if (stats.received_packets, stats.lost_packets) != (3, 0):
            yield (
                f"{probe.spec.src} to {probe.spec.dst}, afterwards: 3 packets sent, "
                f"{stats.received_packets} came"
            )


def _state(network: VirtualNetwork) -> dict[str, Any]:
    return {
        "totals": asdict(replace(network.totals(), packets_most=0)),
        "flows": [asdict(flow.stats()) for flow in network.flows.values()],
        "links": [asdict(network.link_stats(end.node, end.port)) for end in _ends(network)],
        "registers": {
            name: {
                register: switch.read_registers(register)
                for register in switch.registers()
                if register not in LARGE
            }
            for name, switch in network.switches.items()
        },
    }


def _facts(network: VirtualNetwork, faults: Faults, deadlock: Deadlock | None) -> dict[str, Any]:
    links = [network.link_stats(end.node, end.port) for end in _ends(network)]
    return {
        "events": network.totals().events,
        "pauses": sum(stats.pause for stats in links),
        "lost": sum(flow.stats().lost_packets for flow in network.flows.values()),
        "overrun": sum(stats.overrun for stats in links),
        "deadlock": deadlock is not None,
        "marked": sum(
            flow.stats().marked_ce + flow.stats().marked_ue for flow in network.flows.values()
        ),
        "notifications": sum(flow.stats().cnps_received for flow in network.flows.values()),
    }
