"""PCN-X, rule by rule (docs/fairness.md), and that it is fair where PCN isn't."""

import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data import series_math
from pcn.hosts.algorithms import Cnp, Mark, Window, find_scheme
from pcn.hosts.algorithms.pcn import PcnParameters, PcnReactionPoint
from pcn.hosts.algorithms.pcn_x import PcnXNotificationPoint, PcnXParameters, PcnXReactionPoint
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.dumbbell import dumbbell

LINE = 10e9
T = 500e-6
PARAMETERS = PcnXParameters(w_min=0.025, period_s=T)


def rp(rate: float = LINE) -> PcnXReactionPoint:
    point = PcnXReactionPoint(LINE, PARAMETERS)
    if rate != LINE:
        point.on_cnp(Cnp(Mark.CE, rate / (1 - 0.025)), 0)  # an overload: as PCN
    return point


def window(packets: int, marked: int, last_s: float) -> Window:
    return Window(packets, marked, 0, packets * 1058, last_s - 1e-6, last_s)


def test_an_overload_is_cut_to_the_receiving_rate_as_pcn_does():
    pcn_x, pcn = rp(), PcnReactionPoint(LINE, PcnParameters(w_min=0.025, period_s=T))
    for point in (pcn_x, pcn):
        point.on_cnp(Cnp(Mark.CE, 3e9), 0)
    assert pcn_x.rate_bps == pytest.approx(3e9 * 0.975)
    assert pcn_x.rate_bps == pytest.approx(pcn.rate_bps)


def test_increases_are_pcn_s():
    pcn_x, pcn = rp(), PcnReactionPoint(LINE, PcnParameters(w_min=0.025, period_s=T))
    for point in (pcn_x, pcn):
        point.on_cnp(Cnp(Mark.CE, 1e9), 0)
        for _ in range(6):
            point.on_cnp(Cnp(Mark.NONE, 1e9), 0)
    assert (pcn_x.rate_bps, pcn_x.w) == pytest.approx((pcn.rate_bps, pcn.w))
    pcn_x.on_cnp(Cnp(Mark.CE, 9e9), 0)
    assert pcn_x.w == 0.025


def test_a_rate_that_arrives_whole_is_lowered_by_beta_alone():
    reaction_point = rp(1e9)
    reaction_point.on_cnp(Cnp(Mark.CE, 2e9), 0)
    assert reaction_point.rate_bps == pytest.approx(1e9 * 0.995)


def test_an_increase_whose_effect_has_not_arrived_is_not_taken_back():
    reaction_point = rp(1e9)
    reaction_point.on_cnp(Cnp(Mark.CE, 1e9), 0)
    before = reaction_point.rate_bps
    reaction_point.on_cnp(Cnp(Mark.NONE, before), 0)
    raised = reaction_point.rate_bps
    reaction_point.on_cnp(Cnp(Mark.CE, before), 0)  # it was measured before the increase
    assert reaction_point.rate_bps == pytest.approx(raised * 0.995)
    # and this one after it: the network carries no more
    reaction_point.on_cnp(Cnp(Mark.CE, before), 0)
    assert reaction_point.rate_bps == pytest.approx(
        raised * 0.995 * before / (raised * 0.995) * 0.975
    )


def silent(silence: float, sent_bytes: int, periods: int) -> PcnXReactionPoint:
    """An RP after `periods` periods with timers alone, with `sent` bytes sent in each."""
    rp = PcnXReactionPoint(10e9, PcnXParameters(period_s=T, silence=silence))
    rp.on_start(0.0)
    for number in range(1, periods + 1):
        rp.sent_bytes += sent_bytes
        while rp.timer_s is not None and rp.timer_s <= number * T * (1 + 1e-9):
            rp.on_timer(rp.timer_s)
    return rp


