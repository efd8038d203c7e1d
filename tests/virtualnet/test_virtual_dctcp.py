"""DCTCP in virtual time against the paper's model of N flows in step (SIGCOMM'10, 3.3)."""

import math
from functools import partial

import pytest
from networks import assert_one_outcome, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE, DELAY, DATA, ACK, K = 10e9, 25e-6, 1058, 62, 65
RTT = 4 * DELAY + 2 * (DATA + ACK) * 8 / LINE
BDP = LINE * RTT / 8 / DATA
EACH_PACKET = {"ack_bytes": 1.0}
SECOND = {"ack_bytes": 2000.0, "exact": 1.0}


def dctcp_network(senders: int, settings: dict[str, float], **more) -> VirtualNetwork:
    network = VirtualNetwork(
        star(senders, LINE, delay_s=DELAY), find_scheme("dctcp").configure(settings), **more
    )
    return with_flows(
        network, [FlowSpec(i + 1, f"h{i}", "r0", start_s=3.7e-6 * i) for i in range(senders)]
    )


@pytest.mark.parametrize("settings", [EACH_PACKET, SECOND], ids=["ack each", "ack each second"])
@pytest.mark.parametrize("flows", [2, 10])
def test_queue_has_the_height_and_amplitude_of_the_model(flows, settings):
    """Q_max = K + N, A = sqrt(2 N (C RTT + K)) / 2, T = sqrt(2 (C RTT + K) / N) / 2 round trips;
    extremes are means over one and a half periods each."""
    amplitude, period_s = (
        math.sqrt(2 * flows * (BDP + K)) / 2,
        math.sqrt(2 * (BDP + K) / flows) / 2 * RTT,
    )
    every_s, end = 2e-6, ("s0", flows + 1)
    with dctcp_network(flows, settings) as network:
        seen = network.sample(
            every_s, [network.queue_bytes(*end), network.link_bytes(*end)], from_s=0.03
        )
        network.run(until_s=0.13)
        queue, sent = seen.values[:, 0] / DATA, seen.values[:, 1]
        rates = [flow.stats().received_packets for flow in network.flows.values()]
    per = round(1.5 * period_s / every_s)
    whole = queue[: len(queue) // per * per].reshape(-1, per)
    assert whole.max(axis=1).mean() == pytest.approx(K + flows, abs=3)
    assert (whole.max(axis=1) - whole.min(axis=1)).mean() == pytest.approx(amplitude, rel=0.15)
    assert (sent[-1] - sent[0]) * 8 / (seen.times_s[-1] - seen.times_s[0]) == pytest.approx(
        LINE, rel=5e-4
    )
    assert sum(rates) ** 2 / (flows * sum(rate**2 for rate in rates)) > 0.98  # Jain


def test_queue_of_many_flows_is_not_above_k_and_a_frame_a_flow():
    with dctcp_network(40, EACH_PACKET) as network:
        queue = network.sample(2e-6, [network.queue_bytes("s0", 41)], from_s=0.03)
        network.run(until_s=0.1)
        assert queue.values.max() <= (K + 40 + 1) * DATA


def test_run_is_the_same_with_either_queue_and_form_and_in_c():
    assert_one_outcome(partial(dctcp_network, 4, SECOND), 5e-3, {"in_c": False})


def test_marks_follow_k():
    """Half of K, half of the queue's height."""
    heights = []
    for k in (30, 65):
        with dctcp_network(2, {"k_bytes": k * DATA}) as network:
            queue = network.sample(2e-6, [network.queue_bytes("s0", 3)], from_s=0.03)
            network.run(until_s=0.06)
            heights.append(queue.values.max() / DATA)
    assert heights == pytest.approx([32, 67], abs=2)


def test_dctcp_goes_on_after_losses():
    """In a class that repeats what is lost: all arrives, and losses cost throughput."""
    lossy = {3: Reliability(Repeats.SELECTIVE, 1e-3)}
    times = []
    for p_lose in (0.0, 0.003):
        network = VirtualNetwork(
            star(1, LINE, delay_s=DELAY), find_scheme("dctcp").configure(), reliability=lossy
        )
        with with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=5_000_000)]):
            network.disturb("s0", 2, "data", p_lose=p_lose)
            assert network.run(until_s=1, finish=True)
            times.append(network.now_s)
            assert network.flows[1].stats().received_packets == 5000
    assert times[1] > 1.5 * times[0]
