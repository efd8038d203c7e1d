"""Fig. 5: Fig. 2's flows, and an innocent one: f6 shares f1's input, and its output is free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, percent, ratio
from pcn.experiments.papers.unbiased.claims import (
    FAIR,
    INNOCENT,
    INPUTS,
    LARGEST,
    MESSAGES,
    MODULATED,
    OCCUPANCY,
    PFC,
    RANDOM,
    SPARED,
)
from pcn.experiments.papers.unbiased.plans import FRAME_BYTES, PLAIN, star_plan
from pcn.topologies.model import FIFO, ROUND_ROBIN, FlowSpec

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
_JOINS_S, _ENDS_S = 100e-3, 200e-3
_INTERVALS = {"four flows": (50e-3, 100e-3), "five flows": (150e-3, 200e-3)}
FLOWS = (
    FlowSpec(1, "h0", "r0", rate_bps=3e9, duration_s=_ENDS_S),
    *(FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in (2, 3, 4)),
    FlowSpec(5, "h4", "r0", start_s=_JOINS_S, duration_s=_ENDS_S - _JOINS_S),
    FlowSpec(6, "h0", "r1", rate_bps=7e9, duration_s=_ENDS_S),
)
_FIRST = 10
"""How many of the first messages to f1 and f6 are looked at."""


class Fig5(Experiment):
    name = "unbiased-fig5"
    title = "Occupancy sampling spares the flow that waits for nothing"
    source = "VI, Fig. 5"
    schemes = (PFC, INPUTS, *OCCUPANCY)
    about = (
        "Fig. 2's flows; f1 offers 3 Gbit/s, and f6, from the same host, 7 Gbit/s to an output "
        "without other flows. Rates are those at which frames arrive, means over the second half "
        "of an interval; medians over 8 seeds. Messages are counted where they arrive, at the rate "
        "limiters of f1 and f6. A sample notifies the source of the packet that arrives, of one of "
        "those inside by chance, the flow with the most bytes inside, or, ours, a flow by the time "
        "that its packets wait."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for index, switch in enumerate(PLAIN):
                for seed in SEEDS:
                    yield Run(
                        {"scheme": scheme, "switch": switch, "seed": seed},
                        scheme,
                        seed,
                        {"switch": index},
                    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return star_plan(self.name, scheme, seed, FLOWS, _ENDS_S, values)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        frames = FRAME_BYTES / plan.payload_bytes
        numbers: dict[str, float | None] = {
            f"f{flow}_gbps {name}": recording_numbers.goodput_bps(recording, f"flow {flow}", *span)
            * frames
            / 1e9
            for name, span in _INTERVALS.items()
            for flow in (1, 6)
        }
        messages = sorted((at, flow) for flow in (1, 6) for at in cuts(recording, flow))
        numbers |= {
            "f6_first_cnms": sum(flow == 6 for _, flow in messages[:_FIRST]) / _FIRST
            if len(messages) >= _FIRST
            else None,
            "f6_cnms": sum(flow == 6 for _, flow in messages) / len(messages) if messages else None,
        }
        curves = {}
        if run.seed == SEEDS[0]:
            for flow in (1, 6):
                series = recording.series.get(f"flow {flow}", "received_bytes")
                curves[f"f{flow}"] = recording_numbers.binned(
                    *series, 0.0, plan.duration_s, 8e-9 * frames, bins=100
                )
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for switch in (switch for switch in PLAIN if switch in outcomes.values("switch")):
            for scheme in outcomes.among(self.schemes):

                def of(number: str, scheme: str = scheme, switch: str = switch) -> float | None:
                    return outcomes.median(number, scheme=scheme, switch=switch)

                rates = {
                    name: (of(f"f1_gbps {name}"), of(f"f6_gbps {name}")) for name in _INTERVALS
                }
                case, ordered = f"{switch}: {label(scheme)}", switch == FIFO
                for name, (f1, f6) in rates.items():
                    if scheme == PFC:
                        rows += _modulated(case, name, f1, f6, ordered)
                    elif scheme == INPUTS:
                        rows += _punished(case, name, f1, f6, ordered)
                    else:
                        rows += _spared(case, name, f1, f6, ordered)
                if scheme == INPUTS:
                    text = (
                        f"{case}, f6's share of the first ten messages to f1 and f6 (met: half; "
                        "trend: 0.3)"
                    )
                    rows.append(
                        INNOCENT.row(text, of("f6_first_cnms"), at_least(0.5, 0.3), "CNMs", unit="")
                    )
                if scheme == LARGEST:
                    text = f"{case}, f6's share of the messages to f1 and f6 (met: none)"
                    most = outcomes.extreme("f6_cnms", True, scheme=scheme, switch=switch)
                    rows.append(MESSAGES.row(text, most, at_most(0.0), scheme))
                if scheme == RANDOM:
                    text = f"{case}, f6's share of the messages to f1 and f6 (met: 8%; trend: 20%)"
                    rows.append(MESSAGES.row(text, of("f6_cnms"), at_most(0.08, 0.2)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        shares = {
            label(scheme): outcomes.median("f6_cnms", scheme=scheme, switch=ROUND_ROBIN)
            for scheme in outcomes.among((INPUTS, *OCCUPANCY))
        }
        text = ", ".join(
            f"{name} {percent(share)}" for name, share in shares.items() if share is not None
        )
        return [f"Of the messages to f1 and f6, f6 gets: {text}."] if text else []

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for scheme in map(str, outcomes.values("scheme")):
            lines: list[Line] = []
            for outcome in outcomes.where(scheme=scheme, switch=ROUND_ROBIN, seed=SEEDS[0]):
                lines += [
                    replace(curve(f"f{n}", *outcome.curves[f"f{n}"]), colour=f"flow{n}")
                    for n in (1, 6)
                ]
            charts.append(
                Chart(label(scheme), "Time (ms)", "Rate (Gbit/s)", lines, top=10, columns=3)
            )
        return charts


def cuts(recording: Recording, flow: int) -> list[float]:
    """Returns when messages cut a flow's rate, in s."""
    times, rates = recording.series.get(f"flow {flow}", "rate_bps")
    ended = np.flatnonzero(rates == 0)
    fell = np.flatnonzero(np.diff(rates[: ended[0]] if ended.size else rates) < 0) + 1
    cut_times: list[float] = times[fell].tolist()
    return cut_times


