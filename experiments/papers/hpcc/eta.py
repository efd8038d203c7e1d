"""3.3: N flows to one port: utilisation eta without a queue, and how long the first windows' queue
stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import utilisation
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_most, between
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.papers.hpcc.claims import AT_ETA, DRAINS, HPCC
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import recommended
from pcn.hosts.wire import TELEMETRY_BYTES
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS = (1, 2, 4, 8, 11, 16, 17)
LINES = {100.0: 3e-6, 10.0: 30e-6}
"""Rates, Gbit/s, each with the delay of a link that makes a bandwidth-delay product of 158 KB."""
STAGES = (0, 5)
_FROM, _ENDS = 200, 400
"""Round trips."""
_FRAME_BYTES = PAYLOAD_BYTES + HEADER_BYTES + TELEMETRY_BYTES
WHY = "schemes.md#windows-and-acknowledgements-examplesaimd_window"


class Eta(Experiment):
    name = "hpcc-eta"
    title = "Utilisation eta without a queue"
    source = "3.3, 5.1"
    schemes = (HPCC,)
    swept: Mapping[str, Sequence[float]] = {"line": tuple(LINES), "stage": STAGES, "flows": FLOWS}
    about = (
        "1 to 17 flows to one port start at once, each with a window of a bandwidth-delay product; "
        "eta = 95%, W_AI and T as `pcn up` recommends. Lines of 100 Gbit/s with a round trip of 12 "
        "us, and of 10 Gbit/s with ten times as much; switches stamp in ns. maxStage is 0, as in "
        "the paper's simulations, and 5, as in its text. Utilisation and mean queue are of round "
        "trips 200 to 400; drained means that N packets are left, and the queue's own time is its "
        "largest value over the line's rate. Nothing is drawn: ten seeds give the same numbers."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        count, line = round(values["flows"] or 1), float(values["line"] or 100)
        topology = star(count, 1, line * 1e9, LINES[line], xoff_bytes=50e6)
        rtt_s = recommended(topology, find_scheme(scheme)).get("base_rtt_s", topology.max_rtt_s())
        ends_s = _ENDS * rtt_s
        flows = tuple(
            FlowSpec(n, f"h{n - 1}", "r0", duration_s=ends_s) for n in range(1, count + 1)
        )
        fields = known_fields(scheme, {"max_stage": float(values["stage"] or 0)})
        queue = Endpoint("s0", count + 1)
        topology = replace(topology, flows=flows)
        plan = plan_of(
            self.name, scheme, seed, topology, ends_s, fields, [queue], rtt_s / 20, rtt_s=rtt_s
        )
        return scheme_parameters.by_rules(plan)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        rtt_s, port = plan.number("rtt_s"), str(plan.bottleneck)
        from_s = _FROM * rtt_s
        times, queue = recording.series.get(port, "waiting_bytes")
        late = queue[times >= from_s]
        if late.size == 0:
            return Outcome(run.keys, {"utilisation": None, "queue_kb": None, "drained_rtts": None})
        sent = recording.series.get(port, "transmitted_bytes")
        highest = int(queue.argmax())
        low = queue[highest:] <= len(recording.flows) * _FRAME_BYTES
        drained_s = float(times[highest + int(low.argmax())]) if low.any() else None
        own_s = float(queue.max()) * 8 / plan.capacity_bps
        return Outcome(
            run.keys,
            {
                "utilisation": utilisation(*sent, plan.capacity_bps, from_s, plan.duration_s),
                "queue_kb": float(late.mean()) / 1e3,
                "drained_rtts": None if drained_s is None else (drained_s - own_s) / rtt_s,
            },
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for line in LINES:
                keys: dict[str, Key] = {"scheme": scheme, "line": line, "stage": 0}
                for flows in FLOWS:
                    used = outcomes.mean("utilisation", flows=flows, **keys)
                    text = (
                        f"{line:g} Gbit/s, {flows} flows: utilisation (met: 0.94 to 0.96; trend: "
                        "0.9 to 1)"
                    )
                    rows.append(
                        AT_ETA.row(
                            text, used, between(0.94, 0.96, 0.9, 1), "utilisation", theory=0.95
                        )
                    )
                queue = outcomes.extreme("queue_kb", True, **keys)
                text = f"{line:g} Gbit/s: largest of the mean queues (met: 2 KB; trend: 10 KB)"
                rows.append(AT_ETA.row(text, queue, at_most(2, 10), "queue", unit="KB"))
                after = outcomes.mean("drained_rtts", flows=16, **keys)
                text = (
                    f"{line:g} Gbit/s: 16 first windows drained after their own time (met: 5 T; "
                    "trend: 10 T)"
                )
                rows.append(DRAINS.row(text, after, at_most(5, 10), "after", known=WHY))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for number, title in (("utilisation", "Utilisation"), ("queue_kb", "Mean queue (KB)")):
            lines = [
                outcomes.line(
                    f"{line:g} Gbit/s, maxStage {stage}",
                    "flows",
                    number,
                    "",
                    line=line,
                    stage=stage,
                )
                for line in LINES
                for stage in STAGES
                if outcomes.where(line=line, stage=stage)
            ]
            limits = (0.9, 1.0) if number == "utilisation" else (0.0, None)
            level = 0.95 if number == "utilisation" else None
            charts.append(
                Chart(
                    title,
                    "Flows",
                    title,
                    lines,
                    level=level,
                    level_text="eta",
                    bottom=limits[0],
                    top=limits[1],
                )
            )
        return charts
