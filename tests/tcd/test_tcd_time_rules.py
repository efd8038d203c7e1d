"""Compares TCD whose RESUME a port's rest shows with TCD whose RESUME PFC reports, on a model of a
port; and Tofino's registers with the state machine: equal except in the cases of docs/tofino.md."""

from collections.abc import Sequence

import pytest
from hypothesis import event, given, settings, strategies as st
from np_ecn_rules import WRAP, Dequeue, TimeRule, TofinoRule
from port_model import Trace, rests
from port_traffic import (
    BEFORE,
    CNP,
    DATA,
    FRAME,
    JUMBO,
    LOWER,
    SECOND_DATA,
    Arrivals,
    Stops,
    packets,
    pauses,
    port as port_from,
)
from tcd_port_model import Met, Undetermined, allowed, shown, states, undetermined
from tcd_rules import SETTLED, State, States, TofinoStates

NONE = Undetermined(frozenset(), frozenset())
WATCHED = frozenset({DATA, SECOND_DATA})
PACKETS = packets(90)
MAX_TON, EMPTY, LOOKS = 20_000, 2 * FRAME, 3
START = 10**6


def port(arrivals: Arrivals, stops: dict[int, Stops]) -> Trace:
    return port_from(START, arrivals, stops)


def machine() -> States:
    return States(MAX_TON, EMPTY, LOOKS)


def met(
    trace: Trace, gap: int = JUMBO, number: int = DATA, before: frozenset[int] = BEFORE
) -> list[Met]:
    return states(trace, TimeRule(gap, WATCHED, before), number, machine)


def burst(
    n: int, every: int = 300, number: int = DATA, length: int = FRAME
) -> list[tuple[int, int, int]]:
    return [(every, number, length)] * n


def after(departures: Sequence[Met], at: int, until: int) -> frozenset[int]:
    """Places of the packets that left in this time, the end included."""
    return frozenset(packet.place for packet in departures if at <= packet.at <= until)


# ---- the bound ----


@given(PACKETS)
def test_without_pauses_no_port_is_undetermined(arrivals):
    """And all that is marked is RED's."""
    assert not any(
        packet.differ or packet.by_time is State.UNDETERMINED for packet in met(port(arrivals, {}))
    )


@given(PACKETS, pauses, pauses)
def test_with_pauses_they_differ_within_the_bound(arrivals, stops, other_stops):
    trace = port(arrivals, {DATA: stops, SECOND_DATA: other_stops})
    ends = rests(trace, JUMBO, WATCHED | BEFORE)
    for number in sorted(WATCHED):
        departures = met(trace, number=number)
        resumes = shown(trace, ends, JUMBO, number)
        alone, bound = undetermined(departures), allowed(departures, resumes, MAX_TON)
        assert alone.time_alone <= bound.time_alone
        assert alone.pfc_alone <= bound.pfc_alone
        event(f"time alone {bool(alone.time_alone)}, PFC alone {bool(alone.pfc_alone)}")
        if all(resume.first == resume.at for resume in resumes):
            assert not any(packet.differ for packet in departures)
            event(f"{bool(resumes)}: all are detected when they come")


@given(PACKETS, pauses)
def test_they_are_the_same_again_once_the_queue_is_gone(arrivals, stops):
    """Once two frames or fewer are left behind when both have looked: from then until the next
    RESUME RED marks."""
    trace = port(arrivals, {DATA: stops})
    resumes = [resume.at for resume in trace.resumes]
    same = True
    for packet in met(trace):
        while resumes and resumes[0] <= packet.at:
            resumes.pop(0)
            same = False
        if (
            State.UNDETERMINED not in (packet.by_pfc, packet.by_time)
            and packet.left <= EMPTY
            and packet.by_pfc in SETTLED
        ):
            same = same or packet.by_time in SETTLED
        assert not (same and packet.differ)


@pytest.mark.parametrize("congested", [False, True])
def test_a_pause_makes_the_same_states(congested):
    """Undetermined, draining, and no congestion or congestion, at the same packets."""
    trace = port(
        burst(150, every=FRAME) if congested else burst(60, every=500), {DATA: [(3000, 15_100)]}
    )
    departures = met(trace)
    assert not any(packet.differ for packet in departures)
    runs = [
        packet.by_time
        for packet, last in zip(departures[1:], departures, strict=False)
        if packet.by_time is not last.by_time
    ]
    last = State.CONGESTION if congested else State.NON_CONGESTION
    assert runs == [
        State.UNDETERMINED,
        State.DRAINING,
        last,
        *([State.NON_CONGESTION] if congested else []),
    ]