def _modulated(
    case: str, name: str, f1: float | None, f6: float | None, ordered: bool
) -> list[Check]:
    """Checks PAUSE alone: f6 and f1 are held alike, and so keep the ratio of what they offer."""
    tolerance = 0.02 if ordered else 0.01
    text = f"{case}, {name}: f6 / f1 (met: within {tolerance:.0%}; trend: a factor of 1.2)"
    theory = MODULATED["f6 / f1"]
    rows = [
        MODULATED.row(text, ratio(f6, f1), near(theory, tolerance, 1.2), "f6 / f1", theory=theory)
    ]
    if not ordered:
        text = f"{case}, {name}: f1, its fair share (met: within 1%; trend: a factor of 1.2)"
        rows.append(
            MODULATED.row(
                text, f1, near(FAIR[name], 0.01, 1.2), name, unit="Gbit/s", theory=FAIR[name]
            )
        )
    return rows


def _punished(
    case: str, name: str, f1: float | None, f6: float | None, ordered: bool
) -> list[Check]:
    tolerance = 0.03 if ordered else 0.01
    text = f"{case}, {name}: f6 / f1 (met: 1.2; trend: below 2.33)"
    rows = [
        INNOCENT.row(text, ratio(f6, f1), at_most(1.2, MODULATED["f6 / f1"]), paper=1.0, unit="")
    ]
    text = (
        f"{case}, {name}: f1, its fair share (met: within {tolerance:.0%}; trend: a factor of 1.2)"
    )
    return [
        *rows,
        INNOCENT.row(text, f1, near(FAIR[name], tolerance, 1.2), name, theory=FAIR[name]),
    ]


def _spared(case: str, name: str, f1: float | None, f6: float | None, ordered: bool) -> list[Check]:
    rows = [
        SPARED.row(
            f"{case}, {name}: f6 (met: 6.95; trend: above 5.8)",
            f6,
            at_least(6.95, 5.8),
            "f6",
            theory=7.0,
        )
    ]
    fair = FAIR[name]
    if ordered:
        text = f"{case}, {name}: f1, its fair share (met: 8% less to as much; trend: within 20%)"
        rule = between(0.92 * fair, 1.005 * fair, 0.8 * fair, 1.2 * fair)
    else:
        text, rule = (
            f"{case}, {name}: f1, its fair share (met: within 1%; trend: a factor of 1.2)",
            near(fair, 0.01, 1.2),
        )
    return [*rows, SPARED.row(text, f1, rule, name, theory=fair)]
