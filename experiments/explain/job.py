"""A job: flows that wait for each other, as those of a collective operation, and what its makespan
went to.

From its last arrival back: each flow of the chain began when the one before it had arrived, and a
time had passed that the flow waits besides. So their parts and these times sum to the makespan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.explain.again import Again
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.times import picoseconds


@dataclass(frozen=True)
class ChainFlow:
    """Of a chain, in order. `between_ps`: from the arrival of the flow before, or from the job's
    begin, to its start; `parts_ps` sum to `time_ps`, its completion time."""

    id: int
    src: str
    dst: str
    size_bytes: int
    between_ps: int
    time_ps: int
    parts_ps: Mapping[str, int]


@dataclass(frozen=True)
class Job:
    """`jobs`: how many the run has, of which this one takes longest. `parts_ps`: sums of the
    chain's, and `between`; they sum to `time_ps`, from the start of its first flow to its last
    arrival."""

    jobs: int
    flows: int
    from_ps: int
    time_ps: int
    parts_ps: Mapping[str, int]
    chain: Sequence[ChainFlow]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def explain_job(again: Again) -> Job:
    """Returns what the makespan of a run's longest job went to. Raises ExperimentError where no
    flow waits for others, or where one of the job hasn't arrived."""
    flows, parts = again.plan.topology.flows, again.parts
    starts, times = parts.start_ps.tolist(), parts.fct_ps.tolist()
    place = {flow.id: number for number, flow in enumerate(flows)}
    jobs = _jobs(flows)
    if not jobs:
        raise ExperimentError(
            "no flow waits for others: --job is for collective operations, and flows with `after`"
        )
    for number in (place[flow.id] for job in jobs for flow in job):
        if not times[number]:
            raise ExperimentError(
                f"flow {flows[number].id} hadn't arrived when the run ended: its job has no "
                "makespan"
            )

    def end_ps(flow: FlowSpec) -> int:
        return int(starts[place[flow.id]] + times[place[flow.id]])

    def begin_ps(job: Sequence[FlowSpec]) -> int:
        return int(min(starts[place[flow.id]] for flow in job))

    job = max(jobs, key=lambda job: max(map(end_ps, job)) - begin_ps(job))
    begin, flow = begin_ps(job), max(job, key=end_ps)
    total_ps, chain = end_ps(flow) - begin, []
    before: FlowSpec | None = flow
    while before is not None:
        flow, number = before, place[before.id]
        before = max(
            (flows[place[id_]] for id_ in flow.after),
            # A last acknowledgement comes at a time of its own: what starts the flow exactly wins.
            key=lambda earlier: (
                end_ps(earlier) + _delay_ps(flow, earlier.id) == starts[number],
                earlier.id in flow.acknowledged,
                end_ps(earlier) + _delay_ps(flow, earlier.id),
            ),
            default=None,
        )
        if (
            before is not None
            and end_ps(before) + _delay_ps(flow, before.id) < starts[number]
            and before.id not in flow.acknowledged
        ):
            before = None  # its own time came later
        of = dict(zip(parts.names, parts.parts_ps[number].tolist(), strict=True))
        between = int(starts[number]) - (begin if before is None else end_ps(before))
        size = round(flow.size_bytes or 0)
        chain.append(ChainFlow(flow.id, flow.src, flow.dst, size, between, times[number], of))
    chain.reverse()
    sums = {"between": sum(item.between_ps for item in chain)}
    sums |= {name: sum(item.parts_ps[name] for item in chain) for name in parts.names}
    return Job(len(jobs), len(job), begin - again.zero_ps, total_ps, sums, chain)


def _delay_ps(flow: FlowSpec, earlier: int) -> int:
    """Returns how long after an earlier one's arrival a flow starts, as far as it waits for that
    one."""
    return picoseconds(flow.after_s[flow.after.index(earlier)] if flow.after_s else flow.start_s)


def _jobs(flows: Sequence[FlowSpec]) -> list[list[FlowSpec]]:
    """Returns the flows that wait for each other, directly or not, job by job."""
    job_of = {flow.id: flow.id for flow in flows}

    def first(number: int) -> int:
        while job_of[number] != number:
            job_of[number] = job_of[job_of[number]]
            number = job_of[number]
        return number

    for flow in flows:
        for earlier in flow.after:
            job_of[first(flow.id)] = first(earlier)
    jobs: dict[int, list[FlowSpec]] = {}
    for flow in flows:
        jobs.setdefault(first(flow.id), []).append(flow)
    return [job for job in jobs.values() if len(job) > 1]


def slowest(job: Job, n: int) -> Iterator[ChainFlow]:
    """Yields the chain's flows with the longest completion times."""
    yield from sorted(job.chain, key=lambda item: -item.time_ps)[:n]
