"""PCN with a window: what it does to the first burst, and that RecRate is needed still."""

from dataclasses import replace
from typing import NamedTuple

import pytest
from networks import star, with_flows

from pcn.hosts.algorithms import Configured, NetworkFacts, ReactionPoint, find_scheme
from pcn.hosts.algorithms.check import check
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE, DATA, ACK = 40e9, 1058, 62
RTT = 8e-6 + 2 * (DATA + ACK) * 8 / LINE
BDP = LINE * RTT / 8
SENDERS = 16


class Constant(ReactionPoint):
    segment_bytes = 1
    window_bytes = 2 * BDP

    def __init__(self, line_bps: float, _):
        self.rate_bps = line_bps


class Seen(NamedTuple):
    most: float
    steady: float
    utilisation: float


def configured(name: str, **more: float) -> Configured:
    scheme = find_scheme(name)
    return scheme.configure(
        {**scheme.recommended(NetworkFacts(SENDERS, RTT)), "period_s": 50e-6, **more}
    )


def queue(scheme: Configured, **more: bool) -> Seen:
    """Of 16 to 1, in BDPs, and the line's use: the second half of 10 ms for what is steady."""
    network = VirtualNetwork(star(SENDERS, LINE, delay_s=2e-6, xoff_bytes=5e6), scheme, **more)
    flows = [FlowSpec(i + 1, f"h{i}", "r0") for i in range(SENDERS)]
    with with_flows(network, flows):
        end = ("s0", SENDERS + 1)
        seen = network.sample(2e-6, [network.queue_bytes(*end), network.link_bytes(*end)])
        network.run(until_s=10e-3)
        waiting, sent = seen.values.T
        half = len(waiting) // 2
        used = (sent[-1] - sent[half]) * 8 / LINE / (seen.times_s[-1] - seen.times_s[half])
        return Seen(waiting.max() / BDP, waiting[half:].mean() / BDP, used)


def test_pcn_w_keeps_the_rules_in_python_and_in_c():
    assert [finding for finding in check(find_scheme("pcn-w")) if not finding.kept] == []


@pytest.mark.parametrize("rtts", [1, 2])
def test_first_burst_is_the_flows_windows(rtts):
    """Of N windows one BDP is on its way; PCN's is what comes in before CNPs do, here more than
    twice as much."""
    windowed = queue(configured("pcn-w", window_rtts=rtts))
    assert windowed.most == pytest.approx(SENDERS * rtts - 1, rel=0.1)
    assert windowed.utilisation > (0.93 if rtts == 1 else 0.97)
    usual = queue(configured("pcn"))
    assert usual.most > 1.9 * windowed.most
    assert windowed.steady < usual.steady


def test_constant_window_leaves_its_queue_standing():
    constant = queue(
        replace(find_scheme("pfc"), name="constant", reaction_point=Constant).configure()
    )
    assert constant.steady == pytest.approx(2 * SENDERS - 1, rel=0.1)
    assert queue(configured("pcn-w")).steady < 0.05 * constant.steady


def test_run_is_the_same_in_c_and_in_python():
    assert queue(configured("pcn-w")) == queue(configured("pcn-w"), in_c=False)
