"""Deadlocks are found exactly: what is found never dissolves, and where none is, all that was sent
arrives."""

import re
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, settings, strategies as st
from networks import PFC_ONLY, chain, mesh, star, with_flows

from pcn.experiments.data.plan import plan_of
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.papers import FIGURES
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.figures import judge
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FIFO, ROUND_ROBIN, Endpoint, FlowSpec, OutputBuffer, Topology
from pcn.virtualnet import VirtualError

SWITCHES, REACH = 7, 3
RING = [(n, (n + 1) % SWITCHES) for n in range(SWITCHES)]
SMALL = {"xoff_bytes": 20e3, "xon_bytes": 18e3}


def ring(
    flow_control: Literal["pfc", "credits"] = "pfc", arbitration: str = "fifo", classes: str = "3"
) -> Topology:
    """Switches with a host each: from each to the third one after it there is one shortest path,
    clockwise."""
    topology = mesh(SWITCHES, RING, [1e-6])
    thresholds = SMALL if flow_control == "pfc" else {"buffer_bytes": 20e3}
    switches = tuple(replace(switch, arbitration=arbitration) for switch in topology.switches)
    parameters = {**topology.parameters, **thresholds, "lossless_classes": classes}
    return replace(topology, switches=switches, parameters=parameters, flow_control=flow_control)


def clockwise(size_bytes: int | None = None, traffic_class: int = 3) -> list[FlowSpec]:
    return [
        FlowSpec(
            n + 10 * traffic_class, f"h{n}", f"h{(n + REACH) % SWITCHES}",
            3e-6 * (3 * n % SWITCHES), size_bytes, traffic_class=traffic_class,
        )
        for n in range(SWITCHES)
    ]  # fmt: skip


@pytest.mark.parametrize("flow_control", ["pfc", "credits"])
@pytest.mark.parametrize("arbitration", ["fifo", ROUND_ROBIN])
@pytest.mark.parametrize("inplace", [True, False])
def test_a_ring_that_is_found_never_sends_again(flow_control, arbitration, inplace):
    with VirtualNetwork(ring(flow_control, arbitration), PFC_ONLY, inplace=inplace) as network:
        flows = [network.add_flow(spec) for spec in clockwise()]
        assert network.deadlock() is None
        while (deadlock := network.deadlock()) is None:
            assert network.now_s < 5e-3
            network.run(until_s=network.now_s + 2e-6)
        assert [name for name, number in deadlock.circle if number == 3] == sorted(
            f"s{a}->s{b}" for a, b in RING
        )
        assert set(deadlock.behind) <= {(f"h{n}->s{n}", 3) for n in range(SWITCHES)}
        # It wasn't there one look before; a PAUSE, or a frame without credits for the next, takes
        # effect in some 2 us.
        assert network.now_s - 2e-6 - 3e-6 < deadlock.since_s <= network.now_s
        assert deadlock.held_bytes >= SWITCHES * (
            18e3 if flow_control == "pfc" else 20e3 - 2 * 1088
        )

        def sent() -> list[int]:
            return [flow.stats().received_packets for flow in flows]

        before = sent()
        for _ in range(20):
            network.run(until_s=network.now_s + 500e-6)
            later = network.deadlock()
            assert (later.circle, later.since_s) == (deadlock.circle, deadlock.since_s)
            assert set(later.behind) >= set(deadlock.behind)
            deadlock = later
        assert set(deadlock.behind) == {(f"h{n}->s{n}", 3) for n in range(SWITCHES)}
        # What had left its last switch of the ring arrived
        assert all(now - then <= 4 for then, now in zip(before, sent(), strict=True))
        assert (
            sum(network.link_stats(f"s{a}", port).expired for a, _ in RING for port in (1, 2, 3))
            == 0
        )


def test_classes_are_stuck_by_themselves():
    """Class 5 stands still; class 3, with flows that pass one switch less, goes on below it."""
    with VirtualNetwork(ring(classes="3,5"), PFC_ONLY) as network:
        with_flows(network, clockwise(traffic_class=5))
        network.run(until_s=2e-3)
        deadlock = network.deadlock()
        assert {number for _, number in (*deadlock.circle, *deadlock.behind)} == {5}
        specs = [
            FlowSpec(n, f"h{n}", f"h{(n + 1) % SWITCHES}", network.now_s, 100_000)
            for n in range(SWITCHES)
        ]
        free = [network.add_flow(spec) for spec in specs]
        network.run(until_s=network.now_s + 2e-3)
        assert all(flow.stats().complete_s is not None for flow in free)
        later = network.deadlock()
        assert later.circle == deadlock.circle


