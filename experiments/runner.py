"""From a scenario's name to a finished result directory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from controller.target import target as find_target
from experiments import agreement, calibrate, report, summary
from experiments.charts import Chart
from experiments.checks import Check
from experiments.errors import ExperimentError
from experiments.live import run_live
from experiments.output import result_directory
from experiments.pace import TooFastError
from experiments.parameters import Parameter, lookup, parse_assignments
from experiments.progress import RunProgress, Silent
from experiments.recording import Recording
from experiments.result import Result, by_scheme, judge
from experiments.scenarios import SCENARIOS, Plan, scheme_parameters
from experiments.virtual import run_virtual
from hosts.algorithms import SchemeError, find_scheme
from topologies.network import require_startable

RESULTS = Path("results")
K = Parameter("k", "number", None, "how far live time is stretched", 1.0, 1e6, "chosen for this machine")
CLOCKS = ("live", "virtual")
DEFAULT_TARGET = "softswitch"
_ATTEMPTS = 3


def run(
    scenario: str,
    *,
    scheme: str | None = None,
    clock: str = "live",
    target: str = DEFAULT_TARGET,
    seed: int = 1,
    settings: Iterable[str] = (),
    k: float | None = None,
    out: Path | None = None,
    progress: RunProgress | None = None,
) -> Path:
    """Runs a scenario and writes its result; the result's directory.

    `scheme` is one, or several with commas between; the scenario's own unless given. Several run in turn, with the same
    seed, and the result has a directory for each and a report that puts them side by side. `clock` is `live`, `virtual`
    or `live,virtual`: each scheme then runs on both, and the report draws one run over the other and says how far they
    agree. `settings` are `name=value`, for the scenario's parameters and `k`. `k` None: chosen for this machine, and
    again, larger, if the machine turns out not to carry it. `out` is results/SCENARIO/SCHEME unless given, or
    results/SCENARIO for several schemes; what is there already is kept beside it (see `experiments.output`). The clock
    `virtual` needs neither root nor Mininet, and has neither k nor target. Raises LabError, with nothing left behind.
    """
    progress = progress or Silent()
    made = lookup(scenario, SCENARIOS, "scenario")
    schemes = _schemes(scheme or made.default_scheme)
    clocks = _clocks(clock)
    if clocks == ["virtual"] and target != DEFAULT_TARGET:
        raise ExperimentError(f"--target {target}: virtual time has the {DEFAULT_TARGET} alone")
    switches = find_target(target)
    values = parse_assignments(settings, (*made.parameters, K))
    k = K.check(values.pop("k", k))
    scheme_parameters.check_given(values, schemes, made.parameters)
    plans = [made.plan(one, seed, scheme_parameters.given(one, values)) for one in schemes]
    place = out or (RESULTS / made.name if len(plans) > 1 else RESULTS / made.name / schemes[0])
    if "live" in clocks:
        require_startable(plans[0].topology, switches)
    elif k not in (None, 1.0):
        raise ExperimentError(f"k={k:g}: virtual time isn't stretched")
    runs = [(plan, clock) for plan in plans for clock in clocks]
    with result_directory(place) as work:
        results: list[Result] = []
        for plan, clock in runs:
            folder = "/".join([plan.scheme] * (len(plans) > 1) + [clock] * (len(clocks) > 1))
            own = work / folder
            if folder:
                progress.stage(f"{folder}, {len(results) + 1} of {len(runs)}")
                own.mkdir(parents=True)
            if clock == "live":
                recording = _record(plan, target, k, own / "logs", progress)
            else:
                recording = run_virtual(plan, progress)
            progress.stage("Figures and report")
            results.append(judge(made, plan, recording, clock, target if clock == "live" else DEFAULT_TARGET, folder))
            _write(results[-1], own)
        if len(results) > 1:
            _write_together(results, work)
    return place


def _clocks(text: str) -> list[str]:
    """Those of `text`, the live one first."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        lookup(name, dict.fromkeys(CLOCKS), "clock")
    return [clock for clock in CLOCKS if clock in names]


def _schemes(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        try:
            find_scheme(name)
        except SchemeError as error:
            raise ExperimentError(str(error)) from None
    return names


def _record(plan: Plan, target: str, k: float | None, logs: Path, progress: RunProgress) -> Recording:
    """The recording, with k as given or as this machine can carry."""
    if k is not None:
        return run_live(plan, target, k, logs, progress)
    progress.stage("Calibration: how fast is this machine now?")
    k = calibrate.choose(plan, target)
    for _ in range(_ATTEMPTS - 1):
        try:
            return run_live(plan, target, k, logs, progress)
        except TooFastError as error:
            progress.stage(f"Again with k={error.suggestion:g}: {error.who}")
            k = error.suggestion
    return run_live(plan, target, k, logs, progress)


def _write(result: Result, work: Path) -> None:
    (work / "summary.json").write_text(summary.dumps(summary.build(result)))
    result.recording.series.write(work / "series.parquet")
    _draw(result.charts, work)
    (work / "report.html").write_text(report.render([result]), encoding="utf-8")


def _write_together(results: Sequence[Result], work: Path) -> None:
    """What several runs have together; `work` has their directories already."""
    compared = _compare(results)
    for runs in by_scheme(results):
        if len(runs) > 1:
            _draw(agreement.charts(runs), (work / runs[0].folder).parent)
    (work / "summary.json").write_text(summary.dumps(summary.side_by_side(results, compared)))
    (work / "report.html").write_text(report.render(results, compared), encoding="utf-8")


def _compare(results: Sequence[Result]) -> list[Check]:
    """The clocks of each scheme, and the schemes on each clock."""
    found = [check for runs in by_scheme(results) if len(runs) > 1 for check in agreement.agreement(*runs)]
    clocks = dict.fromkeys(result.clock for result in results)
    for clock in clocks:
        own = [(result.plan, result.recording) for result in results if result.clock == clock]
        checks = results[0].scenario.compare(own)
        found += [replace(check, what=f"{clock}: {check.what}") for check in checks] if len(clocks) > 1 else checks
    return found


def _draw(charts: Iterable[Chart], work: Path) -> None:
    from experiments.pictures import picture  # only here: matplotlib takes as long to load as all the rest

    for chart in charts:
        (work / f"{chart.name}.png").write_bytes(picture(chart))
