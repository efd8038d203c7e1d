"""DCQCN of HPCC's ns-3 simulation: its events one by one, as rdma-hw.cc schedules them, beside the
RP's grids."""

import pytest
from hypothesis import example, given, settings, strategies as st

from pcn.hosts.algorithms import Cnp, Mark, find_scheme
from pcn.hosts.algorithms.dcqcn_ns3 import (
    DcqcnNs3NotificationPoint,
    DcqcnNs3Parameters,
    DcqcnNs3ReactionPoint,
)

LINE = 100e9
CNP = Cnp(Mark.CE)


class Simulated:
    """Whole ns, one at a time: every event of rdma-hw.cc's *Mlx functions, in the order in which
    ns-3 has them."""

    def __init__(self, alpha_ns: int, cut_ns: int, timer_ns: int, of: DcqcnNs3Parameters):
        self.alpha_ns, self.cut_ns, self.timer_ns, self.of = alpha_ns, cut_ns, timer_ns, of
        self.rate = self.target = LINE
        self.alpha = 1.0
        self.first = True
        self.alpha_cnp = self.cut_cnp = False
        self.stage = 0
        self.alpha_at = self.cut_at = self.timer_at = -1

    def cnp(self, now: int):
        self.alpha_cnp = self.cut_cnp = True
        if self.first:
            self.first, self.alpha_cnp = False, False
            self.alpha_at, self.cut_at = now + self.alpha_ns, now + self.cut_ns + 1

    def step(self, now: int):
        of = self.of
        if now == self.alpha_at:
            self.alpha = (1 - of.g) * self.alpha + (of.g if self.alpha_cnp else 0)
            self.alpha_cnp = False
            self.alpha_at += self.alpha_ns
        if now == self.timer_at:
            if self.stage >= of.f:
                self.target = min(
                    LINE, self.target + (of.r_ai_bps if self.stage == of.f else of.r_hai_bps)
                )
            self.rate = self.rate / 2 + self.target / 2
            self.stage += 1
            self.timer_at += self.timer_ns
        if now == self.cut_at:
            self.cut_at += self.cut_ns
            if self.cut_cnp:
                if of.clamp or self.stage != 0:
                    self.target = self.rate
                self.rate = max(of.min_rate_bps, self.rate * (1 - self.alpha / 2))
                self.stage, self.cut_cnp = 0, False
                self.timer_at = now + self.timer_ns


def agrees(
    cnps_ns: list[int], alpha_ns: int, cut_ns: int, timer_ns: int, f: int, clamp: int, g: float
):
    """CNPs fall between two events: at 1 us and a half, as it were, of a grid of even ns."""
    parameters = DcqcnNs3Parameters(
        g=g, f=f, clamp=clamp, alpha_interval_s=alpha_ns * 1e-9, cut_interval_s=cut_ns * 1e-9,
        rate_timer_s=timer_ns * 1e-9, r_ai_bps=1e9, r_hai_bps=3e9,
    )  # fmt: skip
    rp, reference = (
        DcqcnNs3ReactionPoint(LINE, parameters),
        Simulated(alpha_ns, cut_ns, timer_ns, parameters),
    )
    due = sorted(set(cnps_ns))
    for now in range(max(due) + 3 * timer_ns):
        reference.step(now)
        while rp.timer_s is not None and rp.timer_s <= (now + 0.25) * 1e-9:
            rp.on_timer(rp.timer_s)
        if due and due[0] == now:
            due.pop(0)
            reference.cnp(now)
            rp.on_cnp(CNP, now * 1e-9)
        assert rp.rate_bps == pytest.approx(reference.rate, rel=1e-9), now
        assert rp.target_bps == pytest.approx(reference.target, rel=1e-9), now


@settings(settings.get_profile("few"))
@given(
    first=st.integers(0, 50),
    gaps=st.lists(st.integers(1, 400), max_size=25),
    alpha_ns=st.sampled_from([10, 12, 50]),
    cuts=st.integers(1, 5),
    timer_ns=st.sampled_from([1001, 1300]),
    f=st.integers(0, 3),
    clamp=st.integers(0, 1),
    g=st.sampled_from([1 / 256, 0.3]),
)
@example(
    first=0, gaps=[1, 1, 38, 2, 38, 2], alpha_ns=10, cuts=4, timer_ns=1001, f=1, clamp=0, g=0.3
)
def test_rp_has_the_rates_of_ns3s_events(first, gaps, alpha_ns, cuts, timer_ns, f, clamp, g):
    cnps = [first]
    for gap in gaps:
        at = cnps[-1] + gap
        # ns-3's order among events at one ns is that of their numbers; here a CNP comes last, so
        # not on a grid.
        on_grid = (at - first) % alpha_ns == 0 or (at - first - 1) % (cuts * alpha_ns) == 0
        cnps.append(at + 2 if on_grid else at)
    cnps = [
        at
        for at in cnps
        if at == first or ((at - first) % alpha_ns and (at - first - 1) % (cuts * alpha_ns))
    ]
    agrees(cnps, alpha_ns, cuts * alpha_ns, timer_ns, f, clamp, g)


def test_first_cut_waits_for_an_interval_and_halves():
    rp = DcqcnNs3ReactionPoint(LINE, DcqcnNs3Parameters())
    rp.on_cnp(CNP, 1e-3)
    assert (rp.rate_bps, rp.timer_s) == (LINE, pytest.approx(1e-3 + 4e-6 + 1e-9))
    rp.on_timer(rp.timer_s)
    assert rp.rate_bps == pytest.approx(LINE * (1 - (1 - 1 / 256) ** 4 / 2))
    assert rp.target_bps == LINE


def test_cuts_in_a_row_keep_the_target_and_clamp_lowers_it():
    for clamp, target in ((0, LINE), (1, LINE * (1 - (1 - 1 / 256) ** 4 / 2))):
        rp = DcqcnNs3ReactionPoint(LINE, DcqcnNs3Parameters(clamp=clamp))
        for at in (0.0, 4.5e-6):
            rp.on_cnp(CNP, at)
            assert rp.timer_s is not None
            rp.on_timer(rp.timer_s)
        assert rp.target_bps == pytest.approx(target)


def test_np_reports_each_marked_packet():
    np = DcqcnNs3NotificationPoint(DcqcnNs3Parameters())
    assert [np.on_marked(at) for at in (0.0, 0.0, 1e-9)] == [CNP] * 3


def test_rate_never_falls_below_the_least():
    rp = find_scheme("dcqcn-ns3").configure({"min_rate_bps": 5e9}).new_rp(LINE)
    for step in range(100):
        rp.on_cnp(CNP, step * 4e-6)
        assert rp.timer_s is not None
        rp.on_timer(rp.timer_s)
    assert rp.rate_bps == 5e9
