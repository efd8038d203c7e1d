"""The run of a kept result, once more and with logs. It has the same digest, or it is refused."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.marks import by_np_ecn
from pcn.experiments.data.parts import Logs, Parts
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import FlowRecord
from pcn.experiments.data.records import FlowChoice, LogChoice, Records
from pcn.experiments.data.series import Series
from pcn.experiments.data.stored_values import reading, stored_json
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.recording_numbers import EmptyPaths
from pcn.experiments.define.scheme_parameters import SET
from pcn.experiments.papers import find_experiment
from pcn.experiments.results.atomic_folder import SUMMARY
from pcn.experiments.run.progress import RunProgress
from pcn.experiments.run.versions import digests
from pcn.experiments.run.virtual import run_virtual
from pcn.hosts.algorithms import SchemeError, find_scheme
from pcn.topologies import python_file
from pcn.topologies.model import Endpoint, Topology, TopologyError

NAMES = (
    "reference",
    "scheme",
    "scheme_reference",
    "seed",
    "parameters",
    "digest",
    "files",
    "clock",
    "provenance",
)
"""Of summary.json, that a run follows from."""
_NAMED = 5
"""Runs of a folder that an error names."""
_CODE = "the result names this file of code: --allow-code runs it, if you trust the result's author"


@dataclass(frozen=True)
class Change:
    """Of a run, to see what it would bring: links with other rates, by one of their ports; flows
    left out, by number or group; another scheme, by its rules."""

    rates_bps: Mapping[Endpoint, float] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    scheme: str = ""

    def __bool__(self) -> bool:
        return self != Change()

    def __str__(self) -> str:
        rates = ", ".join(
            f"{port} at {rate / 1e9:g} Gbit/s" for port, rate in self.rates_bps.items()
        )
        names = ", ".join(f"flow {name}" if name.isdecimal() else name for name in self.without)
        return " and ".join(
            [
                *[f"with {rates}"] * bool(rates),
                *[f"without {names}"] * bool(names),
                *[f"with the scheme {self.scheme}"] * bool(self.scheme),
            ]
        )

    def of(self, topology: Topology) -> Topology:
        """Returns the topology with it. Raises ExperimentError for a port, a flow or a group that
        is missing."""
        links = list(topology.links)
        for port, rate_bps in self.rates_bps.items():
            result = [place for place, link in enumerate(links) if port in (link.a, link.b)]
            if not result:
                raise ExperimentError(f"--what-if {port}: no such port")
            links[result[0]] = replace(links[result[0]], rate_bps=rate_bps)
        names = {str(flow.id) for flow in topology.flows} | {flow.group for flow in topology.flows}
        for name in self.without:
            if name not in names:
                raise ExperimentError(f"--without-flows {name}: no such flow or group")
        flows = tuple(
            flow for flow in topology.flows if not {str(flow.id), flow.group} & set(self.without)
        )
        if not flows:
            raise ExperimentError(f"--without-flows {','.join(self.without)}: no flow is left")
        try:
            return replace(topology, links=tuple(links), flows=flows)
        except TopologyError as error:
            raise ExperimentError(f"{self}: {error}") from None


@dataclass(frozen=True)
class Again:
    """What a run gave. Times of `logs` are in ps from `plan.start_s`. `marks`: switches marked
    packets."""

    plan: Plan
    flows: tuple[FlowRecord, ...]
    parts: Parts
    logs: Logs
    series: Series
    marks: bool

    @cached_property
    def empty_paths(self) -> EmptyPaths:
        """The paths in the empty network, by which a flow's least time counts."""
        return EmptyPaths.of(self.plan)

    @property
    def np_ecn(self) -> bool:
        """Returns whether switches mark by NP-ECN."""
        return by_np_ecn(self.plan.scheme)

    @property
    def zero_ps(self) -> int:
        """Returns the time 0 of the plan in the logs' time."""
        return round(-self.plan.start_s * 1e12)


