"""Fig. 11: four flows start at line rate on one 10 Gbit/s bottleneck; how fast, how calmly they are
taken in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import aggregate_rate, drained, mean_between, steady_state
from pcn.experiments.define import recording_numbers, theory
from pcn.experiments.define.charts import Chart, Mark, curve, of_seeds
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text, percent, ratio
from pcn.experiments.papers.pcn.claims import (
    CAPACITY,
    COMPARED,
    DRAINED,
    PCN,
    QUEUE_SWING,
    SHOWN,
    STEADY,
)
from pcn.experiments.papers.pcn.plans import dumbbell_plan
from pcn.experiments.papers.pcn.variants import PUBLISHED_PACKETS, PUBLISHED_SEGMENTS, VARIANTS

DURATION_S = 300e-3
SEEDS = (1, 2, 3)
SETTLED, OVER_S = 0.1, 5e-3
"""The sum of the rates has settled when its mean over 10 RTTs stays within this share of the
capacity: PCN's own swing has a period of some 5 ms."""
_RTT_S = 500e-6
"""PCN's T, too: the first CNPs take effect after both."""


def _above_rtt(fields: Mapping[str, float]) -> dict[str, float]:
    """Returns the thresholds as everywhere in this figure: so far above the RTT."""
    return {
        name: value + _RTT_S if name in ("t_low_s", "t_high_s") else value
        for name, value in fields.items()
    }


_SETTLED_ALPHA = {"initial_alpha": 0.1}
"""What flows come to have in the steady state."""
_OPEN: dict[str, tuple[str, str, dict[str, float]]] = {
    "QCN, a tenth of the samples": ("qcn", "", {"sample_bytes": 1.5e6}),
    "DCQCN, alpha 0.1 at the start": ("dcqcn", "", _SETTLED_ALPHA),
    "DCQCN, alpha 0.1 at the start, its timers an RTT": (
        "dcqcn",
        "",
        {
            **_SETTLED_ALPHA,
            "cnp_interval_s": _RTT_S,
            "alpha_timer_s": 1.1 * _RTT_S,
            "rate_timer_s": 1.1 * _RTT_S,
        },
    ),
    "TIMELY, beta 0.2": ("timely", "", {"beta": 0.2}),
}
"""What is open, varied towards slower decreases: scheme, variant, fields."""
_OTHER_W_MIN = "PCN, w_min = 1/128"
_WHOLE_STEPS = "TIMELY, a whole step at each RTT, Algorithm 1 as printed"
_OWN_RTT = "TIMELY, least RTT of 20 us, as TIMELY's paper has it"
_SWINGS: dict[str, tuple[str, str, dict[str, float]]] = {
    _OTHER_W_MIN: ("pcn", "", {"w_min": 1 / 128}),
    _WHOLE_STEPS: ("timely", "whole steps", {}),
    _OWN_RTT: ("timely", "", {"min_rtt_s": 20e-6}),
    "TIMELY, the RTT of every packet": ("timely", "", {"segment_bytes": 1000.0}),
    "TIMELY, one RTT each 64 KB": ("timely", "", {"segment_bytes": 64e3}),
    "TIMELY, its authors' code's values, every packet": (
        "timely",
        "falling RTTs",
        _above_rtt(PUBLISHED_PACKETS),
    ),
    "TIMELY, its authors' code's values, 64 KB": (
        "timely",
        "falling RTTs",
        _above_rtt(PUBLISHED_SEGMENTS),
    ),
}
"""What is open about how much queue and rates swing."""
_LONG = [
    swing
    for swing in _SWINGS
    if swing.startswith("TIMELY") and swing not in (_WHOLE_STEPS, _OWN_RTT)
]
CAPACITY_GBPS = 10.0
_CALM = (PCN, "qcn")
"""Schemes whose queue and rates are steady in the paper."""


def settled_s(
    times: series_math.Array,
    rates: series_math.Array,
    capacity: float,
    window_s: float,
    end_s: float,
) -> float | None:
    """Returns the time in s from which the mean of a step series over `window_s` stays within
    SETTLED of `capacity`; None where it never does."""
    starts = np.arange(0.0, end_s - window_s * 0.999, window_s / 10)
    means = np.array(
        [series_math.step_mean(times, rates, start, start + window_s) for start in starts]
    )
    outside = np.flatnonzero(np.abs(means - capacity) > SETTLED * capacity)
    first = int(outside[-1]) + 1 if outside.size else 0
    return float(starts[first]) if first < means.size else None


