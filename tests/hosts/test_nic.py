"""The NIC's schedule under a fake clock: pacing, round robin, PFC, control frames, lateness."""

import itertools
import math

import pytest
from hypothesis import example, given, strategies as st

from pcn.hosts.nic import Nic, NicFlow

LINE = 10e9
BITS = 8464
FRAME_S = BITS / LINE
QUANTUM_S = 512 / LINE
ROCE = 3


class Driver:
    """Calls the NIC when it wants to be called, as a process that is never late would; notes what
    leaves."""

    def __init__(self, nic: Nic):
        self.nic = nic
        self.now = 0.0
        self.left: list[tuple[float, NicFlow | None, int]] = []

    def run(self, until: float):
        while (wake := max(self.now, self.nic.wake())) <= until:
            self.at(wake)
        self.at(until)

    def at(self, now: float):
        self.now = now
        self.nic.advance(now)
        while (item := self.nic.due(now)) is not None:
            self.left.append((now, item.flow, item.number))

    def times(self, flow: NicFlow | None) -> list[float]:
        return [at for at, sender, _ in self.left if sender is flow]


def flow(rate: float = LINE, start: float = 0.0, **limits: float) -> NicFlow:
    return NicFlow(ROCE, BITS, rate, start, **limits)


def make(*flows: NicFlow, **options: float) -> Driver:
    nic = Nic(LINE, **options)
    for nic_flow in flows:
        nic.add(nic_flow, 0.0)
    return Driver(nic)


def test_one_flow_at_line_rate_fills_the_line():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(1000.5 * FRAME_S)
    assert driver.times(nic_flow) == pytest.approx([n * FRAME_S for n in range(1, 1001)])
    assert [number for *_, number in driver.left] == list(range(1000))


def test_a_frame_leaves_after_its_length_and_the_delay():
    nic_flow = flow(start=1e-3)
    driver = make(nic_flow, delay_s=5e-6)
    driver.run(1e-3 + 5e-6 + 2.5 * FRAME_S)
    assert driver.times(nic_flow) == pytest.approx(
        [1e-3 + 5e-6 + FRAME_S, 1e-3 + 5e-6 + 2 * FRAME_S]
    )


@given(st.floats(1e6, LINE))
def test_pacing_has_no_drift(rate):
    nic_flow = flow(rate)
    driver = make(nic_flow)
    driver.run(200 * BITS / rate)
    expected = [FRAME_S + n * BITS / rate for n in range(len(driver.left))]
    # A gap is of whole picoseconds
    assert driver.times(nic_flow) == pytest.approx(expected, rel=1e-9, abs=200 * 0.5e-12)
    assert len(driver.left) >= 199


@given(st.floats(0, 1e6), st.floats(1e7, LINE))
def test_at_the_time_that_it_wakes_for_a_frame_is_due(start, rate):
    """A double of this number of seconds is coarser than the NIC's picoseconds."""
    nic = Nic(LINE)
    nic.add(flow(rate, start), start)
    for number in range(20):
        wake = nic.wake()
        nic.advance(wake)
        left = nic.due(wake)
        assert left.number == number


def test_flows_take_turns_at_line_rate():
    flows = [flow() for _ in range(4)]
    driver = make(*flows)
    driver.run(400.5 * FRAME_S)
    order = [flows.index(sender) for _, sender, _ in driver.left if sender]
    assert order == [0, 1, 2, 3] * 100


def test_a_flow_that_ends_skips_nobodys_turn():
    flows = [flow(packets=2), *(flow() for _ in range(3))]
    driver = make(*flows)
    driver.run(20.5 * FRAME_S)
    order = [flows.index(sender) for _, sender, _ in driver.left if sender]
    assert order == [0, 1, 2, 3, 0, *[1, 2, 3] * 5]


def test_a_slow_flow_gets_its_rate_beside_fast_ones():
    flows = [flow(1e9), flow(), flow()]
    driver = make(*flows)
    driver.run(1e-3)
    share = [len(driver.times(nic_flow)) * BITS / 1e-3 for nic_flow in flows]
    assert share[0] == pytest.approx(1e9, rel=0.01)
    assert share[1] == pytest.approx(4.5e9, rel=0.01)
    assert share[2] == pytest.approx(4.5e9, rel=0.01)


