"""Swift in virtual time: the round trip is the target, with few flows and with many."""

import math
from functools import partial

import numpy as np
import pytest
from networks import assert_one_outcome, star, with_flows

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE, DELAY, DATA, ACK = 100e9, 2e-6, 1058, 62
BASE = 4 * DELAY + (2 * (DATA + ACK) - DATA) * 8 / LINE
"""An empty round trip, from a packet's last bit on."""
TARGET, RANGE = 25e-6, 50e-6


def swift_network(senders: int, ai: float = 1, **more) -> VirtualNetwork:
    topology, scheme = (
        star(senders, LINE, delay_s=DELAY, xoff_bytes=5e6),
        find_scheme("swift").configure({"ai": ai}),
    )
    flows = [FlowSpec(i + 1, f"h{i}", "r0") for i in range(senders)]
    return with_flows(VirtualNetwork(topology, scheme, **more), flows)


@pytest.mark.parametrize(
    ("flows", "ai", "within"), [(4, 1, 0.005), (16, 1, 0.02), (64, 1, 0.06), (64, 0.25, 0.01)]
)
def test_round_trip_is_the_target_of_the_mean_window(flows, ai, within):
    """64 flows add 64 frames a round trip, a sixth of what it carries, before any decreases: above
    the target."""
    end = ("s0", flows + 1)
    with swift_network(flows, ai) as network:
        windows = [network.flow_window(flow) for flow in network.flows]
        seen = network.sample(
            1e-6, [network.queue_bytes(*end), network.link_bytes(*end), *windows], from_s=5e-3
        )
        network.run(until_s=15e-3)
        received = np.array([flow.stats().received_packets for flow in network.flows.values()])
    cwnd = seen.values[:, 2:].mean() / DATA
    scaled = RANGE * (1 / math.sqrt(cwnd) - 0.1) / (math.sqrt(10) - 0.1)
    rtt_s = BASE + seen.values[:, 0].mean() * 8 / LINE
    assert rtt_s == pytest.approx(TARGET + scaled, rel=within)
    sent = seen.values[:, 1]
    assert (sent[-1] - sent[0]) * 8 / (seen.times_s[-1] - seen.times_s[0]) == pytest.approx(
        LINE, rel=1e-4
    )
    assert received.sum() ** 2 / (flows * (received**2).sum()) > 0.99  # Jain


def test_nothing_is_marked():
    with swift_network(4) as network:
        network.run(until_s=3e-3)
        assert max(flow.stats().marked_ce for flow in network.flows.values()) == 0


def test_run_is_the_same_with_either_queue_and_form_and_in_c():
    assert_one_outcome(partial(swift_network, 4), 1e-3, {"in_c": False})