class Fig11(Experiment):
    name = "fig11"
    schemes = SHOWN
    variants = VARIANTS
    title = "Dynamic behaviour: queue and sum of the rates"
    source = "7.1, Fig. 11"
    seeds = SEEDS
    about = (
        "The dumbbell: 10 Gbit/s, RTT 500 us, four flows of three hosts from line rate. PCN with T "
        "= RTT and w_min = 0.1/4 (7.1 states neither); TIMELY's thresholds are 50 and 500 us above "
        "the RTT. The sum of the rates counts as settled from the moment from which its mean over "
        "10 RTTs stays within 10% of the capacity; what never comes about counts with the run's "
        "300 ms. Means over three seeds, which shift the NPs' timers and draw QCN's samples; what "
        "is varied runs with the first alone. The paper doesn't define its 40 to 90 ms. TIMELY's "
        "rate grows by 10 Mbit/s in each least RTT, which is 500 us here, and falls by gradients "
        "that count in least RTTs. The content of PCN's CNP is T and an RTT old when it has an "
        "effect, so that several increases come in a row where the model has one."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        yield from super().runs(schemes)
        for setting, (scheme, variant, fields) in (_OPEN | _SWINGS).items():
            if scheme in schemes:
                yield Run({"open": setting, "seed": SEEDS[0]}, scheme, SEEDS[0], fields, variant)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return dumbbell_plan(scheme, seed, DURATION_S, values)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        total = aggregate_rate(recording, plan.topology)
        queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
        steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
        reached = _within(series_math.first_fall(*total, plan.capacity_bps))
        settled = settled_s(*total, plan.capacity_bps, OVER_S, plan.duration_s)
        empty = _within(drained(recording, plan.bottleneck))
        grid = np.linspace(steady.from_s, steady.to_s, 2000)
        draining = (
            mean_between(recording, plan.topology, reached, empty) / 1e9
            if empty > reached
            else None
        )
        numbers: dict[str, float | None] = {
            "reached_ms": reached * 1e3,
            "settled_ms": (DURATION_S if settled is None else settled) * 1e3,
            "drained_ms": empty * 1e3,
            "draining_gbps": draining,
            "utilisation": steady.utilisation,
            "jain": steady.jain,
            "queue_kb": steady.queue_bytes_mean / 1e3,
            "queue_swing_kb": series_math.spread(series_math.step_at(*queue, grid)) / 1e3,
            "rate_swing_gbps": series_math.spread(series_math.step_at(*total, grid)) / 1e9,
            "pause": float(steady.pause),
        }
        curves = {
            "queue": recording_numbers.thin(*queue, 0.0, plan.duration_s / 3, 1e-3),
            "rate": recording_numbers.thin(*total, 0.0, plan.duration_s / 3, 1e-9),
        }
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        schemes = outcomes.among(COMPARED)

        def of(number: str, scheme: str = PCN) -> float | None:
            return outcomes.mean(number, scheme=scheme)

        slower_text = "(met: half of the paper's factor or more; trend: longer)"
        reached_text = (
            f"PCN: sum of the rates first at capacity (met: {CAPACITY[PCN]:g} ms; trend: before "
            f"QCN's {CAPACITY['qcn']:g} ms)"
        )
        drained_text = (
            f"PCN: initial queue down to five packets (met: {DRAINED[PCN]:g} ms; trend: before "
            f"QCN's {DRAINED['qcn']:g} ms)"
        )
        first = at_most(CAPACITY[PCN], CAPACITY["qcn"])
        rows = [
            CAPACITY.row(reached_text, of("reached_ms"), first, PCN, theory=2 * _RTT_S * 1e3),
            DRAINED.row(drained_text, of("drained_ms"), at_most(DRAINED[PCN], DRAINED["qcn"]), PCN),
        ]
        for scheme in (scheme for scheme in schemes if scheme != PCN):
            for claim, number, quantity in (
                (
                    CAPACITY,
                    "settled_ms",
                    "its sum takes this many times as long as PCN's to settle",
                ),
                (DRAINED, "drained_ms", "its initial queue lasts this many times as long as PCN's"),
            ):
                claimed, longer = claim[scheme] / claim[PCN], ratio(of(number, scheme), of(number))
                text = f"{label(scheme)}: {quantity} {slower_text}"
                rows.append(
                    claim.row(text, longer, at_least(claimed / 2, 1.0), paper=claimed, unit="")
                )
        for setting, (scheme, _, _) in _OPEN.items():
            if outcomes.where(open=setting):
                text = f"{setting}: initial queue down to five packets (met: within 50%)"
                slower = outcomes.mean("drained_ms", open=setting)
                rows.append(DRAINED.row(text, slower, near(DRAINED[scheme], 0.5, 1.0), scheme))
        for scheme in schemes:
            if scheme in _CALM:
                text = (
                    f"{label(scheme)}: utilisation, last third (met: 0.97 and more; trend: above "
                    "0.9)"
                )
                rows.append(
                    STEADY.row(text, of("utilisation", scheme), at_least(0.97, 0.9), "utilisation")
                )
                rows.append(_low_queue(label(scheme), of("queue_kb", scheme)))
            else:
                rows += _swings(outcomes, label(scheme), scheme=scheme)
        for setting in _SWINGS:
            if not outcomes.where(open=setting):
                continue
            if setting == _OTHER_W_MIN:
                rows += _of_w_min(outcomes)
            else:
                rows += _swings(outcomes, setting, open=setting)
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        def of_capacity(**keys: str) -> str:
            value = outcomes.mean("draining_gbps", **keys)
            return percent(None if value is None else value / CAPACITY_GBPS)

        def over_pcn(number: str, digits: int = 2, **keys: str) -> str:
            return number_text(
                ratio(outcomes.mean(number, **keys), outcomes.mean(number, scheme=PCN)), "", digits
            )

        present = outcomes.among(COMPARED)
        paragraphs = []
        if set(present) >= {"pcn", "qcn", "dcqcn", "timely"}:
            drained = {
                scheme: number_text(outcomes.mean("drained_ms", scheme=scheme), "ms")
                for scheme in present
            }
            rates = ", ".join(
                f"{label(scheme)} {of_capacity(scheme=scheme)} ({drained[scheme]})"
                for scheme in present
            )
            paragraphs.append(
                "Mean sum of the rates until the queue is drained, of the capacity, and when that "
                f"is: {rates}. Who cuts deeper drains sooner. Towards slower decreases: "
                + ", ".join(
                    f"{setting} {number_text(outcomes.mean('drained_ms', open=setting), 'ms')}"
                    for setting in _OPEN
                )
                + ". Nothing that is open makes the others as slow as the paper has them."
            )
        if outcomes.where(open=_WHOLE_STEPS):
            longer = [outcomes.mean("queue_kb", open=setting) for setting in _LONG]
            known = [
                value / (outcomes.mean("queue_kb", scheme=PCN) or 1.0)
                for value in longer
                if value is not None
            ]
            paragraphs.append(
                "Swings over PCN's, of the queue and of the sum of the rates: TIMELY "
                f"{over_pcn('queue_swing_kb', scheme='timely')} and "
                f"{over_pcn('rate_swing_gbps', scheme='timely')}; with a whole step at each RTT, "
                f"which is Algorithm 1 as printed, {over_pcn('queue_swing_kb', open=_WHOLE_STEPS)} "
                f"and {over_pcn('rate_swing_gbps', open=_WHOLE_STEPS)}; with its own least RTT of "
                f"20 us {over_pcn('queue_swing_kb', open=_OWN_RTT)} and "
                f"{over_pcn('rate_swing_gbps', open=_OWN_RTT)}, and the link is "
                f"{percent(outcomes.mean('utilisation', open=_OWN_RTT))} full. With RTTs of every "
                "packet or each 64 KB, or the values that its authors' code recommends, its queue "
                f"is {number_text(min(known, default=None), '', 2)} to "
                f"{number_text(max(known, default=None), '', 2)} times as long as PCN's."
            )
        if outcomes.where(open=_OTHER_W_MIN):
            paragraphs.append(
                "PCN's swing follows w_min: with 5.3's 1/128 its queue is "
                f"{over_pcn('queue_kb', open=_OTHER_W_MIN)} of that with 0.1/4, and the queue's "
                f"swing {over_pcn('queue_swing_kb', open=_OTHER_W_MIN)}. DCQCN's queue is "
                f"{over_pcn('queue_kb', scheme='dcqcn')} of PCN's with 0.1/4, TIMELY's "
                f"{over_pcn('queue_kb', scheme='timely')}."
            )
        return paragraphs

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        schemes = [str(outcome) for outcome in outcomes.values("scheme")]

        def row(kind: str, title: str, y_label: str, level: float | None) -> list[Chart]:
            runs = {scheme: outcomes.where(scheme=scheme) for scheme in schemes}
            top = (
                max(y for run in runs.values() for outcome in run for y in outcome.curves[kind][1])
                * 1.06
            )
            return [
                Chart(
                    f"{label(scheme)}: {title}",
                    "Time (ms)",
                    y_label if not place else "",
                    of_seeds(
                        [curve("seed 1", *outcome.curves[kind], PCN) for outcome in by_seed],
                        "other seeds",
                    ),
                    level=level,
                    level_text="" if level is None else "capacity",
                    marks=_paper(kind, scheme),
                    top=top,
                    columns=len(schemes),
                )
                for place, (scheme, by_seed) in enumerate(runs.items())
            ]

        return [
            *row("queue", "queue", "Bottleneck queue (KB)", None),
            *row("rate", "sum of the rates", "Sending rates (Gbit/s)", CAPACITY_GBPS),
        ]


def _paper(kind: str, scheme: str) -> tuple[Mark, ...]:
    """Returns when the paper's queue is drained, and its sum of rates at capacity."""
    text, claim = {
        "queue": ("the paper's is drained", DRAINED),
        "rate": ("the paper's is at capacity", CAPACITY),
    }[kind]
    return (Mark(text, claim[scheme]),) if scheme in claim else ()


def _swings(outcomes: Outcomes, name: str, **keys: str) -> list[Check]:
    """Returns how long the queue is, how much it and the sum of the rates swing, over PCN's."""
    rows = []
    for number, which in (
        ("queue_kb", "mean queue"),
        ("queue_swing_kb", "swing of its queue"),
        ("rate_swing_gbps", "swing of the sum of its rates"),
    ):
        larger = ratio(outcomes.mean(number, **keys), outcomes.mean(number, scheme=PCN))
        text = f"{name}: {which}, last third, over PCN's (met: larger)"
        rows.append(STEADY.row(text, larger, at_least(1.0)))
    return rows


def _of_w_min(outcomes: Outcomes) -> list[Check]:
    """Returns what PCN's queue is with the other w_min."""
    less = ratio(
        outcomes.mean("queue_swing_kb", open=_OTHER_W_MIN),
        outcomes.mean("queue_swing_kb", scheme=PCN),
    )
    expected = theory.queue_oscillation(4, 1 / 128, 10e9, _RTT_S) / theory.queue_oscillation(
        4, 0.1 / 4, 10e9, _RTT_S
    )
    text = (
        f"{_OTHER_W_MIN}: swing of its queue, last third, over that with 0.1/4 (met: theory within "
        "25%; trend: within a factor of two)"
    )
    return [
        _low_queue(_OTHER_W_MIN, outcomes.mean("queue_kb", open=_OTHER_W_MIN)),
        QUEUE_SWING.row(text, less, near(expected, 0.25), theory=expected, unit=""),
    ]


def _low_queue(name: str, queue_kb: float | None) -> Check:
    text = f'{name}: mean queue, last third, "almost zero" (met: 0.1 C T, 62.5 KB; trend: 100 KB)'
    return STEADY.row(text, queue_kb, at_most(62.5, 100.0), "queue", unit="KB")


def _within(seconds: float | None) -> float:
    """Returns `seconds`, and at most the run's length: when flows end, rate and queue fall as well,
    which isn't the scheme's effect."""
    return DURATION_S if seconds is None else min(seconds, DURATION_S)
