"""Fig. 15a and 19: how long victims take, with TCD and without, at the paper's initial alpha and at
equal ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcomes, number_text, ratio
from pcn.experiments.papers.tcd.claims import (
    COMPLETION,
    DCQCN,
    DCQCN_TCD,
    PAIRS,
    PAPER_ALPHA,
    TIMELY,
    TIMELY_TCD,
)
from pcn.experiments.papers.tcd.plans import SEEDS, SIZES, TRAFFIC
from pcn.experiments.papers.tcd.victims import Victims

LOADS = (0.3, 0.5)
ALPHAS = (0.5, 1.0, 1.2)
SEGMENTS = (16e3, 64e3)
_EQUAL = 1.15
"""By which detection alone helps, at least."""


class Fig15(Victims):
    name = "tcd-fig15"
    title = "Victims' completion times"
    source = "5.2.1, Fig. 15a; Fig. 19"
    schemes = (DCQCN, DCQCN_TCD, TIMELY, TIMELY_TCD)
    about = (
        f"{TRAFFIC}; A0 to A14 start Hadoop flows of one size at once, to R1. The paper compares "
        "DCQCN, whose alpha starts at 0.5, with TCD and alpha's start at 1.2; here both run with "
        "0.5, 1 and 1.2, so that the effects of detection and of alpha's start are separate. "
        "TIMELY takes an RTT each 16 KB, or each 64 KB. Means over 5 seeds; a flow that is still "
        "going 20 ms after the last arrival counts with the time that it had."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for load in LOADS:
            for scheme in schemes:
                for seed in SEEDS:
                    for keys, fields in _settings(scheme):
                        arguments = {"bursts_load": load, **fields}
                        yield Run(
                            {"scheme": scheme, "load": load, **keys, "seed": seed},
                            scheme,
                            seed,
                            arguments,
                        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        there = outcomes.values("scheme")
        if DCQCN in there and DCQCN_TCD in there:

            def gain(
                load: float, alpha: float, alpha_tcd: float, number: str = "mean_us"
            ) -> float | None:
                """Returns DCQCN's time over that with TCD."""
                ours = outcomes.mean(number, scheme=DCQCN_TCD, load=load, alpha=alpha_tcd)
                return ratio(outcomes.mean(number, scheme=DCQCN, load=load, alpha=alpha), ours)

            paper = (PAPER_ALPHA[DCQCN], PAPER_ALPHA[DCQCN_TCD])
            comparison = "DCQCN (alpha 0.5) over DCQCN with TCD (1.2)"
            for load, least in zip(LOADS, (1.2, 1.8), strict=True):
                text = f"bursts' load {load:g}: {comparison} (met: {least:g}; trend: above 1)"
                rows.append(COMPLETION.row(text, gain(load, *paper), at_least(least, 1.0)))
            for alpha in ALPHAS:
                text = (
                    f"bursts' load 0.5: DCQCN over DCQCN with TCD, both alpha {alpha:g} (met: "
                    f"{_EQUAL}; trend: above 1)"
                )
                rows.append(COMPLETION.row(text, gain(0.5, alpha, alpha), at_least(_EQUAL, 1.0)))
            text = f"bursts' load 0.5, victims above 1 MB: {comparison} (met: 1.7; trend: above 1)"
            rows.append(
                COMPLETION.row(text, gain(0.5, *paper, "mean_us > 1 MB"), at_least(1.7, 1.0))
            )
        if TIMELY in there and TIMELY_TCD in there:
            for load in LOADS:
                for segment in SEGMENTS:
                    ours, theirs = (
                        outcomes.mean("mean_us", scheme=scheme, load=load, segment=segment)
                        for scheme in (TIMELY_TCD, TIMELY)
                    )
                    text = (
                        f"bursts' load {load:g}, an RTT each {segment / 1e3:g} KB: TIMELY over "
                        "TIMELY with TCD (met: 1.2; trend: above 1)"
                    )
                    rows.append(COMPLETION.row(text, ratio(theirs, ours), at_least(1.2, 1.0)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        there = outcomes.values("scheme")
        if DCQCN not in there or DCQCN_TCD not in there:
            return []
        texts = []
        for alpha in ALPHAS:
            small, all_ = (
                [
                    outcomes.mean(number, scheme=scheme, load=0.5, alpha=alpha)
                    for scheme in (DCQCN, DCQCN_TCD)
                ]
                for number in ("mean_us < 10 KB", "mean_us")
            )
            texts.append(
                f"alpha {alpha:g}: all {number_text(all_[0])} and {number_text(all_[1])} us, "
                "below 10 KB "
                f"{number_text(small[0])} and {number_text(small[1])} us"
            )
        return [
            "Victims' means without and with TCD at the bursts' load of 0.5: "
            + "; ".join(texts)
            + ". What the smallest "
            "flows gain comes from alpha's start, not from detection."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        there = list(map(str, outcomes.values("scheme")))
        pairs: list[tuple[str, ...]] = [pair for pair in PAIRS.items() if set(pair) & set(there)]
        for pair in pairs or [tuple(there)]:
            lines: list[Line] = []
            for scheme in (scheme for scheme in pair if scheme in there):
                keys = _settings(scheme)[-1 if scheme == DCQCN_TCD else 0][0]
                means = [
                    outcomes.mean(f"mean_us {size}", scheme=scheme, load=0.5, **keys)
                    for size in SIZES
                ]
                known = [
                    (float(place), mean) for place, mean in enumerate(means) if mean is not None
                ]
                name = (
                    f"{label(scheme)}, alpha {keys['alpha']:g}"
                    if "alpha" in keys
                    else label(scheme)
                )
                lines.append(
                    curve(name, [x for x, _ in known], [y for _, y in known], scheme, points=True)
                )
            title = f"Victims, {label(pair[0])}"
            logarithmic = any(line.y.size for line in lines)
            charts.append(
                Chart(
                    title,
                    "Size",
                    "Mean completion time (us)",
                    lines,
                    log_y=logarithmic,
                    ticks=tuple(SIZES),
                )
            )
        return charts


def _settings(scheme: str) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Returns the keys, and the fields that they stand for."""
    if scheme in PAPER_ALPHA:
        return [({"alpha": alpha}, {"initial_alpha": alpha}) for alpha in ALPHAS]
    if scheme in (TIMELY, TIMELY_TCD):
        return [({"segment": segment}, {"segment_bytes": segment}) for segment in SEGMENTS]
    return [({}, {})]
