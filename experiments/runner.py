"""From a scenario's name to a finished result directory."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import strftime

from pcn.base import owner_only
from pcn.controller.programs import Program
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.failures import Failures, IncompleteError
from pcn.experiments.data.parameters import Parameter, Value, lookup
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import PortRecord
from pcn.experiments.data.records import LogChoice, Records
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.experiment import check_seed
from pcn.experiments.page.write_run import write_run, write_together
from pcn.experiments.papers import find_scenario
from pcn.experiments.results.atomic_folder import left_out, result_directory
from pcn.experiments.results.judged_run import DEFAULT_TARGET, Result
from pcn.experiments.results.run_result import ResultFolder, RunResult, numbers
from pcn.experiments.run.execute import Live, Paced, execute
from pcn.experiments.run.progress import Logged, RunProgress, Watcher
from pcn.experiments.run.versions import digests, outside_files, provenance
from pcn.hosts import algorithms
from pcn.hosts.algorithms import Scheme, find_scheme
from pcn.p4src.manifest import stale
from pcn.topologies import extras

RESULTS = Path("results")
K = Parameter(
    "--dilation",
    "number",
    None,
    "how far live time is stretched",
    1.0,
    1e6,
    "chosen for this machine",
)
CLOCKS = ("live", "paced", "virtual")


def run(
    scenario: str,
    *,
    scheme: str | None = None,
    clock: str = "virtual",
    target: str = DEFAULT_TARGET,
    seed: int = 1,
    settings: Iterable[str] = (),
    k: float | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: RunProgress | None = None,
    pictures: bool = False,
    records: Records | None = None,
    export: str = "",
    watcher: Watcher | None = None,
) -> RunResult:
    """Runs a scenario, and returns its numbers and the folder that has them.

    `scheme` is one, or several with commas between; by default the scenario's own. Several run in
    turn, with the same seed, and the result has a folder for each and a report that puts them side
    by side. `clock` is `virtual`, which needs neither root nor Mininet and has neither k nor
    target; `paced`, virtual time that goes on with real time divided by k, and gives the same
    numbers; `live`; or `live,virtual`: each scheme then runs on both, and the report draws one run
    over the other and measures how far they agree. `settings` are `name=value`, for parameters of
    the scenario and its schemes, or `scheme.name=value`. `k` None: chosen for this machine, and
    again, larger, if the machine turns out not to carry it. `out` is the result's folder: what an
    earlier run left there is renamed NAME.1, .2 and so on. Without it each call makes a new folder
    below `results/runs`, which no other call writes or renames. `progress` shows how far the run is
    (`RunProgress`); None: lines for the logger `pcn.experiments`. `pictures`: PNG and SVG files of
    the charts beside the report, which draws them itself. `records`: what is recorded besides, in
    virtual time alone. `export` names a format for the results of another project: "hpcc".
    `watcher` sees runs in virtual time go on.

    Raises LabError, with nothing left behind. Of a run that was measured everything stays that
    could be made and that had room: IncompleteError, a LabError, names what couldn't, and the
    folder as `place`.
    """
    progress = progress or Logged()
    experiment = find_scenario(scenario)
    schemes = scheme_parameters.scheme_names(scheme or ",".join(experiment.schemes))
    clocks = _clocks(clock)
    if "live" not in clocks and target != DEFAULT_TARGET:
        raise ExperimentError(f"--target {target}: virtual time has the {DEFAULT_TARGET} alone")
    values = scheme_parameters.settings(experiment, schemes, settings)
    k = K.check(k)
    for name in schemes:
        _require_counters(find_scheme(name))
    check_seed(seed)
    plans = [experiment.plan(scheme, seed, values[scheme]) for scheme in schemes]
    if records or export:
        plans = [_recording(plan, records or Records(), export, clocks) for plan in plans]
    place = _own_place(experiment.name, schemes, clocks) if out is None else Path(out)
    if "live" in clocks:
        _require_starts(plans[0], target)
    elif clocks == ["virtual"] and k not in (None, 1.0):
        raise ExperimentError(f"--dilation {k:g}: virtual time isn't stretched; --clock paced is")
    runs = {
        "/".join([plan.scheme] * (len(plans) > 1) + [clock] * (len(clocks) > 1)): (plan, clock)
        for plan in plans
        for clock in clocks
    }
    failures, made_by = Failures(), provenance()
    files = {
        plan.scheme: digests([*experiment.files(), *outside_files(find_scheme(plan.scheme))])
        for plan in plans
    }
    if without := left_out(pictures):
        progress.note(without)
    pictures = pictures and extras.installed("figures")
    if old := stale(*(find_scheme(plan.scheme).program for plan in plans)):
        progress.note(old)
    for note in dict.fromkeys(note for plan in plans for note in plan.notes):
        progress.note(note)
    with result_directory(place, replaces=out is not None) as work:
        results: list[Result] = []
        folders: dict[tuple[str, str], ResultFolder] = {}
        for folder in runs:
            owner_only.make_folder(work / folder)
        for number, (folder, (plan, clock)) in enumerate(runs.items(), start=1):
            run_folder = work / folder
            if folder:
                progress.stage(f"{folder}, {number} of {len(runs)}")
            live = Live(target, k, run_folder / "logs") if clock == "live" else None
            on = live or (Paced(k) if clock == "paced" else None)
            plan, recording = execute(plan, progress, on, folder=run_folder, watcher=watcher)
            notes = [f"Older program: {old}."] * bool(old) + [
                f"{note[0].upper()}{note[1:]}." for note in plan.notes
            ]
            recording = replace(recording, notes=(*recording.notes, *notes))
            progress.stage("Figures and report")
            result = Result(
                experiment,
                plan,
                recording,
                clock,
                live.target if live else DEFAULT_TARGET,
                folder,
                failures.below(folder),
                made_by,
                files[plan.scheme],
            )
            if write_run(result, run_folder, pictures, export):
                results.append(result)
                folders[plan.scheme, clock] = ResultFolder(
                    place.absolute() / folder, numbers(run_folder)
                )
        if not results:
            raise ExperimentError(
                f"nothing could be written into {place}: {'; '.join(failures.lines())}"
            )
        if len(runs) > 1:
            write_together(results, work, failures, pictures)
            # before the folder has its name, by which others may find it
            whole = numbers(work)
        else:
            (whole,) = (dict(folder.summary) for folder in folders.values())
    if failures:
        raise IncompleteError(place, failures)
    return RunResult(place.absolute(), whole, folders)


def parameters(scenario: str, scheme: str | None = None) -> dict[Parameter, list[str]]:
    """Returns those that `settings` may give, of all schemes or of these, with commas between; each
    with the schemes that have it. Raises ExperimentError."""
    experiment = find_scenario(scenario)
    by_parameter: dict[Parameter, list[str]] = {}
    for name in scheme_parameters.scheme_names(scheme) if scheme else algorithms.schemes:
        for parameter in experiment.parameters(name):
            by_parameter.setdefault(parameter, []).append(name)
    return by_parameter


def in_effect(scenario: str, scheme: str | None = None) -> dict[str, Value]:
    """Returns what a run with no settings has, by parameter, of what follows from others; nothing
    where none is given that a run needs. Raises ExperimentError for a name that nothing has."""
    experiment = find_scenario(scenario)
    first = scheme_parameters.scheme_names(scheme or experiment.schemes[0])[0]
    try:
        values = experiment.plan(first, 1, {}).values
    except ExperimentError:
        return {}
    return {
        parameter.name: values.get(parameter.name)
        for parameter in experiment.parameters(first)
        if parameter.default is None
    }


def place_of(scenario: str, scheme: str | None, clock: str) -> Path:
    """Returns where the command puts a result: results/SCENARIO/SCHEME, without SCHEME for several.
    SCENARIO bears its clocks unless it is live alone (`dumbbell-virtual`): a virtual run never
    moves a live result. Raises LabError."""
    experiment = find_scenario(scenario)
    schemes, clocks = (
        scheme_parameters.scheme_names(scheme or ",".join(experiment.schemes)),
        _clocks(clock),
    )
    folder = RESULTS / _with_clocks(experiment.name, clocks)
    return folder if len(schemes) > 1 else folder / schemes[0]


def _own_place(scenario: str, schemes: Sequence[str], clocks: Sequence[str]) -> Path:
    """Returns a new folder's name. It isn't below the command's folders, which a later command
    renames."""
    names = [_with_clocks(scenario, clocks), *(schemes if len(schemes) == 1 else ())]
    return RESULTS / "runs" / "-".join([*names, strftime("%Y%m%d-%H%M%S"), secrets.token_hex(4)])


def _with_clocks(scenario: str, clocks: Sequence[str]) -> str:
    return scenario if list(clocks) == ["live"] else "-".join((scenario, *clocks))


def _clocks(text: str) -> list[str]:
    """Returns those of `text`, the live one first."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        lookup(name, dict.fromkeys(CLOCKS), "clock")
    return [clock for clock in CLOCKS if clock in names]


