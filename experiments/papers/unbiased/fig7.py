"""Fig. 7: at 100 Gbit/s, two flows of 50 Gbit/s from one input; five others join one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.unbiased.claims import (
    AT_100G,
    BACKLOGS,
    BUFFERED_OUTPUTS,
    INPUTS,
    OCCUPANCY,
    OUTPUTS,
    PFC,
    RANDOM,
)
from pcn.experiments.papers.unbiased.plans import BUFFERED, FRAME_BYTES, PLAIN, SWITCHES, star_plan
from pcn.topologies.model import FIFO, ROUND_ROBIN, Endpoint, FlowSpec

SEEDS = (1, 2, 3)
LINE_BPS = 100e9
_JOIN_S, _ENDS_S = 10e-3, 60e-3
_STEADY = (30e-3, 60e-3)
_FAIR = LINE_BPS / 6e9
_INPUT, _OUTPUT = "f1's input", "its output"
_BACKLOGS = {
    (BUFFERED_OUTPUTS, BUFFERED): {
        _INPUT: ("input_kb", 0.0, 2.0),
        _OUTPUT: ("output_kb", 55.0, 68.0),
    },
    (RANDOM, BUFFERED): {_INPUT: ("input_kb", 55.0, 65.0), _OUTPUT: ("output_kb", 130.0, 150.0)},
    (OUTPUTS, FIFO): {_INPUT: ("input_kb", 7.0, 17.0)},
    (RANDOM, FIFO): {_INPUT: ("input_kb", 58.0, 62.0)},
}
"""By scheme, switch and place: the number, and the band in KB."""
_FLOWS = (
    FlowSpec(1, "h0", "r0", rate_bps=LINE_BPS / 2, duration_s=_ENDS_S),
    *(
        FlowSpec(n, f"h{n - 1}", "r0", start_s=_JOIN_S, duration_s=_ENDS_S - _JOIN_S)
        for n in range(2, 7)
    ),
    FlowSpec(7, "h0", "r1", rate_bps=LINE_BPS / 2, duration_s=_ENDS_S),
)


class Fig7(Experiment):
    name = "unbiased-fig7"
    title = "A hotspot at 100 Gbit/s"
    source = "VII, Fig. 7"
    schemes = (PFC, OUTPUTS, INPUTS, *OCCUPANCY, BUFFERED_OUTPUTS)
    about = (
        "f1 and f7 offer 50 Gbit/s each at one input; at 10 ms f2 to f6, each from its input, join "
        "f1 at its output. f7's output is free. The text has these flows; the figure's caption has "
        "others (f1 and f6 at 5 Gbit/s). Rates are those at which frames arrive, means over 30 to "
        "60 ms; medians over 3 seeds."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            buffered = (BUFFERED,) if scheme in (BUFFERED_OUTPUTS, RANDOM) else ()
            for switch in (*(() if scheme == BUFFERED_OUTPUTS else PLAIN), *buffered):
                values = {"switch": SWITCHES.index(switch)}
                for seed in SEEDS:
                    yield Run(
                        {"scheme": scheme, "switch": switch, "seed": seed}, scheme, seed, values
                    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        plan = star_plan(self.name, scheme, seed, _FLOWS, _ENDS_S, values, LINE_BPS, every_s=0.1e-3)
        return replace(plan, sampling=replace(plan.sampling, inputs=(Endpoint("s0", 1),)))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        frames = FRAME_BYTES / plan.payload_bytes
        numbers: dict[str, float | None] = {
            f"f{flow}_gbps": recording_numbers.goodput_bps(recording, f"flow {flow}", *_STEADY)
            * frames
            / 1e9
            for flow in (1, 7)
        }
        for name, port, series_name in (
            ("input_kb", "s0:1", "ingress_bytes"),
            ("output_kb", str(plan.bottleneck), "output_bytes"),
        ):
            times, bytes_ = recording.series.get(port, series_name)
            steady = bytes_[(times >= _STEADY[0]) & (times < _STEADY[1])]
            numbers[name] = float(steady.mean()) / 1e3 if steady.size else None
        curves = {}
        if run.seed == SEEDS[0]:
            for flow in (1, 7):
                series = recording.series.get(f"flow {flow}", "received_bytes")
                curves[f"f{flow}"] = recording_numbers.binned(
                    *series, 0.0, plan.duration_s, 8e-9 * frames, bins=120
                )
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for switch in (switch for switch in PLAIN if switch in outcomes.values("switch")):
            for scheme in outcomes.among(self.schemes):
                f1, f7 = (
                    outcomes.median(f"f{n}_gbps", scheme=scheme, switch=switch) for n in (1, 7)
                )
                case, ordered = f"{switch}: {label(scheme)}", switch == FIFO
                if scheme == PFC:
                    fair, tolerance = (16.3, 0.03) if ordered else (_FAIR, 0.02)
                    text = (
                        f"{case}: f7 (met: within {tolerance:.0%} of {fair:.1f}; trend: a factor "
                        "of 1.2)"
                    )
                    rows.append(
                        AT_100G.row(text, f7, near(fair, tolerance, 1.2), PFC, theory=_FAIR)
                    )
                elif scheme == INPUTS:
                    rows.append(
                        AT_100G.row(
                            f"{case}: f7 (met: 20; trend: below 30)", f7, at_most(20, 30), INPUTS
                        )
                    )
                elif scheme in OCCUPANCY:
                    text = f"{case}: f7 (met: 49.5; trend: above 40)"
                    rows.append(
                        AT_100G.row(text, f7, at_least(49.5, 40), RANDOM, theory=LINE_BPS / 2e9)
                    )
                    rows.append(_f1(case, f1, ordered))
        for (scheme, switch), bands in _BACKLOGS.items():
            for where, (number, least, most) in bands.items():
                if outcomes.where(scheme=scheme, switch=switch):
                    band = f"(met: {least:g} to {most:g} KB; trend: twice that)"
                    text = f"{switch}: {label(scheme)}, {where}, mean of 30 to 60 ms {band}"
                    measured = outcomes.median(number, scheme=scheme, switch=switch)
                    rule = between(least, most, least / 2 - 1, most * 2)
                    rows.append(
                        BACKLOGS.row(text, measured, rule, "set point" if least < 60 < most else "")
                    )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for scheme in map(str, outcomes.values("scheme")):
            lines: list[Line] = []
            shown_switch = BUFFERED if scheme == BUFFERED_OUTPUTS else ROUND_ROBIN
            for outcome in outcomes.where(scheme=scheme, switch=shown_switch, seed=SEEDS[0]):
                lines += [
                    replace(curve(f"f{n}", *outcome.curves[f"f{n}"]), colour=f"flow{n}")
                    for n in (1, 7)
                ]
            where = {OUTPUTS: "QCN at outputs"}.get(scheme, label(scheme))
            charts.append(Chart(where, "Time (ms)", "Rate (Gbit/s)", lines, top=60, columns=3))
        return charts


def _f1(case: str, f1: float | None, ordered: bool) -> Check:
    if ordered:
        text = f"{case}: f1, a sixth of the line (met: 7% less to as much; trend: within 20%)"
        rule = between(0.93 * _FAIR, 1.005 * _FAIR, 0.8 * _FAIR, 1.2 * _FAIR)
    else:
        text, rule = (
            f"{case}: f1, a sixth of the line (met: within 1%; trend: a factor of 1.2)",
            near(_FAIR, 0.01, 1.2),
        )
    return AT_100G.row(text, f1, rule, theory=_FAIR)
