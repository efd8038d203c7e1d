"""How soon flows share fairly, and how steady the queue is, with QCN and with QCN-T: a flow joins N
- 1 others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, known_fields, numbers, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_at, jain, step_at
from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.checks import Check, Claim, Rule, at_most, between
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.qcn_t.claims import CALMER, FASTER, QCN, QCN_T
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS = (2, 5, 8, 16)
SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
LINE_BPS = 1e9
CYCLE_BYTES = 150e3
_DELAY_S = 5e-6
_JOINS_S, _ENDS_S = 1.0, 13.0
_WINDOW_S, _STEP_S = 0.5, 0.1
"""Jain's index is that of what arrived in a window; windows begin so far apart."""
_FAIR = 0.95
_STEADY_S = 3.0
"""The last seconds, of which the queue is looked at."""
_EVERY_S = 1e-3
_OPEN = "QCN's timer of 15 ms"
_MANY, _FEW = 8, 2


_ROWS: tuple[tuple[Claim, int, str, str, str, Rule], ...] = (
    (FASTER, _MANY, "time to fairness", "fair_s", "met: half; trend: less", at_most(0.5, 1.0)),
    (CALMER, _MANY,
    "queue's standard deviation", "queue_sd_kb", "met: 0.8; trend: less", at_most(0.8, 1.0)),
    (
        CALMER, _FEW,
        "queue's standard deviation", "queue_sd_kb", "met: within 30%; trend: within a half",
        between(0.7, 1.3, 0.5, 1.5),
    ),
)  # fmt: skip
"""Claim, flows, what it is, number, band, rule."""


class Convergence(Experiment):
    name = "qcn-t"
    title = "A timer alone is faster and calmer"
    source = "1 and 6"
    schemes = (QCN, QCN_T)
    swept: Mapping[str, Sequence[float]] = {"flows": FLOWS}
    seeds = SEEDS
    about = (
        "N flows to one output of 1 Gbit/s, links of 5 us, frames of 1,058 B; the last one joins "
        "the others after a second, at line rate. Time to fairness is from then until Jain's index "
        "of what arrives in half a second is 0.95 for good, at most the run's 12 s; the queue's "
        "standard deviation is that of its last 3 s. Both schemes have their defaults except "
        "QCN-T's timer, which is as long as the byte counter's 150 KB take at a flow's fair share: "
        "the text at hand doesn't have its length. Medians over 8 seeds, which draw the samples. "
        "What is behind it is in [qcn-t.md](qcn-t.md)."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        yield from super().runs(schemes)
        for flows in (_FEW, _MANY) if QCN_T in schemes else ():
            for seed in SEEDS:
                values = {"flows": flows, "timer_s": 15e-3}
                yield Run({"open": _OPEN, "flows": flows, "seed": seed}, QCN_T, seed, values)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        fields = numbers(values)
        flows = round(fields.pop("flows"))
        if scheme == QCN_T:
            fields = {"timer_s": CYCLE_BYTES * 8 / (LINE_BPS / flows), **fields}
        specs = [FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in range(1, flows)]
        specs.append(
            FlowSpec(flows, f"h{flows - 1}", "r0", start_s=_JOINS_S, duration_s=_ENDS_S - _JOINS_S)
        )
        topology = replace(star(flows, 1, LINE_BPS, _DELAY_S), flows=tuple(specs))
        queue = Endpoint("s0", flows + 1)
        plan = plan_of(
            self.name,
            scheme,
            seed,
            topology,
            _ENDS_S,
            known_fields(scheme, fields),
            [queue],
            _EVERY_S,
        )
        return replace(plan, values={**plan.values, "flows": flows})

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        starts = np.arange(_JOINS_S, plan.duration_s - _WINDOW_S + _STEP_S / 2, _STEP_S)
        arrived = [
            np.diff(
                counter_at(*recording.series.get(f"flow {flow.id}", "received_bytes"), edges),
                axis=0,
            )[0]
            for flow in plan.topology.flows
            for edges in [np.stack([starts, starts + _WINDOW_S])]
        ]
        fair = np.array([jain(shares) for shares in np.array(arrived).T]) >= _FAIR
        unfair = np.flatnonzero(~fair)
        since = 0 if not unfair.size else int(unfair[-1]) + 1
        grid = np.arange(plan.duration_s - _STEADY_S, plan.duration_s, _EVERY_S)
        queue = step_at(*recording.series.get(str(plan.bottleneck), "waiting_bytes"), grid)
        last = [
            float(
                np.diff(
                    counter_at(
                        *recording.series.get(f"flow {flow.id}", "received_bytes"), grid[[0, -1]]
                    )
                )[0]
            )
            for flow in plan.topology.flows
        ]
        return Outcome(
            run.keys,
            {
                "fair_s": float(starts[since] - _JOINS_S)
                if since < starts.size
                else plan.duration_s - _JOINS_S,
                "queue_sd_kb": float(queue.std()) / 1e3 if queue.size else None,
                "jain": jain(last),
            },
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if not {QCN, QCN_T} <= set(outcomes.values("scheme")):
            return []

        rows = []
        for suffix, keys in (("", {"scheme": QCN_T}), (f", {_OPEN}", {"open": _OPEN})):
            for claim, flows, name, number, band, rule in _ROWS:
                text = f"N = {flows}{suffix}: QCN-T's {name} over QCN's ({band})"
                its = outcomes.median(number, scheme=QCN, flows=flows)
                rows.append(
                    claim.row(text, ratio(outcomes.median(number, flows=flows, **keys), its), rule)
                )
        return [*rows, _fairer(outcomes)]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def of(number: str) -> list[Line]:
            return [
                outcomes.line(label(str(scheme)), "flows", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        return [
            Chart("Time to fairness", "Flows", "Time (s)", of("fair_s")),
            Chart("The queue", "Flows", "Standard deviation (KB)", of("queue_sd_kb")),
            Chart("Fairness of the last 3 s", "Flows", "Jain's index", of("jain"), top=1.01),
        ]


def _fairer(outcomes: Outcomes) -> Check:
    """Checks that, whichever the number of flows, in the end QCN-T is as fair as QCN."""
    worse = [
        (outcomes.median("jain", scheme=QCN, flows=flows) or 0)
        - (outcomes.median("jain", scheme=QCN_T, flows=flows) or 0)
        for flows in FLOWS
    ]
    text = (
        "QCN's Jain index of the last 3 s less QCN-T's, at most, over N (met: 0.005; trend: 0.02)"
    )
    return FASTER.row(text, max(worse, default=None), at_most(0.005, 0.02))
