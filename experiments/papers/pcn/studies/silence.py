"""PCN-X's fifth rule: what it changes that an RP that gets no CNP slows down
(docs/notebook/priorities.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_most, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, number_text, ratio
from pcn.experiments.papers.pcn.claims import PCN, PCN_X
from pcn.experiments.papers.pcn.figures.fig20 import COUNTS
from pcn.experiments.papers.pcn.figures.realistic import WORKLOADS, numbers, realistic_plan

SEEDS = (1, 2, 3)
CLASSES = {"one class": False, "four": True}
PERIODS = 2
"""Without a CNP: the first one comes an RTT and a period after a flow's start, T is the largest
RTT."""
_KINDS = ((PCN, None), (PCN_X, 0), (PCN_X, PERIODS))


class Silence(Experiment):
    name = "silence"
    title = "PCN-X: an RP that gets no CNP slows down"
    draws = DRAWN_FLOWS
    source = "a study of ours"
    schemes = (PCN, PCN_X)
    about = (
        "Section 7.4's network, load 0.6, in-casts, 50,000 flows of W1 and 20,000 of W2 until all "
        "have arrived, in one class and in Table 3's four. An NP with no packets sends no CNP, so "
        "a flow that a higher class, or a queue, holds up goes on at its rate. PCN-X with "
        "`silence` = 2 halves its rate after two periods without a CNP, and again after each "
        "further one; the next CNP is about the rate before ([the trace](notebook/priorities.md)). "
        "Means over 3 seeds."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for index, workload in enumerate(WORKLOADS):
            for classes in CLASSES:
                for scheme, silence in _KINDS:
                    if scheme not in schemes:
                        continue
                    for seed in SEEDS:
                        keys: dict[str, Key] = {
                            "workload": workload.name,
                            "classes": classes,
                            "scheme": scheme,
                        }
                        values: dict[str, Value] = {
                            "workload": index,
                            "four": float(CLASSES[classes]),
                        }
                        if silence is not None:
                            keys["silence"] = values["silence"] = silence
                        yield Run({**keys, "seed": seed}, scheme, seed, values)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        workload = WORKLOADS[round(values["workload"] or 0)]
        count = round(values.get("count") or COUNTS[workload.name])
        more = {"silence": float(values["silence"] or 0)} if "silence" in values else {}
        return realistic_plan(
            self.name, scheme, seed, workload, count, bool(values["four"]), **more
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, numbers(recording))

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for where, keys in _places(outcomes):
            for number, quantity, most in (
                ("pause", "PAUSE frames", 0.05),
                ("mean_ms all", "mean completion time", 1.02),
                ("p99_ms all", "99% completion time", 1.02),
                ("mean_ms S", "S's mean completion time", 1.02),
            ):
                off, on = (
                    outcomes.mean(number, scheme=PCN_X, silence=silence, **keys)
                    for silence in (0, PERIODS)
                )
                text = (
                    f"{where}: {quantity} with silence = {PERIODS} over those without (met: at "
                    f"most {most:g})"
                )
                rows.append(row("", text, ratio(on, off), at_most(most)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for where, keys in _places(outcomes):
            texts = []
            for scheme, silence in _KINDS:
                of = {**_keys(scheme, silence), **keys}
                formatted = (
                    number_text(outcomes.mean(number, **of), "", 5 if number == "pause" else 3)
                    for number in ("pause", "mean_ms all", "p99_ms all", "mean_ms S")
                )
                texts.append(f"{_label(scheme, silence)} {' / '.join(formatted)}")
            lines.append(
                f"{where}: PAUSE frames / mean / 99% / S's mean completion time (ms): "
                f"{', '.join(texts)}."
            )
        return lines

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        places = _places(outcomes)
        charts = []
        for number, title, unit, log in (
            ("pause", "PAUSE", "Frames", True),
            ("mean_ms all", "Mean", "Completion time (ms)", False),
            ("p99_ms all", "99%", "Completion time (ms)", False),
        ):
            lines = []
            for scheme, silence in _KINDS:
                of = _keys(scheme, silence)
                seeds = [outcomes.by_run(number, **of, **keys) for _, keys in places]
                known = [(x, values) for x, values in enumerate(seeds) if values]
                lines.append(
                    curve(
                        _label(scheme, silence),
                        [x for x, _ in known],
                        [sum(values) / len(values) for _, values in known],
                        "" if silence else scheme,
                        seeds=[values for _, values in known],
                    )
                )
            names = [where for where, _ in places]
            charts.append(
                Chart(
                    title,
                    "",
                    unit,
                    lines,
                    bars=names,
                    columns=3,
                    log_y=log,
                    bottom=1.0 if log else 0.0,
                )
            )
        return charts


def _keys(scheme: str, silence: int | None) -> dict[str, Key]:
    return {"scheme": scheme} if silence is None else {"scheme": scheme, "silence": silence}


def _label(scheme: str, silence: int | None) -> str:
    return f"{label(scheme)}, silence = {silence}" if silence else label(scheme)


def _places(outcomes: Outcomes) -> list[tuple[str, dict[str, Key]]]:
    """Returns the workloads and classes that were run."""
    return [
        (f"{workload}, {classes}", {"workload": workload, "classes": classes})
        for workload in outcomes.values("workload")
        for classes in outcomes.values("classes")
        if outcomes.where(workload=workload, classes=classes)
    ]
