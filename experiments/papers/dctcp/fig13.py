"""Fig. 1 and 13: two long flows to one port of 1 Gbit/s; the queue stays at K."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, between
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.dctcp.claims import DCTCP, QUEUE_AT_K
from pcn.experiments.papers.dctcp.plans import FRAME_BYTES, star_plan

FLOWS, K_PACKETS = 2, 20
_LINE_BPS, _DELAY_S = 1e9, 25e-6
_FROM_S, _ENDS_S = 0.1, 0.5


class Fig13(Experiment):
    name = "dctcp-fig13"
    title = "Two flows' queue stays at K"
    source = "4.1, Fig. 1 and 13"
    schemes = (DCTCP,)
    about = (
        "Two long flows from ports of 1 Gbit/s to one, K = 20 packets of 1,500 bytes, links of 25 "
        "us, from 0.1 to 0.5 s after their start. The paper's testbed has TCP beside it, whose "
        "queue is ten times as long; TCP isn't here. Of its 0.95 Gbit/s the rest is headers; here "
        "payload is 0.961 of a full line."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return star_plan(self.name, scheme, seed, FLOWS, _LINE_BPS, _DELAY_S, K_PACKETS, _ENDS_S)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        times, queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
        packets = queue[times >= _FROM_S] / FRAME_BYTES
        numbers: dict[str, float | None] = {
            f"p{q}_packets": recording_numbers.percentile(packets, q) for q in (5, 50, 95, 100)
        }
        curves = {
            "queue": recording_numbers.thin(times, queue, 0.0, plan.duration_s, 1 / FRAME_BYTES)
        }
        numbers["throughput_gbps"] = None
        if packets.size:
            rates = (
                recording_numbers.goodput_bps(recording, flow.entity, _FROM_S, plan.duration_s)
                for flow in recording.flows
            )
            numbers["throughput_gbps"] = sum(rates) / 1e9
            shares = np.linspace(0, 100, 101)
            curves["cdf"] = np.percentile(packets, shares).tolist(), (shares / 100).tolist()
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            half, most, rate = (
                outcomes.mean(name, scheme=scheme)
                for name in ("p50_packets", "p95_packets", "throughput_gbps")
            )
            text = "median queue (met: 16 to 22 packets; trend: 10 to 40)"
            rows.append(
                QUEUE_AT_K.row(
                    text, half, between(16, 22, 10, 40), "queue", theory=20.0, unit="packets"
                )
            )
            text = (
                "queue of 95% of the time at most (met: K + N and one that leaves, 23; trend: 40)"
            )
            rows.append(
                QUEUE_AT_K.row(text, most, between(0, 23, -1, 40), theory=22.0, unit="packets")
            )
            text = "throughput (met: 0.95 and more; trend: 0.9)"
            rows.append(
                QUEUE_AT_K.row(text, rate, at_least(0.95, 0.9), "throughput", unit="Gbit/s")
            )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        by_scheme = [
            (str(scheme), outcomes.where(scheme=scheme)[0]) for scheme in outcomes.values("scheme")
        ]
        over_time = [
            curve(label(scheme), *outcome.curves["queue"], scheme) for scheme, outcome in by_scheme
        ]
        shares = [
            curve(label(scheme), *outcome.curves["cdf"], scheme)
            for scheme, outcome in by_scheme
            if "cdf" in outcome.curves
        ]
        return [
            Chart(
                "Fig. 1", "Time (ms)", "Queue (packets)", over_time, level=K_PACKETS, level_text="K"
            ),
            Chart("Fig. 13", "Queue (packets)", "Share of the time", shares, top=1.05),
        ]
