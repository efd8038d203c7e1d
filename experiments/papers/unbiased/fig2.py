"""Fig. 2: four flows to one output, a fifth in between; congestion points nowhere, at outputs, at
inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import binned_rate, counter_rate
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.unbiased.claims import (
    AT_BOTH,
    BOTH,
    FAIR,
    INPUTS,
    ON_OFF,
    OUTPUTS,
    PFC,
    PRECISE,
    UNFAIR,
)
from pcn.experiments.papers.unbiased.plans import (
    BUFFERED,
    FRAME_BYTES,
    PLAIN,
    SWITCHES,
    XOFF_BYTES,
    XON_BYTES,
    star_plan,
)
from pcn.topologies.model import FIFO, ROUND_ROBIN, FlowSpec

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
LINE_BPS = 10e9
_JOINS_S, _LEAVES_S, _ENDS_S = 100e-3, 200e-3, 300e-3
_FLOWS = tuple(FlowSpec(n, f"h{n - 1}", "r0", duration_s=_ENDS_S) for n in (1, 2, 3, 4))
_FIFTH = FlowSpec(5, "h4", "r0", start_s=_JOINS_S, duration_s=_LEAVES_S - _JOINS_S)
_FOUR, _FIVE, _AFTER = (50e-3, 100e-3), (150e-3, 200e-3), (250e-3, 300e-3)
"""Within what an interval is measured: its second half."""
_BIN_S = 10e-6
_PULSES = (50e-3, 51e-3)
"""What is drawn of PAUSE's pulses."""
_OPEN = {"target set at each message": {"keep_target": 0.0}, "adaptive interval": {"adaptive": 1.0}}
"""What is open about QCN at outputs, varied: fields."""
_AT_FIRST_S = 20e-3
"""How long after its start f5's least rate is looked for, in bins of a millisecond."""