class KeptResult:
    """A result that a folder keeps. Raises ExperimentError where its run can't be repeated.

    A result may be another user's: the files of code that it names, schemes and topologies, run
    with `allow_code` alone.
    """

    def __init__(self, place: Path, allow_code: bool = False) -> None:
        if not (place / SUMMARY).is_file():
            runs = [path.parent for path in place.glob(f"*/{SUMMARY}")]
            place = runs[0] if len(runs) == 1 else place
        self.place = place
        """Of the run: a folder that holds one run stands for it."""
        summary = _summary(place)
        try:
            self.digest = str(summary["digest"])
            self._commit = str(summary["provenance"].get("commit", "unknown"))[:12]
            self._summary = summary
            with contextlib.nullcontext() if allow_code else python_file.refused(_CODE):
                self.plan = _plan(summary)
        except (SchemeError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ExperimentError(f"{place / SUMMARY}: {' '.join(str(error).split())}") from error

    def run(self, logs: LogChoice, progress: RunProgress) -> Again:
        """Runs it again with these logs. Raises ExperimentError where it has another digest."""
        records = Records(explain=True, logs=logs, flows=FlowChoice(ids=logs.flows))
        plan = replace(self.plan, records=records)
        recording = run_virtual(plan, progress)
        if recording.digest != self.digest:
            raise ExperimentError(
                f"{self.place}: the run again has another digest ({recording.digest}, not "
                f"{self.digest}): it was made by another version of PCN Lab, commit "
                f"{self._commit}; run it again, then explain that"
            )
        parts, logged = recording.recorded.parts, recording.recorded.logs
        assert parts is not None
        assert logged is not None
        marks = any(port.marked for port in recording.ports.values())
        plan = replace(plan, duration_s=recording.duration_s)
        return Again(plan, recording.flows, parts, logged, recording.series, marks)

    def changed(self, change: Change, progress: RunProgress) -> dict[int, int | None]:
        """Runs it with a change. Returns the completion times of its flows in ps, by number; None:
        it didn't arrive."""
        base = self.with_scheme(change.scheme) if change.scheme else self.plan
        plan = replace(base, topology=change.of(base.topology), records=Records(explain=True))
        parts = run_virtual(plan, progress).recorded.parts
        assert parts is not None
        times = zip(plan.topology.flows, parts.fct_ps.tolist(), strict=True)
        return {flow.id: fct_ps or None for flow, fct_ps in times}

    def with_scheme(self, reference: str) -> Plan:
        """Returns the plan of the same network and flows with another scheme, whose parameters are
        those of its rules. Raises ExperimentError where they don't go together."""
        try:
            return _plan({**self._summary, "scheme_reference": reference}, self._summary["rules"])
        except (SchemeError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ExperimentError(
                f"--scheme {reference}: {' '.join(str(error).split())}"
            ) from error

    def slowest(self, n: int, progress: RunProgress) -> tuple[int, ...]:
        """Returns the numbers of the flows with the largest slowdowns, of those that have arrived;
        where none has, of those that were under way for longest."""
        numbers = self._of_table(n)
        if numbers is not None:
            return numbers
        recording = run_virtual(self.plan, progress)
        arrived = {flow.id for flow in recording.flows if flow.fct_s is not None}
        ordered = recording_numbers.slowest(self.plan, recording.flows, len(recording.flows))
        return tuple(number for number in ordered if number in arrived or not arrived)[:n]

    def _of_table(self, n: int) -> tuple[int, ...] | None:
        """Returns them by flows.parquet; None where that has no slowdown."""
        from pcn.topologies import extras

        file = self.place / "flows.parquet"
        if not file.is_file() or not extras.installed("parquet"):
            return None
        from pcn.experiments.data import parquet

        try:
            table = parquet.read_of_others(
                file, ("slowdown", "start_s", "id"), len(self.plan.topology.flows)
            )
            rows = zip(table["slowdown"], table["start_s"], table["id"], strict=True)
            ordered = sorted(
                (-slowdown, start_s, number)
                for slowdown, start_s, number in rows
                if slowdown is not None
            )
        except (LookupError, ValueError, TypeError):
            return None
        known = {flow.id for flow in self.plan.topology.flows}
        return tuple(number for _, _, number in ordered if number in known)[:n] or None


def _plan(summary: Mapping[str, Any], left_out: Container[str] = ()) -> Plan:
    """Returns the plan of the run that a summary is of, without some of its parameters."""
    scheme = find_scheme(summary["scheme_reference"])
    experiment = find_experiment(summary["reference"])
    declared = {item.name for item in experiment.parameters(scheme.name)}
    # what the scheme's rules gave, they give again: to each port its own, and numbers as well that
    # a user couldn't set, as they aren't whole
    declared -= {name for name, of in summary.get("rules", {}).items() if of["rule"] != SET.text}
    values = {
        name: value
        for name, value in summary["parameters"].items()
        if name in declared and value is not None and name not in left_out
    }
    return experiment.plan(scheme.name, summary["seed"], values)


def _summary(place: Path) -> Mapping[str, Any]:
    """Returns the summary of a run that can be repeated."""
    if not (place / SUMMARY).is_file():
        runs = sorted(path.parent for path in place.glob(f"*/{SUMMARY}"))
        among = f"name the run: {', '.join(map(str, runs[:_NAMED]))}"
        if len(runs) > _NAMED:
            among += f", or {len(runs) - _NAMED} more"
        raise ExperimentError(
            f"{place} has no {SUMMARY}: "
            + (among if runs else "name the folder of one run, of `pcn run --clock virtual`")
        )
    with reading(place / SUMMARY):
        summary: Mapping[str, Any] = stored_json(place / SUMMARY)
        clock, missing = summary["clock"], [name for name in NAMES if name not in summary]
        files = {
            str(Path(name).absolute()): digest
            for name, digest in dict(summary.get("files", {})).items()
        }
    if clock not in ("virtual", "paced"):
        raise ExperimentError(
            f"{place} is of a {clock} run: runs in virtual time alone can be repeated and explained"
        )
    if missing:
        raise ExperimentError(
            f"{place} is of an older version, which kept no {', '.join(missing)}: run it again, "
            "then explain that"
        )
    for path, digest in digests(map(Path, files)).items():
        if digest != files[path]:
            now = "is missing" if not digest else "has changed"
            raise ExperimentError(
                f"{path}, which {place} was made of, {now}: bring it back, or run the experiment "
                "again"
            )
    return summary
