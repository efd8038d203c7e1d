"""Fig. 17: from 4 to 1,024 flows on the dumbbell's bottleneck."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from experiments import theory
from experiments.analysis import steady_state
from experiments.checks import Check, at_least, at_most, near
from experiments.outcomes import COMPARED, PCN, Case, Outcome, Outcomes, said
from experiments.panels import Line, Panel, scheme_name
from experiments.papers.pcn.fairness import FAIRNESS
from experiments.papers.pcn.plans import dumbbell_plan
from experiments.recording import Recording
from hosts.algorithms import QcnParameters

FLOWS = (4, 16, 64, 256, 1024)
WINDOW_S = 0.5
"""Jain's index is of the throughputs over 500 ms. [B.1]"""
DURATION_S = 1.0
_MANY = 256
"""Up to here the other schemes cope, says the paper."""
_QUEUES_KB = {"qcn": (50.0, 100.0), "timely": (100.0, 200.0)}
_Q_EQ_BYTES, _Q_EQ_FLOWS = 75e3, (16, 256)
"""QCN's queue stands at its Q_eq. The paper doesn't name its own; this is what its queues say."""

_OWN_Q_EQ_BYTES = QcnParameters().q_eq_bytes
JAIN_BY_PORT = 1 / (0.5 * (2 / 3) ** 2 + 0.5 * (4 / 3) ** 2)
"""What PFC comes to, which gives each of the three hosts as much, when one has half of the flows."""
_LEAST_BPS, _LEAST_FLOWS = 100e6, FLOWS[-1]
"""The lowest rate of open ns-3 code. QCN's and TIMELY's here, 5 and 10 Mb/s, are about a fair share of 1,024 flows."""