def _recording(plan: Plan, records: Records, export: str, clocks: Sequence[str]) -> Plan:
    """Returns the plan with what is recorded besides. Raises LabError."""
    if "live" in clocks:
        raise ExperimentError(
            "events, latency, queues of all ports, paths, series of flows, parts of their times, "
            "captures and files of --export need --clock virtual or paced"
        )
    if export:
        # only here, and there: it loads formats of topologies
        from pcn.experiments.results.export import (
            EXPLAINED,
            EXPORTS,
        )

        lookup(export, EXPORTS, "format to export")
        records = replace(
            records, events=True, queues_s=records.queues_s or plan.sampling.counters_s
        )
        if export in EXPLAINED:
            records = replace(records, explain=True, logs=LogChoice(causes=False, series=True))
    if records.events or records.queues_s or records.explain:
        extras.require("parquet")
    records.check(plan.topology)
    return replace(plan, records=records)


def _require_starts(plan: Plan, target: str) -> None:
    """Raises ExperimentError where no live network can start, for flows that start after others,
    which live hosts don't report to each other, for paths, which live switches choose, and for
    classes that repeat what is lost."""
    from pcn.lab import journal  # only here: a virtual run needs none of these
    from pcn.lab.launch import NetworkError
    from pcn.lab.preflight import require_startable
    from pcn.lab.target import target as find_target

    if plan.paths:
        raise ExperimentError("--paths: in virtual time alone; give --clock virtual")
    if plan.reliability:
        raise ExperimentError("--reliability: in virtual time alone; give --clock virtual")
    waits = [flow.id for flow in plan.topology.flows if flow.after]
    if waits:
        raise ExperimentError(
            f"flow {waits[0]} starts after others: in virtual time alone; give --clock virtual"
        )
    try:
        require_startable(plan.topology, find_target(target), journal.free_name(plan.topology.name))
    except (NetworkError, extras.MissingExtraError) as error:
        raise ExperimentError(f"{error}; --clock virtual runs without live networks") from None


def _require_counters(scheme: Scheme) -> None:
    """Before minutes are spent on a run that could not be read."""
    program = Program.find(scheme.program)
    there = {counter.alias for counter in program.schema.counters}
    for names in (("transmitted",), PortRecord.marks()):
        if not there.intersection(names):
            raise ExperimentError(
                f"{scheme.name}: program {program.name} has no counter {' or '.join(names)}, which "
                "experiments read by port and class: `counter<index_t>(N_INDEXES, "
                f"CounterType.packets_and_bytes) {names[0]};`"
            )
