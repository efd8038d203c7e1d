"""The class of CNPs and ACKs: the highest, a given one, or that of their flow's data."""

from dataclasses import replace
from pathlib import Path

import pytest
from networks import flow_stats, read_pcap, star

from pcn.hosts.algorithms import Ack, ReactionPoint, find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.lossless import CONTROL_CLASS
from pcn.topologies.model import FlowSpec

RED = find_scheme("red")
MARKS_ALL = {"k_min_bytes": 0.0, "k_max_bytes": 1.0, "p_max": 1.0}


class Acked(ReactionPoint):
    segment_bytes = 1

    def __init__(self, line_rate_bps: float, parameters):
        self.rate_bps = line_rate_bps
        self.marks: set[int] = set()
        self.longest_s = 0.0

    def on_ack(self, ack: Ack, now_s: float):
        self.marks.add(ack.mark)
        self.longest_s = max(self.longest_s, ack.rtt_s)


def seen(
    notification_class: int | None, folder: Path
) -> tuple[set[int], float, set[int], set[int]]:
    """Of a slow flow whose ACKs share a full port with data: marks in ACKs, the longest round trip,
    classes of frames that its receiver sends, and their ECN fields where they arrive."""
    scheme = replace(RED, name="acked", reaction_point=Acked).configure(MARKS_ALL)
    with VirtualNetwork(star(3), scheme, notification_class=notification_class) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", rate_bps=1e8))
        for number in (1, 2):
            network.add_flow(FlowSpec(number + 1, f"h{number}", "h0", start_s=50e-6, rate_bps=6e9))
        network.capture("r0", 0, folder / "r0.pcap")
        network.capture("s0", 1, folder / "h0.pcap")
        network.run(until_s=2e-3)
        rp = network.flows[1].rp
        assert isinstance(rp, Acked)
        at_sender = rp.marks, rp.longest_s
    sent = {
        frame[15] >> 5 for _, frame in read_pcap(folder / "r0.pcap") if frame[12:14] == b"\x08\x00"
    }
    acks = [
        frame
        for _, frame in read_pcap(folder / "h0.pcap")
        if frame[12:14] == b"\x08\x00" and frame[42] == 0x11
    ]
    assert acks
    return *at_sender, sent, {frame[15] & 3 for frame in acks}


def test_acks_among_data_wait_for_it_and_are_not_marked(tmp_path):
    marks, longest_s, classes, _ = seen(CONTROL_CLASS, tmp_path)
    assert (marks, classes) == ({2}, {7})
    among = seen(None, tmp_path)
    assert (among[0], among[2], among[3]) == ({2}, {3}, {0})
    assert among[1] > 5 * longest_s


@pytest.mark.parametrize("number", [0, 5])
def test_notifications_have_the_class_that_is_given(number, tmp_path):
    assert seen(number, tmp_path)[2] == {number}


def test_cnp_among_data_carries_its_mark(tmp_path):
    """PCN's marks come through, and what is unmarked stays so."""
    scheme = find_scheme("dcqcn-ns3").configure(MARKS_ALL)
    with VirtualNetwork(star(2), scheme, notification_class=None) as network:
        for number in range(2):
            network.add_flow(FlowSpec(number, f"h{number}", "r0"))
        network.run(until_s=1e-3)
        stats = flow_stats(network)
        assert all(stat.cnps_received > 0 and stat.rate_bps < 10e9 for stat in stats)
