"""Fig. 11: four flows start at line rate on one 10 Gb/s bottleneck; how fast, how calmly they are taken in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments import analysis, measure, metrics, theory
from experiments.analysis import steady_state
from experiments.checks import Check, at_least, at_most, near
from experiments.outcomes import COMPARED, PCN, Case, Outcome, Outcomes, percent, ratio, said
from experiments.panels import Line, Panel, scheme_name
from experiments.papers.pcn.plans import dumbbell_plan
from experiments.recording import Recording
from experiments.variants import (
    PUBLISHED_PACKETS,
    PUBLISHED_SEGMENTS,
    FallingRtts,
    SettledAlpha,
    WholeSteps,
    dcqcn_with,
    timely_with,
)
from experiments.virtual import Variant

DURATION_S = 300e-3
SEEDS = (1, 2, 3)
SETTLED, OVER_S = 0.1, 5e-3
"""The sum of the rates has settled when its mean over 10 RTTs stays within this share of the capacity: PCN's own swing
has a period of some 5 ms."""
_REACHED_MS = {"pcn": 2.0, "qcn": 40.0, "dcqcn": 50.0, "timely": 90.0}
_DRAINED_MS = {"pcn": 7.5, "qcn": 13.0, "dcqcn": 41.0, "timely": 72.0}
_RTT_S = 500e-6
"""PCN's T, too: the first CNPs take effect after both."""


def _above_rtt(fields: Mapping[str, float]) -> dict[str, float]:
    """Thresholds as everywhere in this figure: so far above the RTT."""
    return {name: value + _RTT_S if name in ("t_low_s", "t_high_s") else value for name, value in fields.items()}


_OPEN: dict[str, tuple[str, Variant, dict[str, float]]] = {
    "QCN, a tenth of the samples": ("qcn", Variant(), {"sample_bytes": 1.5e6}),
    "DCQCN, alpha 0.1 at the start": ("dcqcn", Variant(dcqcn_with(SettledAlpha)), {}),
    "DCQCN, alpha 0.1 at the start, its timers an RTT": (
        "dcqcn",
        Variant(dcqcn_with(SettledAlpha)),
        {"cnp_interval_s": _RTT_S, "alpha_timer_s": 1.1 * _RTT_S, "rate_timer_s": 1.1 * _RTT_S},
    ),
    "TIMELY, beta 0.2": ("timely", Variant(), {"beta": 0.2}),
}
"""What is open, varied towards slower decreases: scheme, variant, fields."""
_OTHER_W_MIN = "PCN, w_min = 1/128"
_WHOLE_STEPS = "TIMELY, a whole step at each RTT, Algorithm 1 as printed"
_OWN_RTT = "TIMELY, least RTT of 20 us, as TIMELY's paper has it"
_SWINGS: dict[str, tuple[str, Variant, dict[str, float]]] = {
    _OTHER_W_MIN: ("pcn", Variant(), {"w_min": 1 / 128}),
    _WHOLE_STEPS: ("timely", Variant(timely_with(WholeSteps)), {}),
    _OWN_RTT: ("timely", Variant(), {"min_rtt_s": 20e-6}),
    "TIMELY, the RTT of every packet": ("timely", Variant(), {"segment_bytes": 1000.0}),
    "TIMELY, one RTT each 64 KB": ("timely", Variant(), {"segment_bytes": 64e3}),
    "TIMELY, its authors' code's values, every packet": (
        "timely",
        Variant(timely_with(FallingRtts)),
        _above_rtt(PUBLISHED_PACKETS),
    ),
    "TIMELY, its authors' code's values, 64 KB": (
        "timely",
        Variant(timely_with(FallingRtts)),
        _above_rtt(PUBLISHED_SEGMENTS),
    ),
}
"""What is open about how much queue and rates swing."""
_LONG = [what for what in _SWINGS if what.startswith("TIMELY") and what not in (_WHOLE_STEPS, _OWN_RTT)]
CAPACITY_GBPS = 10.0


