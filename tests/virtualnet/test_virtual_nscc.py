"""NSCC in virtual time: the delay that it holds, and the same run however it is computed.
judges/htsim compares it with uet-htsim."""

from functools import partial

import pytest
from networks import assert_one_outcome, flow_stats, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE, DATA, CLASS = 100e9, 1058, 1
RTT = 4e-6 + 2 * (DATA + 62) * 8 / LINE
BDP = LINE * RTT / 8
DEPTH = round(BDP / DATA)


def nscc_network(
    senders: int, trim: bool = True, size: int | None = None, **more
) -> VirtualNetwork:
    scheme = find_scheme("nscc").configure({"network_rtt_s": RTT})
    reliability = {CLASS: Reliability(Repeats.SELECTIVE, timeout_s=200e-6, reordering_s=1)}
    network = VirtualNetwork(star(senders, LINE), scheme, reliability=reliability, **more)
    if trim:
        network.set_queue("s0", senders + 1, CLASS, depth=DEPTH)
        network.set_trimming("s0", senders + 1, [CLASS])
    flows = [
        FlowSpec(i + 1, f"h{i}", "r0", size_bytes=size, traffic_class=CLASS) for i in range(senders)
    ]
    return with_flows(network, flows)


@pytest.mark.parametrize("senders", [2, 8])
def test_nscc_holds_the_queue_between_its_marks_at_full_utilisation(senders):
    with nscc_network(senders) as network:
        end = ("s0", senders + 1)
        seen = network.sample(
            1e-6, [network.queue_bytes(*end, CLASS), network.link_bytes(*end)], from_s=1e-3
        )
        network.run(until_s=3e-3)
        queue, sent = seen.values.T
        assert 0.2 * BDP < queue.mean() < 0.8 * BDP
        assert (sent[-1] - sent[0]) * 8 / (seen.times_s[-1] - seen.times_s[0]) > 0.99 * LINE
        got = [flow.stats().received_packets for flow in network.flows.values()]
        assert sum(got) ** 2 / (senders * sum(received**2 for received in got)) > 0.95  # Jain


def test_incast_ends_without_a_timeout():
    with nscc_network(32, size=200_000) as network:
        assert network.run(until_s=0.1, finish=True)
        assert network.now_s < 1.15 * 32 * 200 * DATA * 8 / LINE
        stats = flow_stats(network)
        assert sum(stat.repeated_packets for stat in stats) > 500
        assert sum(stat.timeouts for stat in stats) == 0


def test_run_is_the_same_with_either_queue_and_form_and_in_c():
    build = partial(nscc_network, 6, size=300_000)
    assert_one_outcome(build, 0.1, {"in_c": False}, {"threads": 2}, finish=True)
