"""Fig. 6: one flow, and its output slows down from 10 to 1 Gbit/s; how soon its limit is there, by
where QCN samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import LinkRate, Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import step_mean
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.unbiased.claims import (
    BUFFERED_OUTPUTS,
    CONVERGENCE,
    DELIVERED,
    INPUTS,
    LARGEST,
    OUTPUTS,
)
from pcn.experiments.papers.unbiased.plans import BUFFERED, RELIABLE, SWITCHES, star_plan
from pcn.topologies.model import FIFO, ROUND_ROBIN, Endpoint, FlowSpec

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
_SLOWS_S, _ENDS_S = 10e-3, 310e-3
_SLOW_BPS = 1e9
_STOPS_S, _STOPPED_BPS = 20e-3, 1e6
"""An output that nearly stops, for this time before it is slow: a frame in 12 ms."""
_BIN_S = 1e-3
_THERE = 2.0
"""The limit is there once it stays below this multiple of the output's rate."""
_OUTPUT, _INPUT, _ALIVE, _DELIVERED, _PLAIN, _FIFO, _FIFO_ALIVE = (
    "at outputs",
    "at inputs",
    "at inputs, keep-alive",
    "at outputs, reliable delivery",
    "at outputs, no output buffers",
    "fifo: at inputs",
    "fifo: at inputs, keep-alive",
)
_RUNS = {
    _OUTPUT: (BUFFERED_OUTPUTS, BUFFERED, {}),
    _INPUT: (INPUTS, BUFFERED, {}),
    _ALIVE: (LARGEST, BUFFERED, {"keep_alive": 1.0}),
    _DELIVERED: (BUFFERED_OUTPUTS, RELIABLE, {}),
    _PLAIN: (OUTPUTS, ROUND_ROBIN, {}),
    _FIFO: (INPUTS, FIFO, {}),
    _FIFO_ALIVE: (LARGEST, FIFO, {"keep_alive": 1.0}),
}
"""By where the congestion point is: scheme, switch, fields."""
_OPEN = {
    "messages in a row keep the target": {"keep_target": 1.0},
    "adaptive interval": {"adaptive": 1.0},
}
"""What is open about the congestion point at outputs, varied."""
_STOPPED = {"none": 0.0, "by departures": 1.0, "by packet generator": 2.0}
"""Keep-alive where the output nearly stops."""
_COLOURS = {where: f"flow{index}" for index, where in enumerate(_RUNS)}
_COLOURS |= zip(_STOPPED, ("other0", "other2", "other4"), strict=True)


