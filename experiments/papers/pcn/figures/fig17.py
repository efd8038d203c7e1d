"""Fig. 17: from 4 to 1,024 flows on the dumbbell's bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import steady_state
from pcn.experiments.define import theory
from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text
from pcn.experiments.papers.pcn.claims import (
    COMPARED,
    FULL_AND_FAIR,
    MANY_FLOWS,
    OTHERS_QUEUES,
    OTHERS_UNFAIR,
    PCN,
    SHOWN,
    WHY_UNFAIR,
)
from pcn.experiments.papers.pcn.plans import dumbbell_plan
from pcn.hosts.algorithms.qcn import QcnParameters

FLOWS = (4, 16, 64, 256, 1024)
WINDOW_S = 0.5
"""Jain's index is of the throughputs over 500 ms. [B.1]"""
DURATION_S = 1.0
_MANY = 256
"""Up to here the other schemes cope in the paper."""
_Q_EQ_BYTES, _Q_EQ_FLOWS = 75e3, (16, 256)
"""QCN's queue stands at its Q_eq. The paper doesn't name its value; this is the value of its
queues."""

_OWN_Q_EQ_BYTES = QcnParameters().q_eq_bytes
JAIN_BY_PORT = 1 / (0.5 * (2 / 3) ** 2 + 0.5 * (4 / 3) ** 2)
"""What PFC comes to, which gives each of the three hosts as much, when one has half of the
flows."""
_WITH_LEAST, _LEAST_BPS, _LEAST_FLOWS = ("qcn", "timely"), 100e6, FLOWS[-1]
"""The lowest rate of open ns-3 code. QCN's and TIMELY's here, 5 and 10 Mbit/s, are about a fair
share of 1,024 flows."""


