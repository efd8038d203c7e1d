"""Section 5.1: where marking probability and queue settle, against the closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_at, step_at
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_most
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.dcqcn.claims import DCQCN, SETTLED
from pcn.hosts.algorithms.dcqcn import DcqcnParameters
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS = (2, 4, 8, 16)
SEEDS = (1, 2, 3)
LINE_BPS = 40e9
_DELAY_S = 1e-6
_FROM_S, _ENDS_S = 0.2, 0.4
_EVERY_S = 20e-6
_CLOSE = 0.25
"""Which part of the way from K_min to K_max is near K_min: ours."""
OF_FEW = "choices.md#the-other-schemes"


class FixedPoint(Experiment):
    name = "dcqcn-fixed-point"
    title = "Where DCQCN's marks and queue settle"
    source = "5.1"
    schemes = (DCQCN,)
    swept: Mapping[str, Sequence[float]] = {"flows": FLOWS}
    seeds = SEEDS
    about = (
        "N flows to one output of 40 Gbit/s, from 200 to 400 ms after their start; means over 3 "
        "seeds. The paper states that p is below 1% for reasonable settings and the queue close to "
        "K_min, and proves neither; it names no N. The closed form is that of the fluid model's "
        "fixed point (Zhu et al., CoNEXT'16): p^3 = R_AI N^2 / (K C^2) (1/B + N/(T C))^2, in "
        "packets."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        count = round(values["flows"] or 0)
        flows = tuple(
            FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in range(1, count + 1)
        )
        topology = replace(star(count, 1, LINE_BPS, _DELAY_S), flows=flows)
        plan = plan_of(
            self.name, scheme, seed, topology, _ENDS_S, {}, [Endpoint("s0", count + 1)], _EVERY_S
        )
        return replace(
            plan, sampling=replace(plan.sampling, counters_s=_FROM_S / 10, flows_s=_FROM_S / 10)
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        span = np.array([_FROM_S, plan.duration_s])

        def counted(metric: str) -> float:
            flows = [recording.series.get(flow.entity, metric) for flow in recording.flows]
            return float(sum(np.diff(counter_at(*flow, span))[0] for flow in flows))

        grid = np.arange(_FROM_S, plan.duration_s, _EVERY_S)
        queue = step_at(*recording.series.get(str(plan.bottleneck), "waiting_bytes"), grid)
        if grid.size == 0:
            return Outcome(run.keys, {"marked": None, "queue_kb": None})
        share = ratio(counted("marked_packets"), counted("received_packets"))
        return Outcome(run.keys, {"marked": share, "queue_kb": float(queue.mean()) / 1e3})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        least, most = (
            kb / 1e3 for kb in (DcqcnParameters().k_min_bytes, DcqcnParameters().k_max_bytes)
        )
        for scheme in outcomes.among(self.schemes):
            for flows in FLOWS:
                marked = outcomes.mean("marked", scheme=scheme, flows=flows)
                text = f"N = {flows}: share of packets marked (met: 1%; trend: 2%)"
                rows.append(
                    SETTLED.row(
                        text,
                        marked,
                        at_most(0.01, 0.02),
                        theory=marking(flows),
                        unit="",
                        known=OF_FEW,
                    )
                )
            for flows in FLOWS:
                queue = outcomes.mean("queue_kb", scheme=scheme, flows=flows)
                near, half = (least + part * (most - least) for part in (_CLOSE, 0.5))
                text = (
                    f"N = {flows}: mean queue (met: {_CLOSE:.0%} of the way from K_min to K_max; "
                    "trend: half)"
                )
                theory = least + min(marking(flows) / DcqcnParameters().p_max, 1.0) * (most - least)
                rows.append(
                    SETTLED.row(
                        text, queue, at_most(near, half), theory=theory, unit="kB", known=OF_FEW
                    )
                )
            off = [
                ratio(outcomes.mean("marked", scheme=scheme, flows=flows), marking(flows))
                for flows in FLOWS
            ]
            known = [abs(factor - 1) for factor in off if factor is not None]
            text = (
                "share of packets marked and its closed form, largest distance (met: 25%; trend: "
                "50%)"
            )
            rows.append(
                SETTLED.row(text, max(known, default=None), at_most(0.25, 0.5), theory=0.0, unit="")
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        marked = [outcomes.mean("marked", scheme=DCQCN, flows=flows) for flows in FLOWS]
        shares = [f"{share:.2%}" for share in marked if share is not None]
        if len(shares) < len(FLOWS):
            return []
        return [
            f"With {', '.join(map(str, FLOWS))} flows {', '.join(shares)} of the packets are "
            "marked. What a flow adds to its rate doesn't depend on how many there are, so that p "
            "grows as N to the power of 4/3; at P_max the queue is at K_max, above which all is "
            "marked. Few flows are the reasonable setting."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        flows = [float(flow) for flow in FLOWS]
        theory = curve(
            "closed form", flows, [100 * marking(flow) for flow in FLOWS], stroke="dashed"
        )
        shares = []
        for scheme in map(str, outcomes.values("scheme")):
            marked = [(flow, outcomes.mean("marked", scheme=scheme, flows=flow)) for flow in FLOWS]
            known = [(float(flows), 100 * share) for flows, share in marked if share is not None]
            shares.append(
                curve(
                    label(scheme), [x for x, _ in known], [y for _, y in known], scheme, points=True
                )
            )
        queues = [
            outcomes.line(label(str(scheme)), "flows", "queue_kb", scheme=scheme)
            for scheme in outcomes.values("scheme")
        ]
        return [
            Chart(
                "Marked packets",
                "Flows",
                "Share (%)",
                [*shares, theory],
                level=1.0,
                level_text="P_max",
            ),
            Chart(
                "Queue",
                "Flows",
                "Mean (kB)",
                queues,
                level=DcqcnParameters().k_min_bytes / 1e3,
                level_text="K_min",
            ),
        ]


def marking(flows: int) -> float:
    """Returns the marking probability at the fluid model's fixed point (Zhu et al., CoNEXT'16): of
    this many flows at LINE_BPS, with DCQCN's parameters as they are."""
    dcqcn_parameters = DcqcnParameters()
    packet_bits = 8 * (PAYLOAD_BYTES + HEADER_BYTES)
    line, step = LINE_BPS / packet_bits, dcqcn_parameters.r_ai_bps / packet_bits
    counter = 8 * dcqcn_parameters.byte_counter_bytes / packet_bits  # B
    events = 1 / counter + flows / (dcqcn_parameters.rate_timer_s * line)
    return float(
        (step * flows**2 / (dcqcn_parameters.alpha_timer_s * line**2) * events**2) ** (1 / 3)
    )
