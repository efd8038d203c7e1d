"""Fig. 12: PAUSE rate and completion times when bursts come in the midst of Hadoop traffic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, numbers
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import BesidePaper, Chart, Line, beside_paper, curve
from pcn.experiments.define.checks import Check, Claim, Verdict, at_least, near
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text, percent, ratio
from pcn.experiments.papers.pcn.claims import (
    BURSTS_P99,
    COMPARED,
    H0_MEAN,
    H1_MEAN,
    OVER_QCN,
    PCN,
    PCN_X,
    PREVENTED,
    SHOWN,
)
from pcn.experiments.papers.pcn.figures import hadoop

SEEDS = (1, 2, 3, 4)
BUSY, BUSY_SEEDS = 0.8, (1, 2)
"""The load of S1 to R1 in further runs, where bursts bring more than 0.3."""
_BUSY_SCHEMES = (PCN, "dcqcn", PCN_X)
_H0 = "mean completion time of H0's flows"
_H1 = "mean completion time of H1's flows"
_P99 = "99% completion time of H2 to H15's flows"
_TIMES = (
    (H0_MEAN, "mean_ms h0", _H0),
    (BURSTS_P99, "p99_ms bursts", _P99),
    (H1_MEAN, "mean_ms h1", _H1),
)
FACTORS = {
    "qcn": (
        (OVER_QCN, "mean_ms h0", _H0),
        (OVER_QCN, "mean_ms h1", _H1),
        (OVER_QCN, "mean_ms bursts", "mean completion time of H2 to H15's flows"),
    ),
    "dcqcn": _TIMES,
    "timely": _TIMES,
}
"""By scheme: how many times PCN's it is in the paper, number, what it is."""
_BANDS = "(met: from 80% of the paper's factor to twice it; trend: above 1)"