# A flow keeps credit for one packet: it loses nothing while it waits for no longer than its
# interval. Here that is four frames or more, and it waits for at most one of each other flow.
@given(st.lists(st.floats(0.05, 0.25), min_size=2, max_size=5))
@example([0.25, 0.14, 0.14, 0.14, 0.14])
def test_paced_flows_all_get_their_rates_when_the_line_suffices(shares):
    total = max(1.0, sum(shares))
    flows = [flow(LINE * share / total * 0.98) for share in shares]
    driver = make(*flows)
    driver.run(2000 * FRAME_S)
    for nic_flow in flows:
        assert len(driver.times(nic_flow)) >= nic_flow.rate_bps * 2000 * FRAME_S / BITS - 2


def test_a_new_rate_holds_from_the_next_frame():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    driver.nic.set_rate(nic_flow, LINE / 10, driver.now)
    driver.run(100 * FRAME_S)
    gaps = [b - a for a, b in itertools.pairwise(driver.times(nic_flow))]
    assert gaps[:10] == pytest.approx([FRAME_S] * 10)  # the 11th frame was on the line already
    assert gaps[10:] == pytest.approx([10 * FRAME_S] * len(gaps[10:]))
    driver.nic.set_rate(nic_flow, LINE, driver.now)
    start = len(driver.left)
    driver.run(driver.now + 5 * FRAME_S)
    assert len(driver.left) - start in (4, 5)


def test_a_rate_from_low_to_high_does_not_wait_for_the_old_gap():
    nic_flow = flow(1e6)
    driver = make(nic_flow)
    driver.run(1e-5)
    driver.nic.set_rate(nic_flow, LINE, driver.now)
    driver.run(2e-5)
    assert len(driver.left) >= 10


def test_a_rate_set_before_the_start_does_not_start_the_flow():
    nic_flow = flow(start=1e-3)
    driver = make(nic_flow)
    driver.nic.set_rate(nic_flow, LINE / 2, driver.now)
    driver.run(1e-3 + 3.5 * FRAME_S)
    assert driver.times(nic_flow) == pytest.approx([1e-3 + FRAME_S, 1e-3 + 3 * FRAME_S])


