"""The program that was compiled for Tofino decides as the model of its rule does: its committed
assembly, run."""

from pathlib import Path

import pytest
from assembly import Egress
from hypothesis import given, settings, strategies as st
from np_ecn_rules import WRAP, Dequeue, TofinoRule

from pcn.controller.marking.rest import RestPort
from pcn.hosts import wire

FOLDER = Path(__file__).parents[2] / "p4src/compiled/tna/tofino/pcn"
PORT, GAP, INGRESS = 136, 9, 4
CONFIG = RestPort(PORT, GAP, 0b0010_1000)
BEGIN = 1 << 20

times = st.one_of(
    st.integers(0, 3 * GAP),
    st.integers(0, 200),
    st.sampled_from(
        [(1 << 18) - INGRESS - 1, (1 << 18) - 1, 1 << 18, WRAP - GAP, WRAP - 1, WRAP, WRAP // 2]
    ),
)


@pytest.fixture(scope="module")
def program() -> Egress:
    egress = Egress(FOLDER)
    for number, action in CONFIG.actions.items():
        key = ("PcnEgress.rest.rest_config", (PORT, number))
        egress.entries[key] = (f"PcnEgress.rest.{action}", {"gap_ns": GAP})
    return egress


def ecn(program: Egress, packet: Dequeue, before: int = wire.ECN_ECT0) -> int:
    return program.run(
        {
            "eg_intr_md_from_prsr.global_tstamp.0-31": packet.at % WRAP,
            "meta.bridge.arrival": (packet.enqueued_at - INGRESS) % WRAP,
            "eg_intr_md.deq_timedelta": (packet.at - packet.enqueued_at) % (1 << 18),
            "eg_intr_md.enq_qdepth": packet.queued,
            "eg_intr_md.egress_port": PORT,
            "hdr.ipv4.dscp": packet.number << 3,
            "hdr.ipv4.ecn": before,
        }
    )["hdr.ipv4.ecn"]


@settings(max_examples=60)
@given(
    start=st.sampled_from([0, GAP, BEGIN, WRAP - 50, WRAP - 5, 5 * WRAP - 20]),
    steps=st.lists(st.tuples(times, st.integers(0, 7), times, st.integers(0, 2)), max_size=60),
)
def test_the_program_is_the_model(program: Egress, start, steps):
    """Each step: time after the last dequeue, class, how long the packet waited, how many it
    found."""
    program.memory.clear()
    lossless = {number for number, action in CONFIG.actions.items() if action == "set_rest"}
    rule = TofinoRule(GAP, frozenset(lossless), frozenset(CONFIG.actions) - lossless, INGRESS)
    now = start
    for after, number, waited, queued in steps:
        now += after
        packet = Dequeue(now, number, max(now - waited, 0), queued)
        assert (ecn(program, packet) == wire.ECN_CE) == rule.marks(packet), packet


def test_only_packets_that_are_ecn_capable_are_marked(program: Egress):
    for before, after in ((0, 0), (1, wire.ECN_CE), (2, wire.ECN_CE), (3, 3)):
        program.memory.clear()
        ecn(program, Dequeue(BEGIN, 3, BEGIN, 0))
        assert ecn(program, Dequeue(BEGIN + 5, 3, BEGIN + 1, 1), before) == after