def test_rp_without_cnps_halves_its_rate_and_continues_from_there_at_the_next():
    assert [silent(3, 10_000, periods).rate_bps for periods in (2, 3, 4, 5)] == [
        10e9,
        5e9,
        2.5e9,
        1.25e9,
    ]
    rp = silent(3, 10_000, 5)
    rp.on_cnp(Cnp(Mark.CE, 4e9), 5 * T)
    assert rp.rate_bps == pytest.approx(4e9 * (1 - 1 / 128)), "the CNP is about the rate before"
    assert rp.timer_s == pytest.approx(8 * T)
    assert silent(3, 10_000, 5000).rate_bps == 1e6


def test_a_slow_flow_isn_t_unheard():
    """Between two of its packets there are periods without one."""
    assert silent(2, 1000, 4).rate_bps == 10e9
    assert silent(2, 1000, 5).rate_bps == 5e9


def test_silence_is_off_by_default():
    rp = silent(0, 10_000, 100)
    assert (rp.rate_bps, rp.timer_s) == (10e9, None)
    rp.on_cnp(Cnp(Mark.CE, 4e9), 1.0)
    assert rp.timer_s is None


def test_decreases_come_as_often_as_packets_are_marked():
    notification_point = PcnXNotificationPoint(PARAMETERS)
    marked = [3, 4, 1, 4, 0, 2, 4, 4, 1, 4] * 10
    cnps = [
        notification_point.on_window(window(4, count, (k + 1) * T))
        for k, count in enumerate(marked)
    ]
    decreases = sum(cnp.mark is Mark.CE for cnp in cnps if cnp is not None)
    assert decreases == int(sum(marked) / 4)


@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0, 1)), min_size=1, max_size=200))
def test_decreases_are_the_sum_of_the_shares_to_within_one(windows):
    notification_point = PcnXNotificationPoint(PARAMETERS)
    total, decreases = 0.0, 0
    for k, (packets, share) in enumerate(windows):
        marked = round(packets * share)
        total += marked / packets
        cnp = notification_point.on_window(window(packets, marked, (k + 1) * T))
        decreases += cnp.mark is Mark.CE
        assert -1e-6 <= total - decreases < 1


def test_the_receiving_rate_counts_no_fraction_of_a_gap():
    """A flow of 2.4 packets a period: PCN's RecRate alternates between 2 and 3 packets in T."""
    notification_point = PcnXNotificationPoint(PARAMETERS)
    gap = T / 2.4
    arrivals = [(k + 0.5) * gap for k in range(60)]
    seen = []
    for k in range(20):
        inside = [at for at in arrivals if k * T <= at < (k + 1) * T]
        if inside:
            cnp = notification_point.on_window(
                Window(len(inside), 0, 0, 1058 * len(inside), inside[0], inside[-1])
            )
            seen.append(cnp.rec_rate_bps)
    true = 1058 * 8 / gap
    assert all(true <= rate <= true + 1e6 for rate in seen[1:])


def test_no_cnp_without_a_packet():
    notification_point = PcnXNotificationPoint(PARAMETERS)
    assert notification_point.on_window(Window(0, 0, 0, 0, 0.0, 0.0)) is None


@pytest.mark.parametrize("beta", [0.0, 1.0, -0.1])
def test_beta_must_lower_a_rate(beta):
    with pytest.raises(ValueError, match="beta"):
        PcnXParameters(beta=beta)


def test_sixty_four_flows_share_fairly_where_pcn_s_do_not():
    def jain(scheme: str) -> float:
        topology = dumbbell(flows=64)
        configured = find_scheme(scheme).configure({"w_min": 0.1 / 64, "period_s": T})
        with VirtualNetwork(topology, configured) as network:
            flows = [network.add_flow(flow) for flow in topology.flows]
            network.run(until_s=0.1)
            before = [flow.stats().received_payload for flow in flows]
            network.run(until_s=0.2)
            return series_math.jain(
                [
                    flow.stats().received_payload - old
                    for flow, old in zip(flows, before, strict=True)
                ]
            )

    assert jain("pcn") < 0.8
    assert jain("pcn-x") > 0.98