class Fig12(Experiment):
    name = "fig12"
    draws = DRAWN_FLOWS
    schemes = SHOWN
    title = "Burst tolerance"
    source = "7.2, Fig. 12"
    seeds = SEEDS
    about = (
        f"{hadoop.ABOUT} PCN with T = 50 us, w_min = 1/128 and w_max = 0.5. Means over four seeds; "
        "last rows: over two, with bursts of load 0.5, so that S1 to R1 has 0.8. What decides "
        "about H1's mean are its large flows, and how R1's link is shared while there are bursts. "
        "PCN's decreases keep the shares with which flows arrive, bursts start at line rate, and "
        "increases even that out slowly among many flows ([fairness.md](fairness.md)). PAUSE "
        "frames come at the beginning of a large burst, from what is sent before the first CNPs, "
        "and more of them where it meets one that is still going: so the share that PCN prevents "
        "depends on the load, too. A separate study, below, shows how the factors depend on what "
        "the paper leaves open about the other schemes. The paper states factors between PCN and "
        "the others, no times: they stand beside ours in the last panels, which are ratios of the "
        "means, with each seed's ratio as a dot."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        yield from super().runs(schemes)
        for scheme in (scheme for scheme in _BUSY_SCHEMES if scheme in schemes):
            for seed in BUSY_SEEDS:
                yield Run(
                    {"busy": scheme, "seed": seed},
                    scheme,
                    seed,
                    {"bursts_load": BUSY - hadoop.LOAD / 2},
                )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return hadoop.hadoop_plan(scheme, seed, **numbers(values))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        share = hadoop.h1_of_fair_share(recording)
        return Outcome(run.keys, {**hadoop.numbers(recording), "h1_of_fair": share})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        def of(number: str, scheme: str = PCN) -> float | None:
            return outcomes.mean(number, scheme=scheme)

        present = [scheme for scheme in outcomes.among(COMPARED) if scheme != PCN]
        rows = []
        for scheme in (scheme for scheme in present if scheme in PREVENTED):
            left = ratio(of("pause_per_s"), of("pause_per_s", scheme))
            rows.append(prevented_row("PCN", scheme, None if left is None else 1 - left))
        others = [
            of("pause_per_s", scheme) for scheme in outcomes.among(COMPARED) if scheme != "qcn"
        ]
        least = of("pause_per_s", "qcn")
        if least is not None and others:
            beaten, all_of_them = (
                float(sum(value is not None and value >= least for value in others)),
                len(others),
            )
            text = "QCN: schemes with as many PAUSE frames as it, or more (met: all others)"
            unit = f"of {all_of_them}"
            rows.append(
                PREVENTED.row(
                    text, beaten, at_least(all_of_them), paper=float(all_of_them), unit=unit
                )
            )
        for scheme in present:
            for claim, number, times in FACTORS[scheme]:
                factor = ratio(of(number, scheme), of(number))
                rows.append(factor_row(claim, scheme, f"{label(scheme)} / PCN, {times}", factor))
        return rows + _busy(outcomes)

    def story(self, outcomes: Outcomes) -> list[str]:
        def shares(key: str) -> str:
            means = {
                label(scheme): outcomes.mean("h1_of_fair", **{key: scheme})
                for scheme in _BUSY_SCHEMES
            }
            return ", ".join(
                f"{label(name)} {percent(value)}"
                for name, value in means.items()
                if value is not None
            )

        if not shares("busy"):
            return []
        text = (
            "While bursts last H1's flows get of their fair share of R1's link: "
            f"{shares('scheme')}; "
        )
        text += f"where S1 to R1 has a load of {BUSY}: {shares('busy')}."
        ahead = [
            number_text(
                ratio(
                    outcomes.mean("mean_ms h1", **{key: "dcqcn"}),
                    outcomes.mean("mean_ms h1", **{key: PCN}),
                ),
                "",
                2,
            )
            for key in ("scheme", "busy")
        ]
        return [
            (
                f"{text} H1's mean completion time with DCQCN is {ahead[0]} times PCN's, and "
                f"{ahead[1]} times there."
            )
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        schemes = [str(outcome) for outcome in outcomes.values("scheme")]

        def bars(kinds: Sequence[str]) -> list[Line]:
            return [
                curve(
                    label(scheme),
                    list(range(len(kinds))),
                    [outcomes.mean(kind, scheme=scheme) or 0.0 for kind in kinds],
                    scheme,
                    seeds=[outcomes.by_run(kind, scheme=scheme) for kind in kinds],
                )
                for scheme in schemes
            ]

        names = [_flows(group) for group in hadoop.GROUPS]
        return [
            Chart("PFC", "", "PAUSE frames (1/s)", bars(["pause_per_s"]), bars=["all links"]),
            Chart(
                "Mean",
                "",
                "Completion time (ms)",
                bars([f"mean_ms {group}" for group in hadoop.GROUPS]),
                bars=names,
            ),
            Chart(
                "99%",
                "",
                "Completion time (ms)",
                bars([f"p99_ms {group}" for group in hadoop.GROUPS]),
                bars=names,
            ),
            *_beside_papers(outcomes),
        ]


def _beside_papers(outcomes: Outcomes) -> list[Chart]:
    """Returns the factors that the paper has beside ours: ratios of means, each seed a dot."""
    others = [scheme for scheme in outcomes.among(COMPARED) if scheme != PCN]
    if PCN not in outcomes.values("scheme"):
        return []
    pause: list[BesidePaper] = []
    times: dict[str, list[BesidePaper]] = {group: [] for group in hadoop.GROUPS}

    def add(
        to: list[BesidePaper], name: str, number: str, above: str, below: str, paper: float
    ) -> None:
        keys = {"scheme": above}, {"scheme": below}
        mean = ratio(*(outcomes.mean(number, **pair) for pair in keys))
        if mean is not None:
            to.append((name, mean, outcomes.seed_ratios(number, *keys), paper))

    for scheme in others:
        if scheme in PREVENTED.paper:
            add(pause, label(scheme), "pause_per_s", PCN, scheme, 1 - PREVENTED[scheme])
        for claim, number, _ in FACTORS[scheme]:
            kind, _, group = number.partition("_ms ")
            name = label(scheme) if kind == "mean" else f"{label(scheme)}, {kind[1:]}%"
            add(times[group], name, number, scheme, PCN, claim[scheme])
    charts = [
        beside_paper("PAUSE frames, PCN's over theirs", "Times", pause),
        *(
            beside_paper(f"{_flows(group)}: completion time, theirs over PCN's", "Times", values)
            for group, values in times.items()
        ),
    ]
    return [chart for chart in charts if chart.bars]


def _busy(outcomes: Outcomes) -> list[Check]:
    """Returns what decides about H1's flows: how R1's link is shared, which shows more when it is
    busier."""
    left = ratio(outcomes.mean("pause_per_s", busy=PCN), outcomes.mean("pause_per_s", busy="dcqcn"))
    rows = [] if left is None else [prevented_row(f"S1 to R1 at {BUSY}: PCN", "dcqcn", 1 - left)]
    *_, (claim, number, times) = FACTORS["dcqcn"]
    slowest = outcomes.mean(number, busy="dcqcn")
    for scheme in (PCN, PCN_X):
        if slowest is not None and outcomes.where(busy=scheme):
            factor = ratio(slowest, outcomes.mean(number, busy=scheme))
            comparison = f"S1 to R1 at {BUSY}: DCQCN / {label(scheme)}, {times}"
            rows.append(factor_row(claim, "dcqcn", comparison, factor))
    for key, load in (("scheme", hadoop.LOAD), ("busy", BUSY)):
        for scheme in _BUSY_SCHEMES:
            if outcomes.where(**{key: scheme}):
                share = outcomes.mean("h1_of_fair", **{key: scheme})
                name = label(scheme)
                comparison = (
                    f"S1 to R1 at {load}: {name}, H1's rate over its flows' fair share, while "
                    "bursts last"
                )
                text = f"{comparison} (met: within 10%; trend: within a factor of 1.5)"
                rows.append(H1_MEAN.row(text, share, near(1.0, 0.1, 1.5), theory=1.0))
    return rows


def prevented_row(name: str, scheme: str, saved: float | None) -> Check:
    """Returns a row of checks. `saved`: how many of this scheme's PAUSE frames there aren't, as a
    share."""
    text = (
        f"{name}: share of {label(scheme)}'s PAUSE frames that it prevents (met: as many; trend: "
        "any)"
    )
    return PREVENTED.row(text, saved, at_least(PREVENTED[scheme], 0.0), scheme)


def factor_row(claim: Claim, scheme: str, comparison: str, measured: float | None) -> Check:
    """Returns both schemes' times, the other's over PCN's."""

    def band(measured: float | None) -> Verdict:
        verdict = at_least(0.8 * claim[scheme], 1.0)(measured)
        return "trend" if verdict == "met" and (measured or 0) > 2 * claim[scheme] else verdict

    return claim.row(f"{comparison} {_BANDS}", measured, band, scheme)


def _flows(group: str) -> str:
    return {"h0": "H0", "h1": "H1", "bursts": "H2 to H15"}[group]
