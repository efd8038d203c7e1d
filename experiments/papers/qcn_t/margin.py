"""How long delays QCN and QCN-T bear: the longer the feedback takes, the more the queue swings,
until it runs empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, known_fields, numbers, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_at, step_at
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.qcn_t.claims import CALMER, QCN, QCN_T
from pcn.experiments.papers.qcn_t.convergence import CYCLE_BYTES, LINE_BPS
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS = (2, 8, 16)
SEEDS = (1, 2, 3)
DELAYS_US = (50, 100, 150, 200, 300, 400, 600, 800, 1200, 1600)
_NO_PAUSE_BYTES = 1e9
_FROM_S, _ENDS_S = 2.0, 5.0
_EVERY_S = 1e-3
EMPTY = 0.01


def margin_us(outcomes: Outcomes, **keys: str | int) -> float | None:
    """Returns the longest delay up to which the queue is empty for EMPTY of the time at most."""
    longest = None
    for delay in DELAYS_US:
        empty = outcomes.mean("empty", delay_us=delay, **keys)
        if empty is None or empty > EMPTY:
            break
        longest = float(delay)
    return longest


class Margin(Experiment):
    name = "qcn-t-delay"
    title = "A timer alone bears longer delays"
    source = "1 and 7"
    schemes = (QCN, QCN_T)
    swept: Mapping[str, Sequence[float]] = {"flows": FLOWS, "delay_us": DELAYS_US}
    seeds = SEEDS
    about = (
        "N flows to one output of 1 Gbit/s, which start together; links are longer and longer, and "
        "PAUSE is out of reach. The longer a message takes the more the queue swings, until it "
        "runs empty and the line with it. The margin is the longest delay of a link, one way, up "
        "to which the queue is empty in 1% of the last 3 s at most, which is ours: the text at "
        "hand has none. QCN-T's timer is as long as the byte counter's 150 KB take at a flow's "
        "fair share. Means over 3 seeds."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        fields = numbers(values)
        flows, delay_s = round(fields.pop("flows")), fields.pop("delay_us") * 1e-6
        if scheme == QCN_T:
            fields = {"timer_s": CYCLE_BYTES * 8 / (LINE_BPS / flows), **fields}
        specs = tuple(
            FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in range(1, flows + 1)
        )
        topology = replace(
            star(flows, 1, LINE_BPS, delay_s, xoff_bytes=_NO_PAUSE_BYTES), flows=specs
        )
        queue = Endpoint("s0", flows + 1)
        return plan_of(
            self.name,
            scheme,
            seed,
            topology,
            _ENDS_S,
            known_fields(scheme, fields),
            [queue],
            _EVERY_S,
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        grid = np.arange(_FROM_S, plan.duration_s, _EVERY_S)
        port = str(plan.bottleneck)
        queue = step_at(*recording.series.get(port, "waiting_bytes"), grid)
        span = np.array([_FROM_S, plan.duration_s])
        sent = np.diff(counter_at(*recording.series.get(port, "transmitted_bytes"), span))[0]
        rate = float(sent) * 8 / (plan.duration_s - _FROM_S) / LINE_BPS if grid.size else None
        numbers = {
            "empty": float(np.mean(queue < plan.frame_bytes)) if queue.size else None,
            "queue_sd_kb": float(queue.std()) / 1e3 if queue.size else None,
            "utilisation": rate,
        }
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if not {QCN, QCN_T} <= set(outcomes.values("scheme")):
            return []
        rows = []
        for flows in FLOWS:
            its, ours = (margin_us(outcomes, scheme=scheme, flows=flows) for scheme in (QCN, QCN_T))
            least = 2.0 if flows > 5 else 1.0
            text = f"N = {flows}: QCN-T's margin over QCN's (met: {least:g}; trend: 1)"
            rows.append(
                CALMER.row(
                    text, ratio(ours, its), at_least(least, 0.999), paper=2.0 if flows > 5 else None
                )
            )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = [
            Chart(
                f"N = {flows}",
                "Delay of a link (us)",
                "Queue empty, share of the time",
                [
                    outcomes.line(
                        label(str(outcome)), "delay_us", "empty", scheme=outcome, flows=flows
                    )
                    for outcome in outcomes.values("scheme")
                ],
                level=EMPTY,
            )
            for flows in FLOWS
            if flows in outcomes.values("flows")
        ]
        lines = []
        for scheme in map(str, outcomes.values("scheme")):
            margins = [(flows, margin_us(outcomes, scheme=scheme, flows=flows)) for flows in FLOWS]
            known = [(float(flows), margin) for flows, margin in margins if margin is not None]
            lines.append(
                curve(
                    label(scheme), [x for x, _ in known], [y for _, y in known], scheme, points=True
                )
            )
        return [*charts, Chart("The margin", "Flows", "Delay of a link (us)", lines)]
