"""The programs that were compiled for Tofino decide as the models of their rules do: their
committed assembly, run."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st
from programs import DESTINATION, SOURCE, Program
from qcn_rules import InputRule, OutputRule, Point

from pcn.controller.constants import index
from pcn.controller.marking.qcn_in_cp import Culprit
from pcn.hosts import wire

CNM_LENGTH = 60
INPUT, OUTPUT = 136, 8  # of two pipes
POINT = Point(10_000, 4_000, Culprit.SOJOURN, 1 << 19)
WAITS = ((1 << 17) + 9, (1 << 18) - 501, (1 << 18) - 500, 1 << 18, 1 << 19, 1 << 20)
lengths = st.sampled_from([64, 1058, 9000])
waits = st.integers(0, 2000) | st.sampled_from(WAITS)
draws = st.integers(0, (1 << 32) - 1) | st.tuples(waits, st.integers(-1, 501)).map(sum).map(abs)
arrivals = st.tuples(st.just("arrives"), lengths, draws, st.just(0))
departures = st.tuples(st.just("departs"), lengths, draws, waits)
copies = st.just(("copied", 0, 0, 0))
Steps = list[tuple[str, int, int, int]]


@pytest.fixture(
    scope="module",
    params=[(Culprit.ARRIVAL, OUTPUT), (Culprit.SOJOURN, OUTPUT), (Culprit.SOJOURN, 200)],
)
def inputs(request) -> tuple[Program, Point]:
    culprit, leaves_by = request.param
    point = replace(POINT, culprit=culprit)
    return Program("qcn_in", INPUT, point, leaves_by), point


@pytest.fixture(scope="module")
def outputs() -> Program:
    return Program("qcn", OUTPUT, POINT, OUTPUT)


@settings(settings.get_profile("few"))
@given(
    happens=st.lists(arrivals | departures | copies, max_size=40),
    start=st.sampled_from([0, 20_000, (1 << 32) - 30_000]),
)
def test_inputs(inputs: tuple[Program, Point], happens, start):
    """`start`: bytes that came and left before. Copies come in any order, or not at all."""
    program, point = inputs
    program.clear()
    rule = InputRule(point, admitted=start, departed=start)
    pipe = program.leaves_by >> 7
    program.set_register("admitted_bytes", pipe << 10 | index(INPUT & 0x7F), start)
    program.set_register("departed_bytes", index(INPUT), start)
    under_way: list[int] = []
    for event, length, draw, queued_ns in happens:
        if event == "arrives":
            sampled = rule.arrives(length, draw)
            left = program.arrives(length, draw)
            assert left["ig_intr_md_for_dprsr.drop_ctl"] == 0
            assert left["ig_intr_md_for_tm.ucast_egress_port"] == program.leaves_by
            assert (left["meta.origin.kind"], left["meta.origin.ingress_port"]) == (0, INPUT)
            assert left["ig_intr_md_for_dprsr.mirror_type"] == (sampled is not None)
            if sampled is not None:
                assert (left["meta.copy_kind"], left["meta.session"]) == (1, 4 + pipe)
                assert left["meta.origin.bytes"] == sampled
                under_way.append(sampled)
        elif event == "departs":
            out = program.departs(length, draw, queued_ns, ingress_ns=500)
            feedback, queue = rule.departs(length, queued_ns, 500, draw)
            assert not out.ends
            assert out.message is None
            assert out.copied == ((feedback, queue) if feedback else None)
        elif under_way:
            admitted = under_way.pop()
            out = program.copied("SAMPLE", admitted)
            feedback, queue = rule.copied(admitted)
            assert out.copied is None
            assert out.ends == (feedback == 0)
            if feedback:
                assert (out.message["hdr.cnm.feedback"], out.message["hdr.cnm.queue_bytes"]) == (
                    feedback,
                    queue,
                )


@pytest.mark.parametrize(
    ("queued_ns", "waited"),
    [
        (0, 0),
        (5, 5),
        ((1 << 17) + 5, (1 << 17) + 5),
        ((1 << 18) - 501, (1 << 18) - 501),
        ((1 << 18) - 500, 1 << 18),  # with 500 ns in ingress, what doesn't fit in deq_timedelta
        ((1 << 18) + 5, (1 << 18) + 505),
        ((1 << 19) - 600, (1 << 19) - 100),
    ],
)
def test_the_dice_takes_a_packet_by_its_wait(queued_ns, waited):
    """A packet that waited n ns is taken by n of the dice's sides, the lowest."""
    program = Program("qcn_in", INPUT, POINT, OUTPUT)
    sides = 1 << 19
    last = (waited - 1) % sides
    for draw, taken in ((waited, False), (last, waited > 0), (last + sides, waited > 0)):
        assert program.copied("SAMPLE", 100_000).ends
        assert (program.departs(0, draw, queued_ns, ingress_ns=500).copied is not None) == taken, (
            draw
        )
        program.clear()


