"""Appendix A's fluid model against packets: the same flows, in step and with little delay, as the
model assumes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, numbers
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.data.steady_state import aggregate_rate, drained
from pcn.experiments.define import recording_numbers, theory
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.fluid import Fluid, Loops
from pcn.experiments.define.outcomes import Curve, Outcome, Outcomes, number_text, ratio
from pcn.experiments.papers.pcn.claims import AFTER_DECREASE, FAIRNESS, PCN, QUEUE_SWING, RATE_SWING
from pcn.experiments.papers.pcn.plans import dumbbell_plan
from pcn.experiments.papers.pcn.variants import VARIANTS

FLOWS = (4, 16)
PERIOD_S, RTT_S = 500e-6, 10e-6
DURATION_S, SHOWN_S = 200e-3, 60e-3
STEP_S = 50e-6
_SMALL_BYTES = 250
_JOINT = "one flow's NP for all"
_SMALL = f"packets of {_SMALL_BYTES} B"
_WANDER = "band that a flow's rate wanders in, second half, middle 90%"
_QUEUE_SWING = "swing of the queue, second half, middle 90%"


def cycle_swing(times: Array, rates: Array, flows: int, start_s: float, end_s: float) -> float:
    """Returns how far a rate swings within a cycle of N loops: the mean of all in [start_s,
    end_s]."""
    cycle = round(flows * PERIOD_S / STEP_S)
    values = series_math.step_at(times, rates, np.arange(start_s, end_s, STEP_S))
    cycles = values[: values.size // cycle * cycle].reshape(-1, cycle)
    return float(np.mean(cycles.max(axis=1) - cycles.min(axis=1)))


class FluidCheck(Experiment):
    name = "fluid"
    schemes = (PCN,)
    variants = VARIANTS
    title = "The fluid model and packets"
    source = "appendix A, Prop. 1 to 3"
    about = (
        "The dumbbell, 10 Gbit/s, as appendix A assumes it: all flows are notified at once "
        "(periods in step), every T = 500 us, and there is nearly no delay (RTT 10 us); w_min = "
        "0.1/N. Flows start at line rate, those of one host share its NIC. Lines of the model are "
        "from equations 3 to 7, from the same start. Equation 16's swing is that of a cycle, one "
        "loop of increase and N - 1 of decrease, with all shares equal. From cycle to cycle a "
        "flow's rate wanders as well, which the model doesn't have: in a loop in which the queue "
        "runs empty at the very end a little more than 95% of one flow's packets found others "
        "waiting and a little less of another's, so the one falls, the other rises by w_min (C - "
        "R), and it takes many cycles to undo that. Smaller packets bring the flows' marked shares "
        "closer to each other, and such loops are fewer; where the flow whose period ends first "
        "decides for all there are none."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        if PCN not in schemes:
            return
        for flows in FLOWS:
            yield Run({"flows": flows, "seed": 1}, PCN, 1, {"flows": flows})
        for flows in FLOWS:
            small = {"flows": flows, "payload": _SMALL_BYTES}
            yield Run({"of": flows, "with": _SMALL, "seed": 1}, PCN, 1, small)
            yield Run(
                {"of": flows, "with": _JOINT, "seed": 1},
                PCN,
                1,
                {"flows": flows},
                "one for all",
            )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        more = numbers(values)
        payload = round(more.pop("payload", PAYLOAD_BYTES))
        in_step = {"rtt": RTT_S, "T": PERIOD_S, "phase_spread": 0.0}
        plan = dumbbell_plan(scheme, seed, DURATION_S, {**more, **in_step}, STEP_S)
        return dataclasses.replace(plan, payload_bytes=payload)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        total = aggregate_rate(recording, plan.topology)
        queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
        grid = np.arange(DURATION_S / 2, DURATION_S, STEP_S)
        rates = [recording.series.get(flow.entity, "rate_bps") for flow in recording.flows]
        swings = [cycle_swing(*rate, len(rates), DURATION_S / 2, DURATION_S) for rate in rates]
        wander = [series_math.spread(series_math.step_at(*rate, grid)) for rate in rates]
        peak = series_math.spread(series_math.step_at(*queue, grid))
        # Between the first CNPs and the second.
        distance, empty = _distance(plan, recording), drained(recording, plan.bottleneck)
        after = float(series_math.step_at(*total, np.array([1.5 * PERIOD_S]))[0])
        return Outcome(
            run.keys,
            {
                "after_gbps": after / 1e9,
                "queue_swing_kb": peak / 1e3,
                "rate_swing_gbps": float(np.mean(swings)) / 1e9,
                "wander_gbps": float(np.mean(wander)) / 1e9,
                "drained_ms": None if empty is None else empty * 1e3,
                "half_life_loops": None if empty is None else _half_life(*distance, empty * 1e3),
            },
            {
                "queue": recording_numbers.thin(*queue, 0.0, SHOWN_S, 1e-3),
                "rate": recording_numbers.thin(*total, 0.0, SHOWN_S, 1e-9),
                "distance": distance,
            },
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for flows in FLOWS:
            w_min = 0.1 / flows
            after = theory.aggregate_after_decrease(10e9, w_min) / 1e9
            swing = theory.queue_oscillation(flows, w_min, 10e9, PERIOD_S) / 1e3
            rate = theory.rate_oscillation(flows, w_min, 10e9) / 1e9
            half = theory.fairness_half_life_loops(flows, w_min)
            claimed = w_min * 10
            cycle = "swing of a flow's rate in a cycle of N loops, second half, mean"
            half_life = "half-life of the differences, once the queue is empty"
            for claim, quantity, number, value, paper, unit, tolerance in (
                (
                    AFTER_DECREASE,
                    "sum of the rates after the first CNPs",
                    "after_gbps",
                    after,
                    after,
                    None,
                    0.02,
                ),
                (QUEUE_SWING, _QUEUE_SWING, "queue_swing_kb", swing, swing, None, 0.25),
                (RATE_SWING, cycle, "rate_swing_gbps", rate, claimed, None, 0.25),
                (RATE_SWING, _WANDER, "wander_gbps", rate, claimed, None, 0.25),
                (FAIRNESS, half_life, "half_life_loops", half, half, "loops", 0.25),
            ):
                measured = outcomes.mean(number, flows=flows)
                text = (
                    f"{flows} flows: {quantity} (met: theory within {tolerance:.0%}; trend: within "
                    "a factor of two)"
                )
                rows.append(
                    claim.row(
                        text, measured, near(value, tolerance), paper=paper, theory=value, unit=unit
                    )
                )
            for outcome in outcomes.where(of=flows):
                name, band = (
                    f"{flows} flows, {outcome.keys['with']}",
                    "(met: theory within 25%; trend: within a factor of two)",
                )
                measured = outcome.numbers["wander_gbps"]
                rows.append(
                    RATE_SWING.row(
                        f"{name}: {_WANDER} {band}",
                        measured,
                        near(rate, 0.25),
                        paper=claimed,
                        theory=rate,
                    )
                )
                if outcome.keys["with"] == _SMALL:
                    text, measured = (
                        f"{name}: {_QUEUE_SWING} {band}",
                        outcome.numbers["queue_swing_kb"],
                    )
                    rows.append(
                        QUEUE_SWING.row(
                            text, measured, near(swing, 0.25), paper=swing, theory=swing
                        )
                    )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        few, many = FLOWS
        if not outcomes.where(of=few):
            return []
        model = theory.queue_oscillation(few, 0.1 / few, 10e9, PERIOD_S) / 1e3
        swing = {
            name: ratio(outcomes.mean("queue_swing_kb", **keys), model)
            for name, keys in (("own", {"flows": few}), ("small", {"of": few, "with": _SMALL}))
        }
        packets = 10e9 * PERIOD_S / 8 / (PAYLOAD_BYTES + HEADER_BYTES) / many
        drained = outcomes.mean("drained_ms", flows=many)
        loops = theory.loops_to_drain(30e9, 10e9, 0.1 / many)
        wander = {
            name: outcomes.mean("wander_gbps", **keys)
            for name, keys in (
                ("own", {"flows": few}),
                ("small", {"of": few, "with": _SMALL}),
                ("one", {"of": few, "with": _JOINT}),
            )
        }
        rate = theory.rate_oscillation(few, 0.1 / few, 10e9) / 1e9
        return [
            f"The queue of {few} flows swings by {number_text(swing['own'])} times the model's, "
            "with "
            f"packets of {_SMALL_BYTES} B by {number_text(swing['small'])} times. That of {many} "
            "flows is "
            f"drained in {number_text(drained, 'ms')}, not the model's "
            f"{loops * PERIOD_S * 1e3:.0f}: "
            f"RecRate counts whole packets, and one of the {packets:.0f} that a flow has in a "
            "period is more than w_min of its rate.",
            f"A rate of {few} flows swings by "
            f"{number_text(outcomes.mean('rate_swing_gbps', flows=few))} "
            f"Gbit/s in a cycle (equation 16: {rate:.3g}), and wanders in a band of "
            f"{number_text(wander['own'])}; with packets of {_SMALL_BYTES} B of "
            f"{number_text(wander['small'])}, "
            f"and where one flow's NP decides for all of {number_text(wander['one'])}.",
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        panels = []
        for flows in FLOWS:
            model = _model(flows)
            times = np.arange(0.0, SHOWN_S, 50e-6)
            loop = np.minimum(times / PERIOD_S, model.w.size - 1).astype(int)
            milliseconds = (times * 1e3).tolist()
            queue = curve(
                "model", milliseconds, (model.queue_at(times) / 1e3).tolist(), stroke="dashed"
            )
            rate = curve(
                "model", milliseconds, (model.aggregate[loop] / 1e9).tolist(), stroke="dashed"
            )
            half = theory.fairness_half_life_loops(flows, 0.1 / flows) * PERIOD_S * 1e3
            empty = float(np.flatnonzero(model.queue[1:] == 0)[0] + 1) * PERIOD_S * 1e3
            left = 0.5 ** ((DURATION_S * 1e3 - empty) / half)
            fall = curve("model", [0.0, empty, DURATION_S * 1e3], [1.0, 1.0, left], stroke="dashed")
            curves = [outcome.curves for outcome in outcomes.where(flows=flows)]
            packets = {
                name: [curve("packets", *seed_curves[name], PCN) for seed_curves in curves]
                for name in ("queue", "rate", "distance")
            }
            panels += [
                Chart(
                    f"Queue, {flows} flows", "Time (ms)", "Queue (KB)", [*packets["queue"], queue]
                ),
                Chart(
                    "Sum of the rates",
                    "Time (ms)",
                    "Rate (Gbit/s)",
                    [*packets["rate"], rate],
                    top=15.0,
                ),
                Chart(
                    "Difference of the shares",
                    "Time (ms)",
                    "Of the first",
                    [*packets["distance"], fall],
                    log_y=True,
                ),
            ]
        return panels


def _model(flows: int) -> Loops:
    quarter = flows // 4
    start = [10e9 / (2 * quarter)] * (2 * quarter) + [10e9 / quarter] * (2 * quarter)
    return Fluid(10e9, PERIOD_S, 0.1 / flows).run(start, 2 * round(DURATION_S / PERIOD_S))


def _distance(plan: Plan, recording: Recording) -> Curve:
    """Returns how far the shares of h0's flows are from the others', over that at 2 ms, over time
    in ms."""
    grid = np.arange(2e-3, plan.duration_s, 1e-3)

    def mean(hosts: Sequence[str]) -> Array:
        series = [
            recording.series.get(flow.entity, "rate_bps")
            for flow in recording.flows
            if flow.src in hosts
        ]
        rates: Array = np.mean(
            [series_math.step_at(*flow_rates, grid) for flow_rates in series], axis=0
        )
        return rates

    slow, fast = mean(["h0"]), mean(["h1", "h2"])
    apart = np.abs(fast - slow) / (fast + slow)
    return (grid * 1e3).tolist(), (apart / apart[0]).tolist()


def _half_life(
    times_ms: Sequence[float], distance: Sequence[float], from_ms: float
) -> float | None:
    """Returns loops, from a straight line through the logarithms: from `from_ms`, until a tenth is
    left."""
    times, values = np.array(times_ms), np.array(distance)
    low = np.flatnonzero(values < 0.1)
    part = slice(int(np.searchsorted(times, from_ms)), int(low[0]) if low.size else values.size)
    if times[part].size < 10:
        return None
    slope = float(np.polyfit(times[part] * 1e-3, np.log(values[part]), 1)[0])
    return math.log(0.5) / slope / PERIOD_S if slope < 0 else None
