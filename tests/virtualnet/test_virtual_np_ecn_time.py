"""NP-ECN by time against the counter of paused packets, in virtual time: the same packets where no
switch is paused, and all but those that the bound in docs/tofino.md allows where one is. The data
plane counts the differences."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from networks import MTU, dumbbell_network, tree, with_flows

from pcn.controller.marking.rest import gap_us
from pcn.experiments.papers import SCENARIOS
from pcn.hosts.algorithms import Scheme, find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec, Topology

ROCE = 3
TIME = find_scheme("pcn-time")
DOCUMENTED = (Path(__file__).parents[2] / "docs/tofino.md").read_text()


@dataclass(frozen=True)
class Marks:
    """Of one port's RoCE class. `time_alone` and `counter_alone`: packets that only one of the two
    marks."""

    transmitted: int
    marked: int
    time_alone: int
    counter_alone: int
    resumes: int


def assert_documented(row: str, *seen: Marks):
    """That the table of differences in docs/tofino.md has these figures, summed, in the row that
    begins so."""
    (line,) = [line for line in DOCUMENTED.splitlines() if line.startswith(f"| {row}")]
    fields = ("transmitted", "marked", "time_alone", "counter_alone")
    assert [cell.strip() for cell in line.split("|")[2:-1]] == [
        f"{sum(getattr(marks, field) for marks in seen):,}" for field in fields
    ]


def marks(network: VirtualNetwork, switch: str, port: int) -> Marks:
    names = ("transmitted", "marked", "marked_by_time", "marked_by_counter", "resume_received")
    read = network.switches[switch].read_counter
    return Marks(*(read(name, port * 8 + ROCE).packets for name in names))


def all_marks(network: VirtualNetwork) -> dict[tuple[str, int], Marks]:
    topology = network.topology
    return {
        (switch.name, port): marks(network, switch.name, port)
        for switch in topology.switches
        for port in topology.ports(switch.name)
    }


def dumbbell_run(scheme: Scheme) -> tuple[Any, dict[tuple[str, int], Marks]]:
    """150 ms of the dumbbell: what the network did, and the marks of all ports."""
    topology = dumbbell_network().topology
    settings = {"period_s": 500e-6, "w_min": 0.025}
    with VirtualNetwork(topology, scheme.configure(settings), seed=1) as network:
        with_flows(network, topology.flows).run(until_s=150e-3)
        return network.totals(), all_marks(network) if scheme is TIME else {}


def test_the_dumbbell_is_the_same_run_to_the_last_frame():
    """Equal digests: every frame at the same time with the same marks."""
    totals, seen = dumbbell_run(TIME)
    assert totals == dumbbell_run(find_scheme("pcn"))[0]
    assert seen["s0", 4].marked > 100_000
    assert all((marks.time_alone, marks.counter_alone) == (0, 0) for marks in seen.values())
    assert_documented("dumbbell, virtual, 150 ms, no switch paused", *seen.values())


def victim_run() -> tuple[Topology, dict[tuple[str, int], Marks]]:
    """The compact topology with so low an XOFF that s0 is paused by s1. A few times, with long
    queues."""
    plan = SCENARIOS["victim"].plan("pcn-time", 1, {"xoff": 60_000})
    scheme = TIME.configure(plan.scheme_parameters)
    with VirtualNetwork(plan.topology, scheme, seed=1, payload_bytes=plan.payload_bytes) as network:
        for flow in plan.topology.flows:
            length_s = flow.duration_s or plan.duration_s - flow.start_s
            network.add_flow(replace(flow, duration_s=length_s), flow.start_s - plan.start_s)
        network.run(until_s=plan.duration_s - plan.start_s)
        return network.topology, all_marks(network)


def test_the_victim_s_pauses_leave_the_same_packets_unmarked():
    topology, seen = victim_run()
    paused = seen["s0", 3]
    assert paused.resumes >= 3
    assert paused.marked > 40_000
    assert paused.counter_alone <= paused.resumes * arrivals(topology, 1e-6)
    assert all(marks.time_alone == 0 for marks in seen.values())
    assert all(marks.counter_alone == 0 for port, marks in seen.items() if port != ("s0", 3))
    assert_documented(f"victim, virtual, XOFF of 60 KB: {paused.resumes} RESUMEs", paused)


def arrivals(topology: Topology, time_s: float) -> int:
    """How many frames can come to the last port of s0 in some time, from all others together."""
    rates = [topology.link_at("s0", port).rate_bps for port in topology.ports("s0")[:-1]]
    return sum(math.ceil(rate * time_s / 8 / MTU) for rate in rates)


def paused_tree(
    out_bps: float, xoff_bytes: float, emulated: bool = False, largest_frame: float = 1518
) -> Marks:
    """Two senders of 2 MB through s0, which s1 pauses again and again."""
    topology = tree(2, out_bps=out_bps, xoff_bytes=xoff_bytes)
    scheme = TIME.configure({"largest_frame_bytes": largest_frame})
    program = "pcn_time" if emulated else "pcn_time_native"
    with VirtualNetwork(topology, scheme, program=program, pfc=not emulated) as network:
        with_flows(
            network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=2_000_000) for i in range(2)]
        )
        assert network.run(until_s=0.1, finish=True)
        unpaused = marks(network, "s1", 2)
        assert (unpaused.time_alone, unpaused.counter_alone) == (0, 0)
        return marks(network, "s0", 3)


@pytest.mark.parametrize("xoff_bytes", [20e3, 50e3])
@pytest.mark.parametrize("out_bps", [1e9, 5e9, 9e9])
def test_many_pauses(out_bps, xoff_bytes):
    """No packet that a pause held up is marked. What comes in the same microsecond as the RESUME
    isn't either."""
    seen = paused_tree(out_bps, xoff_bytes)
    assert seen.marked > 20
    assert seen.resumes >= 3
    assert seen.time_alone == 0
    assert seen.counter_alone <= seen.resumes * arrivals(tree(2), 1e-6)


