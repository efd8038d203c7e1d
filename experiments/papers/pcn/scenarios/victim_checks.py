"""The paper's claims about the victim, for a run of a scheme and across schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import theory
from pcn.experiments.define.checks import Check, Verdict, at_least, at_most, clean, near, or_trend
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.papers.pcn.claims import (
    FAIRNESS,
    INNOCENT_CUT,
    LOSS,
    NO_TREE,
    PCN,
    PCN_X,
    PFC,
    TREE_OF_PFC,
    TREES,
    VICTIM_FULL,
)
from pcn.experiments.papers.pcn.scenarios.victim_measures import Measures, measure
from pcn.experiments.papers.pcn.scenarios.victim_setting import burst_s, ideal_bps

DCQCN_ALPHA = "victim.md#before-time-0"
"""Why DCQCN's tree stands longer than the paper's."""
NOTIFIED = "victim.md#what-comes-out"
"""What PCN reaches depends on when its flows are notified."""
_DOUBLE = "trend: within a factor of two"


_ORDERS = (
    (TREES, "tree of PAUSE", (PCN, "dcqcn", PFC), "tree_s"),
    (LOSS, "time until S0 to S1 is full again", (PCN, "dcqcn"), "full_s"),
    (VICTIM_FULL, "F0's loss of what it could have had", (PCN, "dcqcn"), "f0_lost_bytes"),
    (
        TREE_OF_PFC,
        "F0's loss in the bursts, of the ideal or its limiter's rate",
        (PCN, PFC),
        "f0_lost_burst_bytes",
    ),
)
"""Who is better, as the paper orders them: claim, what, schemes, number."""


def settled(plan: Plan, recording: Recording) -> list[Check]:
    """Returns the checks of one run."""
    scheme_claims = _CLAIMS.get(plan.scheme)
    return [
        *clean(recording),
        *(scheme_claims(plan, measure(plan, recording)) if scheme_claims else ()),
    ]


def compared(outcomes: Outcomes) -> list[Check]:
    """Across schemes: a row for each pair of neighbours that ran."""
    checks = []
    for claim, quantity, order, number in _ORDERS:
        for better, worse in pairwise(outcomes.among(order)):
            ahead, behind = (outcomes.mean(number, scheme=scheme) for scheme in (better, worse))
            text, less = f"{quantity}: {better} less {worse} (met: below 0)", None
            if ahead is not None and behind is not None:
                less = (
                    ahead * 1e3 - behind * 1e3
                    if number.endswith("_s")
                    else ahead / 1e6 - behind / 1e6
                )
            checks.append(
                claim.row(text, less, _below_0, unit="ms" if number.endswith("_s") else "MB")
            )
    return checks


def _below_0(measured: float | None) -> Verdict:
    return "not comparable" if measured is None else "met" if measured < 0 else "not met"


def _pfc(plan: Plan, measures: Measures) -> list[Check]:
    ideal, burst = ideal_bps(plan)[1] / 1e9, burst_s(plan) * 1e3
    text = f"the tree lasts (met: as long as the bursts within 10%; {_DOUBLE})"
    share = f"F0 during the bursts, beside F1's share of R1 (met: within 50%; {_DOUBLE})"
    paused = "PAUSE frames to H0 and H1, F0's sender too (met: 2 and more)"
    return [
        TREE_OF_PFC.row(text, measures.tree_s * 1e3, near(burst, 0.1), PFC, theory=burst),
        TREE_OF_PFC.row(paused, measures.pause_senders, at_least(2), unit="frames"),
        TREE_OF_PFC.row(
            share, measures.f0_burst_bps / 1e9, near(ideal, 0.5), theory=ideal, unit="Gbit/s"
        ),
    ]


def _pcn(plan: Plan, measures: Measures) -> list[Check]:
    few, ideal = NO_TREE["a handful"], ideal_bps(plan)[0]
    during, late = measures.f0_burst_bps / ideal, measures.f0_last_third_bps / ideal
    few_text = f"PAUSE frames from S1 to S0 (met: a handful, {few:g}; trend: 20)"
    during_text = "F0 during the bursts, of the ideal (met: 90%; trend: 50%, its share before)"
    late_text = "F0 in the last third of the bursts, of the ideal (met: 95%; trend: 50%)"
    trunk_text = "S0 to S1 after the bursts, of its rate (met: 95%; trend: 90%)"
    fair_text = "F0 and F1 afterwards: Jain's index, last third (met: 0.97; trend: 0.9)"
    return [
        NO_TREE.row(
            "PAUSE frames to H0 and H1", measures.pause_senders, at_most(0), "to senders", theory=0
        ),
        NO_TREE.row(few_text, measures.pause_trunk, at_most(few, 20), "a handful"),
        VICTIM_FULL.row(during_text, during, at_least(0.9, 0.5), theory=1.0, known=NOTIFIED),
        VICTIM_FULL.row(
            late_text, late, at_least(0.95, 0.5), "last third", theory=1.0, known=NOTIFIED
        ),
        VICTIM_FULL.row(trunk_text, measures.trunk_after, at_least(0.95, 0.9), "trunk"),
        *(
            _half_life(plan, measures) if plan.scheme == PCN else ()
        ),  # the theory is that of its Algorithm 1
        VICTIM_FULL.row(fair_text, measures.jain_after, at_least(0.97, 0.9), "fair", theory=1.0),
    ]


def _half_life(plan: Plan, measures: Measures) -> list[Check]:
    expected = theory.fairness_half_life_loops(2, plan.number("w_min")) * plan.number("T") * 1e3
    text = f"F0 and F1 become equal: half-life of their difference (met: within 30%; {_DOUBLE})"
    measured = None if measures.half_life_s is None else measures.half_life_s * 1e3
    return [
        FAIRNESS.row(
            text, measured, near(expected, 0.3), theory=expected, unit="ms", known=NOTIFIED
        )
    ]


def _searching(plan: Plan, measures: Measures) -> list[Check]:
    """Returns the schemes that look for their rate step by step."""
    scheme, burst, tree = plan.scheme, burst_s(plan) * 1e3, measures.tree_s * 1e3
    full = None if measures.full_s is None else measures.full_s * 1e3
    cut = (
        measures.f0_rate_least_bps / measures.f0_rate_before_bps
        if measures.f0_rate_before_bps
        else None
    )
    tree_text = "the tree lasts (met: within 50%; trend: shorter than with PFC alone)"
    marked_text = "F0's packets marked during the bursts, though it is innocent (met: any)"
    cut_text = "F0 is cut, of its rate before (met: to 80% and less; trend: 95%)"
    lost_text = (
        "throughput is lost, S0 to S1 isn't full, for (met: within 50%; trend: longer than the "
        "bursts)"
    )
    shorter = or_trend(near(TREES[scheme], 0.5, 1.0), tree < burst)
    longer = or_trend(near(LOSS[scheme], 0.5, 1.0), full is not None and full > burst)
    known = _KNOWN_TREE.get(scheme, "") if tree > TREES[scheme] else ""
    return [
        TREES.row(tree_text, tree, shorter, scheme, known=known),
        INNOCENT_CUT.row(marked_text, measures.f0_marked_burst, at_least(1e-9)),
        INNOCENT_CUT.row(cut_text, cut, at_most(0.8, 0.95)),
        LOSS.row(lost_text, full, longer, scheme),
    ]


_CLAIMS: Mapping[str, Callable[[Plan, Measures], list[Check]]] = {
    PFC: _pfc,
    **dict.fromkeys(LOSS.paper, _searching),
    **dict.fromkeys((PCN, PCN_X, "pcn-time"), _pcn),
}
"""By scheme: the paper's claims for it here, and for PCN's variants."""
_KNOWN_TREE = {"dcqcn": DCQCN_ALPHA}