# ---- where they differ: each row of docs/tofino.md's table ----


@pytest.mark.parametrize(("length", "seen"), [(JUMBO - 400, False), (JUMBO - 300, True)])
def test_a_pause_shorter_than_the_bound_is_not_seen(length, seen):
    """PFC alone marks UE until max(Ton) has passed, and by time RED decides meanwhile. The latest
    frame had begun 350 ns before the pause."""
    departures = met(port(burst(60, every=100), {DATA: [(3000, length)]}))
    resumed_at = START + 3000 + length
    expected = frozenset() if seen else after(departures, resumed_at, resumed_at + MAX_TON)
    assert undetermined(departures) == Undetermined(frozenset(), expected)
    assert len(expected) in (0, MAX_TON // FRAME + 1)
    draining = [packet for packet in departures if packet.by_pfc is State.DRAINING]
    assert draining
    assert all(
        packet.by_time is (State.DRAINING if seen else State.NON_CONGESTION) for packet in draining
    )


@pytest.mark.parametrize("late", [0, 2000])
def test_a_resume_that_no_packet_waited_for_is_not_seen(late):
    """Nothing waited, or only what had come less than the bound before."""
    arrivals = [(30_000 - late, DATA, FRAME), *burst(40, every=100)]
    departures = met(port(arrivals, {DATA: [(0, 29_999)]}))
    expected = after(departures, START + 29_999, START + 29_999 + MAX_TON)
    assert expected
    assert undetermined(departures) == Undetermined(frozenset(), expected)


def test_higher_classes_without_rest_hide_a_pause():
    arrivals = [(10, DATA, FRAME)] * 5 + [(800, CNP, FRAME)] * 40 + burst(30, every=100)
    departures = met(port(arrivals, {DATA: [(5, 30_000)]}))
    alone = undetermined(departures)
    assert alone.time_alone == frozenset()
    assert (
        alone.pfc_alone
        == after(departures, START + 30_005, START + 30_005 + MAX_TON)
        != frozenset()
    )


@pytest.mark.parametrize("held", sorted(WATCHED))
def test_two_lossless_classes_hide_each_other_s_pauses(held):
    """While the other one keeps the port busy, be it higher or lower. At ease it doesn't."""
    (busy_class,) = WATCHED - {held}
    for every, hidden in ((800, True), (20_000, False)):
        arrivals = [
            *burst(5, every=10, number=held),
            *burst(60 if hidden else 3, every, busy_class),
        ]
        departures = met(port(arrivals, {held: [(5, 45_000)]}), number=held)
        assert undetermined(departures).time_alone == frozenset()
        assert len(undetermined(departures).pfc_alone) == (5 if hidden else 0)


def test_a_resume_is_seen_at_the_first_departure_after_it():
    """A frame of a higher class is being sent when the pause ends: the port stays undetermined for
    longer, by the rest of that frame's time."""
    arrivals = [*burst(10, every=10), (20_000, CNP, JUMBO), *burst(60, every=100)]
    resumed_at = START + 20_505
    departures = met(port(arrivals, {DATA: [(5, 20_500)]}))
    first = next(packet.at for packet in departures if packet.at >= resumed_at)
    assert 6000 < first - resumed_at < JUMBO
    expected = after(departures, resumed_at + MAX_TON + 1, first + MAX_TON)
    assert undetermined(departures) == Undetermined(expected, frozenset())
    assert len(expected) == round((first - resumed_at) / FRAME)


def test_a_class_that_goes_before_and_is_not_known_makes_a_resume():
    """As does a bound that is too small. Then the port is undetermined for max(Ton) and drains,
    though it wasn't paused."""
    trace = port(
        [*burst(10, every=10), *burst(20, every=20, number=CNP), *burst(60, every=100)], {}
    )
    assert not any(packet.differ for packet in met(trace))
    departures = met(trace, before=frozenset())
    first = min(undetermined(departures).time_alone)
    at = next(packet.at for packet in departures if packet.place == first)
    assert undetermined(departures) == Undetermined(
        after(departures, at, at + MAX_TON), frozenset()
    )
    assert any(packet.by_time is State.DRAINING for packet in departures)
    small = met(port([(0, LOWER, JUMBO), *burst(60, every=10)], {}), gap=2 * FRAME)
    assert len(undetermined(small).time_alone) == MAX_TON // FRAME + 1


# ---- Tofino's registers ----

times = st.one_of(
    st.integers(0, 50), st.sampled_from([MAX_TON, MAX_TON + 1, 3 * MAX_TON, WRAP - MAX_TON - 1])
)
queues = st.one_of(st.sampled_from([0, EMPTY, EMPTY + 1, 5000, 5000, 5001]), st.integers(0, 9000))


@settings(max_examples=100)
@given(
    start=st.sampled_from([MAX_TON + 1, 10**6, WRAP - 3 * MAX_TON, WRAP - 5, 5 * WRAP - 20]),
    looks=st.integers(1, 4),
    steps=st.lists(st.tuples(times, queues, st.integers(0, 5)), max_size=80),
)
def test_tofino_s_registers_are_the_state_machine(start, looks, steps):
    """Each step: time after the last departure, queue left behind, whether it shows a RESUME (one
    in six does)."""
    machine, registers = States(MAX_TON, EMPTY, looks), TofinoStates(MAX_TON, EMPTY, looks)
    now = start
    for after, left, resumed in steps:
        now += after
        expected = machine.depart(now, left, now if resumed == 0 else None)
        state = registers.depart(now, left, resumed == 0)
        assert state is (State.CONGESTION if expected in SETTLED else expected)


def test_a_look_that_is_due_for_a_wrap_is_put_off():
    """An undetermined port from which nothing leaves until 4.29 s after the RESUME, for max(Ton)
    from then on."""
    for late, expected in (
        (WRAP - 1, State.DRAINING), (WRAP, State.UNDETERMINED), (WRAP + MAX_TON, State.UNDETERMINED)
    ):  # fmt: skip
        machine, registers = States(MAX_TON, EMPTY, LOOKS), TofinoStates(MAX_TON, EMPTY, LOOKS)
        machine.depart(START, 9000, START)
        registers.depart(START, 9000, True)
        assert machine.depart(START + late, 5000) is State.DRAINING
        assert registers.depart(START + late, 5000, False) is expected
        assert registers.depart(START + late + MAX_TON + 1, 4000, False) is State.DRAINING


def test_a_queue_in_cells_may_fall_where_its_bytes_do_not():
    """A frame takes whole cells of 80 B: what more it takes, less than a cell a frame, hides a
    fall, or makes one."""

    def look(first: list[int], second: list[int]) -> tuple[State, State]:
        """By bytes and by cells, where frames of these lengths are left at the RESUME and at the
        only look."""
        by_bytes, by_cells = States(MAX_TON, 0, 1), States(MAX_TON, 0, 1)
        for now, lengths in ((START, first), (START + MAX_TON + 1, second)):
            resumed = START if now == START else None
            by_bytes.depart(now, sum(lengths), resumed)
            by_cells.depart(now, sum(-(-length // 80) for length in lengths), resumed)
        return by_bytes.state, by_cells.state

    assert look([160] * 10, [85] * 11) == (State.DRAINING, State.CONGESTION)
    assert look([85] * 11, [160] * 10) == (State.CONGESTION, State.DRAINING)
    assert look([1058] * 10, [1058] * 9) == (State.DRAINING, State.DRAINING)


def test_a_resume_is_shown_again_a_wrap_later():
    """To the nanosecond: its age is 0 once more."""
    gap, at = 9, 1000
    rule = TofinoRule(gap, frozenset({3}))

    def shows(at: int, waited: int) -> bool:
        evidence = rule.tells(Dequeue(at, 3, at - waited, 0))
        return evidence.shows

    assert [shows(at, 500), shows(at + 1, 20)] == [True, False]
    assert [shows(WRAP + at - 1, 20), shows(WRAP + at, 20)] == [True, False]
    rule = TofinoRule(gap, frozenset({3}))
    assert [shows(at, 500), shows(WRAP + at, gap), shows(2 * WRAP + at, gap + 1)] == [
        True,
        False,
        True,
    ]