def test_waiting_is_no_deadlock():
    """Behind a slow link, and behind one that is down: both can end."""
    with VirtualNetwork(star(6, out_bps=1e9, xoff_bytes=20e3), PFC_ONLY) as network:
        with_flows(network, [FlowSpec(n, f"h{n}", "r0") for n in range(6)])
        for _ in range(50):
            network.run(until_s=network.now_s + 37e-6)
            assert network.deadlock() is None
        assert network.link_stats("s0", 1).pause > 0
    with VirtualNetwork(chain(3, xoff_bytes=20e3), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0"))
        network.set_link("s2", 2, up=False)
        network.run(until_s=1e-3)
        assert network.link_stats("s0", 1).paused_s > 0
        assert network.deadlock() is None


@settings(max_examples=40)
@given(st.data())
def test_a_network_stands_still_exactly_where_a_deadlock_is_found(data):
    switches = data.draw(st.integers(5, 8))
    around = [(n, (n + 1) % switches) for n in range(switches)]
    chord = data.draw(st.sampled_from([[], [], [(0, 2)], [(1, 4)]]))
    topology = mesh(switches, [*around, *chord], [1e-6])
    credits = data.draw(st.booleans())
    thresholds = {"buffer_bytes": 10e3} if credits else {"xoff_bytes": 6e3, "xon_bytes": 4e3}
    arbitration = data.draw(st.sampled_from([FIFO, ROUND_ROBIN]))
    topology = replace(
        topology,
        switches=tuple(replace(switch, arbitration=arbitration) for switch in topology.switches),
    )
    topology = replace(
        topology,
        parameters={**topology.parameters, **thresholds},
        flow_control="credits" if credits else "pfc",
    )
    far = data.draw(st.integers(2, (switches - 1) // 2))
    gone = data.draw(st.sets(st.integers(0, switches - 1), max_size=3))
    more = st.tuples(st.integers(0, switches - 1), st.integers(1, (switches - 1) // 2))
    flows = [
        *((a, far) for a in range(switches) if a not in gone),
        *data.draw(st.lists(more, max_size=switches)),
    ]
    ends = [(a, (a + far) % switches) for a, far in flows]
    with VirtualNetwork(topology, PFC_ONLY) as network:
        with_flows(
            network, [FlowSpec(n, f"h{a}", f"h{b}", 0.0, 200_000) for n, (a, b) in enumerate(ends)]
        )
        complete = network.run(until_s=20e-3, finish=True)
        assert complete is (network.deadlock() is None)


def test_experiments_report_a_deadlock():
    topology = replace(ring(), flows=tuple(clockwise()))
    plan = plan_of("ring", "pfc", 1, topology, 2e-3, {}, [Endpoint("s0", 2)], 1e-4, start_s=-0.5e-3)
    recording = run_virtual(plan, Silent())
    # Flows start at the plan's time 0, which is 0.5 ms after the network's.
    assert 0 < recording.deadlock.since_s < 0.2e-3
    (note,) = (text for text in recording.notes if text.startswith("Deadlock"))
    assert re.fullmatch(
        r"Deadlock since 0\.\d+ ms: s0->s1 \(class 3\), .*s6->s0 \(class 3\) wait for each other"
        r"(; \d more wait behind them)?\.",
        note,
    )
    looked = run_virtual(replace(plan, deadlock_every_s=20e-6), Silent())
    assert looked.deadlock.circle == recording.deadlock.circle
    assert looked.deadlock.since_s == recording.deadlock.since_s
    # It ended within 20 us of the PAUSE that closed the circle.
    ends = [looked.series.get(f"flow {flow.id}", "sent_bytes")[0][-1] for flow in topology.flows]
    assert all(end <= recording.deadlock.since_s + 25e-6 + 1e-4 for end in ends)
    free = run_virtual(
        replace(plan, topology=replace(topology, flows=topology.flows[:1])), Silent()
    )
    assert free.deadlock is None
    assert not free.left_inside
    # A length that isn't a whole number of picoseconds ends, too.
    odd = replace(plan, start_s=-1e-4, duration_s=2e-4)
    assert round((odd.duration_s - odd.start_s) * 1e12) / 1e12 < odd.duration_s - odd.start_s
    assert run_virtual(odd, Silent()).flows
    stuck = Outcome({}, {"lost": 0.0, "inside": 1.0, "deadlock_s": 1e-4})
    (row,) = [
        check for check in judge(FIGURES["fig10"], [stuck]).checks if "deadlock" in check.what
    ]
    assert (row.measured, row.verdict) == (1, "not met")


def test_output_buffers_are_refused():
    topology = replace(
        star(2), switches=(replace(star(2).switches[0], output=OutputBuffer(20_000)),)
    )
    with (
        VirtualNetwork(topology, PFC_ONLY) as network,
        pytest.raises(
            VirtualError, match="s0 has output buffers: deadlocks are found without them alone"
        ),
    ):
        network.deadlock()