class Fig6(Experiment):
    name = "unbiased-fig6"
    title = "How soon one flow slows down"
    source = "VI, Fig. 6"
    schemes = (BUFFERED_OUTPUTS, INPUTS, LARGEST, OUTPUTS)
    about = (
        "One flow at line rate; at 10 ms its output slows down from 10 to 1 Gbit/s. The switch has "
        "output buffers of 150 KB behind a fabric of 1.6 times the rate. Time from then until the "
        "rate limit stays below 2 Gbit/s, in means over a millisecond; medians over 8 seeds. The "
        "interval is fixed and the target set at each message, which the paper's 15 ms require; "
        "what is open is varied below. An output's congestion point sees what arrives at its "
        "buffer, 16 Gbit/s while that has room; an input's sees next to nothing while its host is "
        "paused. Keep-alive samples what departs then, at most once each 120 us. With reliable "
        "delivery, or without output buffers, what waits for the output holds the input up, and "
        "its congestion point sees less. The last row's output nearly stops: for 20 ms, in which "
        "the limit is looked at, it carries 1 Mbit/s, a frame in 12 ms, and then 1 Gbit/s. "
        "Departures are too few there to keep samples alive; the packet generator's frames aren't. "
        "Messages in a row keep the target there."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for where, (scheme, switch, fields) in _RUNS.items():
            values = {"switch": SWITCHES.index(switch), **fields}
            for seed in SEEDS if scheme in schemes else ():
                yield Run({"where": where, "seed": seed}, scheme, seed, values)
        for scheme in (scheme for scheme in schemes if scheme not in self.schemes):
            for seed in SEEDS:
                yield Run(
                    {"where": scheme, "seed": seed},
                    scheme,
                    seed,
                    {"switch": SWITCHES.index(BUFFERED)},
                )
        for setting, fields in _OPEN.items():
            values = {"switch": SWITCHES.index(BUFFERED), **fields}
            for seed in SEEDS if BUFFERED_OUTPUTS in schemes else ():
                yield Run({"open": setting, "seed": seed}, BUFFERED_OUTPUTS, seed, values)
        for how, keep_alive in _STOPPED.items():
            values = {
                "switch": SWITCHES.index(BUFFERED),
                "keep_alive": keep_alive,
                "keep_target": 1.0,
                "stops": 1.0,
            }
            for seed in SEEDS if LARGEST in schemes else ():
                yield Run({"stopped": how, "seed": seed}, LARGEST, seed, values)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        flows = [FlowSpec(1, "h0", "r0", duration_s=_ENDS_S)]
        fields = {"keep_target": 0.0, **values}
        stops = bool(fields.pop("stops", 0))
        plan = star_plan(self.name, scheme, seed, flows, _ENDS_S, fields)
        slower = LinkRate(_SLOWS_S + _STOPS_S * stops, Endpoint("s0", 2), _SLOW_BPS)
        stopped = [replace(slower, at_s=_SLOWS_S, rate_bps=_STOPPED_BPS)] if stops else []
        return replace(plan, link_rates=(*stopped, slower))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        limit = recording.series.get("flow 1", "rate_bps")
        end_s = plan.link_rates[1].at_s if len(plan.link_rates) > 1 else plan.duration_s
        starts = np.arange(_SLOWS_S, end_s - _BIN_S / 2, _BIN_S)
        means = np.array([step_mean(*limit, start, start + _BIN_S) for start in starts])
        above = np.flatnonzero(means >= _THERE * _SLOW_BPS)
        there = 0 if not above.size else int(above[-1]) + 1
        curves = {}
        if run.seed == SEEDS[0]:
            curves["limit"] = recording_numbers.thin(*limit, 0.0, plan.duration_s, 1e-9)
        paused_s = recording.links["s0->h0"].paused_s
        return Outcome(
            run.keys,
            {
                "there_ms": there * _BIN_S * 1e3
                if there < starts.size
                else (end_s - _SLOWS_S) * 1e3,
                "paused_ms": paused_s * 1e3,
            },
            curves,
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        there = {
            where: outcomes.median("there_ms", where=where)
            for where in _RUNS
            if outcomes.where(where=where)
        }
        rows = []
        if _OUTPUT in there:
            text = f"{_OUTPUT} (met: 10 to 20; trend: below 40)"
            rows.append(CONVERGENCE.row(text, there[_OUTPUT], between(10, 20, 0, 40), "output"))
        if _INPUT in there and _OUTPUT in there:
            text = f"{_INPUT}, over {_OUTPUT} (met: 3; trend: above 1.5)"
            times = CONVERGENCE["input"] / CONVERGENCE["output"]
            longer = ratio(there[_INPUT], there[_OUTPUT])
            rows.append(CONVERGENCE.row(text, longer, at_least(3, 1.5), paper=times, unit=""))
        if _ALIVE in there and _OUTPUT in there:
            text = f"{_ALIVE}, over {_OUTPUT} (met: 1; trend: 2)"
            rows.append(
                CONVERGENCE.row(
                    text,
                    ratio(there[_ALIVE], there[_OUTPUT]),
                    at_most(1, 2),
                    paper=1.0,
                    unit="",
                )
            )
        if _DELIVERED in there and _OUTPUT in there:
            text = f"{_DELIVERED}, over {_OUTPUT} (met: 3; trend: above 1.5)"
            rows.append(
                DELIVERED.row(text, ratio(there[_DELIVERED], there[_OUTPUT]), at_least(3, 1.5))
            )
        for where in (where for where in (_PLAIN, _FIFO) if where in there):
            text = f"{where} (met: 50 to 120; trend: above 40)"
            rows.append(CONVERGENCE.row(text, there[where], between(50, 120, 40)))
        if _FIFO in there and _FIFO_ALIVE in there:
            text = f"{_FIFO_ALIVE}, over {_FIFO} (met: a third; trend: less)"
            rows.append(
                CONVERGENCE.row(
                    text, ratio(there[_FIFO_ALIVE], there[_FIFO]), at_most(1 / 3, 1), unit=""
                )
            )
        for setting in (setting for setting in _OPEN if outcomes.where(open=setting)):
            text = f"{_OUTPUT}, {setting} (met: 10 to 20; trend: below 40)"
            measured = outcomes.median("there_ms", open=setting)
            rows.append(CONVERGENCE.row(text, measured, between(10, 20, 0, 40), "output"))
        _, departures, generator = (outcomes.median("there_ms", stopped=how) for how in _STOPPED)
        if generator is not None:
            text = (
                "output nearly stopped: keep-alive by packet generator, over departures (met: a "
                "third; trend: less)"
            )
            rows.append(
                CONVERGENCE.row(text, ratio(generator, departures), at_most(1 / 3, 1), unit="")
            )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def limits(title: str, *places: str, key: str = "where") -> Chart:
            by_place = [(where, outcomes.where(seed=SEEDS[0], **{key: where})) for where in places]
            lines: list[Line] = [
                replace(curve(where, *outcome.curves["limit"]), colour=_COLOURS.get(where, ""))
                for where, matches in by_place
                for outcome in matches
            ]
            return Chart(title, "Time (ms)", "Rate limit (Gbit/s)", lines, top=10)

        others = [str(where) for where in outcomes.values("where") if where not in _RUNS]
        return [
            limits("Where it is sampled", _OUTPUT, _INPUT, _ALIVE, *others),
            limits("What waits for the output", _OUTPUT, _DELIVERED, _PLAIN),
            limits("Keep-alive where the output nearly stops", *_STOPPED, key="stopped"),
        ]
