"""TCD's figures: what short runs show, and that verdicts come from the numbers."""

from __future__ import annotations

import pytest

from experiments.experiment import Experiment, Run
from experiments.figures import outcome_of
from experiments.outcomes import Outcome, Outcomes
from experiments.papers.tcd.claims import DCQCN, DCQCN_TCD, RED, TCD
from experiments.papers.tcd.fig11 import Fig11
from experiments.papers.tcd.fig12 import CONGESTION, ONE, SEVERAL, Fig12
from experiments.papers.tcd.plans import ARRIVALS_S, BURSTING, LINE_BPS, SENDER_BPS, victims_plan
from experiments.papers.tcd.table3 import Table3


@pytest.mark.parametrize("experiment", [Fig11(), Fig12()])
def test_states_and_marks_are_the_paper_s(experiment: Experiment) -> None:
    """Whole figures, which are short: every row is met."""
    outcomes = Outcomes([outcome_of(experiment, run) for run in experiment.runs((TCD, RED))])
    checks = experiment.checks(outcomes)
    assert len(checks) > 4
    assert {check.verdict for check in checks} == {"met"}


@pytest.mark.parametrize("points", [ONE, SEVERAL])
def test_with_more_looks_than_there_is_time_for_nothing_is_congested(points: str) -> None:
    """Not even where it is to be."""
    arguments = {"several": points == SEVERAL, "looks": 255}
    numbers = outcome_of(Fig12(), Run({"points": points}, TCD, arguments=arguments)).numbers
    assert str(CONGESTION) not in f"{numbers['P2 order']:.0f}"


def test_victims_aren_t_taken_for_congested() -> None:
    found = {}
    for scheme, alpha in ((DCQCN, 0.5), (DCQCN_TCD, 1.2)):
        run = Run({"scheme": scheme}, scheme, 1, {"bursts_load": 0.5, "initial_alpha": alpha})
        found[scheme] = outcome_of(Table3(), run).numbers
    marked, spared = (found[scheme]["ce_share"] or 0.0 for scheme in (DCQCN, DCQCN_TCD))
    assert marked > 0.1
    assert spared < 0.01
    assert (found[DCQCN_TCD]["ue_share"] or 0.0) > 0.05
    assert (found[DCQCN_TCD]["mean_us"] or 1e9) < (found[DCQCN]["mean_us"] or 0)
    assert found[DCQCN]["lost"] == found[DCQCN_TCD]["lost"] == 0


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("load", [0.3, 0.65])
def test_what_is_offered_is_the_load(seed: int, load: float) -> None:
    plan = victims_plan("x", DCQCN, seed, {"bursts_load": load})
    for hosts, offered in ((("s0",), 0.6 * SENDER_BPS), (("s1",), 0.6 * SENDER_BPS), (BURSTING, load * LINE_BPS)):
        sizes = [flow.size_bytes or 0 for flow in plan.topology.flows if flow.src in hosts]
        assert sum(sizes) * 1.058 * 8 / ARRIVALS_S == pytest.approx(offered, rel=0.051)
    starts: dict[float, set[int]] = {}
    for flow in plan.topology.flows:
        if flow.src in BURSTING:
            starts.setdefault(flow.start_s, set()).add(flow.size_bytes or 0)
    assert all(len(sizes) == 1 for sizes in starts.values())


def test_table_3_follows_its_numbers() -> None:
    def outcomes(dcqcn: float, tcd: float) -> Outcomes:
        keys = {"load": 0.5, "seed": 1}
        return Outcomes([
            Outcome({"scheme": DCQCN, **keys}, {"ce_share": dcqcn}),
            Outcome({"scheme": DCQCN_TCD, **keys}, {"ce_share": tcd}),
        ])  # fmt: skip

    def verdicts(dcqcn: float, tcd: float) -> list[str]:
        return [check.verdict for check in Table3().checks(outcomes(dcqcn, tcd)) if "0.5" in check.what]

    assert verdicts(0.27, 0.0) == ["met", "met"]
    assert verdicts(0.15, 0.005) == ["trend", "trend"]
    assert verdicts(0.05, 0.05) == ["not met", "not met"]
