"""From a scenario's name to a finished result directory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from controller.target import target as find_target
from experiments import calibrate, figures, report, summary
from experiments.analysis import steady_state
from experiments.errors import ExperimentError
from experiments.live import run_live
from experiments.output import result_directory
from experiments.pace import TooFastError
from experiments.parameters import Parameter, lookup, parse_assignments
from experiments.progress import RunProgress, Silent
from experiments.recording import Recording
from experiments.scenarios import SCENARIOS, Plan, Scenario
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
    scheme: str = "pcn",
    clock: str = "live",
    target: str = DEFAULT_TARGET,
    seed: int = 1,
    settings: Iterable[str] = (),
    k: float | None = None,
    out: Path | None = None,
    progress: RunProgress | None = None,
) -> Path:
    """Runs a scenario and writes its result; the result's directory.

    `settings` are `name=value`, for the scenario's parameters and `k`. `k` None: chosen for this machine,
    and again, larger, if the machine turns out not to carry it. `out` is results/SCENARIO/SCHEME unless given; what is
    there already is kept beside it (see `experiments.output`). The clock `virtual` needs neither root nor Mininet, and
    has no k. Raises LabError, with nothing left behind.
    """
    progress = progress or Silent()
    made = lookup(scenario, SCENARIOS, "scenario")
    try:
        find_scheme(scheme)
    except SchemeError as error:
        raise ExperimentError(str(error)) from None
    if clock not in CLOCKS:
        raise ExperimentError(f"no clock '{clock}'. There are: {', '.join(CLOCKS)}")
    if clock == "virtual" and target != DEFAULT_TARGET:
        raise ExperimentError(f"--target {target}: virtual time has the {DEFAULT_TARGET} alone")
    switches = find_target(target)
    values = parse_assignments(settings, (*made.parameters, K))
    k = K.check(values.pop("k", k))
    plan = made.plan(scheme, seed, values)
    place = out or RESULTS / plan.scenario / scheme
    if clock == "live":
        require_startable(plan.topology, switches)
    elif k not in (None, 1.0):
        raise ExperimentError(f"k={k:g}: virtual time isn't stretched")
    with result_directory(place) as work:
        if clock == "live":
            recording = _record(plan, target, k, work / "logs", progress)
        else:
            recording = run_virtual(plan, progress)
        progress.stage("Figures and report")
        _write(made, plan, recording, clock, target, work)
    return place


def _record(plan: Plan, target: str, k: float | None, logs: Path, progress: RunProgress) -> Recording:
    """The recording, with k as given or as this machine can carry."""
    if k is not None:
        return run_live(plan, target, k, logs, progress)
    progress.stage("Calibration: how fast is this machine now?")
    k = calibrate.choose(plan)
    for _ in range(_ATTEMPTS - 1):
        try:
            return run_live(plan, target, k, logs, progress)
        except TooFastError as error:
            progress.stage(f"Again with k={error.suggestion:g}: {error.who}")
            k = error.suggestion
    return run_live(plan, target, k, logs, progress)


def _write(scenario: Scenario, plan: Plan, recording: Recording, clock: str, target: str, work: Path) -> None:
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    checks = scenario.checks(plan, recording, steady)
    made = summary.build(plan, recording, steady, checks, clock, target)
    (work / "summary.json").write_text(summary.dumps(made))
    recording.series.write(work / "series.parquet")
    wide = figures.draw(plan, recording)
    for name, data in wide.items():
        (work / f"{name}.png").write_bytes(data)
    page = report.render(scenario, plan, recording, steady, checks, wide, clock, target)
    (work / "report.html").write_text(page, encoding="utf-8")
