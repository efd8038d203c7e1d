"""3.1 and 3.5: the round trip of few flows and of many, beside the target of their mean window."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import jain, step_mean, utilisation
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text
from pcn.experiments.papers.swift.claims import AT_TARGET, FULL_AND_FAIR, SWIFT
from pcn.hosts.algorithms.swift import SwiftParameters
from pcn.hosts.wire import ack_bytes
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS = {4: 0.005, 16: 0.02, 64: 0.04}
"""With the distance from the target that is met."""
INCREASES = (1.0, 0.25)
_LINE_BPS, _DELAY_S = 100e9, 2e-6
_FROM_S, _ENDS_S = 5e-3, 15e-3
_FRAME_BYTES = PAYLOAD_BYTES + HEADER_BYTES
EMPTY_S = 4 * _DELAY_S + (_FRAME_BYTES + 2 * ack_bytes()) * 8 / _LINE_BPS
"""An empty round trip, from a packet's last bit on."""


def target_s(cwnd: float) -> float:
    """Returns the target of a window (3.5, with the defaults here)."""
    of = SwiftParameters()
    low, high = 1 / math.sqrt(of.fs_min), 1 / math.sqrt(of.fs_max)
    scaled = (1 / math.sqrt(cwnd) - high) / (low - high)
    return of.base_target_s + of.fs_range_s * min(max(scaled, 0.0), 1.0)


class Target(Experiment):
    name = "swift-target"
    title = "The round trip is the target"
    source = "3.1, 3.5"
    schemes = (SWIFT,)
    swept: Mapping[str, Sequence[float]] = {"ai": INCREASES, "flows": tuple(FLOWS)}
    about = (
        "4, 16 and 64 flows to one port of 100 Gbit/s, an empty round trip of 8.1 us, a base "
        "target of 25 us and flow scaling over 50 us, from 5 to 15 ms. The round trip is the empty "
        "one and the mean queue's time; the target is that of the flows' mean window. A round trip "
        "adds `ai` frames to each window: of 64 flows ai = 1 is a sixth of what the line carries "
        "in a round trip, before any of them decreases."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        count = round(values["flows"] or 1)
        flows = tuple(
            FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in range(1, count + 1)
        )
        topology = replace(star(count, 1, _LINE_BPS, _DELAY_S, xoff_bytes=5e6), flows=flows)
        fields = known_fields(scheme, {"ai": float(values["ai"] or 1)})
        plan = plan_of(
            self.name, scheme, seed, topology, _ENDS_S, fields, [Endpoint("s0", count + 1)], 1e-6
        )
        return replace(plan, sampling=replace(plan.sampling, counters_s=1e-4, flows_s=1e-4))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        if plan.duration_s <= _FROM_S:
            return Outcome(
                run.keys, dict.fromkeys(("distance", "rtt_us", "target_us", "utilisation", "jain"))
            )
        port, span = str(plan.bottleneck), (_FROM_S, plan.duration_s)
        queue_bytes = step_mean(*recording.series.get(port, "waiting_bytes"), *span)
        rtt_s = EMPTY_S + queue_bytes * 8 / plan.capacity_bps
        windows = [recording.series.get(flow.entity, "cwnd") for flow in recording.flows]
        aim_s = target_s(statistics.fmean(step_mean(*window, *span) for window in windows))
        sent = recording.series.get(port, "transmitted_bytes")
        return Outcome(
            run.keys,
            {
                "distance": abs(rtt_s - aim_s) / aim_s,
                "rtt_us": rtt_s * 1e6,
                "target_us": aim_s * 1e6,
                "utilisation": utilisation(*sent, plan.capacity_bps, *span),
                "jain": jain([flow.received_bytes for flow in recording.flows]),
            },
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for ai in INCREASES:
                for flows, within in FLOWS.items():
                    off = outcomes.mean("distance", scheme=scheme, ai=ai, flows=flows)
                    text = (
                        f"ai = {ai:g}, {flows} flows: distance from the target (met: {within:.1%}; "
                        "trend: 10%)"
                    )
                    rows.append(AT_TARGET.row(text, off, at_most(within, 0.1), "distance"))
                used, index = (
                    outcomes.extreme(name, False, scheme=scheme, ai=ai)
                    for name in ("utilisation", "jain")
                )
                text = f"ai = {ai:g}: least utilisation (met: 0.999; trend: 0.95)"
                rows.append(FULL_AND_FAIR.row(text, used, at_least(0.999, 0.95), "utilisation"))
                text = f"ai = {ai:g}: least of Jain's index (met: 0.99; trend: 0.9)"
                rows.append(FULL_AND_FAIR.row(text, index, at_least(0.99, 0.9), "index"))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for ai in outcomes.values("ai"):
            texts = []
            for flows in outcomes.values("flows"):
                rtt, aim = (
                    outcomes.mean(name, ai=ai, flows=flows) for name in ("rtt_us", "target_us")
                )
                texts.append(f"{flows} flows {number_text(rtt, 'us')} for {number_text(aim, 'us')}")
            lines.append(f"ai = {ai:g}, round trip and target: {', '.join(texts)}.")
        return lines

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = [
            outcomes.line(f"ai = {ai:g}", "flows", "rtt_us", "", ai=ai)
            for ai in outcomes.values("ai")
        ]
        x, y = outcomes.by("flows", "target_us", ai=INCREASES[0])
        lines.append(curve("target, ai = 1", x, y, stroke="dashed", points=True))
        return [Chart("Round trip", "Flows", "us", lines, log_x=True)]
