"""Fig. 20 and Table 3: realistic workloads in four strict priorities, the shortest flows first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, ratio
from pcn.experiments.papers.pcn.claims import COMPARED, PCN, PRIORITIES
from pcn.experiments.papers.pcn.figures.realistic import SIZES, WORKLOADS, numbers, realistic_plan

SEEDS = (1, 2, 3)
COUNTS = {"W1": 50_000, "W2": 20_000}
SILENT = "choices.md#pause-in-the-lowest-of-several-classes"
_ENOUGH = ("S", "M")
"""Sizes whose priorities keep them from waiting."""


class Fig20(Experiment):
    name = "fig20"
    title = "Four priorities, the shortest flows first"
    draws = DRAWN_FLOWS
    source = "B.4, Fig. 20 and Table 3"
    schemes = COMPARED
    about = (
        "Section 7.4's network: 512 hosts, load 0.6, in-casts of 1 to 15 senders, 50,000 flows of "
        "W1 and 20,000 of W2 until all have arrived. Flows up to 10 KB (S) are in the highest of "
        "four lossless classes, then those up to 100 KB (M), up to 1 MB (L), and longer ones (XL); "
        "switches serve classes by strict priority, NICs their flows round robin. Means over 3 "
        "seeds. The paper gives Table 3 for W1, of whose bytes XL has 7%, but it has its PAUSE in "
        "XL: that is what W2's are like."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for index, workload in enumerate(WORKLOADS):
            for scheme in schemes:
                for seed in SEEDS:
                    named: dict[str, Key] = {
                        "workload": workload.name,
                        "scheme": scheme,
                        "seed": seed,
                    }
                    yield Run(named, scheme, seed, {"workload": index})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        workload = WORKLOADS[round(values["workload"] or 0)]
        count = round(values.get("count") or COUNTS[workload.name])
        return realistic_plan(self.name, scheme, seed, workload, count, by_priority=True)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, numbers(recording))

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for workload in map(str, outcomes.values("workload")):

            def mean(number: str, scheme: str, workload: str = workload) -> float | None:
                return outcomes.mean(number, workload=workload, scheme=scheme)

            present = outcomes.among(self.schemes)
            for kind in _ENOUGH:
                counts = [mean(f"pause {kind}", scheme) for scheme in present]
                known = [count for count in counts if count is not None]
                text = f"{workload}: PAUSE frames in {kind}'s class, the most of a scheme"
                rows.append(
                    PRIORITIES.row(
                        text, max(known, default=None), at_most(0), paper=0.0, unit="frames"
                    )
                )
            times = [
                mean_ms for scheme in present if (mean_ms := mean("mean_ms S", scheme)) is not None
            ]
            text = (
                f"{workload}: S's mean completion time, largest over least of a scheme (met: 1.01; "
                "trend: 1.1)"
            )
            rows.append(
                PRIORITIES.row(
                    text, ratio(max(times), min(times)) if times else None, at_most(1.01, 1.1)
                )
            )
            for baseline in (
                scheme for scheme in present if scheme not in (PCN, "qcn") and PCN in present
            ):
                text = (
                    f"{workload}: PAUSE frames in L's and XL's classes, {label(baseline)} over PCN "
                    "(met: above 1)"
                )
                rows.append(
                    PRIORITIES.row(
                        text,
                        ratio(_low(mean, baseline), _low(mean, PCN)),
                        at_least(1.0),
                        known=SILENT,
                    )
                )
            for baseline in (scheme for scheme in present if scheme != PCN and PCN in present):
                for number, name in (("mean_ms all", "mean"), ("p99_ms all", "99%")):
                    text = (
                        f"{workload}: {name} completion time, {label(baseline)} over PCN (met: "
                        "above 1)"
                    )
                    rows.append(
                        PRIORITIES.row(
                            text, ratio(mean(number, baseline), mean(number, PCN)), at_least(1.0)
                        )
                    )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for workload in map(str, outcomes.values("workload")):
            texts = [
                f"{label(scheme)} "
                + " / ".join(
                    _count(outcomes.mean(f"pause {kind}", workload=workload, scheme=scheme))
                    for kind in SIZES
                )
                for scheme in outcomes.among(self.schemes)
            ]
            lines.append(f"{workload}: PAUSE frames of S / M / L / XL, a run: {'; '.join(texts)}.")
        return lines

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for workload in map(str, outcomes.values("workload")):
            for number, name in (("mean_ms", "Mean"), ("p99_ms", "99%")):
                lines = []
                for scheme in outcomes.among(self.schemes):
                    means = [
                        outcomes.mean(f"{number} {kind}", workload=workload, scheme=scheme)
                        for kind in SIZES
                    ]
                    known = [(x, y) for x, y in enumerate(means) if y is not None]
                    lines.append(
                        curve(label(scheme), [x for x, _ in known], [y for _, y in known], scheme)
                    )
                title = f"{workload}: {name.lower()} completion time"
                charts.append(
                    Chart(
                        title,
                        "Size",
                        "Time (ms)",
                        lines,
                        bars=SIZES,
                        columns=2,
                        log_y=True,
                        bottom=0.01,
                    )
                )
        return charts


def _count(frames: float | None) -> str:
    return "–" if frames is None else f"{frames:,.0f}"


def _low(mean: Callable[[str, str], float | None], scheme: str) -> float | None:
    """Returns PAUSE frames of the two lower priorities."""
    counts = [mean(f"pause {kind}", scheme) for kind in SIZES if kind not in _ENOUGH]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
