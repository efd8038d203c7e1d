"""The paper's claims about the victim, for a run of a scheme and across schemes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from experiments import theory
from experiments.checks import Check, Verdict, at_least, at_most, clean, near
from experiments.experiment import Plan
from experiments.papers.pcn.victim_measures import Measures, measure
from experiments.papers.pcn.victim_setting import PAPER_LOSS_MS, PAPER_TREE_MS, burst_s, ideal_bps
from experiments.recording import Recording

HANDFUL = 5
DCQCN_ALPHA = "victim.md#before-time-0"
"""Why DCQCN's tree stands longer than the paper's."""
NOTIFIED = "victim.md#what-comes-out"
"""What PCN reaches depends on when its flows are notified."""
_DOUBLE = "ordered: within a factor of two"


def checks(plan: Plan, recording: Recording) -> list[Check]:
    """Of one run."""
    made = measure(plan, recording)
    own = _pfc if plan.scheme == "pfc" else _searching if plan.scheme in PAPER_LOSS_MS else _pcn
    return [*clean(recording), *own(plan, made)]


def compare(runs: Sequence[tuple[Plan, Recording]]) -> list[Check]:
    """Across schemes: who is better, as the paper orders them. A row for each pair of neighbours that ran."""
    made = {plan.scheme: measure(plan, recording) for plan, recording in runs}
    orders: tuple[tuple[str, str, str, tuple[str, ...], Callable[[Measures], float | None]], ...] = (
        ("0.22", "tree of PAUSE", "ms", ("pcn", "dcqcn", "pfc"), lambda one: one.tree_s * 1e3),
        ("0.23", "time until S0 to S1 is full again", "ms", ("pcn", "dcqcn"), _full_ms),
        ("0.25", "F0's loss against the ideal", "MB", ("pcn", "dcqcn"), lambda one: one.f0_lost_bytes / 1e6),
        ("0.21", "F0's loss during the bursts", "MB", ("pcn", "pfc"), lambda one: one.f0_lost_burst_bytes / 1e6),
    )
    found = []
    for claim, what, unit, order, value in orders:
        for better, worse in pairwise(scheme for scheme in order if scheme in made):
            one, other = value(made[better]), value(made[worse])
            less = None if one is None or other is None else one - other
            verdict: Verdict = "not comparable" if less is None else "met" if less < 0 else "not met"
            found.append(Check(claim, f"{what}: {better} less {worse} (met: below 0)", None, None, less, unit, verdict))
    return found


def _pfc(plan: Plan, made: Measures) -> list[Check]:
    ideal = ideal_bps(plan)[1] / 1e9
    burst = burst_s(plan) * 1e3
    tree, f0 = made.tree_s * 1e3, made.f0_burst_bps / 1e9
    return [
        Check("0.21", f"the tree lasts (met: as long as the bursts within 10%; {_DOUBLE})", PAPER_TREE_MS["pfc"], burst,
              tree, "ms", near(tree, burst, 0.1)),
        Check("0.21", "PAUSE frames to H0 and H1, F0's sender too (met: 2 and more)", None, None,
              made.pause_senders, "frames", at_least(made.pause_senders, 2)),
        Check("0.21", f"F0 during the bursts: no more than F1's share of R1 (met: within 50%; {_DOUBLE})", None,
              ideal, f0, "Gbit/s", near(f0, ideal, 0.5)),
    ]  # fmt: skip


def _pcn(plan: Plan, made: Measures) -> list[Check]:
    ideal_f0 = ideal_bps(plan)[0]
    shares = (made.f0_burst_bps / ideal_f0, made.f0_last_third_bps / ideal_f0)
    fair = []
    if plan.scheme == "pcn":  # the theory is that of its Algorithm 1
        half_life = theory.fairness_half_life_loops(2, plan.number("w_min")) * plan.number("T") * 1e3
        measured = None if made.half_life_s is None else made.half_life_s * 1e3
        what = f"F0 and F1 become equal: half-life of their difference (met: within 30%; {_DOUBLE})"
        fair = [Check("0.31", what, None, half_life, measured, "ms", near(measured, half_life, 0.3), NOTIFIED)]
    return [
        Check("0.24", "PAUSE frames to H0 and H1", 0, 0, made.pause_senders, "frames", at_most(made.pause_senders, 0)),
        Check("0.24", f"PAUSE frames from S1 to S0 (met: a handful, {HANDFUL}; ordered: 20)", HANDFUL, None,
              made.pause_trunk, "frames", at_most(made.pause_trunk, HANDFUL, 20)),
        Check("0.25", "F0 during the bursts, of the ideal (met: 90%; ordered: 50%, its share before)", None, 1.0,
              shares[0], "", at_least(shares[0], 0.9, 0.5), NOTIFIED),
        Check("0.25", "F0 in the last third of the bursts, of the ideal (met: 95%; ordered: 50%)", 1.0, 1.0, shares[1],
              "", at_least(shares[1], 0.95, 0.5), NOTIFIED),
        Check("0.25", "S0 to S1 after the bursts, of its rate (met: 95%; ordered: 90%)", 1.0, None, made.trunk_after,
              "", at_least(made.trunk_after, 0.95, 0.9)),
        *fair,
        Check("0.25", "F0 and F1 afterwards: Jain's index, last third (met: 0.97; ordered: 0.9)", 1.0, 1.0,
              made.jain_after, "", at_least(made.jain_after, 0.97, 0.9)),
    ]  # fmt: skip


def _searching(plan: Plan, made: Measures) -> list[Check]:
    """Schemes that look for their rate step by step."""
    paper_tree, paper_loss = PAPER_TREE_MS[plan.scheme], PAPER_LOSS_MS[plan.scheme]
    tree, full = made.tree_s * 1e3, _full_ms(made)
    cut = made.f0_rate_least_bps / made.f0_rate_before_bps if made.f0_rate_before_bps else None
    burst = burst_s(plan) * 1e3
    return [
        Check("0.22", "the tree lasts (met: within 50%; ordered: shorter than with PFC alone)", paper_tree, None,
              tree, "ms", _band(tree, paper_tree, 0.5, tree < burst),
              DCQCN_ALPHA if plan.scheme == "dcqcn" and tree > paper_tree else ""),
        Check("0.26", "F0's packets marked during the bursts, though it is innocent (met: any)", None, None,
              made.f0_marked_burst, "", at_least(made.f0_marked_burst, 1e-9)),
        Check("0.26", "F0 is cut, of its rate before (met: to 80% and less; ordered: 95%)", None, None, cut, "",
              at_most(cut, 0.8, 0.95)),
        Check("0.23", "throughput is lost, S0 to S1 isn't full, for (met: within 50%; ordered: longer than the bursts)",
              paper_loss, None, full, "ms", _band(full, paper_loss, 0.5, full is not None and full > burst)),
    ]  # fmt: skip


def _band(measured: float | None, value: float, tolerance: float, ordered: bool) -> Verdict:
    """met within `tolerance` of `value`; else `ordered`, if that holds."""
    if measured is None:
        return "not comparable"
    if abs(measured - value) <= tolerance * value:
        return "met"
    return "ordered" if ordered else "not met"


def _full_ms(made: Measures) -> float | None:
    return None if made.full_s is None else made.full_s * 1e3
