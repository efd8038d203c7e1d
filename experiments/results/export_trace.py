"""A run here as Chrome's trace events in JSON, which Perfetto and speedscope open.

A track for each class of a port that was PAUSEd, a counter for each queue, a track for each flow,
with phases of those that have series. Times are in us from the run's start, exact to a ps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.parts import completing
from pcn.experiments.results.judged_run import Result
from pcn.hosts.explain_log import SENDER_PARTS

_PORTS, _FLOWS = 1, 2
"""Processes of the trace."""
_PHASE_PS = 10_000_000
"""The shortest phase: of paced flows a frame and a gap take turns each microsecond."""
_ON_ITS_WAY = "last packet under way"


def trace(result: Result) -> Iterator[str]:
    yield '{"displayTimeUnit": "ns", "traceEvents": [\n'
    yield _line(_process("ports", _PORTS))
    yield f",{_line(_process('flows', _FLOWS))}"
    for event in (*_pauses(result), *_queues(result), *_flows(result)):
        yield f",{_line(event)}"
    yield "]}\n"


def _line(event: dict[str, Any]) -> str:
    """Returns an event as JSON; its times, whole ps, as numbers of us with all their digits."""
    times = {name: event.pop(name) for name in ("ts", "dur") if name in event}
    text = json.dumps(event, separators=(",", ":"))
    exact = "".join(
        f',"{name}":{ps // 1_000_000}.{ps % 1_000_000:06d}' for name, ps in times.items()
    )
    return f"{text[:-1]}{exact}}}\n"


def _span(
    name: str, process: int, track: int, begin_ps: int, end_ps: int, **arguments: Any
) -> dict[str, Any]:
    of = {
        "ph": "X",
        "name": name,
        "pid": process,
        "tid": track,
        "ts": begin_ps,
        "dur": end_ps - begin_ps,
    }
    return {**of, "args": arguments} if arguments else of


def _process(name: str, process: int) -> dict[str, Any]:
    return {"ph": "M", "name": "process_name", "pid": process, "args": {"name": name}}


def _track(name: str, process: int, track: int) -> dict[str, Any]:
    return {"ph": "M", "name": "thread_name", "pid": process, "tid": track, "args": {"name": name}}


def _end_ps(result: Result) -> int:
    return round((result.plan.duration_s - result.plan.start_s) * 1e12)


def _pauses(result: Result) -> Iterator[dict[str, Any]]:
    """Yields the spans in which a class of a port was PAUSEd; one that doesn't end goes on until
    the run's end."""
    events = result.recording.recorded.events
    if events is None:
        return
    kinds = _kinds()
    times_ps = np.rint((events.times_s - result.plan.start_s) * 1e12).astype(np.int64).tolist()
    tracks: dict[tuple[int, int], int] = {}
    since: dict[tuple[int, int], int] = {}
    for time_ps, port, number, kind in zip(times_ps, *_columns(events), strict=True):
        key = port, number
        if kinds[kind] == "paused":
            since.setdefault(key, time_ps)
            if key not in tracks:
                tracks[key] = len(tracks) + 1
                yield _track(f"{events.ports[port]} class {number}", _PORTS, tracks[key])
        elif kinds[kind] in ("resumed", "expired") and key in since:
            yield _span("PAUSEd", _PORTS, tracks[key], since.pop(key), time_ps)
    for key, begin_ps in since.items():
        yield _span("PAUSEd", _PORTS, tracks[key], begin_ps, max(begin_ps, _end_ps(result)))


def _kinds() -> Sequence[str]:
    from pcn.virtualnet.pfc_log import KINDS

    return KINDS


def _columns(events: Any) -> tuple[list[int], list[int], list[int]]:
    return events.which.tolist(), events.classes.tolist(), events.kinds.tolist()


def _queues(result: Result) -> Iterator[dict[str, Any]]:
    """Yields what waits at each port where something did, whenever it is another value than
    before."""
    queues = result.recording.recorded.queues
    if queues is None:
        return
    times_ps = np.rint((queues.times_s - result.plan.start_s) * 1e12).astype(np.int64)
    for place, port in enumerate(queues.ports):
        values = queues.values[:, place]
        if values.any():
            changes = np.flatnonzero(np.diff(values, prepend=-1.0))
            for time_ps, value in zip(
                times_ps[changes].tolist(), values[changes].tolist(), strict=True
            ):
                of = {"ph": "C", "name": f"{port} queue", "pid": _PORTS, "tid": 0, "ts": time_ps}
                yield {**of, "args": {"bytes": round(value)}}


def _flows(result: Result) -> Iterator[dict[str, Any]]:
    """Yields a span for each flow from its start to its arrival, or the run's end, with its parts;
    and its phases."""
    parts, logs = result.recording.recorded.parts, result.recording.recorded.logs
    if parts is None:
        return
    start_s = result.plan.start_s
    for place, (spec, flow) in enumerate(
        zip(result.plan.topology.flows, result.recording.flows, strict=True)
    ):
        fct_ps = int(parts.fct_ps[place])
        begin_ps = (
            int(parts.start_ps[place]) if fct_ps else max(round((flow.start_s - start_s) * 1e12), 0)
        )
        end_ps = begin_ps + fct_ps if fct_ps else max(begin_ps, _end_ps(result))
        name, track = f"flow {spec.id} {spec.src} > {spec.dst}", place + 1
        of = {
            f"{part}_ps": ps
            for part, ps in zip(parts.names, parts.parts_ps[place].tolist(), strict=True)
        }
        about = {"group": spec.group, "class": spec.traffic_class, "arrived": bool(fct_ps)}
        yield _track(name, _FLOWS, track)
        yield _span(name, _FLOWS, track, begin_ps, end_ps, **about, **(of if fct_ps else {}))
        sent = None if logs is None else logs.sent[logs.sent["flow"] == spec.id]
        if sent is None or not sent.size:
            continue
        last = completing(sent, parts.parts_ps[place]) if fct_ps else sent.size - 1
        for label, first_ps, until_ps, sums in phases(sent[: last + 1]):
            yield _span(label, _FLOWS, track, first_ps, until_ps, **sums)
        if fct_ps:
            way = {
                name: ps for name, ps in of.items() if name.removesuffix("_ps") not in SENDER_PARTS
            }
            yield _span(_ON_ITS_WAY, _FLOWS, track, int(sent["time_ps"][last]), end_ps, **way)


def phases(sent: NDArray[Any]) -> Iterator[tuple[str, int, int, dict[str, int]]]:
    """Yields what a sender spent its time on, from the flow's start until its last logged frame:
    the largest part of at least 10 us, begin and end, and the time of each part, NAME_ps, which sum
    to its length. Neighbours differ."""
    times = sent["time_ps"].astype(np.int64)
    totals = sent["parts_ps"].astype(np.int64)
    begin = int(times[0] - totals[0].sum())
    sums: list[tuple[int, int, NDArray[np.int64]]] = []
    before, start = np.zeros(totals.shape[1], np.int64), begin
    for place, time in enumerate(times.tolist()):
        if time - start < _PHASE_PS and place + 1 < times.size:
            continue
        gained = totals[place] - before
        if time > start:
            if sums and sums[-1][2].argmax() == gained.argmax():
                first, _, earlier = sums.pop()
                sums.append((first, time, earlier + gained))
            else:
                sums.append((start, time, gained))
        before, start = totals[place], time
    for first, until, of in sums:
        named = {f"{name}_ps": ps for name, ps in zip(SENDER_PARTS, of.tolist(), strict=True) if ps}
        yield SENDER_PARTS[int(of.argmax())], first, until, named