def settled_s(
    times: metrics.Array, rates: metrics.Array, capacity: float, window_s: float, end_s: float
) -> float | None:
    """From when on the mean of a step series over `window_s` stays within SETTLED of `capacity`; None if never."""
    starts = np.arange(0.0, end_s - window_s * 0.999, window_s / 10)
    means = np.array([metrics.step_mean(times, rates, start, start + window_s) for start in starts])
    outside = np.flatnonzero(np.abs(means - capacity) > SETTLED * capacity)
    first = int(outside[-1]) + 1 if outside.size else 0
    return float(starts[first]) if first < means.size else None


class Fig11:
    name = "fig11"
    title = "Dynamic behaviour: queue and sum of the rates"
    source = "7.1, Fig. 11"
    about = (
        "The dumbbell: 10 Gb/s, RTT 500 us, four flows of three hosts from line rate. PCN with T = RTT and w_min = "
        "0.1/4 (7.1 states neither); TIMELY's thresholds are 50 and 500 us above the RTT. The sum of the rates counts "
        "as settled from the moment from which its mean over 10 RTTs stays within 10% of the capacity; what never "
        "comes about counts with the run's 300 ms. Means over three seeds, which shift the NPs' timers and draw QCN's "
        "samples; what is varied runs with the first alone. The paper doesn't say what its 40 to 90 ms count. TIMELY's "
        "rate grows by 10 Mb/s in each least RTT, which is 500 us here, and falls by gradients that count in least "
        "RTTs. What a CNP of PCN says is T and an RTT old when it has an effect, so that several increases come in a "
        "row where the model has one."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        cases = [
            Case({"scheme": scheme, "seed": seed}, dumbbell_plan(scheme, seed, DURATION_S))
            for scheme in COMPARED
            if scheme in schemes
            for seed in SEEDS
        ]
        return cases + [
            Case({"open": what, "seed": SEEDS[0]}, dumbbell_plan(scheme, SEEDS[0], DURATION_S, 4, **fields), variant)
            for what, (scheme, variant, fields) in (_OPEN | _SWINGS).items()
            if scheme in schemes
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan = case.plan
        total = analysis.aggregate_rate(recording, plan.topology)
        queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
        steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
        reached = _within(metrics.first_fall(*total, plan.capacity_bps))
        settled = settled_s(*total, plan.capacity_bps, OVER_S, plan.duration_s)
        empty = _within(analysis.drained(recording, plan.bottleneck))
        grid = np.linspace(steady.from_s, steady.to_s, 2000)
        draining = analysis.mean_between(recording, plan.topology, reached, empty) / 1e9 if empty > reached else None
        numbers: dict[str, float | None] = {
            "reached_ms": reached * 1e3,
            "settled_ms": (DURATION_S if settled is None else settled) * 1e3,
            "drained_ms": empty * 1e3,
            "draining_gbps": draining,
            "utilisation": steady.utilisation,
            "jain": steady.jain,
            "queue_kb": steady.queue_bytes_mean / 1e3,
            "queue_swing_kb": metrics.spread(metrics.step_at(*queue, grid)) / 1e3,
            "rate_swing_gbps": metrics.spread(metrics.step_at(*total, grid)) / 1e9,
            "pause": float(steady.pause),
        }
        curves = {
            "queue": measure.thin(*queue, 0.0, plan.duration_s / 3, 1e-3),
            "rate": measure.thin(*total, 0.0, plan.duration_s / 3, 1e-9),
        }
        return Outcome(case.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        schemes = outcomes.schemes()

        def of(number: str, scheme: str = PCN) -> float | None:
            return outcomes.mean(number, scheme=scheme)

        reached, drained = of("reached_ms"), of("drained_ms")
        rows = [
            Check(
                "0.36",
                "PCN: sum of the rates first at capacity (met: 2 ms; ordered: before QCN's 40 ms)",
                _REACHED_MS[PCN],
                2 * _RTT_S * 1e3,
                reached,
                "ms",
                at_most(reached, _REACHED_MS[PCN], _REACHED_MS["qcn"]),
            ),
            Check(
                "0.37",
                "PCN: initial queue down to five packets (met: 7.5 ms; ordered: before QCN's 13 ms)",
                _DRAINED_MS[PCN],
                None,
                drained,
                "ms",
                at_most(drained, _DRAINED_MS[PCN], _DRAINED_MS["qcn"]),
            ),
        ]
        for scheme in schemes:
            if scheme == PCN:
                continue
            name, faster = scheme_name(scheme), ratio(of("settled_ms", scheme), of("settled_ms"))
            claimed = _REACHED_MS[scheme] / _REACHED_MS[PCN]
            rows.append(
                Check(
                    "0.36",
                    f"{name}: its sum takes this many times as long as PCN's to settle (met: half of the paper's "
                    "factor or more; ordered: longer)",
                    claimed,
                    None,
                    faster,
                    "",
                    at_least(faster, claimed / 2, 1.0),
                )
            )
            longer = ratio(of("drained_ms", scheme), drained)
            claimed = _DRAINED_MS[scheme] / _DRAINED_MS[PCN]
            rows.append(
                Check(
                    "0.37",
                    f"{name}: its initial queue lasts this many times as long as PCN's (met: half of the paper's "
                    "factor or more; ordered: longer)",
                    claimed,
                    None,
                    longer,
                    "",
                    at_least(longer, claimed / 2, 1.0),
                )
            )
        for what, (scheme, _, _) in _OPEN.items():
            if outcomes.where(open=what):
                slower = outcomes.mean("drained_ms", open=what)
                rows.append(
                    Check(
                        "0.37",
                        f"{what}: initial queue down to five packets (met: within 50%)",
                        _DRAINED_MS[scheme],
                        None,
                        slower,
                        "ms",
                        near(slower, _DRAINED_MS[scheme], 0.5, 1.0),
                    )
                )
        for scheme in schemes:
            name, calm = scheme_name(scheme), scheme in ("pcn", "qcn")
            full = of("utilisation", scheme)
            if calm:
                rows.append(
                    Check(
                        "0.38",
                        f"{name}: utilisation, last third (met: 0.97 and more; ordered: above 0.9)",
                        1.0,
                        None,
                        full,
                        "",
                        at_least(full, 0.97, 0.9),
                    )
                )
                rows.append(_low_queue(name, of("queue_kb", scheme)))
            else:
                rows += _swings(outcomes, name, scheme=scheme)
        for what in _SWINGS:
            if not outcomes.where(open=what):
                continue
            if what == _OTHER_W_MIN:
                rows += _of_w_min(outcomes)
            else:
                rows += _swings(outcomes, what, open=what)
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        def of_capacity(**keys: str) -> str:
            value = outcomes.mean("draining_gbps", **keys)
            return percent(None if value is None else value / CAPACITY_GBPS)

        def over_pcn(number: str, digits: int = 2, **keys: str) -> str:
            return said(ratio(outcomes.mean(number, **keys), outcomes.mean(number, scheme=PCN)), "", digits)

        present = outcomes.schemes()
        told = []
        if set(present) >= {"pcn", "qcn", "dcqcn", "timely"}:
            drained = {one: said(outcomes.mean("drained_ms", scheme=one), "ms") for one in present}
            rates = ", ".join(f"{scheme_name(one)} {of_capacity(scheme=one)} ({drained[one]})" for one in present)
            told.append(
                "Mean sum of the rates until the queue is drained, of the capacity, and when that is: "
                f"{rates}. Who cuts deeper drains sooner. Towards slower decreases: "
                + ", ".join(f"{what} {said(outcomes.mean('drained_ms', open=what), 'ms')}" for what in _OPEN)
                + ". Nothing that is open makes the others as slow as the paper has them."
            )
        if outcomes.where(open=_WHOLE_STEPS):
            longer = [outcomes.mean("queue_kb", open=what) for what in _LONG]
            known = [value / (outcomes.mean("queue_kb", scheme=PCN) or 1.0) for value in longer if value is not None]
            told.append(
                "Swings over PCN's, of the queue and of the sum of the rates: TIMELY "
                f"{over_pcn('queue_swing_kb', scheme='timely')} and {over_pcn('rate_swing_gbps', scheme='timely')}; "
                f"with a whole step at each RTT, which is Algorithm 1 as printed, "
                f"{over_pcn('queue_swing_kb', open=_WHOLE_STEPS)} and "
                f"{over_pcn('rate_swing_gbps', open=_WHOLE_STEPS)}; with its own least RTT of 20 us "
                f"{over_pcn('queue_swing_kb', open=_OWN_RTT)} and {over_pcn('rate_swing_gbps', open=_OWN_RTT)}, and "
                f"the link is {percent(outcomes.mean('utilisation', open=_OWN_RTT))} full. With RTTs of every packet "
                f"or each 64 KB, or the values that its authors' code recommends, its queue is "
                f"{said(min(known, default=None), '', 2)} to {said(max(known, default=None), '', 2)} times as long as "
                "PCN's."
            )
        if outcomes.where(open=_OTHER_W_MIN):
            told.append(
                f"PCN's swing follows w_min: with 5.3's 1/128 its queue is {over_pcn('queue_kb', open=_OTHER_W_MIN)} "
                f"of that with 0.1/4, and the queue's swing {over_pcn('queue_swing_kb', open=_OTHER_W_MIN)}. DCQCN's "
                f"queue is {over_pcn('queue_kb', scheme='dcqcn')} of PCN's with 0.1/4, TIMELY's "
                f"{over_pcn('queue_kb', scheme='timely')}."
            )
        return told

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        schemes = [str(one) for one in outcomes.values("scheme")]

        def row(curve: str, title: str, label: str, level: float | None) -> list[Panel]:
            runs = {scheme: outcomes.where(scheme=scheme) for scheme in schemes}
            top = max(y for found in runs.values() for one in found for y in one.curves[curve][1]) * 1.06
            return [
                Panel(
                    f"{scheme_name(scheme)}: {title}",
                    "Time (ms)",
                    label if not place else "",
                    [
                        Line("seed 1" if not seed else "other seeds", *one.curves[curve], "pcn", pale=seed > 0)
                        for seed, one in reversed(list(enumerate(found)))
                    ],
                    level=level,
                    level_text="" if level is None else "capacity",
                    top=top,
                    columns=len(schemes),
                )
                for place, (scheme, found) in enumerate(runs.items())
            ]

        return [
            *row("queue", "queue", "Bottleneck queue (KB)", None),
            *row("rate", "sum of the rates", "Sending rates (Gbit/s)", CAPACITY_GBPS),
        ]


def _swings(outcomes: Outcomes, what: str, **keys: str) -> list[Check]:
    """How long the queue is, how much it and the sum of the rates swing, over PCN's."""
    rows = []
    for number, which in (
        ("queue_kb", "mean queue"),
        ("queue_swing_kb", "swing of its queue"),
        ("rate_swing_gbps", "swing of the sum of its rates"),
    ):
        larger = ratio(outcomes.mean(number, **keys), outcomes.mean(number, scheme=PCN))
        text = f"{what}: {which}, last third, over PCN's (met: larger)"
        rows.append(Check("0.38", text, None, None, larger, "", at_least(larger, 1.0)))
    return rows


def _of_w_min(outcomes: Outcomes) -> list[Check]:
    """What PCN's queue is with the other w_min."""
    less = ratio(outcomes.mean("queue_swing_kb", open=_OTHER_W_MIN), outcomes.mean("queue_swing_kb", scheme=PCN))
    expected = theory.queue_oscillation(4, 1 / 128, 10e9, _RTT_S) / theory.queue_oscillation(4, 0.1 / 4, 10e9, _RTT_S)
    return [
        _low_queue(_OTHER_W_MIN, outcomes.mean("queue_kb", open=_OTHER_W_MIN)),
        Check(
            "0.32",
            f"{_OTHER_W_MIN}: swing of its queue, last third, over that with 0.1/4 (met: theory within 25%; "
            "ordered: within a factor of two)",
            None,
            expected,
            less,
            "",
            near(less, expected, 0.25),
        ),
    ]


def _low_queue(what: str, queue_kb: float | None) -> Check:
    text = f'{what}: mean queue, last third, "almost zero" (met: 0.1 C T, 62.5 KB; ordered: 100 KB)'
    return Check("0.38", text, 0.0, None, queue_kb, "KB", at_most(queue_kb, 62.5, 100.0))


def _within(seconds: float | None) -> float:
    """At most the run's length: when the flows end, rate and queue fall, too, but that isn't the scheme's doing."""
    return DURATION_S if seconds is None else min(seconds, DURATION_S)
