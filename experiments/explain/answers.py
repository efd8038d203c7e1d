"""From a kept result to explanations of its flows, of a port or of a PAUSE: a run for packets and
causes, and one for the lines of the ports that these name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parts import Parts
from pcn.experiments.data.pauses import Pauses
from pcn.experiments.data.records import LogChoice, missing_flow
from pcn.experiments.explain.again import Again, Change, KeptResult
from pcn.experiments.explain.explanation import Explanation
from pcn.experiments.explain.flow import explain_flow, needed_lines
from pcn.experiments.explain.job import Job, explain_job
from pcn.experiments.explain.lines import Lines
from pcn.experiments.explain.marks import explain_marks
from pcn.experiments.explain.port import explain_pause, explain_port
from pcn.experiments.run.progress import RunProgress
from pcn.topologies.model import Endpoint, TopologyError

Span = tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """What was explained: `kind` is flow, port, pause, marks or job."""

    kind: str
    flows: tuple[Explanation, ...] = ()
    result: dict[str, Any] | None = None
    job: Job | None = None
    parts: Parts | None = None
    ids: tuple[int, ...] = ()
    """Of the flows of `parts`."""
    change: str = ""
    changed_ps: Mapping[int, int | None] = field(default_factory=dict)
    """The explained flows' completion times with the change; None: they didn't arrive."""

    def as_json(self) -> dict[str, Any]:
        if self.job is not None:
            return {self.kind: self.job.as_json()}
        if self.kind != "flow":
            return {self.kind: self.result}
        result: dict[str, Any] = {"flows": [item.as_json() for item in self.flows]}
        if self.change:
            result["instead"] = {"change": self.change, "fct_ps": dict(self.changed_ps)}
        return result


def of_flows(
    original: KeptResult, numbers: Sequence[int], span_s: Span | None, progress: RunProgress
) -> Answer:
    """Explains these flows; with `span_s` (nominal s of the run) what their senders did within it.
    Raises ExperimentError."""
    known = {flow.id for flow in original.plan.topology.flows}
    for number in numbers:
        if number not in known:
            raise ExperimentError(missing_flow(number, known))
    progress.stage("The run again: packets of these flows, and causes of PAUSEs")
    first = original.run(LogChoice(flows=tuple(numbers)), progress)
    span_ps = _in_ps(first, span_s)
    for number in numbers:
        _require_explained(first, number, span_s)
    pauses = Pauses(first.logs, _end_ps(first))
    ports, times = needed_lines(first, pauses, list(numbers), span_ps)
    progress.stage(f"The run again: {len(ports)} ports that these flows met")
    start_s = first.plan.start_s
    lives = LogChoice(
        tuple(numbers),
        tuple(first.logs.ports[port] for port in sorted(ports)),
        min(
            start_s + min(times) / 1e12,
            *(item.start_s for item in first.flows if item.id in numbers),
        ),
        start_s + max(times) / 1e12,
        marks=True,
    )
    second = original.run(lives, progress)
    lines = Lines(second.plan.topology, second.logs)
    result = tuple(explain_flow(second, lines, pauses, number, span_ps) for number in numbers)
    return Answer(
        "flow",
        result,
        parts=second.parts,
        ids=tuple(flow.id for flow in second.plan.topology.flows),
    )


def with_change(
    answer: Answer, original: KeptResult, change: Change, progress: RunProgress
) -> Answer:
    """Returns an answer about flows with what they take with a change. Raises ExperimentError."""
    if endless := [item.id for item in answer.flows if not item.complete]:
        raise ExperimentError(
            f"flow {endless[0]}: a change is seen in completion times, and it has none here"
        )
    progress.stage(f"The run with a change: {change}")
    times = original.changed(change, progress)
    if gone := [item.id for item in answer.flows if item.id not in times]:
        raise ExperimentError(f"flow {gone[0]} is among those that are left out")
    return replace(
        answer, change=str(change), changed_ps={item.id: times[item.id] for item in answer.flows}
    )


def of_port(
    original: KeptResult, port: Endpoint, span_s: Span | None, progress: RunProgress
) -> Answer:
    """Explains a port: whose frames it sent, and where its PAUSEs came from. Raises
    ExperimentError."""
    try:
        original.plan.topology.link_at(port.node, port.port)
    except TopologyError as error:
        raise ExperimentError(f"--at {port}: {error}") from None
    progress.stage(f"The run again: what {port} sent, and causes of PAUSEs")
    again = original.run(LogChoice(ports=(port,)), progress)
    end_ps = _end_ps(again)
    span_ps = _in_ps(again, span_s) or (0, end_ps)
    lines, pauses = Lines(again.plan.topology, again.logs), Pauses(again.logs, end_ps)
    return Answer(
        "port", result=explain_port(again, lines, pauses, again.logs.ports.index(port), span_ps)
    )


def of_marks(original: KeptResult, progress: RunProgress) -> Answer:
    """Explains why a run's packets have marks, or none. Raises ExperimentError."""
    progress.stage("The run again: why packets have marks, or none")
    return Answer(
        "marks", result=explain_marks(original.run(LogChoice(causes=False, marks=True), progress))
    )


def of_job(original: KeptResult, progress: RunProgress) -> Answer:
    """Explains the makespan of a run's longest job. Raises ExperimentError."""
    progress.stage("The run again: parts of all flows")
    again = original.run(LogChoice(causes=False), progress)
    return Answer(
        "job",
        job=explain_job(again),
        parts=again.parts,
        ids=tuple(flow.id for flow in again.plan.topology.flows),
    )


def of_pause(original: KeptResult, number: int, progress: RunProgress) -> Answer:
    """Explains the PAUSE of this number, from 0 in the order of time. Raises ExperimentError."""
    progress.stage("The run again: causes of PAUSEs")
    first = original.run(LogChoice(), progress)
    pauses = Pauses(first.logs, _end_ps(first))
    if not 0 <= number < len(pauses.all):
        there = (
            f"PAUSEs are numbered 0 to {len(pauses.all) - 1}, without frames that renew one"
            if pauses.all
            else "the run has none"
        )
        raise ExperimentError(f"no PAUSE {number}: {there}")
    pause = pauses.all[number]
    ports = tuple(first.logs.ports[item.port] for item in pause.waiting)
    progress.stage(f"The run again: {len(ports)} ports for which packets waited")
    second = original.run(LogChoice(ports=ports), progress)
    return Answer(
        "pause",
        result=explain_pause(second, Lines(second.plan.topology, second.logs), pauses, pause),
    )


def _end_ps(again: Again) -> int:
    return round((again.plan.duration_s - again.plan.start_s) * 1e12)


def _in_ps(again: Again, span_s: Span | None) -> tuple[int, int] | None:
    if span_s is None:
        return None
    begin, end = (max(time_s, again.plan.start_s) - again.plan.start_s for time_s in span_s)
    return round(begin * 1e12), _end_ps(again) if math.isinf(end) else round(end * 1e12)


def _require_explained(again: Again, number: int, span_s: Span | None) -> None:
    """Raises ExperimentError for a flow of which nothing is known."""
    sent = again.logs.sent["time_ps"][again.logs.sent["flow"] == number]
    span_ps = _in_ps(again, span_s) or (0, _end_ps(again))
    if int(((sent >= span_ps[0]) & (sent <= span_ps[1])).sum()) < (1 if span_s is None else 2):
        raise ExperimentError(
            f"flow {number} sent nothing{' in that time' if span_s else ''}: nothing is left to "
            "explain"
        )
