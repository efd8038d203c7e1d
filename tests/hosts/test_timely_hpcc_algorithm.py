"""TIMELY of HPCC's ns-3 simulation: its RP, step by step as UpdateRateTimely."""

import pytest

from pcn.hosts.algorithms import Ack, NetworkFacts, find_scheme
from pcn.hosts.algorithms.timely_hpcc import TimelyHpccReactionPoint

LINE, STEP, FRAME = 100e9, 100e6, 1058


def flow(rate_bps: float = 10e9) -> TimelyHpccReactionPoint:
    """An RP whose first acknowledgement, of 20 us, has come."""
    rp = find_scheme("timely-hpcc").configure().new_rp(LINE)
    assert isinstance(rp, TimelyHpccReactionPoint)
    rp.on_start(0.0)
    acknowledge(rp, 20e-6)
    assert rp.rate_bps == LINE
    rp.rate_bps = rate_bps
    return rp


def acknowledge(rp: TimelyHpccReactionPoint, rtt_s: float):
    """Brings the acknowledgement that ends a round trip."""
    rp.sent_bytes += FRAME
    rp.on_ack(Ack(rtt_s, acked_bytes=FRAME), 0.0)


def test_below_t_low_the_sixth_increase_is_five_times_as_large():
    rp = flow()
    for number in range(1, 8):
        acknowledge(rp, 30e-6)
        assert rp.rate_bps == pytest.approx(10e9 + STEP * (min(number, 5) + 5 * max(number - 5, 0)))


def test_rate_changes_once_a_round_trip():
    """Acknowledgements of what had been sent at the latest change change nothing."""
    rp = flow()
    acknowledge(rp, 30e-6)
    rp.sent_bytes += 10 * FRAME
    acknowledge(rp, 30e-6)
    changed = rp.rate_bps
    for _ in range(10):
        rp.on_ack(Ack(30e-6, acked_bytes=FRAME), 0.0)
    assert rp.rate_bps == changed
    rp.on_ack(Ack(30e-6, acked_bytes=FRAME), 0.0)
    assert rp.rate_bps == changed + STEP


def test_above_t_high_the_rate_falls_by_the_excess():
    rp = flow()
    acknowledge(rp, 1e-3)
    assert rp.rate_bps == pytest.approx(10e9 * (1 - 0.8 * (1 - 500e-6 / 1e-3)))
    assert rp.increases == 0


def test_gradient_between_the_thresholds_is_over_20_us():
    rp = flow()
    acknowledge(rp, 60e-6)
    gradient = 0.875 * 40e-6 / 20e-6
    assert gradient > 1
    assert rp.rate_bps == 1e9  # at most all of the rate is taken, down to the least
    rp = flow(50e9)
    acknowledge(rp, 52e-6)
    acknowledge(rp, 54e-6)
    assert rp.rtt_diff_s == pytest.approx(0.125 * 0.875 * 32e-6 + 0.875 * 2e-6)


def test_falling_round_trips_raise_the_rate():
    rp = flow()
    acknowledge(rp, 400e-6)
    rp.rate_bps = 10e9
    for rtt_us in (300, 200, 100, 60):
        acknowledge(rp, rtt_us * 1e-6)
    assert rp.increases == 4
    assert rp.rate_bps == pytest.approx(10e9 + 4 * STEP)


def test_slow_hosts_have_less_than_the_least_rate_of_100_gbps():
    recommended = find_scheme("timely-hpcc").recommended(NetworkFacts(0, 60e-6, rate_bps=10e9))
    assert (recommended["min_rate_bps"], recommended["delta_bps"], recommended["min_rtt_s"]) == (
        100e6,
        10e6,
        60e-6,
    )
    assert (
        find_scheme("timely-hpcc").recommended(NetworkFacts(0, 12e-6, rate_bps=100e9))[
            "min_rate_bps"
        ]
        == 1e9
    )