class Fig17:
    name = "fig17"
    title = "Flow scalability"
    source = "B.1, Fig. 17"
    about = (
        "The dumbbell with 4 to 1,024 flows, all from line rate at time 0. One second; queue, utilisation, PAUSE "
        "and Jain's index are of its last 500 ms. PCN with T = RTT = 500 us and w_min = 0.1/N. "
        f"[fairness.md](fairness.md) says what decides about Jain's index. QCN's queue stands at the Q_eq that its "
        f"switches have, {_OWN_Q_EQ_BYTES / 1e3:g} KB; the paper's queues are those of a larger one. Where PFC shares "
        f"the link each host gets as much, and one has half of the flows: Jain's index is {JAIN_BY_PORT:.2g} then, and "
        "can't fall lower."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        cases = [
            Case({"scheme": scheme, "flows": flows, "seed": 1}, dumbbell_plan(scheme, 1, DURATION_S, flows, 0.5e-3))
            for scheme in COMPARED
            if scheme in schemes
            for flows in FLOWS
        ]
        return (
            cases
            + [
                Case(
                    {"open": "Q_eq", "flows": flows, "seed": 1},
                    dumbbell_plan("qcn", 1, DURATION_S, flows, 0.5e-3, q_eq_bytes=_Q_EQ_BYTES),
                )
                for flows in _Q_EQ_FLOWS
                if "qcn" in schemes
            ]
            + [
                Case(
                    {"least": scheme, "flows": _LEAST_FLOWS, "seed": 1},
                    dumbbell_plan(scheme, 1, DURATION_S, _LEAST_FLOWS, 0.5e-3, min_rate_bps=_LEAST_BPS),
                )
                for scheme in ("qcn", "timely")
                if scheme in schemes
            ]
        )

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan = case.plan
        steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.duration_s - WINDOW_S)
        numbers: dict[str, float | None] = {
            "queue_kb": steady.queue_bytes_mean / 1e3,
            "utilisation": steady.utilisation,
            "jain": steady.jain,
            "pause_per_s": steady.pause / WINDOW_S,
        }
        return Outcome(case.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        queue = outcomes.extreme("queue_kb", True, scheme=PCN)
        pause = outcomes.extreme("pause_per_s", True, scheme=PCN)
        full = outcomes.extreme("utilisation", False, scheme=PCN)
        fair = outcomes.extreme("jain", False, scheme=PCN)
        bound = max(theory.queue_oscillation(flows, 0.1 / flows, 10e9, 500e-6) for flows in FLOWS) / 1e3
        rows = [
            Check(
                "0.52",
                "PCN: largest mean queue of all numbers of flows (met: the paper's 100 KB; ordered: below 200; "
                "theory: peak by eq. 15)",
                100.0,
                bound,
                queue,
                "KB",
                at_most(queue, 100.0, 200.0),
            ),
            Check("0.52", "PCN: PAUSE frames a second, most", 0.0, 0.0, pause, "1/s", at_most(pause, 0.0)),
            Check(
                "0.55",
                "PCN: least utilisation (met: 0.97 and more; ordered: above 0.9)",
                1.0,
                None,
                full,
                "",
                at_least(full, 0.97, 0.9),
            ),
            Check(
                "0.55",
                "PCN: least Jain's index (met: 0.9 and more; ordered: above 0.8)",
                1.0,
                1.0,
                fair,
                "",
                at_least(fair, 0.9, 0.8),
                FAIRNESS,
            ),
        ]
        for flows in FLOWS:
            index = outcomes.mean("jain", scheme=PCN, flows=flows)
            rows.append(
                Check(
                    "0.55",
                    f"PCN: Jain's index, {flows} flows (met: 0.9 and more; ordered: above 0.8)",
                    1.0,
                    1.0,
                    index,
                    "",
                    at_least(index, 0.9, 0.8),
                    FAIRNESS,
                )
            )
        return rows + self._others(outcomes) + _with_q_eq(outcomes) + _with_least(outcomes)

    def _others(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in (one for one in outcomes.schemes() if one != PCN):
            name = scheme_name(scheme)
            few = [outcomes.mean("queue_kb", scheme=scheme, flows=flows) for flows in FLOWS if flows <= _MANY]
            if scheme == "dcqcn":
                grows = _least_step(few)
                rows.append(
                    Check(
                        "0.53",
                        f"{name}: least growth of its queue from one number of flows to the next, to {_MANY} flows "
                        "(met: it always grows)",
                        None,
                        None,
                        grows,
                        "KB",
                        at_least(grows, 0.0),
                    )
                )
            else:
                known = [value for value in few if value is not None]
                low, high = _QUEUES_KB[scheme]
                for what, value, verdict in (
                    ("least", min(known, default=None), at_least(min(known, default=None), low, low / 2)),
                    ("largest", max(known, default=None), at_most(max(known, default=None), high, 2 * high)),
                ):
                    rows.append(
                        Check(
                            "0.53",
                            f"{name}: {what} mean queue, to {_MANY} flows (paper: {low:g} to {high:g} KB; ordered: "
                            "within a factor of two)",
                            low if what == "least" else high,
                            None,
                            value,
                            "KB",
                            verdict,
                        )
                    )
            pause = outcomes.mean("pause_per_s", scheme=scheme, flows=FLOWS[-1])
            rows.append(
                Check(
                    "0.54",
                    f"{name}: PAUSE frames a second, {FLOWS[-1]} flows (met: it is not rid of them, 100 and more; "
                    "ordered: any)",
                    None,
                    None,
                    pause,
                    "1/s",
                    at_least(pause, 100.0, 0.0),
                )
            )
            drop = _difference(
                outcomes.mean("jain", scheme=scheme, flows=FLOWS[0]),
                outcomes.mean("jain", scheme=scheme, flows=FLOWS[-1]),
            )
            rows.append(
                Check(
                    "0.54",
                    f"{name}: fall of Jain's index from {FLOWS[0]} to {FLOWS[-1]} flows (met: 0.1 and more; "
                    "ordered: any)",
                    None,
                    None,
                    drop,
                    "",
                    at_least(drop, 0.1, 0.0),
                )
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        most = FLOWS[-1]
        found = {one: outcomes.mean("jain", scheme=one, flows=most) for one in outcomes.schemes()}
        least = {one: outcomes.mean("jain", least=one) for one in ("qcn", "timely")}
        if not found or None in (*found.values(), *least.values()):
            return []
        own = ", ".join(f"{scheme_name(one)} {said(value)}" for one, value in found.items())
        lowest = ", ".join(f"{scheme_name(one)} {said(value)}" for one, value in least.items())
        return [
            f"Jain's index with {most} flows: {own}. QCN's and TIMELY's flows are at their lowest rates then; where "
            f"that is {_LEAST_BPS / 1e6:g} Mb/s, as in open ns-3 code, PFC shares: {lowest}."
        ]

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(scheme_name(str(scheme)), "flows", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        return [
            Panel("Mean queue", "Flows", "Queue (KB)", lines("queue_kb"), log_x=True),
            Panel("PFC", "Flows", "PAUSE frames (1/s)", lines("pause_per_s"), log_x=True),
            Panel("Bottleneck", "Flows", "Utilisation", lines("utilisation"), log_x=True, top=1.05),
            Panel("Fairness over 500 ms", "Flows", "Jain's index", lines("jain"), log_x=True, top=1.05),
        ]


def _with_q_eq(outcomes: Outcomes) -> list[Check]:
    low, high = _QUEUES_KB["qcn"]
    rows = []
    for flows in _Q_EQ_FLOWS if outcomes.where(open="Q_eq") else ():
        queue = outcomes.mean("queue_kb", open="Q_eq", flows=flows)
        rows.append(
            Check(
                "0.53",
                f"QCN with Q_eq = {_Q_EQ_BYTES / 1e3:g} KB: mean queue, {flows} flows (paper: {low:g} to {high:g} KB)",
                (low + high) / 2,
                None,
                queue,
                "KB",
                near(queue, (low + high) / 2, (high - low) / (high + low), 1.0),
            )
        )
    return rows


def _with_least(outcomes: Outcomes) -> list[Check]:
    """QCN and TIMELY where their lowest rates leave the sharing to PFC."""
    rows = []
    for scheme in ("qcn", "timely"):
        if outcomes.where(least=scheme):
            name = f"{scheme_name(scheme)}, lowest rate {_LEAST_BPS / 1e6:g} Mb/s, {_LEAST_FLOWS} flows"
            index, pause = (outcomes.mean(number, least=scheme) for number in ("jain", "pause_per_s"))
            text = f"{name}: Jain's index (met: that of equal shares for the hosts, within 5%)"
            rows.append(Check("0.54", text, None, JAIN_BY_PORT, index, "", near(index, JAIN_BY_PORT, 0.05, 1.0)))
            text = f"{name}: PAUSE frames a second (met: persistent, 1000 and more; ordered: any)"
            rows.append(Check("0.54", text, None, None, pause, "1/s", at_least(pause, 1000.0, 0.0)))
    return rows


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _least_step(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < max(2, len(values)):
        return None
    return min(later - earlier for earlier, later in pairwise(known))
