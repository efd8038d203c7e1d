"""The study of Fig. 12's factors: what its variants change, and that its verdicts come from the
numbers alone."""

import pytest

from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.claims import H0_MEAN
from pcn.experiments.papers.pcn.figures import hadoop
from pcn.experiments.papers.pcn.figures.fig12 import factor_row
from pcn.experiments.papers.pcn.studies.factors import SEEDS, FactorStudy
from pcn.experiments.papers.pcn.variants import PUBLISHED_PACKETS, FallingRtts, LowStart
from pcn.hosts.algorithms import Ack
from pcn.hosts.algorithms.timely import TimelyParameters, TimelyReactionPoint

US = 1e-6
DELTA = 10e6


def increases(rp: TimelyReactionPoint, *rtts_us: float) -> list[float]:
    """What each of these RTTs, a millisecond apart, adds to the rate, in steps."""
    rp.rate_bps = 1e9
    added = []
    for count, rtt in enumerate(rtts_us):
        before = rp.rate_bps
        rp.on_ack(Ack(rtt * US), count * 1e-3)
        added.append(round((rp.rate_bps - before) / DELTA))
    return added


def test_increases_grow_after_five_rtts_that_fall():
    rtts = (200, 190, 180, 170, 160, 150, 140, 140, 130)
    assert increases(FallingRtts(40e9, TimelyParameters()), *rtts) == [1, 1, 1, 1, 1, 5, 5, 1, 1]
    # Algorithm 1 counts the first, which has no gradient, and those whose mean still falls.
    assert increases(TimelyReactionPoint(40e9, TimelyParameters()), *rtts) == [
        1, 1, 1, 1, 5, 5, 5, 5, 5,
    ]  # fmt: skip


def test_a_low_start_is_a_tenth_of_line_rate():
    assert LowStart(40e9, TimelyParameters()).rate_bps == 4e9


def test_the_published_values_make_a_gradient_of_many_rtts():
    rp = TimelyReactionPoint(40e9, TimelyParameters(**PUBLISHED_PACKETS))
    rp.rate_bps = 1e9
    for count in range(60):
        rp.on_ack(Ack(100 * US + count % 2 * 4 * US), count * 1e-3)
    assert rp.rate_bps > 0.95e9  # RTTs that go up and down by 4 us
    plain = TimelyReactionPoint(40e9, TimelyParameters())
    plain.rate_bps = 1e9
    for count in range(60):
        plain.on_ack(Ack(100 * US + count % 2 * 4 * US), count * 1e-3)
    assert plain.rate_bps < 0.1e9


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (None, "not comparable"),
        (0.9, "not met"),
        (1.5, "trend"),
        (1.6, "met"),
        (4.0, "met"),
        (4.1, "trend"),
    ],
)
def test_a_factor_is_met_from_four_fifths_to_twice(measured, verdict):
    assert factor_row(H0_MEAN, "timely", "", measured).verdict == verdict


def test_every_setting_is_run_and_changes_its_plan_or_its_scheme():
    study = FactorStudy()
    runs = list(study.runs(("pcn", "qcn", "dcqcn", "timely")))
    assert len(runs) == (len(study.settings) + 1) * len(SEEDS)
    for run in runs:
        if "setting" not in run.keys:
            continue
        scheme, _, variant, fields = study.settings[run.keys["setting"]]
        assert (run.scheme, run.arguments, run.variant) == (scheme, fields, variant)
        assert bool(fields or study.variant(run).scheme) == (run.keys["setting"] != scheme)
    plan, plain = study.plan("timely", 1, PUBLISHED_PACKETS), study.plan("timely", 1, {})
    assert plan.topology.flows == plain.topology.flows
    assert PUBLISHED_PACKETS.items() <= plan.scheme_parameters.items()
    assert plan.scheme_parameters != plain.scheme_parameters


def test_factors_are_over_pcns_mean():
    numbers = {f"{kind} {group}": 2.0 for kind in ("mean_ms", "p99_ms") for group in hadoop.GROUPS}
    pcn = numbers | {"pause_per_s": 30.0, "h0_slow": 0.0}
    slow = dict.fromkeys(numbers, 4.0) | {"pause_per_s": 1000.0, "h0_slow": 0.5}
    runs = [
        Outcome({"scheme": "pcn", "seed": 1}, pcn),
        Outcome({"setting": "code 64000", "seed": 1}, slow),
    ]
    rows = FactorStudy().checks(Outcomes(runs))
    assert [(row.claim, row.measured, row.verdict) for row in rows] == [
        ("0.39", pytest.approx(0.97), "met"),
        ("0.41", 2.0, "met"),
        ("0.42", 2.0, "trend"),
        ("0.43", 2.0, "met"),
    ]
    first, *_, last = FactorStudy().charts(Outcomes(runs))
    assert list(first.rows) == ["authors' code, 64 KB"]
    assert (first.lines[0].y.tolist(), first.level, last.lines[0].y.tolist()) == ([1.0], 1.0, [0.5])