def test_sizes_and_durations_end_flows():
    ended: list[tuple[NicFlow, float]] = []
    nic = Nic(LINE, on_end=lambda nic_flow, at: ended.append((nic_flow, at)))
    sized = flow(packets=5, last_bits=BITS // 2)
    timed = flow(1e9, start=1e-5, end_s=2e-5)
    nic.add(sized, 0.0)
    nic.add(timed, 0.0)
    driver = Driver(nic)
    driver.run(1e-4)
    assert len(driver.times(sized)) == 5
    assert driver.times(sized)[-1] == pytest.approx(4.5 * FRAME_S)
    assert len(driver.times(timed)) == math.ceil(1e-5 * 1e9 / BITS)
    assert [nic_flow for nic_flow, _ in ended] == [sized, timed]
    assert ended[0][1] == pytest.approx(4.5 * FRAME_S)
    assert ended[1][1] == pytest.approx(2e-5)
    assert nic.flows == ()
    assert nic.wake() == math.inf


def test_a_stopped_flow_stops_at_once():
    stopped, going = flow(), flow()
    driver = make(stopped, going)
    driver.run(10.5 * FRAME_S)
    driver.nic.remove(stopped, driver.now)
    before = len(driver.times(stopped))
    driver.run(20.5 * FRAME_S)
    assert len(driver.times(stopped)) - before <= 1
    assert len(driver.left) == 20


def test_pause_stops_its_class_within_one_packet_and_nothing_else():
    data = flow()
    nic_flow = NicFlow(0, BITS, LINE / 10, 0.0)
    driver = make(data, nic_flow)
    driver.run(20.5 * FRAME_S)
    before = len(driver.times(data))
    driver.nic.pfc({ROCE: 65535}, driver.now)
    driver.run(200 * FRAME_S)
    assert len(driver.times(data)) - before <= 1
    assert len(driver.times(nic_flow)) == pytest.approx(20, abs=1)


def test_a_pause_expires_after_its_quanta():
    expired: list[tuple[int, float]] = []
    nic = Nic(LINE, on_expiry=lambda priority, at: expired.append((priority, at)))
    nic_flow = flow()
    nic.add(nic_flow, 0.0)
    driver = Driver(nic)
    driver.run(10.5 * FRAME_S)
    nic.pfc({ROCE: 1000}, driver.now)
    until = driver.now + 1000 * QUANTUM_S
    driver.run(until + 10.5 * FRAME_S)
    after = [at for at in driver.times(nic_flow) if at > 12 * FRAME_S]
    assert after[0] == pytest.approx(until + FRAME_S)
    assert expired == [(ROCE, pytest.approx(until))]
    assert nic.pauses[ROCE].paused_ps / 1e12 == pytest.approx(1000 * QUANTUM_S)
    assert (nic.pauses[ROCE].pause, nic.pauses[ROCE].resume, nic.pauses[ROCE].expired) == (1, 0, 1)


def test_a_flow_that_starts_in_a_pause_waits():
    nic_flow = flow(start=5 * FRAME_S)
    driver = make(nic_flow)
    driver.nic.pfc({ROCE: 1000}, driver.now)
    driver.run(1000 * QUANTUM_S + 2.5 * FRAME_S)
    assert driver.times(nic_flow) == pytest.approx([1000 * QUANTUM_S + n * FRAME_S for n in (1, 2)])


def test_each_pause_counts_from_its_arrival():
    driver = make()
    for _ in range(3):
        driver.nic.pfc({ROCE: 1000}, driver.now)
    assert driver.nic.pauses[ROCE].until_ps / 1e12 == pytest.approx(1000 * QUANTUM_S)
    driver.nic.pfc({ROCE: 10}, driver.now)
    assert driver.nic.pauses[ROCE].until_ps / 1e12 == pytest.approx(10 * QUANTUM_S)


def test_paused_time_ends_with_the_quanta_without_a_call():
    driver = make()
    driver.nic.pfc({ROCE: 1000}, 0.0)
    assert driver.nic.paused_s(ROCE, 400 * QUANTUM_S) == pytest.approx(400 * QUANTUM_S)
    assert driver.nic.paused_s(ROCE, 5000 * QUANTUM_S) == pytest.approx(1000 * QUANTUM_S)


def test_counters_start_anew_within_a_pause():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    begin = driver.now
    driver.nic.pfc({ROCE: 1000}, begin)
    driver.run(begin + 300 * QUANTUM_S)
    driver.nic.reset_counters(driver.now)
    driver.run(begin + 800 * QUANTUM_S)
    assert driver.nic.paused_s(ROCE, driver.now) == pytest.approx(500 * QUANTUM_S)
    driver.run(begin + 1000 * QUANTUM_S + 2.5 * FRAME_S)
    assert driver.nic.pauses[ROCE].paused_ps / 1e12 == pytest.approx(700 * QUANTUM_S)
    assert driver.nic.started_bits == 3 * BITS
    assert (driver.nic.pauses[ROCE].pause, driver.nic.pauses[ROCE].expired) == (0, 1)


def test_resume_ends_a_pause_and_refresh_prolongs_it():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    begin = driver.now
    driver.nic.pfc({ROCE: 1000}, driver.now)
    driver.run(begin + 900 * QUANTUM_S)
    driver.nic.pfc({ROCE: 1000}, driver.now)
    driver.run(begin + 1500 * QUANTUM_S)
    assert len(driver.left) == 11
    assert driver.nic.paused_s(ROCE, driver.now) == pytest.approx(1500 * QUANTUM_S)
    driver.nic.pfc({ROCE: 0}, driver.now)
    resumed = driver.now
    driver.run(resumed + 3.5 * FRAME_S)
    assert driver.times(nic_flow)[11:] == pytest.approx([resumed + n * FRAME_S for n in (1, 2, 3)])
    assert driver.nic.pauses[ROCE].paused_ps / 1e12 == pytest.approx(1500 * QUANTUM_S)
    assert driver.nic.shortfall_s(driver.now) <= FRAME_S


def test_a_resume_without_pause_changes_nothing():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    driver.nic.pfc({ROCE: 0, 1: 0}, driver.now)
    driver.run(20.5 * FRAME_S)
    assert driver.times(nic_flow) == pytest.approx([n * FRAME_S for n in range(1, 21)])


def test_after_a_pause_a_flow_bursts_by_one_packet_at_most():
    nic_flow = flow(LINE / 10)
    driver = make(nic_flow)
    driver.run(10 * FRAME_S)
    driver.nic.pfc({ROCE: 0xFFFF}, driver.now)
    driver.run(driver.now + 500 * FRAME_S)
    driver.nic.pfc({ROCE: 0}, driver.now)
    resumed = driver.now
    driver.run(resumed + 100 * FRAME_S)
    after = [at for at in driver.times(nic_flow) if at > resumed]
    assert len(after) <= 12
    assert [at - after[0] for at in after[1:4]] == pytest.approx(
        [FRAME_S, 10 * FRAME_S, 20 * FRAME_S]
    )


def test_control_frames_go_first_and_ignore_pauses():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    driver.nic.pfc(dict.fromkeys(range(8), 0xFFFF), driver.now)
    driver.nic.send_control(b"x" * 74, driver.now)
    driver.run(20 * FRAME_S)
    assert driver.times(None) == pytest.approx([11 * FRAME_S + 74 * 8 / LINE])
    driver.nic.pfc({ROCE: 0}, driver.now)
    for _ in range(3):
        driver.nic.send_control(b"y" * 74, driver.now)
    driver.run(22 * FRAME_S)
    kinds = [sender is None for _, sender, _ in driver.left]
    assert kinds == [False] * 11 + [True] * 4 + [False]


def test_late_process_bursts_little_and_reports_lost_time():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(10.5 * FRAME_S)
    driver.at(60 * FRAME_S)  # 50 frames late
    driver.at(driver.now)
    assert len(driver.left) - 10 <= 4
    driver.run(100.5 * FRAME_S)
    lost = 100 - len(driver.left)
    assert 44 <= lost <= 50
    assert driver.nic.shortfall_s(driver.now) == pytest.approx(lost * FRAME_S, abs=1.5 * FRAME_S)
    assert driver.nic.allowed_bits == pytest.approx(100.5 * BITS)
    assert driver.nic.started_bits == pytest.approx(
        driver.nic.allowed_bits - lost * BITS, abs=1.5 * BITS
    )


def test_a_slightly_late_process_loses_nothing():
    nic_flow = flow()
    driver = make(nic_flow)
    for step in range(1, 501):
        driver.at(step * 2 * FRAME_S)
    assert len(driver.left) >= 999
    assert driver.nic.shortfall_s(driver.now) <= FRAME_S


def test_a_slow_flow_survives_lateness_that_a_fast_one_does_not():
    nic_flow = flow(LINE / 100)
    driver = make(nic_flow)
    for step in range(1, 101):
        driver.at(step * 100.7 * FRAME_S)
    assert len(driver.left) >= 99
    assert driver.nic.shortfall_s(driver.now) <= FRAME_S


def test_what_could_not_be_sent_holds_the_rest_up():
    nic_flow = flow()
    driver = make(nic_flow)
    driver.run(5.5 * FRAME_S)
    for step in range(6, 107):
        driver.nic.advance(step * FRAME_S)
    driver.now = 106 * FRAME_S
    driver.run(120.5 * FRAME_S)
    assert nic_flow.delivered <= nic_flow.started < 30
    assert driver.nic.shortfall_s(driver.now) > 80 * FRAME_S


def test_allowed_bits_follow_rates_starts_ends_and_pauses():
    first = flow(1e9, end_s=6e-4)
    second = flow(2e9, start=2e-4)
    driver = make(first, second)
    driver.run(4e-4)
    driver.nic.pfc({ROCE: 976}, driver.now)  # 976 quanta: 50 us
    driver.run(5e-4)
    driver.nic.set_rate(second, 4e9, driver.now)
    driver.run(1e-3)
    driver.nic.account(driver.now)
    paused = 976 * QUANTUM_S
    expected = 1e9 * (6e-4 - paused) + 2e9 * (3e-4 - paused) + 4e9 * 5e-4
    assert driver.nic.allowed_bits == pytest.approx(expected)
    assert driver.nic.started_bits == pytest.approx(expected, rel=0.03)


def test_nic_reports_the_end_of_each_of_many_flows():
    ended: list[tuple[NicFlow, float]] = []
    nic = Nic(LINE, on_end=lambda nic_flow, at_s: ended.append((nic_flow, at_s)))
    flows = [flow(start=1.0, end_s=n * 1e-6) for n in range(1, 301)]
    for nic_flow in flows:
        nic.add(nic_flow, 0.0)
    nic.advance(1e-3)
    assert ended == [(nic_flow, pytest.approx(n * 1e-6)) for n, nic_flow in enumerate(flows, 1)]


def test_all_starts_ends_and_pauses_lie_between_two_accounts():
    """Of as many flows as memory is taken for at first: under the sanitizers it is seen that it has
    room for all."""
    starts = [n * 1e-6 for n in range(1, 65)]
    driver = make(*(flow(1e8, start, end_s=start + 1e-3) for start in starts))
    driver.nic.pfc({priority: 976 + priority for priority in range(8)}, 0.0)
    driver.nic.account(1.0)
    resumed = (976 + ROCE) * QUANTUM_S
    assert driver.nic.allowed_bits == pytest.approx(
        sum(1e8 * (start + 1e-3 - max(start, resumed)) for start in starts)
    )


def test_flows_are_allowed_the_line_at_most_and_a_short_last_frame_counts_as_it_is():
    driver = make(flow(packets=10, last_bits=1000), flow(packets=10))
    driver.run(19 * FRAME_S)
    assert driver.nic.allowed_bits == pytest.approx(LINE * driver.now, rel=0.1)
    assert driver.nic.started_bits == 19 * BITS + 1000


@given(st.randoms(use_true_random=False))
def test_whatever_happens_the_line_is_never_exceeded(rng):
    """Random rates, pauses, control frames, stops and late wake-ups."""
    driver = make(catch_up_s=3 * FRAME_S)
    flows: list[NicFlow] = []
    control = 0
    for _ in range(150):
        action = rng.randrange(7)
        nic = driver.nic
        if action == 0 and len(flows) < 6:
            flows.append(flow(rng.uniform(1e7, LINE), start=driver.now + rng.uniform(0, 1e-5)))
            nic.add(flows[-1], driver.now)
        elif action == 1 and nic.flows:
            nic.set_rate(rng.choice(nic.flows), rng.uniform(1e6, LINE), driver.now)
        elif action == 2:
            nic.pfc({ROCE: rng.choice([0, 50, 500])}, driver.now)
        elif action == 3:
            nic.send_control(bytes(74), driver.now)
            control += 1
        elif action == 4 and nic.flows and rng.random() < 0.2:
            nic.remove(rng.choice(nic.flows), driver.now)
        elif action == 5:
            driver.run(driver.now + rng.uniform(0, 3e-5))
        else:
            driver.at(driver.now + rng.uniform(0, 1e-5))
    driver.run(driver.now + 1e-4)
    sizes = [BITS if sender else 74 * 8 for _, sender, _ in driver.left]
    assert sum(sizes) <= LINE * driver.now + 8 * BITS
    assert sum(sender is None for _, sender, _ in driver.left) == control
    for nic_flow in flows:
        numbers = [number for _, sender, number in driver.left if sender is nic_flow]
        assert numbers == list(range(len(numbers)))
