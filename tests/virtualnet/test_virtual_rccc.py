"""RCCC in virtual time: a receiver grants its line's rate, and the same run however it is computed.
judges/htsim compares it with uet-htsim."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from networks import assert_one_outcome, flow_stats, star, with_flows

from pcn.hosts.algorithms import Demand, NotificationPoint, ReactionPoint, Turn, dcqcn, find_scheme
from pcn.hosts.algorithms.parameters import Parameters
from pcn.hosts.algorithms.scheme import Scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError

LINE, DATA, CLASS = 100e9, 1062, 1
RTT = 4e-6 + 2 * (DATA + 62) * 8 / LINE
BDP = LINE * RTT / 8
SIZE = 300_000


def rccc_network(
    senders: int, size: int | None = None, pull_rate: float = 0.99, **more
) -> VirtualNetwork:
    """Senders to one port, whose queue is a bandwidth-delay product, and trims."""
    parameters = {
        "network_rtt_s": RTT,
        "maxwnd_bytes": 1.5 * BDP,
        "pull_rate": pull_rate,
        "rto_s": 200e-6,
    }
    reliability = {CLASS: Reliability(Repeats.SELECTIVE, timeout_s=200e-6, reordering_s=1)}
    network = VirtualNetwork(
        star(senders, LINE),
        find_scheme("rccc").configure(parameters),
        reliability=reliability,
        **more,
    )
    network.set_queue("s0", senders + 1, CLASS, depth=round(BDP / DATA))
    network.set_trimming("s0", senders + 1, [CLASS])
    flows = [
        FlowSpec(i + 1, f"h{i}", "r0", size_bytes=size, traffic_class=CLASS) for i in range(senders)
    ]
    return with_flows(network, flows)


@pytest.mark.parametrize("pull_rate", [0.99, 0.5])
@pytest.mark.parametrize("senders", [1, 8])
def test_line_carries_what_is_granted_and_nothing_waits(senders, pull_rate):
    end = ("s0", senders + 1)
    with rccc_network(senders, pull_rate=pull_rate) as network:
        seen = network.sample(
            1e-6, [network.queue_bytes(*end, CLASS), network.link_bytes(*end)], from_s=0.5e-3
        )
        network.run(until_s=2.5e-3)
        queue, sent = seen.values.T
        assert (sent[-1] - sent[0]) * 8 / (seen.times_s[-1] - seen.times_s[0]) == pytest.approx(
            pull_rate * LINE, rel=2e-3
        )
        assert queue.mean() < 4 * senders * DATA  # a turn's packets of each
        got = [flow.stats().received_packets for flow in network.flows.values()]
        assert sum(got) ** 2 / (senders * sum(received**2 for received in got)) > 0.999  # Jain


@pytest.mark.parametrize("senders", [2, 32])
def test_incast_takes_the_line_s_time_and_no_timeout(senders):
    with rccc_network(senders, SIZE) as network:
        assert network.run(until_s=0.1, finish=True)
        bound_s = senders * SIZE / 1000 * DATA * 8 / LINE
        assert bound_s < network.now_s < bound_s / 0.99 + 2 * RTT
        stats = flow_stats(network)
        # first credits
        assert sum(stat.repeated_packets for stat in stats) >= (senders - 2) * BDP / DATA
        assert sum(stat.timeouts for stat in stats) == 0


def test_flow_that_misses_grants_goes_on_by_timers():
    """Nine of ten notifications to a sender are lost: a grant has all that was granted before."""
    with rccc_network(2, SIZE) as network:
        network.disturb("s0", 1, "notifications", p_lose=0.9)
        assert network.run(until_s=0.5, finish=True)
        seen = flow_stats(network)
        assert seen[0].timeouts > 0
        assert seen[1].timeouts == 0
        assert seen[1].complete_s < seen[0].complete_s


@pytest.mark.parametrize("in_c", [True, False])
def test_grants_end_with_a_flow_whatever_maxwnd_is(in_c):
    """Flow 1 is stopped, of flow 2 all has come, flow 3 has lost its last packets, which
    nothing repeats; each may have 10^12 bytes unasked, 25 s of grants."""
    parameters = {"network_rtt_s": RTT, "maxwnd_bytes": 1e12, "rto_s": 1e-4, "paths": 1}
    scheme = find_scheme("rccc").configure(parameters)
    once = {CLASS: Reliability(Repeats.NOTHING)}
    flows = [
        FlowSpec(1, "h0", "r0", rate_bps=LINE / 4, traffic_class=CLASS),
        FlowSpec(2, "h1", "r0", size_bytes=SIZE, rate_bps=LINE / 4, traffic_class=CLASS),
        FlowSpec(3, "h2", "r0", size_bytes=SIZE, rate_bps=LINE / 4, traffic_class=CLASS),
    ]
    with VirtualNetwork(star(3, LINE), scheme, reliability=once, in_c=in_c) as network:
        with_flows(network, flows)
        network.run(until_s=5e-5)
        network.disturb("h2", 0, "data", lose=2)
        network.run(until_s=2e-4)
        network.stop_flow(1)
        network.run(until_s=6e-4)
        assert network.totals().packets == 0
        sent = flow_stats(network)
        network.run(until_s=1.0)
        assert flow_stats(network) == sent


def test_run_is_the_same_with_either_queue_and_form_and_in_c():
    build = partial(rccc_network, 6, SIZE)
    assert_one_outcome(build, 0.1, {"in_c": False}, {"threads": 2}, finish=True)


class Granting(NotificationPoint):
    grants = True

    def __init__(self, _parameters: Parameters):
        self.turn = Turn.NONE

    def on_demand(self, demand: Demand, now_s: float):
        self.turn = Turn.ACTIVE


class OnePacket(Granting):
    def on_turn(self, turn: Turn, now_s: float) -> int:
        self.turn = Turn.NONE
        return 2**40


class NoPace(Granting):
    pace_bytes = 0

    def on_turn(self, turn: Turn, now_s: float) -> int:
        return 256


class LineRate(ReactionPoint):
    def __init__(self, line_rate_bps: float, _parameters: Parameters):
        self.rate_bps = line_rate_bps


@pytest.mark.parametrize(
    ("np", "text"), [(OnePacket, "as much as a grant can carry"), (NoPace, "pace_bytes: from 1")]
)
def test_grant_that_can_t_be_is_refused(np, text):
    scheme = Scheme("own", "", "plain", Parameters, LineRate, np).configure()
    network = with_flows(VirtualNetwork(star(1, LINE), scheme), [FlowSpec(1, "h0", "r0")])
    with network, pytest.raises((VirtualError, ValueError), match=text):
        network.run(until_s=1e-4)


class Raising(Granting):
    """Raises in its first turn, if it is the second of those that begin; others grant a packet."""

    begun = 0

    def __init__(self, parameters: Parameters):
        super().__init__(parameters)
        Raising.begun += 1
        self.raises = Raising.begun == 2
        self.granted = 0

    def on_turn(self, turn: Turn, now_s: float) -> int:
        if self.raises:
            raise KeyError("own")
        self.turn = Turn.ACTIVE
        self.granted += 1024
        return self.granted


class Demanding(LineRate):
    """Demands as many bytes at each time."""

    demand_bytes = 10_000


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_np_that_fails_in_its_turn_leaves_it_to_others(queues):
    Raising.begun = 0
    scheme = Scheme("own", "", "plain", Parameters, Demanding, Raising).configure()
    with VirtualNetwork(star(3, LINE), scheme, queues=queues) as network:
        network.survive()
        with_flows(network, [FlowSpec(i, f"h{i}", "r0") for i in range(3)])
        network.run(until_s=1e-4)
        assert list(network.failures) == [(1, "NP")]
        granted = [flow.np.granted for flow in network.flows.values()]
        assert granted[1] == 0
        assert min(granted[0], granted[2]) > 50 * 1024


def test_host_that_survives_sends_no_grant_that_can_t_be_carried():
    scheme = Scheme("own", "", "plain", Parameters, Demanding, OnePacket).configure()
    with VirtualNetwork(star(1, LINE), scheme) as network:
        network.survive()
        with_flows(network, [FlowSpec(1, "h0", "r0")]).run(until_s=1e-5)
        assert network.unable("r0") > 0
        assert network.flows[1].stats().cnps_sent == 0


class GrantingInC(Granting):
    in_c = str(Path(dcqcn.__file__).parent / "dcqcn_np.c")


def test_np_in_c_without_turns_is_refused():
    scheme = replace(find_scheme("dcqcn"), notification_point=GrantingInC).configure()
    with (
        VirtualNetwork(star(1, LINE), scheme) as network,
        pytest.raises(VirtualError, match="needs on_demand and on_turn"),
    ):
        network.add_flow(FlowSpec(1, "h0", "r0"))
