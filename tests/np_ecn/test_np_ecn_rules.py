"""NP-ECN by time against the counter of paused packets, on a model of a port: equal except in the
cases of docs/tofino.md."""

import pytest
from hypothesis import event, example, given, settings, strategies as st
from np_ecn_rules import WRAP, TimeRule, TofinoRule
from port_model import Differences, Trace, allowed, differences, rests
from port_traffic import (
    BEFORE,
    CNP,
    DATA,
    FRAME,
    JUMBO,
    LOWER,
    SECOND_DATA,
    SMALL,
    packets,
    pauses,
    port,
)

NONE = Differences(frozenset(), frozenset())
MARKED = frozenset({DATA, SECOND_DATA})
COUNTED = MARKED | BEFORE
PACKETS = packets(60)
# Later than a gap after the clock's 0, so that the first dequeue ends a rest; and such that the
# clock wraps meanwhile.
STARTS = st.sampled_from(
    [JUMBO + 1, 10**6, WRAP - 100_000, WRAP - 30_000, WRAP - 5_000, 3 * WRAP - 20_000]
)


def new(gap: int = JUMBO) -> TimeRule:
    return TimeRule(gap, MARKED, BEFORE)


def across_a_wrap(trace: Trace) -> frozenset[int]:
    """Waited while the clock wrapped: a RESUME that never was counts from 0."""
    return frozenset(
        place
        for place, departure in enumerate(trace.departures)
        if departure.dequeue.enqueued_at // WRAP != departure.dequeue.at // WRAP
    )


@given(STARTS, PACKETS)
def test_without_pauses_they_are_equal(start, arrivals):
    """Whatever else keeps a packet waiting: its own queue, higher classes, a lower one's jumbo
    frame that has begun."""
    trace = port(start, arrivals, {})
    observed = differences(trace, new(), MARKED)
    assert observed.time_alone == frozenset()
    assert observed.counter_alone <= across_a_wrap(trace)


@settings(max_examples=100)
@given(STARTS, PACKETS, pauses, pauses)
@example(10**6, [(0, DATA, FRAME)] * 3, [(10, 20_000)], [])
def test_with_pauses_they_differ_within_the_bound(start, arrivals, stops, other_stops):
    trace = port(start, arrivals, {DATA: stops, SECOND_DATA: other_stops})
    bound = allowed(trace, rests(trace, JUMBO, COUNTED), JUMBO, MARKED)
    observed = differences(trace, new(), MARKED)
    assert observed.time_alone <= bound.time_alone
    assert observed.counter_alone <= bound.counter_alone | across_a_wrap(trace)
    event(f"time alone {bool(observed.time_alone)}, counter alone {bool(observed.counter_alone)}")


