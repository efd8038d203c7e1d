"""Results of the studies and the fluid model, in runs of this tree: orderings and bounds, not
digits."""

import pytest
from short_plans import number, outcome

from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.papers.pcn.figures.fluid_check import FluidCheck
from pcn.experiments.papers.pcn.studies.fairness import FairnessRules, FairnessSweep, MarkingPoint


@pytest.mark.parametrize("program", MarkingPoint.readings)
def test_where_the_queue_is_measured_does_not_decide_about_fairness(program):
    few, many = (outcome(MarkingPoint, reading=program, flows=flows, seed=1) for flows in (4, 64))
    assert number(few, "jain") > 0.95
    assert number(many, "jain") < 0.8
    assert min(number(run, "utilisation") for run in (few, many)) > 0.97


def test_a_lower_threshold_and_a_longer_period_are_fairer():
    plain = outcome(FairnessSweep, setting="pcn", flows=64)
    for better in ("rule80", "double"):
        assert (
            number(outcome(FairnessSweep, setting=better, flows=64), "jain")
            > number(plain, "jain") + 0.2
        )


def test_who_has_more_packets_in_a_period_increases_more_often():
    packets, shares = outcome(FairnessSweep, setting="pcn", flows=64).curves["increases"]
    of = dict(zip(packets, shares, strict=True))
    assert of[1] < 0.05 < 0.2 < of[12]
    assert of[21] < 0.6 * of[12]  # where the rule forgives one unmarked packet


def test_pcn_x_is_fair_where_pcn_is_not_and_as_full():
    plain, ours = (
        outcome(FairnessSweep, setting="pcn", flows=64),
        outcome(FairnessRules, setting="pcn-x", flows=64),
    )
    assert number(plain, "jain") < 0.8
    assert number(ours, "jain") > 0.95
    assert number(ours, "utilisation") > 0.97
    assert number(ours, "queue_kb") < number(plain, "queue_kb")


def test_packets_follow_the_fluid_model():
    outcomes = [
        outcome(FluidCheck, flows=4),
        outcome(FluidCheck, of=4, **{"with": "packets of 250 B"}),
    ]
    rows = [row for row in FluidCheck().checks(Outcomes(outcomes)) if row.measured is not None]
    plain = {
        row.claim: row.verdict
        for row in rows
        if row.what.startswith("4 flows: ") and "band" not in row.what
    }
    assert plain == {"0.28": "met", "0.31": "met", "0.32": "trend", "0.33": "met"}
    small = {row.claim: row.verdict for row in rows if "250 B" in row.what}
    assert small == {"0.32": "met", "0.33": "trend"}
