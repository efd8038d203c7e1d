"""The program that was compiled for Tofino decides as the models of rest, states and RED do: its
assembly, run."""

from pathlib import Path

import pytest
from assembly import Egress
from hypothesis import event, given, settings, strategies as st
from np_ecn_rules import WRAP, Dequeue, TofinoRule
from tcd_rules import State, TofinoStates

from pcn.controller.marking.rest import RestPort
from pcn.hosts import wire

FOLDER = Path(__file__).parents[2] / "p4src/compiled/tna/tofino/tcd"
PORT, GAP, INGRESS = 136, 9, 4
MAX_TON, EMPTY, LOOKS = 15, 3, 2
CONFIG = RestPort(PORT, GAP, 0b0010_1000)
WATCHED = frozenset(number for number, action in CONFIG.actions.items() if action == "set_rest")
BEFORE = frozenset(CONFIG.actions) - WATCHED
BEGIN = 1 << 20
# By the shortest queue: the last number of those drawn that marks. Longer queues than 100 cells are
# marked by half.
CURVE = {5: 99, 10: WRAP - 1, 100: (WRAP >> 1) - 1}
UE = 1

# Mostly such that the port has no rest, and no packet waited through one: else each is a RESUME.
times = st.one_of(
    *[st.integers(0, GAP)] * 4,
    st.integers(0, 200),
    st.sampled_from([MAX_TON, MAX_TON + 1, 1 << 18, WRAP - MAX_TON, WRAP - GAP, WRAP - 1, WRAP]),
)
queues = st.one_of(st.sampled_from([0, EMPTY, EMPTY + 1, 9, 10, 11, 101]), st.integers(0, 120))
draws = st.sampled_from([0, 99, 100, (WRAP >> 1) - 1, WRAP >> 1, WRAP - 1])


@pytest.fixture(scope="module")
def program() -> Egress:
    egress = Egress(FOLDER)
    for number, action in CONFIG.actions.items():
        egress.entries["TcdEgress.rest.rest_config", (PORT, number)] = (
            f"TcdEgress.rest.{action}",
            {"gap_ns": GAP},
        )
    parameters = {"max_ton_ns": MAX_TON, "empty_cells": EMPTY, "looks": LOOKS}
    egress.entries["TcdEgress.tcd_port.tcd_config", (PORT,)] = (
        "TcdEgress.tcd_port.set_tcd",
        parameters,
    )
    egress.entries["TcdEgress.red_draw.red_config", (PORT,)] = (
        "TcdEgress.red_draw.set_red",
        {"curve": 7},
    )
    for cells, last in CURVE.items():
        action = "TcdEgress.red_draw.set_probability"
        egress.entries["TcdEgress.red_draw.red_curves", (7, cells)] = (action, {"last_draw": last})
    return egress


def ecn(
    program: Egress,
    packet: Dequeue,
    left: int,
    draw: int,
    before: int = wire.ECN_ECT0,
    port: int = PORT,
) -> int:
    program.random = draw
    return program.run(
        {
            "eg_intr_md_from_prsr.global_tstamp.0-31": packet.at % WRAP,
            "meta.bridge.arrival": (packet.enqueued_at - INGRESS) % WRAP,
            "eg_intr_md.deq_timedelta": (packet.at - packet.enqueued_at) % (1 << 18),
            "eg_intr_md.deq_qdepth": left,
            "eg_intr_md.egress_port": port,
            "hdr.ipv4.dscp": packet.number << 3,
            "hdr.ipv4.ecn": before,
        }
    )["hdr.ipv4.ecn"]


def expected(state: State, left: int, draw: int, before: int) -> int:
    if state is State.UNDETERMINED:
        return UE if before in (wire.ECN_ECT0, UE) else before
    last = next((CURVE[cells] for cells in sorted(CURVE, reverse=True) if cells <= left), None)
    if state is State.DRAINING or last is None or draw > last or before == wire.ECN_NOT_ECT:
        return before
    return wire.ECN_CE


@settings(settings.get_profile("few"))
@given(
    start=st.sampled_from([0, GAP, BEGIN, WRAP - 50, WRAP - 5, 5 * WRAP - 20]),
    steps=st.lists(
        st.tuples(
            times, st.sampled_from([3] * 5 + [5, 7, 0]), times, queues, draws, st.integers(0, 3)
        ),
        min_size=20,
        max_size=80,
    ),
)
def test_the_program_is_the_model(program: Egress, start, steps):
    """Each step: time after the last dequeue, class, how long the packet waited, cells left behind,
    the number drawn, ECN. Registers hold what the model's do."""
    program.memory.clear()
    rule = TofinoRule(GAP, WATCHED, BEFORE, INGRESS)
    ports = {number: TofinoStates(MAX_TON, EMPTY, LOOKS) for number in WATCHED}
    now = start
    for after, number, waited, left, draw, before in steps:
        now += after
        packet = Dequeue(now, number, max(now - waited, 0), 0)
        evidence = rule.tells(packet)
        ecn_after = ecn(program, packet, left, draw, before)
        if evidence is None:
            assert ecn_after == before
            continue
        state = ports[number].depart(now, left, evidence.shows)
        event(state.name)
        assert ecn_after == expected(state, left, draw, before), (packet, state)
    for number, port in ports.items():
        cell = PORT * 8 + number
        held = {
            name.rpartition(".")[2]: value
            for (name, at), value in program.memory.items()
            if at == cell
        }
        assert held.get("tcd_until", (0, 0))[0] == port.until
        assert held.get("tcd_undetermined", (0, 0))[0] == port.undetermined
        assert held.get("tcd_queue", (0, 0)) == (port.cells, port.missing)


def test_a_pause_of_the_compiled_program(program: Egress):
    """UE for max(Ton), nothing while the queue falls, RED once as many looks show no fall."""
    program.memory.clear()
    ecn(program, Dequeue(BEGIN, 3, BEGIN, 0), 0, 0)
    marks = []
    for turn, left in enumerate([100, 90, 80, 80, 80, 80]):
        at = BEGIN + 100 + turn * (MAX_TON + 1)
        marks.append(ecn(program, Dequeue(at, 3, at - (99 if turn == 0 else 1), 1), left, 0))
    ect0, ce = wire.ECN_ECT0, wire.ECN_CE
    assert marks == [UE, ect0, ect0, ect0, ce, ce]


def test_a_port_without_entries_marks_nothing(program: Egress):
    program.memory.clear()
    for at in range(BEGIN, BEGIN + 500, 100):
        assert ecn(program, Dequeue(at, 3, at - 90, 1), 100, 0, port=PORT + 1) == wire.ECN_ECT0


def test_red_alone_where_tcd_has_no_entry(program: Egress):
    """After what would be a RESUME, too."""
    program.memory.clear()
    tcd_config = ("TcdEgress.tcd_port.tcd_config", (PORT,))
    entry = program.entries.pop(tcd_config)
    for at in range(BEGIN, BEGIN + 500, 100):
        assert ecn(program, Dequeue(at, 3, at - 90, 1), 100, 0) == wire.ECN_CE
    program.entries[tcd_config] = entry