@given(st.integers(0, 999), PACKETS, pauses)
def test_in_whole_microseconds(offset, arrivals, stops):
    """A coarse clock changes no more than which packets count as come between RESUME and the first
    departure."""
    gap = -(-JUMBO // 1000)
    trace = port(10**6 + offset, arrivals, {DATA: stops})
    bound = allowed(trace, rests(trace, gap, COUNTED, 1000), gap, MARKED, 1000)
    observed = differences(trace, new(gap), MARKED, 1000)
    assert observed.time_alone <= bound.time_alone
    assert observed.counter_alone <= bound.counter_alone


@given(st.integers(0, 40_000), PACKETS, pauses)
def test_in_whole_microseconds_without_pauses(offset, arrivals, stops):
    gap = -(-JUMBO // 1000)
    assert differences(port(10**6 + offset, arrivals, {}), new(gap), MARKED, 1000) == NONE


def test_what_comes_in_the_microsecond_of_the_resume_is_unmarked():
    """Before it and after it: the clock's values are equal."""
    trace = port(
        10**6,
        [*burst(5, every=100), (20_700, DATA, FRAME), *burst(9, every=100)],
        {DATA: [(1000, 20_450)]},
    )
    observed = differences(trace, new(8), MARKED, 1000)
    assert observed.time_alone == frozenset()
    came = [trace.departures[place].dequeue.enqueued_at for place in sorted(observed.counter_alone)]
    assert came == [1_021_500, 1_021_600, 1_021_700, 1_021_800, 1_021_900]


# ---- what it gets right, case by case ----


def burst(
    n: int, every: int = 300, number: int = DATA, length: int = FRAME
) -> list[tuple[int, int, int]]:
    return [(every, number, length)] * n


def test_a_pause_leaves_unmarked_what_waited_at_the_resume():
    trace = port(10**6, burst(80), {DATA: [(3000, 12_100)]})
    assert differences(trace, new(), MARKED) == NONE
    held = [
        departure
        for departure in trace.departures
        if departure.dequeue.at >= 10**6 + 15_100 and not departure.counted
    ]
    assert len(held) > 35


def test_a_second_pause_before_the_first_one_s_packets_are_gone():
    trace = port(10**6, burst(120), {DATA: [(3000, 12_100), (4000, 10_100)]})
    assert len(trace.resumes) == 2
    assert differences(trace, new(), MARKED) == NONE


@pytest.mark.parametrize(
    "idle", [10_000, WRAP // 2 + 7, WRAP - JUMBO, WRAP - 1, WRAP, WRAP + 500, 5 * WRAP]
)
def test_a_port_at_rest_without_packets_was_not_paused(idle):
    trace = port(10**6, [*burst(20), (idle, DATA, FRAME), *burst(20)], {})
    assert differences(trace, new(), MARKED) == NONE


def test_a_pause_of_an_empty_queue_changes_nothing():
    trace = port(10**6, [*burst(5), (30_000, DATA, FRAME), *burst(20)], {DATA: [(8000, 15_000)]})
    assert differences(trace, new(), MARKED) == NONE


def test_a_packet_that_comes_during_a_pause_of_an_empty_queue_waits_for_it():
    trace = port(10**6, [(2000, DATA, FRAME), *burst(20)], {DATA: [(0, 30_000)]})
    assert differences(trace, new(), MARKED) == NONE


def test_a_jumbo_frame_of_a_lower_class_is_no_pause():
    """It began before the packets came. A bound that is made for shorter frames takes it for
    one."""
    trace = port(10**6, [(0, LOWER, JUMBO), *burst(20, every=10)], {})
    assert differences(trace, new(), MARKED) == NONE
    wrong = differences(trace, new(gap=2 * FRAME), MARKED)
    assert wrong.time_alone == frozenset()
    assert len(wrong.counter_alone) == 19


def test_a_shaped_port_needs_a_bound_for_its_rate():
    """Shaped to a tenth, frames are as far apart as jumbo frames and more: each looks like the end
    of a pause."""
    trace = port(10**6, burst(20, every=10, length=10 * FRAME), {})
    assert differences(trace, new(gap=10 * FRAME), MARKED) == NONE
    wrong = differences(trace, new(gap=2 * FRAME), MARKED)
    assert wrong == Differences(frozenset(), frozenset(range(2, 20)))  # all that found others


@pytest.mark.parametrize("number", [4, SECOND_DATA, CNP])
def test_a_higher_class_is_no_pause(number):
    """However long it is served. If it weren't known to go before, it would be taken for one."""
    trace = port(10**6, [*burst(10, every=10), *burst(60, every=20, number=number)], {})
    assert differences(trace, new(), MARKED) == NONE
    alone = differences(trace, TimeRule(JUMBO, frozenset({DATA})), frozenset({DATA}))
    assert alone.counter_alone != frozenset()


def test_a_lower_class_that_is_served_hides_no_pause():
    trace = port(
        10**6,
        [*burst(10, every=10), *burst(40, every=20, number=LOWER), *burst(50)],
        {DATA: [(5, 20_000)]},
    )
    assert (
        sum(
            departure.dequeue.number == LOWER and departure.dequeue.at < 10**6 + 20_005
            for departure in trace.departures
        )
        > 15
    )
    assert differences(trace, new(), MARKED) == NONE


@pytest.mark.parametrize("at", [100, 1000, 7000, 7500, 19_999])
def test_cnps_hide_no_pause(at):
    """They pass the paused class, just before its RESUME too, once the port has rested long
    enough."""
    trace = port(
        10**6,
        [*burst(10, every=10), (30_000 - at - 100, CNP, SMALL), (at, DATA, FRAME)],
        {DATA: [(5, 30_000)]},
    )
    assert differences(trace, new(), MARKED) == NONE


@pytest.mark.parametrize(
    "before", [0, 1, 5000, 8200, 12_000, 15_000, 15_099, 15_100, 15_200, 16_000]
)
def test_the_clock_s_wrap_during_a_pause(before):
    """The port had a RESUME before: else the clock's 0 counted for one."""
    for rule in (new(), tofino()):
        assert differences(port(10**6, burst(80), {DATA: [(3000, 15_100)]}), rule, MARKED) == NONE
        trace = port(WRAP - 3000 - before, burst(80), {DATA: [(3000, 15_100)]})
        assert differences(trace, rule, MARKED) == NONE


def test_dequeues_just_before_the_clock_s_wrap_end_no_rest():
    for rule in (new(), tofino()):
        assert differences(port(10**6, burst(80), {DATA: [(3000, 15_100)]}), rule, MARKED) == NONE
        assert differences(port(WRAP - 30_000, burst(150, every=100), {}), rule, MARKED) == NONE


# ---- where it errs ----


@pytest.mark.parametrize(
    ("length", "seen"), [(JUMBO - 400, False), (JUMBO - 300, True), (2 * JUMBO, True)]
)
def test_a_pause_shorter_than_the_bound_is_not_seen(length, seen):
    """Then what it held up is marked where it found others: at most the queue at the RESUME. The
    latest frame had begun 350 ns before the pause."""
    trace = port(10**6, burst(40, every=100), {DATA: [(3000, length)]})
    observed = differences(trace, new(), MARKED)
    assert observed.counter_alone == frozenset()
    assert bool(observed.time_alone) != seen
    waiting = sum(
        departure.dequeue.enqueued_at < 10**6 + 3000 + length <= departure.dequeue.at
        for departure in trace.departures
    )
    assert len(observed.time_alone) in ((0,) if seen else (waiting,))


def test_packets_that_come_late_in_a_pause_of_an_empty_queue_are_marked():
    """Within the bound of the RESUME: no packet waited long enough to show the pause."""
    trace = port(10**6, [(30_000 - 2000, DATA, FRAME), *burst(5)], {DATA: [(0, 30_000)]})
    assert differences(trace, new(), MARKED) == Differences(frozenset({1, 2, 3, 4, 5}), frozenset())


def test_what_comes_between_resume_and_first_departure_is_taken_for_paused():
    """A higher class is served when the pause ends."""
    arrivals = [
        *burst(10, every=10),
        (20_000, CNP, JUMBO),
        (1000, DATA, FRAME),
        (1000, DATA, FRAME),
        (9000, DATA, FRAME),
    ]
    trace = port(10**6, arrivals, {DATA: [(5, 20_500)]})
    assert trace.resumes[0].at < trace.departures[1].dequeue.at
    observed = differences(trace, new(), MARKED)
    assert observed.time_alone == frozenset()
    assert [
        trace.departures[place].dequeue.enqueued_at - 10**6
        for place in sorted(observed.counter_alone)
    ] == [21_100, 22_100]


def test_higher_classes_without_rest_hide_a_pause():
    """A port that is never at rest: what goes before holds the packets up, and the pause makes no
    difference."""
    arrivals = [(10, DATA, FRAME)] * 5 + [(800, CNP, FRAME)] * 60
    trace = port(10**6, arrivals, {DATA: [(5, 30_000)]})
    observed = differences(trace, new(), MARKED)
    assert observed.counter_alone == frozenset()
    assert len(observed.time_alone) == 4


@pytest.mark.parametrize("held", sorted(MARKED))
def test_two_lossless_classes_hide_each_other_s_pauses(held):
    """While the other one keeps the port busy, be it higher or lower. At ease it doesn't."""
    (busy_class,) = MARKED - {held}
    for every, hidden in ((800, True), (20_000, False)):
        arrivals = [
            *burst(5, every=10, number=held),
            *burst(60 if hidden else 3, every, busy_class),
        ]
        trace = port(10**6, arrivals, {held: [(5, 45_000)]})
        observed = differences(trace, new(), MARKED)
        assert observed.counter_alone == frozenset()
        assert len(observed.time_alone) == (4 if hidden else 0)


def test_a_resume_a_wrap_ago_counts_for_as_long_as_packets_wait():
    rule = new()
    start = 10**6
    resumed_at = start + 3000 + 15_100
    paused = port(start, burst(80), {DATA: [(3000, 15_100)]})
    assert differences(paused, rule, MARKED) == NONE
    for wraps in (1, 2):
        later = port(resumed_at + wraps * WRAP - 5000, burst(60), {})
        observed = differences(later, rule, MARKED)
        across = [
            place
            for place, departure in enumerate(later.departures)
            if departure.dequeue.enqueued_at <= resumed_at + wraps * WRAP <= departure.dequeue.at
            and departure.counted
        ]
        assert observed == Differences(frozenset(), frozenset(across))
        assert across


def test_at_a_port_without_any_resume_the_clock_s_zero_counts_for_one():
    trace = port(WRAP - 5000, burst(60), {})
    observed = differences(trace, new(), MARKED)
    assert observed == Differences(
        frozenset(), frozenset(place for place in across_a_wrap(trace) if counted(trace, place))
    )
    assert observed.counter_alone


def counted(trace: Trace, place: int) -> bool:
    return trace.departures[place].counted


# ---- Tofino ----

INGRESS = 400  # ns


def tofino(gap: int = JUMBO + INGRESS) -> TofinoRule:
    return TofinoRule(gap, MARKED, BEFORE, INGRESS)


@settings(max_examples=100)
@given(STARTS, PACKETS, pauses)
def test_tofino_differs_within_the_same_bound(start, arrivals, stops):
    """Across the clock's wrap, too."""
    gap = JUMBO + INGRESS
    trace = port(start, arrivals, {DATA: stops})
    bound = allowed(trace, rests(trace, gap, COUNTED), gap, MARKED)
    observed = differences(trace, tofino(gap), MARKED)
    assert observed.time_alone <= bound.time_alone
    assert observed.counter_alone <= bound.counter_alone | across_a_wrap(trace)


@pytest.mark.parametrize(
    "length", [10_000, 200_000, 262_143, 262_144, 270_000, 1_000_000, 50_000_000]
)
def test_tofino_s_18_bits_of_waiting_time(length):
    """Pauses longer than 262 us: the time since a packet's arrival stands in for it."""
    arrivals = [*burst(200), (length, DATA, FRAME), *burst(60)]
    trace = port(10**6, arrivals, {DATA: [(3000, length)]})
    assert differences(trace, tofino(), MARKED) == NONE
    assert differences(trace, new(), MARKED) == NONE


def test_what_was_in_tofino_s_ingress_pipeline_at_the_resume_is_unmarked():
    """If it waits for more than 262 us: its time since its arrival counts, which is INGRESS
    longer."""
    length = 60_000
    arrivals = [
        *burst(500, every=100),
        (3000 + length - 50_000 + 50, DATA, FRAME),
        *burst(9, every=100),
    ]
    trace = port(10**6, arrivals, {DATA: [(3000, length)]})
    observed = differences(trace, tofino(), MARKED)
    assert observed.time_alone == frozenset()
    resumed_at = trace.resumes[0].at
    packets = [trace.departures[place].dequeue for place in sorted(observed.counter_alone)]
    assert [packet.enqueued_at - resumed_at for packet in packets] == [50, 150, 250, 350]
    assert all(packet.at - packet.enqueued_at > 1 << 18 for packet in packets)
    assert differences(trace, new(), MARKED) == NONE
