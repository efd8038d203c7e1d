"""Fig. 15b: bursts of small flows of one size, from small to more than the network takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, at_most
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcomes, number_text, percent, ratio
from pcn.experiments.papers.tcd.claims import COMPLETION, DCQCN, DCQCN_TCD, PAPER_ALPHA
from pcn.experiments.papers.tcd.plans import SEEDS, TRAFFIC
from pcn.experiments.papers.tcd.victims import Victims

BURSTS = (25e3, 50e3, 100e3, 150e3, 200e3, 250e3)


class Fig15b(Victims):
    name = "tcd-fig15b"
    title = "Victims of bursts of small flows"
    source = "5.2.1, Fig. 15b"
    schemes = (DCQCN, DCQCN_TCD)
    about = (
        f"{TRAFFIC}; A0 to A14 each send a burst of the same size to R1 at once, a millisecond "
        "apart on average: with 250 KB that is more than R1's link takes, as in the paper. Alpha "
        "starts at 0.5 with DCQCN and at 1.2 with TCD. Means over 5 seeds."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            fields = {"initial_alpha": PAPER_ALPHA[scheme]} if scheme in PAPER_ALPHA else {}
            for size in BURSTS:
                for seed in SEEDS:
                    keys: dict[str, Key] = {"scheme": scheme, "burst": size / 1e3, "seed": seed}
                    yield Run(keys, scheme, seed, {"burst_bytes": size, **fields})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if not {DCQCN, DCQCN_TCD} <= set(outcomes.values("scheme")):
            return []
        rows = []
        for size in BURSTS:
            burst = size / 1e3
            ours, theirs = (
                outcomes.mean("mean_us", scheme=scheme, burst=burst)
                for scheme in (DCQCN_TCD, DCQCN)
            )
            if burst >= 50:
                least = 1.3 if burst == 100 else 1.0
                text = (
                    f"bursts of {burst:g} KB: DCQCN over DCQCN with TCD (met: {least:g}; trend: "
                    "above 0.95)"
                )
                rows.append(COMPLETION.row(text, ratio(theirs, ours), at_least(least, 0.95)))
            if burst <= 150:
                text = f"bursts of {burst:g} KB: victims marked CE with TCD (met: 0.5%; trend: 5%)"
                most, trend = 0.005, 0.05
            else:
                text = (
                    f"bursts of {burst:g} KB, overload: victims marked CE with TCD (met: 6%; "
                    "trend: 20%)"
                )
                most, trend = 0.06, 0.2
            rows.append(
                COMPLETION.row(
                    text,
                    outcomes.mean("ce_share", scheme=DCQCN_TCD, burst=burst),
                    at_most(most, trend),
                )
            )
        text = "bursts of 250 KB: victims marked UE (met: 80%; trend: half)"
        rows.append(
            COMPLETION.row(
                text, outcomes.mean("ue_share", scheme=DCQCN_TCD, burst=250.0), at_least(0.8, 0.5)
            )
        )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        ours, theirs = (
            outcomes.by_run("mean_us", scheme=scheme, burst=50.0) for scheme in (DCQCN_TCD, DCQCN)
        )
        if not ours or len(ours) != len(theirs):
            return []
        ratios = [without / with_tcd for without, with_tcd in zip(theirs, ours, strict=True)]
        marked = percent(outcomes.mean("ce_share", scheme=DCQCN, burst=50.0))
        return [
            f"With bursts of 50 KB DCQCN marks {marked} of the victims, so TCD can gain little: "
            f"seed by seed they take {number_text(min(ratios))} to {number_text(max(ratios))} "
            "times as long as "
            "with TCD."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def of(number: str) -> list[tuple[str, str]]:
            return [(str(scheme), number) for scheme in outcomes.values("scheme")]

        times = [
            outcomes.line(label(scheme), "burst", number, scheme=scheme)
            for scheme, number in of("mean_us")
        ]
        marks = [
            outcomes.line(f"{label(scheme)}, CE", "burst", number, scheme=scheme)
            for scheme, number in of("ce_share")
        ]
        if DCQCN_TCD in outcomes.values("scheme"):
            marks.append(
                outcomes.line(
                    f"{label(DCQCN_TCD)}, UE", "burst", "ue_share", "ue", scheme=DCQCN_TCD
                )
            )
        return [
            Chart("Completion", "Burst of each host (KB)", "Victims' mean (us)", times),
            Chart("Marks", "Burst of each host (KB)", "Share of the victims", marks),
        ]
