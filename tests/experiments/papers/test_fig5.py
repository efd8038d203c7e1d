"""Fig. 5 in virtual time: above its share F1 is paused, and F0 with it; at or below it no flow
is."""

import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.pcn.scenarios.fig5 import points, share_bps
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

FIG5 = SCENARIOS["fig5"]


def test_f1_s_share_is_where_the_pauses_begin():
    plan = FIG5.plan("pfc", 1, {})
    recording = run_virtual(plan, Silent())
    measured, share = points(plan, recording), share_bps(plan)
    assert share == 10e9
    assert [point.limit_bps for point in measured] == pytest.approx(
        [20e9 * (1 - index / 9) for index in range(10)]
    )
    for point in measured:
        assert (point.pause_rate > 0) == (point.limit_bps > share)
        assert point.f1_bps == pytest.approx(min(point.limit_bps, share), rel=0.08)
        if point.limit_bps < share:
            assert point.f0_bps == pytest.approx(20e9, rel=0.01)
    assert measured[0].f0_bps == pytest.approx(10e9, rel=0.1)
    checks = FIG5.settled(plan, recording)
    assert [check.verdict for check in checks] == ["met"] * len(checks)
    places = {
        place for place, _ in [*FIG5.page.about(plan), *FIG5.page.story(plan, recording, None)]
    }
    assert places <= {draw(plan, recording).name for draw in FIG5.page.charts} | {
        "topology",
        "checks",
    }


def test_other_schemes_and_steps_too_short_are_refused():
    with pytest.raises(ExperimentError, match="rate limiters and PFC alone"):
        FIG5.plan("pcn", 1, {})
    with pytest.raises(ExperimentError, match="don't fit into step"):
        FIG5.plan("pfc", 1, {"step": 1e-3})


def test_with_the_fewest_senders_some_steps_are_above_f1_s_share_and_some_below():
    # its share is half the rate, where it begins
    with pytest.raises(ExperimentError, match="bursting=1: must be 2"):
        FIG5.plan("pfc", 1, {"bursting": 1})
    plan = FIG5.plan("pfc", 1, {"bursting": 2, "points": 3})
    checks = FIG5.settled(plan, run_virtual(plan, Silent()))
    assert "not comparable" not in [check.verdict for check in checks]