@settings(settings.get_profile("few"))
@given(
    happens=st.lists(
        st.tuples(lengths, draws, st.integers(0, (1 << 19) - 1) | st.integers(0, 500)), max_size=40
    )
)
def test_outputs(outputs: Program, happens):
    outputs.clear()
    rule = OutputRule(POINT)
    for length, draw, cells in happens:
        assert outputs.arrives(length, draw)["ig_intr_md_for_dprsr.mirror_type"] == 0
        out = outputs.departs(length, draw, cells=cells)
        feedback, queue = rule.departs(length, cells, draw)
        assert (out.ends, out.message) == (False, None)
        assert out.copied == ((feedback, queue) if feedback else None)


@pytest.mark.parametrize("name", ["qcn", "qcn_in"])
def test_a_copy_becomes_a_message(name):
    """From the destination to the source, in the highest class, as v1model's are."""
    out = Program(name, OUTPUT, POINT, OUTPUT).copied("CNM", 12_345, 17)
    assert out.message is not None
    assert not out.ends
    expected = {
        "hdr.ipv4.src_addr": DESTINATION, "hdr.ipv4.dst_addr": SOURCE, "hdr.ipv4.dscp": 56,
        "hdr.ipv4.ecn": wire.ECN_NOT_ECT, "hdr.ipv4.total_len": CNM_LENGTH - 14,
        "hdr.ipv4.ttl": 64, "hdr.udp.dst_port": wire.CNM_PORT, "hdr.udp.length": CNM_LENGTH - 34,
        "hdr.udp.checksum": 0, "hdr.cnm.version": 0, "hdr.cnm.feedback": 17,
        "hdr.cnm.queue_bytes": 12_345, "hdr.bth.$valid": 1,
    }  # fmt: skip
    assert {field: out.message[field] for field in expected} == expected


def test_messages_count_once():
    """By the port and class of the point; and no copy counts as a packet that was transmitted."""
    program = Program("qcn", OUTPUT, POINT, OUTPUT)
    assert program.departs(1058, 0, cells=400).copied
    program.copied("CNM", 32_000, 63)
    assert program.counted("marked") == program.counted("transmitted") == {index(OUTPUT): 1}

    program = Program("qcn_in", INPUT, replace(POINT, culprit=Culprit.ARRIVAL), OUTPUT)
    program.set_register("admitted_bytes", index(INPUT & 0x7F), 90_000)
    sampled = program.arrives(1058, 0)["meta.origin.bytes"]
    assert program.copied("SAMPLE", sampled).message
    program.copied("CNM", 90_000, 63)
    program.departs(1058, 0)
    assert program.counted("notified") == {index(INPUT): 1}
    assert program.counted("transmitted") == {index(OUTPUT): 1}


@pytest.mark.parametrize(("number", "roce"), [(0, True), (7, True), (3, False)])
def test_only_roce_of_the_point_s_class_is_sampled(number, roce):
    """What else comes is counted as inside all the same: it is counted when it leaves."""
    program = Program("qcn_in", INPUT, replace(POINT, sample=64), OUTPUT)
    for _ in range(3):
        assert program.arrives(1058, 0, number, roce)["ig_intr_md_for_dprsr.mirror_type"] == 0
    assert program.register("admitted_bytes", index(INPUT & 0x7F, number)) == 3 * 1058
