"""Queues that drop what they can't hold: what is lost there is repeated, and counts stay right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from networks import star, with_flows

from pcn.hosts.algorithms import Configured, ReactionPoint, find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats
from pcn.lab.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE, CLASS, SENDERS, DEPTH, SIZE = 100e9, 1, 6, 12, 150_000
END = ("s0", SENDERS + 1)


class Rp(ReactionPoint):
    segment_bytes = 1
    window_bytes = 20e3

    def __init__(self, line_bps: float, _: object) -> None:
        self.rate_bps = line_bps


def windowed() -> Configured:
    return replace(find_scheme("pfc"), name="w", reaction_point=Rp).configure()


def network(kind: Repeats, scheme: Configured | None = None, size: int = SIZE, **more: Any) -> VirtualNetwork:
    reliability = {CLASS: Reliability(kind, timeout_s=200e-6)}
    made = VirtualNetwork(star(SENDERS, LINE), scheme or windowed(), reliability=reliability, **more)
    made.set_queue(*END, CLASS, depth=DEPTH)
    flows = [
        FlowSpec(i + 1, f"h{i % SENDERS}", "r0", i * 3e-6, size_bytes=size + 7 * i, traffic_class=CLASS, group="all")
        for i in range(2 * SENDERS)
    ]
    return with_flows(made, flows)


@pytest.mark.parametrize("name", ["constant", "dctcp", "swift", "nscc"])
@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
def test_everything_arrives_that_full_queues_drop(kind: Repeats, name: str) -> None:
    settings = {"nscc": {"paths": 1}, "swift": {"base_target_s": 20e-6}}.get(name, {})
    scheme = windowed() if name == "constant" else find_scheme(name).configure(settings)
    with network(kind, scheme) as made:
        assert made.run(until_s=0.5, finish=True)
        made.run(until_s=made.now_s + 5e-3)
        stats = [flow.stats() for flow in made.flows.values()]
        assert made.link_stats(*END).refused_by_class[CLASS] == sum(one.lost_packets for one in stats) > 20
        for one in stats:
            assert one.sent_packets == -(-one.sent_payload // 1000) + one.repeated_packets
            came = one.received_packets + one.duplicate_packets + one.refused_packets
            assert one.sent_packets == came + one.lost_packets
            assert one.in_flight_bytes == 0
        assert made.totals().packets == 0


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
def test_group_s_sums_are_those_of_its_flows_while_packets_are_repeated(kind: Repeats, trim: bool) -> None:
    """At each time, when some flows have ended and others haven't, to the end."""
    with network(kind) as made:
        if trim:
            made.set_trimming(*END, [CLASS])
        made.disturb("r0", 0, "notifications", p_lose=0.3)  # senders repeat what has arrived
        names = sorted(made.flows)
        sums = [made.of_group(made.flow_sent(1), "all"), made.of_group(made.flow_received(1), "all")]
        group = made.sample(5e-6, sums)
        sent = made.sample(5e-6, [made.flow_sent(number) for number in names])
        received = made.sample(5e-6, [made.flow_received(number) for number in names])
        assert made.run(until_s=0.5, finish=True)
        made.run(until_s=made.now_s + 1e-3)
        assert sum(flow.stats().repeated_packets for flow in made.flows.values()) > 20
        assert len({flow.stats().ended_s for flow in made.flows.values()}) > SENDERS
        assert (group.values[:, 0] == sent.values.sum(axis=1)).all()
        assert (group.values[:, 1] == received.values.sum(axis=1)).all()
        assert group.values[-1, 1] == sum(flow.spec.size_bytes or 0 for flow in made.flows.values())


def test_run_is_the_same_with_paths_of_one_port() -> None:
    """Several ports to one path change nothing but which are used: no packet overtakes another."""
    times = []
    for paths in (None, Paths("packet", 16, avoid=False)):
        with network(Repeats.SELECTIVE, paths=paths) as made:
            assert made.run(until_s=0.5, finish=True)
            times.append([flow.stats() for flow in made.flows.values()])
    assert times[0] == times[1]
