"""Fig. 11: one port congested, the one before it undetermined; who marks whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import (
    PAYLOAD_BYTES,
    Plan,
    known_fields,
    numbers as given_numbers,
    plan_of,
)
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.tcd.claims import RED, TCD
from pcn.experiments.papers.tcd.undetermined import BIN_S, CE, UE, network, numbers, rows, shares
from pcn.topologies.compact import P0_S0

RATE_BPS, DURATION_S = 10e9, 60e-3
_DRAWN = {"F0, UE": (0, UE), "F0, CE": (0, CE), "F1, CE": (1, CE)}


class Fig11(Experiment):
    name = "tcd-fig11"
    title = "An undetermined port marks UE, the congested one CE"
    source = "5.1.1, Fig. 11"
    schemes = (TCD, RED)
    about = (
        "Two switches, as in PCN's Fig. 1, with links of 10 Gbit/s and 4 us. F0 sends 1 Gbit/s to "
        "R0, F1 8 Gbit/s to R1; A0, behind the second switch, sends to R1 at line rate for 20 ms. "
        "No scheme controls congestion: R1's port is congested, and PAUSE makes the port between "
        "the switches undetermined. Shares of the packets that arrive in 2 ms, from 4 ms after "
        "A0's start or end on. `pcn run tcd` runs it live, too."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        topology = network(RATE_BPS, 4e-6, DURATION_S, PAYLOAD_BYTES)
        fields = known_fields(scheme, given_numbers(values))
        plan = plan_of(self.name, scheme, seed, topology, DURATION_S, fields, [P0_S0], 50e-6)
        return replace(plan, sampling=replace(plan.sampling, flows_s=BIN_S / 8))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        curves = {}
        for name, (flow, mark) in _DRAWN.items():
            starts, marked = shares(recording, flow, mark, (0.0, DURATION_S))
            curves[name] = (
                ((starts + BIN_S / 2) * 1e3).round(6).tolist(),
                marked.round(6).tolist(),
            )
        return Outcome(run.keys, numbers(recording, RATE_BPS), curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        checks = []
        for scheme in outcomes.among((TCD, RED)):
            (outcome,) = outcomes.where(scheme=scheme)
            checks += rows(f"{label(scheme)}, ", scheme, outcome.numbers, RATE_BPS, 0.99, 0.0)
        return checks

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for scheme in map(str, outcomes.values("scheme")):
            lines: list[Line] = []
            for outcome in outcomes.where(scheme=scheme):
                for number, name in enumerate(_DRAWN):
                    lines.append(
                        replace(curve(name, *outcome.curves[name]), colour=f"flow{number}")
                    )
            charts.append(
                Chart(label(scheme), "Time (ms)", "Share of the packets", lines, top=1.05)
            )
        return charts