class Fig2(Experiment):
    name = "unbiased-fig2"
    title = "Congestion points at outputs are unfair"
    source = "V, Fig. 2"
    schemes = (PFC, OUTPUTS, INPUTS, BOTH)
    about = (
        "Four flows at line rate to one output of 10 Gbit/s, a fifth from 100 to 200 ms. An "
        "output's congestion point samples what arrives from all flows and notifies one source: by "
        "chance some get more messages. An input's notifies only the flows of that input. Rates "
        "are those at which frames leave the hosts, means over the second half of an interval; "
        "medians over 8 seeds, which draw the samples. Round robin over inputs is the paper's "
        "switch; an output that serves all in the order of their arrival, as a software switch "
        "does, shares in proportion to what arrives. Congestion points at both run on the paper's "
        "whole switch, with output buffers behind a fabric."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for switch in (BUFFERED,) if scheme == BOTH else PLAIN:
                index = SWITCHES.index(switch)
                for seed in SEEDS:
                    yield Run(
                        {"scheme": scheme, "switch": switch, "seed": seed},
                        scheme,
                        seed,
                        {"switch": index},
                    )
        for setting, fields in _OPEN.items():
            for seed in SEEDS if OUTPUTS in schemes else ():
                yield Run({"open": setting, "seed": seed}, OUTPUTS, seed, fields)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        every_s = _BIN_S if scheme == PFC else 0.5e-3  # its pulses are shown
        return star_plan(
            self.name, scheme, seed, (*_FLOWS, _FIFTH), _ENDS_S, values, every_s=every_s
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        sent = {flow: recording.series.get(f"flow {flow}", "sent_bytes") for flow in range(1, 6)}

        def gbps(flow: int, interval: tuple[float, float]) -> float:
            return 8e-9 * counter_rate(*sent[flow], *interval)

        four, after = ([gbps(flow, span) for flow in range(1, 5)] for span in (_FOUR, _AFTER))
        five = [gbps(flow, _FIVE) for flow in range(1, 6)]
        _, at_first = binned_rate(
            *sent[5], 1e-3, min(_JOINS_S + _AT_FIRST_S, plan.duration_s), _JOINS_S
        )
        numbers: dict[str, float | None] = {
            "most_over_least": ratio(max(four), min(four)),
            "most_over_least after": ratio(max(after), min(after)),
            "f5_over_least": ratio(five[-1], min(five[:-1])),
            "f5_floor_gbps": float(at_first.min()) * 8e-9 if at_first.size else None,
            "off_fair four": max(abs(rate / FAIR["four flows"] - 1) for rate in four),
            "off_fair five": max(abs(rate / FAIR["five flows"] - 1) for rate in five),
        }
        if run.scheme == PFC:
            numbers |= _pulses(recording, sent)
        curves = {}
        if run.seed == SEEDS[0] and "scheme" in run.keys:
            start_s, end_s = _PULSES if run.scheme == PFC else (0.0, plan.duration_s)
            bins = round((end_s - start_s) / _BIN_S) if run.scheme == PFC else 150
            curves = {
                f"f{n}": recording_numbers.binned(*sent[n], start_s, end_s, 8e-9, bins)
                for n in sent
            }
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for switch in (switch for switch in PLAIN if switch in outcomes.values("switch")):

            def of(number: str, scheme: str, switch: str = switch) -> float | None:
                return outcomes.median(number, scheme=scheme, switch=switch)

            ordered = switch == FIFO
            present = outcomes.among(self.schemes)
            if PFC in present:
                pulses, pauses, mean = (
                    of(name, PFC) for name in ("pulses", "pauses_per_s", "mean_off")
                )
                tolerance = 0.02 if ordered else 0.01
                text = (
                    f"{switch}: PAUSE alone, share of 10 us below 0.5 or above 9.5 Gbit/s (met: "
                    "85%; trend: half)"
                )
                rows.append(ON_OFF.row(text, pulses, at_least(0.85, 0.5)))
                band = f"(met: {tolerance:.0%}; trend: {4 * tolerance:.0%})"
                text = f"{switch}: PAUSE alone, largest distance of f1 to f4 from fair {band}"
                rows.append(ON_OFF.row(text, mean, at_most(tolerance, 4 * tolerance), theory=0.0))
                if not ordered:
                    text = (
                        f"{switch}: PAUSE frames a second to an input (met: within 1%; trend: 10%)"
                    )
                    theory = pauses_per_s()
                    rows.append(
                        ON_OFF.row(text, pauses, near(theory, 0.01, 1.1), unit="1/s", theory=theory)
                    )
            if OUTPUTS in present:
                most = 4.0 if ordered else 3.0
                rows += _unfair(
                    f"{switch}: at outputs", outcomes, most, scheme=OUTPUTS, switch=switch
                )
            if INPUTS in present:
                tolerance = 0.05 if ordered else 0.005
                for flows in ("four", "five"):
                    band = f"(met: {tolerance:.1%}; trend: {4 * tolerance:.0%})"
                    text = f"{switch}: at inputs, {flows} flows, largest distance from fair {band}"
                    measured = of(f"off_fair {flows}", INPUTS)
                    rows.append(
                        PRECISE.row(
                            text, measured, at_most(tolerance, 4 * tolerance), unit="", theory=0.0
                        )
                    )
        if BOTH in outcomes.among(self.schemes):
            keys = {"scheme": BOTH, "switch": BUFFERED}
            text = (
                f"{BUFFERED}: at both, largest over least of f1 to f4 (met: 1.15; trend: above "
                "1.05)"
            )
            rows.append(
                AT_BOTH.row(text, outcomes.median("most_over_least", **keys), at_least(1.15, 1.05))
            )
            text = (
                f"{BUFFERED}: at both, f5 over the least of the others, 150 to 200 ms (met: 1.5; "
                "trend: above 1.2)"
            )
            rows.append(
                AT_BOTH.row(text, outcomes.median("f5_over_least", **keys), at_least(1.5, 1.2))
            )
        for setting in (setting for setting in _OPEN if outcomes.where(open=setting)):
            case = f"{ROUND_ROBIN}: at outputs, {setting}"
            rows += _unfair(case, outcomes, 3.0, open=setting)
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for scheme in map(str, outcomes.values("scheme")):
            lines: list[Line] = []
            shown_switch = BUFFERED if scheme == BOTH else ROUND_ROBIN
            for outcome in outcomes.where(scheme=scheme, switch=shown_switch, seed=SEEDS[0]):
                shown = [
                    (n, outcome.curves[f"f{n}"]) for n in ((1, 2) if scheme == PFC else range(1, 6))
                ]
                lines += [
                    replace(curve(f"f{n}", *points), colour=f"flow{n}") for n, points in shown
                ]
            where = {OUTPUTS: "QCN at outputs", PFC: "PFC alone: pulses", BOTH: "QCN at both"}.get(
                scheme, label(scheme)
            )
            top = 1.2 * LINE_BPS / 1e9 if scheme == PFC else LINE_BPS / 1e9
            charts.append(Chart(where, "Time (ms)", "Rate (Gbit/s)", lines, top=top))
        return charts


def pauses_per_s() -> float:
    """Returns PAUSE frames a second to one of four inputs that send at line rate and depart at a
    quarter of it: it fills by whole frames from the one below XON to the one above XOFF, and drains
    again."""
    most = floor(XOFF_BYTES / FRAME_BYTES) + 1
    least = floor(XON_BYTES / FRAME_BYTES)
    bits = 8 * (most - least) * FRAME_BYTES
    out = FAIR["four flows"] * 1e9
    return 1 / (bits / (LINE_BPS - out) + bits / out)


def _pulses(
    recording: Recording, sent: Mapping[int, tuple[np.ndarray, np.ndarray]]
) -> dict[str, float | None]:
    """Returns the numbers of f1 to f4 between 10 and 100 ms."""
    span = (10e-3, _JOINS_S)
    rates = (
        np.concatenate(
            [binned_rate(*sent[flow], _BIN_S, span[1], span[0])[1] for flow in range(1, 5)]
        )
        * 8
    )
    means = [counter_rate(*sent[flow], *span) * 8e-9 for flow in range(1, 5)]
    links = [f"s0->h{n}" for n in range(4)]
    return {
        "pulses": float(np.mean((rates < 0.05 * LINE_BPS) | (rates > 0.95 * LINE_BPS))),
        "mean_off": max(abs(mean / FAIR["four flows"] - 1) for mean in means),
        "pauses_per_s": recording_numbers.pauses(recording, links, *span)
        / (span[1] - span[0])
        / len(links),
    }


def _unfair(case: str, outcomes: Outcomes, most: float, **keys: str) -> list[Check]:
    """Checks congestion points at outputs; `most`: where the band of f5's least rate ends, in
    Gbit/s."""

    def of(number: str) -> float | None:
        return outcomes.median(number, **keys)

    return [
        UNFAIR.row(
            f"{case}, largest over least of f1 to f4 (met: 1.3 to 2.5; trend: above 1.1)",
            of("most_over_least"),
            between(1.3, 2.5, 1.1),
            "f2 / f3",
        ),
        UNFAIR.row(
            f"{case}, least rate of f5 in its first 20 ms (met: 2 to {most:g}; trend: below 10)",
            of("f5_floor_gbps"),
            between(FAIR["five flows"], most, 0.0, LINE_BPS / 1e9),
            "f5's floor",
            unit="Gbit/s",
        ),
        UNFAIR.row(
            f"{case}, f5 over the least of the others, 150 to 200 ms (met: 2; trend: above 1.3)",
            of("f5_over_least"),
            at_least(2.0, 1.3),
            "f5 / f3",
        ),
        UNFAIR.row(
            f"{case}, largest over least of f1 to f4, 250 to 300 ms (met: 1.15; trend: above 1.05)",
            of("most_over_least after"),
            at_least(1.15, 1.05),
        ),
    ]
