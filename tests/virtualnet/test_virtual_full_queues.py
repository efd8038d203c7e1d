"""Queues that drop what they can't hold: what is lost there is repeated, and counts stay right."""

import math
from dataclasses import replace

import pytest
from networks import flow_stats, star, with_flows

from pcn.controller.constants import WAITING, index
from pcn.hosts.algorithms import Configured, ReactionPoint, find_scheme
from pcn.hosts.algorithms.discovery import schemes
from pcn.hosts.lossy_classes import without_signal
from pcn.hosts.paths import Paths
from pcn.hosts.recommended import recommended
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.softswitch.trimming import Trimming
from pcn.topologies.lossless import DATA_CLASS
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star as shared_star
from pcn.virtualnet.errors import VirtualError

LINE, CLASS, SENDERS, DEPTH, SIZE = 100e9, 1, 6, 12, 150_000
END = ("s0", SENDERS + 1)


class Rp(ReactionPoint):
    segment_bytes = 1
    window_bytes = 20e3

    def __init__(self, line_bps: float, _):
        self.rate_bps = line_bps


def windowed() -> Configured:
    return replace(find_scheme("pfc"), name="w", reaction_point=Rp).configure()


def repeating_network(
    kind: Repeats, scheme: Configured | None = None, size: int = SIZE, **more
) -> VirtualNetwork:
    reliability = {CLASS: Reliability(kind, timeout_s=200e-6)}
    network = VirtualNetwork(
        star(SENDERS, LINE), scheme or windowed(), reliability=reliability, **more
    )
    network.set_queue(*END, CLASS, depth=DEPTH)
    flows = [
        FlowSpec(
            i + 1, f"h{i % SENDERS}", "r0", i * 3e-6, size_bytes=size + 7 * i,
            traffic_class=CLASS, group="all",
        )
        for i in range(2 * SENDERS)
    ]  # fmt: skip
    return with_flows(network, flows)


@pytest.mark.parametrize("name", ["constant", "dctcp", "swift", "nscc"])
@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
def test_everything_arrives_that_full_queues_drop(kind, name):
    settings = {"nscc": {"paths": 1}, "swift": {"base_target_s": 20e-6}}.get(name, {})
    scheme = windowed() if name == "constant" else find_scheme(name).configure(settings)
    with repeating_network(kind, scheme) as network:
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 5e-3)
        stats = flow_stats(network)
        assert (
            network.link_stats(*END).refused_by_class[CLASS]
            == sum(stat.lost_packets for stat in stats)
            > 20
        )
        for stat in stats:
            assert stat.sent_packets == -(-stat.sent_payload // 1000) + stat.repeated_packets
            came = stat.received_packets + stat.duplicate_packets + stat.refused_packets
            assert stat.sent_packets == came + stat.lost_packets
            assert stat.in_flight_bytes == 0
        assert network.totals().packets == 0


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
def test_group_s_sums_are_those_of_its_flows_while_packets_are_repeated(kind, trim):
    """At each time, when some flows have ended and others haven't, to the end."""
    with repeating_network(kind) as network:
        if trim:
            network.set_trimming(*END, [CLASS])
        network.disturb("r0", 0, "notifications", p_lose=0.3)  # senders repeat what has arrived
        names = sorted(network.flows)
        sums = [
            network.of_group(network.flow_sent(1), "all"),
            network.of_group(network.flow_received(1), "all"),
        ]
        group = network.sample(5e-6, sums)
        sent = network.sample(5e-6, [network.flow_sent(number) for number in names])
        received = network.sample(5e-6, [network.flow_received(number) for number in names])
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        assert sum(flow.stats().repeated_packets for flow in network.flows.values()) > 20
        assert len({flow.stats().ended_s for flow in network.flows.values()}) > SENDERS
        assert (group.values[:, 0] == sent.values.sum(axis=1)).all()
        assert (group.values[:, 1] == received.values.sum(axis=1)).all()
        assert group.values[-1, 1] == sum(
            flow.spec.size_bytes or 0 for flow in network.flows.values()
        )


def test_run_is_the_same_with_paths_of_one_port():
    """Several ports to one path change nothing but which are used: no packet overtakes another."""
    times = []
    for paths in (None, Paths("packet", 16, avoid=False)):
        with repeating_network(Repeats.SELECTIVE, paths=paths) as network:
            assert network.run(until_s=0.5, finish=True)
            times.append(flow_stats(network))
    assert times[0] == times[1]


@pytest.mark.parametrize("inplace", [True, False])
def test_refused_packets_leave_what_the_program_counts(inplace):
    """So its marks go by the queue, as those of a queue that refuses none."""
    with repeating_network(Repeats.SELECTIVE, inplace=inplace) as network:
        cell = index(END[1], CLASS)
        counted = [network.register(END[0], name, cell) for name in WAITING]
        waiting = [network.queue_packets(*END, CLASS), network.queue_bytes(*END, CLASS)]
        seen = network.sample(1e-6, [*counted, *waiting])
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 5e-3)
        assert network.link_stats(*END).refused_by_class[CLASS] > 20
        assert seen.values[:, 0].max() == DEPTH
        assert (seen.values[:, :2] == seen.values[:, 2:]).all()