@pytest.mark.parametrize("xoff_bytes", [20e3, 50e3])
@pytest.mark.parametrize("out_bps", [5e9, 9e9])
def test_many_pauses_by_recirculation(out_bps, xoff_bytes):
    """The first departure is up to a frame's time later than the RESUME, and may be one of those
    that came last: then it shows nothing, and the next one does."""
    frame_s = MTU * 8 / 10e9
    seen = paused_tree(out_bps, xoff_bytes, emulated=True)
    assert seen.resumes >= 3
    assert seen.time_alone <= seen.resumes
    assert seen.counter_alone <= seen.resumes * arrivals(tree(2), 1e-6 + 2 * frame_s)


def test_documentation_has_what_is_counted():
    for row, seen in (
        (
            "two senders of 10 Gbit/s share a port of 10 that the next switch lets have 5",
            paused_tree(5e9, 20e3),
        ),
        ("as above, by recirculation", paused_tree(5e9, 20e3, emulated=True)),
        ("let have 9", paused_tree(9e9, 20e3)),
    ):
        assert_documented(f"{row}: {seen.resumes} RESUMEs", seen)
    assert_documented(
        "the same with a `gap` for frames of 9,216 B", paused_tree(9e9, 20e3, largest_frame=9216)
    )


def test_pauses_shorter_than_the_largest_frame_are_not_seen():
    """9,216 B take 7.4 us, which many of these pauses don't."""
    seen, all_seen = paused_tree(9e9, 20e3, largest_frame=9216), paused_tree(9e9, 20e3)
    assert all_seen.time_alone == 0
    assert seen.time_alone > 0
    assert seen.counter_alone <= all_seen.resumes * arrivals(tree(2), 1e-6)
    assert gap_us(10e9, 9216) == 8
