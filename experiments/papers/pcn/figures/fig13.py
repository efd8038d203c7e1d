"""Fig. 13: the same run with other w_min and w_max."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, numbers
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, Verdict, at_least, at_most
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.pcn.claims import PCN, WEIGHTS
from pcn.experiments.papers.pcn.figures import hadoop

W_MIN, W_MAX = 1 / 128, 1 / 2
W_MINS = (1 / 1024, 1 / 512, 1 / 256, 1 / 128, 1 / 64, 1 / 32)
W_MAXS = (1 / 8, 1 / 4, 1 / 2, 1.0)
SEEDS = (1, 2, 3, 4)


class Fig13(Experiment):
    name = "fig13"
    draws = DRAWN_FLOWS
    schemes = (PCN,)
    title = "Parameter sensitivity"
    source = "7.3, Fig. 13"
    about = (
        f"{hadoop.ABOUT} PCN, T = 50 us; w_max varied at w_min = 1/128, w_min at w_max = 1/2. "
        "Means over four seeds. The weights matter little: PAUSE frames to S0 come while what the "
        "largest bursts sent before their first CNPs drains, and weights decide about increases, "
        "which come later."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        pairs = [
            *((W_MIN, w_max) for w_max in W_MAXS),
            *((w_min, W_MAX) for w_min in W_MINS if w_min != W_MIN),
        ]
        for w_min, w_max in pairs if PCN in schemes else ():
            for seed in SEEDS:
                weights = {"w_min": w_min, "w_max": w_max}
                yield Run({**weights, "seed": seed}, PCN, seed, weights)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return hadoop.hadoop_plan(scheme, seed, **numbers(values))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, hadoop.numbers(recording))

    def checks(self, outcomes: Outcomes) -> list[Check]:
        def smallest_over_largest(number: str, **keys: tuple[float, ...]) -> float | None:
            ((name, values),) = keys.items()
            fixed = {"w_min": W_MIN} if name == "w_max" else {"w_max": W_MAX}
            return ratio(
                outcomes.mean(number, **{name: values[0]}, **fixed),
                outcomes.mean(number, **{name: values[-1]}, **fixed),
            )

        fewer = smallest_over_largest("pause_s0_per_s", w_max=W_MAXS)
        longer = smallest_over_largest("p99_ms all", w_max=W_MAXS)
        slower = smallest_over_largest("p99_ms all", w_min=W_MINS)
        rates = [outcomes.mean("pause_s0_per_s", w_min=w_min, w_max=W_MAX) for w_min in W_MINS]
        known = [rate for rate in rates if rate is not None]
        spread = ratio(max(known) - min(known), sum(known) / len(known)) if known else None
        fewer_text = "PAUSE frames to S0 with w_max = 1/8 over those with 1 (met: fewer)"
        longer_text = (
            '99% completion time, w_max = 1/8 over w_max = 1, "grows a little" (met: 1 to 1.5; '
            "trend: 0.95 to 2)"
        )
        spread_text = (
            'PAUSE frames to S0: spread over all w_min, of their mean, "almost no impact" (met: '
            "0.2; trend: 0.5)"
        )
        slower_text = (
            '99% completion time, w_min = 1/1024 over w_min = 1/32, "slightly" longer (met: 1 to '
            "1.5; trend: 0.95 to 2)"
        )
        return [
            WEIGHTS.row(fewer_text, fewer, at_most(1.0)),
            WEIGHTS.row(longer_text, longer, _a_little),
            WEIGHTS.row(spread_text, spread, at_most(0.2, 0.5)),
            WEIGHTS.row(slower_text, slower, _a_little),
        ]

    def story(self, outcomes: Outcomes) -> list[str]:
        rates = [outcomes.mean("pause_s0_per_s", w_min=w_min, w_max=W_MAX) for w_min in W_MINS]
        known = [rate for rate in rates if rate is not None]
        seeds = outcomes.by_run("pause_s0_per_s", w_min=W_MIN, w_max=W_MAX)
        if len(known) < len(W_MINS) or not seeds:
            return []
        return [
            f"PAUSE frames to S0, a second: {min(known):.0f} to {max(known):.0f} over all w_min, "
            f"{min(known[:-1]):.0f} to {max(known[:-1]):.0f} without the largest, 1/32. Seeds, "
            f"which draw other bursts, differ by more: with one w_min, 1/128, {min(seeds):.0f} to "
            f"{max(seeds):.0f}."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def line(label: str, number: str, x: str, values: Sequence[float], **fixed: float) -> Line:
            by_value = [outcomes.by_run(number, **{x: value}, **fixed) for value in values]
            known = [(float(index), seeds) for index, seeds in enumerate(by_value) if seeds]
            return curve(
                label,
                [index for index, _ in known],
                [statistics.fmean(seeds) for _, seeds in known],
                PCN,
                points=True,
                seeds=[seeds for _, seeds in known],
            )

        panels = []
        for x, values, fixed in (
            ("w_max", W_MAXS, {"w_min": W_MIN}),
            ("w_min", W_MINS, {"w_max": W_MAX}),
        ):
            ticks = [str(Fraction(value).limit_denominator(2048)) for value in values]
            for title, number, label in (
                ("PAUSE frames to S0", "pause_s0_per_s", "PAUSE frames (1/s)"),
                ("Completion time, 99%", "p99_ms all", "Time (ms)"),
            ):
                panels.append(
                    Chart(title, x, label, [line("PCN", number, x, values, **fixed)], ticks=ticks)
                )
        return panels


def _a_little(factor: float | None) -> Verdict:
    """Returns what has grown a little: by up to a half. `trend` where it has hardly fallen, or not
    doubled."""
    if factor is not None and factor >= 1:
        return at_most(1.5, 2.0)(factor)
    return at_least(1.0, 0.95)(factor)
