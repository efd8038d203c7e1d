"""A collective operation on a network: its parameters, its flows, how long it takes, and how long
it takes at least."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value
from pcn.experiments.data.plan import HEADER_BYTES, Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import collectives
from pcn.experiments.define.experiment import Headline
from pcn.experiments.define.flows_by_size import COLLECTIVE
from pcn.experiments.define.looks import label
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import number_text
from pcn.experiments.define.recording_numbers import EmptyPaths
from pcn.experiments.define.tables import Measured, Table
from pcn.topologies.model import FlowSpec, Topology

GROUP = COLLECTIVE
"""The group of its flows."""
TEXTS = {
    "collective_ms": NumberText("time of the collective operation", "less"),
    "collective_slowest_ms": NumberText("slowest collective operation"),
    "collective_least_ms": NumberText("least time that the operation needs in an empty network"),
    "collective_slowdown": NumberText("slowdown of the collective operation", "less"),
    "algorithm_gbps": NumberText("size of the operation over its time"),
    "bus_gbps": NumberText("most that a host sends, over the time"),
}
"""What its numbers are called."""
PARAMETERS = (
    Parameter("size", "size", 100e6, "the operation's buffer", 1, 1e12),
    Parameter("ranks", "count", None, "on a host each", 2, collectives.MOST_MESSAGES, "all hosts"),
    Parameter(
        "chunks", "count", 1, f"of {', '.join(collectives.CHUNKED)}", 1, collectives.MOST_MESSAGES
    ),
    Parameter(
        "repeat",
        "count",
        1,
        "times that the operation runs, one after the other",
        1,
        collectives.MOST_MESSAGES,
    ),
    Parameter(
        "wait",
        "time",
        0.0,
        "from what a message waits for to its start: a sum, or other work",
        0,
        1e6,
    ),
)
_NUMBERS = {
    "collective_ms": "time (ms)",
    "collective_slowest_ms": "slowest (ms)",
    "collective_least_ms": "at least (ms)",
    "collective_slowdown": "time / least",
    "algorithm_gbps": "algorithm bandwidth, Gbit/s",
    "bus_gbps": "bus bandwidth, Gbit/s",
}


def draw(
    name: str, hosts: Sequence[str], random: np.random.Generator | None, more: Mapping[str, Value]
) -> list[FlowSpec]:
    """Returns the flows of a collective by its full name, ranks on the hosts in their order, or in
    one that `random` draws. Raises ExperimentError."""
    ranks = len(hosts) if more["ranks"] is None else round(more["ranks"])
    if ranks > len(hosts):
        raise ExperimentError(
            f"ranks={ranks}: the topology has {len(hosts)} hosts, for a rank each"
        )
    if random is not None:
        hosts = [hosts[int(index)] for index in random.permutation(len(hosts))]
    try:
        once = collectives.messages(
            name, ranks, round(more["size"] or 0), round(more["chunks"] or 1)
        )
        messages = collectives.repeated(once, round(more["repeat"] or 1))
    except ValueError as error:
        raise ExperimentError(str(error)) from None
    return collectives.flows(messages, hosts, GROUP, more["wait"] or 0.0)


def least_s(
    flows: Sequence[FlowSpec],
    topology: Topology,
    payload_bytes: int,
    paths: EmptyPaths | None = None,
) -> float:
    """Returns how long flows that wait for earlier ones of the list take at least: each in the
    empty network, by `paths` or the topology's, after those that it waits for, and no host's links
    carry more than their rate."""
    paths = paths or EmptyPaths(topology)
    sums: dict[tuple[str, str], int] = {}
    ends: dict[int, float] = {}
    times: dict[tuple[str, str, int], float] = {}
    for flow in flows:
        size = flow.size_bytes or 0
        key = (flow.src, flow.dst, size)
        if key not in times:
            times[key] = paths.between(flow.src, flow.dst).fct_s(size, payload_bytes)
        ends[flow.id] = _starts_s(flow, ends) + times[key]
        for place in (("src", flow.src), ("dst", flow.dst)):
            sums[place] = sums.get(place, 0) + size
    frames = 8 * (payload_bytes + HEADER_BYTES) / payload_bytes
    busiest_s = max(
        frames * size / topology.host_rate_bps(host) for (_, host), size in sums.items()
    )
    return max(busiest_s, *ends.values())


def _starts_s(flow: FlowSpec, ends: Mapping[int, float]) -> float:
    """Returns when a flow starts, if those that it waits for have arrived at these times."""
    if flow.after_s:
        return max(
            flow.start_s,
            *(
                ends[predecessor] + wait_s
                for predecessor, wait_s in zip(flow.after, flow.after_s, strict=True)
            ),
        )
    return max((ends[predecessor] for predecessor in flow.after), default=0.0) + flow.start_s


def numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    """Returns the mean and slowest time of the repetitions, each from the end of the one before, in
    ms; the least possible mean time (`least_s`) and their ratio. Bandwidths in Gbit/s, as NCCL's
    tests print them: the buffer over the mean time, and the most that a rank sends over the mean
    time. Nothing where there is no collective; None where a message hasn't arrived."""
    return recording.once("collective", lambda: _numbers(plan, recording))


def _numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    pairs = [
        (spec, record)
        for spec, record in zip(plan.topology.flows, recording.flows, strict=True)
        if spec.group == GROUP
    ]
    if not pairs:
        return {}
    repeat = round(plan.values["repeat"] or 1)
    least = (
        least_s([spec for spec, _ in pairs], plan.topology, plan.payload_bytes, EmptyPaths.of(plan))
        / repeat
    )
    if any(record.fct_s is None for _, record in pairs):
        return dict.fromkeys(_NUMBERS) | {"collective_least_ms": least * 1e3}
    ends: Array = np.array([record.start_s + (record.fct_s or 0.0) for _, record in pairs])
    times = np.diff(ends.reshape(repeat, -1).max(axis=1), prepend=recording.start_s)
    sent: dict[str, int] = {}
    for spec, _ in pairs:
        sent[spec.src] = sent.get(spec.src, 0) + (spec.size_bytes or 0)
    mean_s = float(times.mean())
    return {
        "collective_ms": mean_s * 1e3,
        "collective_slowest_ms": float(times.max()) * 1e3,
        "collective_least_ms": least * 1e3,
        "collective_slowdown": mean_s / least,
        "algorithm_gbps": 8e-9 * (plan.values["size"] or 0) / mean_s,
        "bus_gbps": 8e-9 * max(sent.values()) / repeat / mean_s,
    }


def headlines(plan: Plan, recording: Recording) -> list[Headline]:
    measured = numbers(plan, recording)
    if not measured:
        return []
    least = number_text(measured["collective_least_ms"], "ms")
    return [
        Headline(
            "time of the operation",
            number_text(measured["collective_ms"], "ms"),
            f"at least {least}",
        ),
        Headline("bus bandwidth", number_text(measured["bus_gbps"], "Gbit/s")),
    ]


def tables(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns the operation's times, a row a run; none where there is no collective."""
    rows = [
        [
            label(run),
            *(
                "–" if (value := measured.numbers.get(name)) is None else f"{value:.4g}"
                for name in _NUMBERS
            ),
        ]
        for run, measured in runs.items()
        if "collective_ms" in measured.numbers
    ]
    return [Table("collective operation", ["", *_NUMBERS.values()], rows)] * bool(rows)