@pytest.mark.parametrize("inplace", [True, False])
def test_refused_trimmed_packets_leave_what_the_program_counts(inplace):
    with repeating_network(Repeats.SELECTIVE, inplace=inplace) as network:
        network.set_trimming(*END, [CLASS], depth=2)
        assert network.run(until_s=0.5, finish=True)
        network.run(until_s=network.now_s + 5e-3)
        assert network.link_stats(*END).refused_by_class[Trimming().queue_index] > 20
        for name in WAITING:
            assert network.switches[END[0]].nonzero_cells(name) == {}


@pytest.mark.parametrize("name", ["dctcp", "hpcc", "pcn", "dcqcn-ns3"])
def test_schemes_fill_a_line_whose_queue_has_refused_packets(name):
    """With refused packets among those that wait, DCTCP's and HPCC's windows fell to a frame, and
    stayed there."""
    topology = shared_star(4, 1, 40e9, 5e-6, lossless_classes="0")
    topology = replace(topology, parameters={**topology.parameters, "queue_packets": 100})
    scheme = find_scheme(name)
    lossy = {DATA_CLASS: Reliability(Repeats.SELECTIVE, 1e-3)}
    network = VirtualNetwork(
        topology, scheme.configure(recommended(topology, scheme)), reliability=lossy
    )
    with with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0") for i in range(4)]):
        network.run(until_s=2e-3)
        assert network.link_stats("s0", 5).refused_by_class[DATA_CLASS] > 20
        before = network.link_stats("s0", 5).bytes
        network.run(until_s=4e-3)
        assert (network.link_stats("s0", 5).bytes - before) * 8 / 40e9 / 2e-3 > 0.93


def has_signal_or_is_refused(name: str, topology: Topology) -> bool:
    """Returns whether a scheme runs in the lossy class of data. Raises AssertionError where it has
    no signal."""
    scheme = find_scheme(name).configure()
    if without_signal(topology, scheme.scheme, DATA_CLASS):
        return False
    with VirtualNetwork(
        topology, scheme, reliability={DATA_CLASS: Reliability(Repeats.SELECTIVE, 1e-3)}
    ) as network:
        for i in range(8):
            network.add_flow(FlowSpec(i + 1, f"h{i}", "r0"))
        network.run(until_s=1e-3)
        for flow in network.flows.values():
            stats = flow.stats()
            assert stats.marked_ce or stats.rate_bps < 10e9 or stats.window_bytes < math.inf, name
    return True


def test_each_scheme_signals_on_a_lossy_class_or_is_refused():
    """Those of RTTs alone, of which the queue is a long one here, and those without congestion
    control aside."""
    topology = shared_star(8, 1, 10e9, 1e-6, lossless_classes="0")
    others = {"pfc", "ibcc", "ibcc-tcd"}
    refused = {
        name
        for name in schemes
        if name not in others and not has_signal_or_is_refused(name, topology)
    }
    assert refused == {
        "pcn-time", "qcn-in", "qcn-os", "qcn-os-largest", "qcn-os-sojourn", "qcn-both",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["pcn-time", "qcn-in", "qcn-os", "qcn-os-sojourn", "qcn-both"])
def test_scheme_without_a_signal_in_a_lossy_class_is_refused(name):
    with VirtualNetwork(shared_star(1), find_scheme(name).configure()) as network:
        network.add_flow(FlowSpec(1, "h0", "r0"))
        why = (
            f"flow 2: class 1 has no PFC, and .* for {name}, which would have no signal there: "
            "lossless_classes=1,3 "
        )
        with pytest.raises(VirtualError, match=why):
            network.add_flow(FlowSpec(2, "h0", "r0", traffic_class=1))
        assert list(network.flows) == [1]