class Fig17(Experiment):
    name = "fig17"
    schemes = SHOWN
    title = "Flow scalability"
    source = "B.1, Fig. 17"
    swept: Mapping[str, Sequence[float]] = {"flows": FLOWS}
    about = (
        "The dumbbell with 4 to 1,024 flows, all from line rate at time 0. One second; queue, "
        "utilisation, PAUSE and Jain's index are of its last 500 ms. PCN with T = RTT = 500 us and "
        "w_min = 0.1/N. [fairness.md](fairness.md) explains Jain's index. QCN's queue stands at "
        f"the Q_eq that its switches have, {_OWN_Q_EQ_BYTES / 1e3:g} KB; the paper's queues are "
        "those of a larger one. Where PFC shares the link each host gets as much, and one has half "
        f"of the flows: Jain's index is {JAIN_BY_PORT:.2g} then, and can't fall lower."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        yield from super().runs(schemes)
        for flows in _Q_EQ_FLOWS if "qcn" in schemes else ():
            values = {"flows": flows, "q_eq_bytes": _Q_EQ_BYTES}
            yield Run({"open": "Q_eq", "flows": flows, "seed": 1}, "qcn", 1, values)
        for scheme in (scheme for scheme in _WITH_LEAST if scheme in schemes):
            values = {"flows": _LEAST_FLOWS, "min_rate_bps": _LEAST_BPS}
            yield Run({"least": scheme, "flows": _LEAST_FLOWS, "seed": 1}, scheme, 1, values)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return dumbbell_plan(scheme, seed, DURATION_S, values, 0.5e-3)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        steady = steady_state(
            recording, plan.bottleneck, plan.capacity_bps, plan.duration_s - WINDOW_S
        )
        numbers: dict[str, float | None] = {
            "queue_kb": steady.queue_bytes_mean / 1e3,
            "utilisation": steady.utilisation,
            "jain": steady.jain,
            "pause_per_s": steady.pause / WINDOW_S,
        }
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        queue = outcomes.extreme("queue_kb", True, scheme=PCN)
        pause = outcomes.extreme("pause_per_s", True, scheme=PCN)
        full = outcomes.extreme("utilisation", False, scheme=PCN)
        fair = outcomes.extreme("jain", False, scheme=PCN)
        bound = (
            max(theory.queue_oscillation(flows, 0.1 / flows, 10e9, 500e-6) for flows in FLOWS) / 1e3
        )
        most_kb = MANY_FLOWS["queue"]
        queue_text = (
            f"PCN: largest mean queue of all numbers of flows (met: the paper's {most_kb:g} KB; "
            "trend: below 200; theory: peak by eq. 15)"
        )
        full_text = "PCN: least utilisation (met: 0.97 and more; trend: above 0.9)"
        fair_text = "PCN: least Jain's index (met: 0.9 and more; trend: above 0.8)"
        just = at_least(0.9, 0.8)
        rows = [
            MANY_FLOWS.row(queue_text, queue, at_most(most_kb, 200.0), "queue", theory=bound),
            MANY_FLOWS.row(
                "PCN: PAUSE frames a second, most",
                pause,
                at_most(0.0),
                "pause",
                theory=0.0,
                unit="1/s",
            ),
            FULL_AND_FAIR.row(full_text, full, at_least(0.97, 0.9), "utilisation"),
            FULL_AND_FAIR.row(fair_text, fair, just, "index", theory=1.0, known=WHY_UNFAIR),
        ]
        for flows in FLOWS:
            text = f"PCN: Jain's index, {flows} flows (met: 0.9 and more; trend: above 0.8)"
            index = outcomes.mean("jain", scheme=PCN, flows=flows)
            rows.append(FULL_AND_FAIR.row(text, index, just, "index", theory=1.0, known=WHY_UNFAIR))
        others = [scheme for scheme in outcomes.among(COMPARED) if scheme != PCN]
        return [
            *rows,
            *(row for scheme in others for row in _of_another(outcomes, scheme)),
            *_with_q_eq(outcomes),
            *_with_least(outcomes),
        ]

    def story(self, outcomes: Outcomes) -> list[str]:
        most = FLOWS[-1]
        indices = {
            scheme: outcomes.mean("jain", scheme=scheme, flows=most)
            for scheme in outcomes.among(COMPARED)
        }
        least = {scheme: outcomes.mean("jain", least=scheme) for scheme in _WITH_LEAST}
        if not indices or None in (*indices.values(), *least.values()):
            return []
        index_text = ", ".join(
            f"{label(scheme)} {number_text(value)}" for scheme, value in indices.items()
        )
        lowest = ", ".join(
            f"{label(scheme)} {number_text(value)}" for scheme, value in least.items()
        )
        return [
            f"Jain's index with {most} flows: {index_text}. QCN's and TIMELY's flows are at their "
            f"lowest rates then; where that is {_LEAST_BPS / 1e6:g} Mbit/s, as in open ns-3 code, "
            f"PFC shares: {lowest}."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(label(str(scheme)), "flows", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        return [
            Chart(
                "Mean queue",
                "Flows",
                "Queue (KB)",
                lines("queue_kb"),
                log_x=True,
                level=MANY_FLOWS["queue"],
                level_text="the paper's PCN: at most",
            ),
            Chart("PFC", "Flows", "PAUSE frames (1/s)", lines("pause_per_s"), log_x=True),
            Chart("Bottleneck", "Flows", "Utilisation", lines("utilisation"), log_x=True, top=1.05),
            Chart(
                "Fairness over 500 ms", "Flows", "Jain's index", lines("jain"), log_x=True, top=1.05
            ),
        ]


def _of_another(outcomes: Outcomes, scheme: str) -> list[Check]:
    """Returns the queues, PAUSE frames and shares of a scheme beside PCN."""
    name = label(scheme)
    few = [
        outcomes.mean("queue_kb", scheme=scheme, flows=flows) for flows in FLOWS if flows <= _MANY
    ]
    known = [value for value in few if value is not None]
    if f"{scheme} least" in OTHERS_QUEUES:
        low, high = OTHERS_QUEUES[f"{scheme} least"], OTHERS_QUEUES[f"{scheme} most"]
        band = (
            f"mean queue, to {_MANY} flows (paper: {low:g} to {high:g} KB; trend: within a factor "
            "of two)"
        )
        least, largest = min(known, default=None), max(known, default=None)
        rows = [
            OTHERS_QUEUES.row(
                f"{name}: least {band}", least, at_least(low, low / 2), f"{scheme} least"
            ),
            OTHERS_QUEUES.row(
                f"{name}: largest {band}", largest, at_most(high, 2 * high), f"{scheme} most"
            ),
        ]
    else:
        text = (
            f"{name}: least growth of its queue from one number of flows to the next, to {_MANY} "
            "flows (met: it always grows)"
        )
        rows = [OTHERS_QUEUES.row(text, _least_step(few), at_least(0.0))]
    fewest, most = FLOWS[0], FLOWS[-1]
    pause_text = (
        f"{name}: PAUSE frames a second, {most} flows (met: it is not rid of them, 100 and more; "
        "trend: any)"
    )
    pause = outcomes.mean("pause_per_s", scheme=scheme, flows=most)
    fall_text = (
        f"{name}: fall of Jain's index from {fewest} to {most} flows (met: 0.1 and more; trend: "
        "any)"
    )
    fall = _difference(
        *(outcomes.mean("jain", scheme=scheme, flows=flows) for flows in (fewest, most))
    )
    return [
        *rows,
        OTHERS_UNFAIR.row(pause_text, pause, at_least(100.0, 0.0), unit="1/s"),
        OTHERS_UNFAIR.row(fall_text, fall, at_least(0.1, 0.0)),
    ]


def _with_q_eq(outcomes: Outcomes) -> list[Check]:
    low, high = OTHERS_QUEUES["qcn least"], OTHERS_QUEUES["qcn most"]
    middle, rows = (low + high) / 2, []
    for flows in _Q_EQ_FLOWS if outcomes.where(open="Q_eq") else ():
        queue = outcomes.mean("queue_kb", open="Q_eq", flows=flows)
        text = (
            f"QCN with Q_eq = {_Q_EQ_BYTES / 1e3:g} KB: mean queue, {flows} flows (paper: {low:g} "
            f"to {high:g} KB)"
        )
        band = near(middle, (high - low) / (high + low), 1.0)
        rows.append(OTHERS_QUEUES.row(text, queue, band, paper=middle))
    return rows


def _with_least(outcomes: Outcomes) -> list[Check]:
    """Checks QCN and TIMELY where their lowest rates leave the sharing to PFC."""
    rows = []
    for scheme in _WITH_LEAST:
        if outcomes.where(least=scheme):
            name = f"{label(scheme)}, lowest rate {_LEAST_BPS / 1e6:g} Mbit/s, {_LEAST_FLOWS} flows"
            index, pause = (
                outcomes.mean(number, least=scheme) for number in ("jain", "pause_per_s")
            )
            text = f"{name}: Jain's index (met: that of equal shares for the hosts, within 5%)"
            rows.append(
                OTHERS_UNFAIR.row(text, index, near(JAIN_BY_PORT, 0.05, 1.0), theory=JAIN_BY_PORT)
            )
            text = f"{name}: PAUSE frames a second (met: persistent, 1000 and more; trend: any)"
            rows.append(OTHERS_UNFAIR.row(text, pause, at_least(1000.0, 0.0), unit="1/s"))
    return rows


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _least_step(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if len(known) < max(2, len(values)):
        return None
    return min(later - earlier for earlier, later in pairwise(known))
