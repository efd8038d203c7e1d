"""A finished run with all that was made of it: what the summary, the pictures and the report
show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby

from pcn.experiments.data.failures import Failures
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import Steady, steady_state
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check
from pcn.experiments.define.draws import draws
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome

DEFAULT_TARGET = "softswitch"
"""What virtual time has, too."""


@dataclass(frozen=True)
class Result:
    """One scheme's run. It is judged when it is made; what of that fails is in `failures`."""

    experiment: Experiment
    plan: Plan
    recording: Recording
    clock: str = "virtual"
    target: str = DEFAULT_TARGET
    folder: str = ""
    """Where it is below the directory of several runs, by what distinguishes them: `pcn`, `live`,
    `pcn/live`."""
    failures: Failures = field(default_factory=Failures)
    """What of it couldn't be made."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """As `pcn.experiments.run.versions.provenance` has it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """From outside the project, that it was made of: hashes by path."""

    def __post_init__(self) -> None:
        # now: the summary, which is written first, has what is missing of the pages
        _ = self.charts, self.checks, self.outcome

    @property
    def run(self) -> Run:
        """The run as a sweep declares it, with a scenario's arguments filled in by its plan."""
        plan = self.plan
        return Run({"scheme": plan.scheme, "seed": plan.seed}, plan.scheme, plan.seed)

    @cached_property
    def steady(self) -> Steady:
        plan = self.plan
        return steady_state(self.recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)

    @cached_property
    def charts(self) -> tuple[Chart, ...]:
        drawn = (
            self.failures.attempt(
                f"chart {chart.__name__}", partial(chart, self.plan, self.recording)
            )
            for chart in (self.experiment.page.charts if self.experiment.page else ())
        )
        return tuple(chart for chart in drawn if chart)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        settled = partial(self.experiment.settled, self.plan, self.recording)
        return tuple(self.failures.attempt("checks", settled) or ())

    @cached_property
    def outcome(self) -> Outcome:
        measure = partial(self.experiment.measure, self.run, self.plan, self.recording)
        return self.failures.attempt("measures", measure) or Outcome(self.run.keys, {})

    @cached_property
    def decided(self) -> str:
        """What the seed decides."""
        return draws(self.experiment, self.run, self.plan)

    @property
    def name(self) -> str:
        """The scheme's, as a report has it."""
        return label(self.plan.scheme)


def by_scheme(results: Sequence[Result]) -> list[tuple[Result, ...]]:
    """Returns the runs of each scheme: one, or one by clock."""
    return [tuple(runs) for _, runs in groupby(results, lambda result: result.plan.scheme)]
