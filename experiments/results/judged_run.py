"""A finished run with all that was made of it: what the summary, the pictures and the report
show."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Result:
    """One scheme's run."""

    experiment: Experiment
    plan: Plan
    recording: Recording
    clock: str
    target: str
    steady: Steady
    checks: tuple[Check, ...]
    charts: tuple[Chart, ...]
    outcome: Outcome
    folder: str = ""
    """Where it is below the directory of several runs, by what distinguishes them: `pcn`, `live`,
    `pcn/live`."""
    failures: Failures = field(default_factory=Failures)
    """What of it couldn't be made."""
    provenance: Mapping[str, str] = field(default_factory=dict)
    """As `pcn.experiments.run.versions.provenance` has it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """From outside the project, that it was made of: hashes by path."""

    @property
    def decided(self) -> str:
        """What the seed decides."""
        return draws(self.experiment, Run({}, self.plan.scheme, self.plan.seed), self.plan)

    @property
    def name(self) -> str:
        """The scheme's, as a report has it."""
        return label(self.plan.scheme)


def judge(
    experiment: Experiment,
    plan: Plan,
    recording: Recording,
    clock: str,
    target: str,
    folder: str = "",
    failures: Failures | None = None,
    provenance: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> Result:
    """Checks and charts of a recording. What of it fails is noted in `failures`."""
    run_failures = (Failures() if failures is None else failures).below(folder)
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    run = Run({"scheme": plan.scheme, "seed": plan.seed}, plan.scheme, plan.seed)
    charts = experiment.page.charts if experiment.page else ()
    drawn = [
        run_failures.attempt(f"chart {chart.__name__}", functools.partial(chart, plan, recording))
        for chart in charts
    ]
    return Result(
        experiment=experiment,
        plan=plan,
        recording=recording,
        clock=clock,
        target=target,
        steady=steady,
        checks=tuple(
            run_failures.attempt("checks", lambda: experiment.settled(plan, recording)) or ()
        ),
        charts=tuple(chart for chart in drawn if chart),
        outcome=run_failures.attempt("measures", lambda: experiment.measure(run, plan, recording))
        or Outcome(run.keys, {}),
        folder=folder,
        failures=run_failures,
        provenance=provenance or {},
        files=files or {},
    )


def by_scheme(results: Sequence[Result]) -> list[tuple[Result, ...]]:
    """Returns the runs of each scheme: one, or one by clock."""
    return [tuple(runs) for _, runs in groupby(results, lambda result: result.plan.scheme)]
