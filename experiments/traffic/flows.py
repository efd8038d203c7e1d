"""What becomes of the flows: completion times, slowdown, by size; PAUSE by tier and class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data import series_math
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.samples import PERCENTILES, needed
from pcn.experiments.traffic import collective
from pcn.experiments.traffic.sizes import SIZES, size_group
from pcn.hosts.explain_log import PARTS
from pcn.topologies import lossless
from pcn.topologies.model import FlowSpec

ALL = "all"
_GROUP_ROWS = 2**16
"""Of flows.parquet, which are made in memory at once."""


def size_class(name: str) -> str:
    """Returns a class's name with its sizes, for people: `M, 10 to 100 KB`; another group's
    alone."""
    texts = {"S": "up to 10 KB", "M": "10 to 100 KB", "L": "100 KB to 1 MB", "XL": "above 1 MB"}
    return f"{name}, {texts[name]}" if name in texts else name


_STATISTICS = {"mean": "mean", "p50": "50%", "p95": "95%", "p99": "99%", "p99.9": "99.9%"}
_BEST = ("mean_slowdown", "p99_slowdown")
"""Of which pages name the best run."""
TEXTS: Mapping[str, NumberText] = {
    **{
        f"{name}_{unit}": NumberText(f"{text} {of}", "less" if f"{name}_{unit}" in _BEST else "")
        for unit, of in (("ms", "completion time"), ("slowdown", "slowdown"))
        for name, text in _STATISTICS.items()
    },
    **{
        f"{part}_ms": NumberText(f"mean time of the part {part.replace('_', ' ')}")
        for part in PARTS
    },
    f"mean_ms {ALL}": NumberText("mean completion time, all flows", "less"),
    # Of short flows the mean hides what half of them, and the late ones, have.
    **{
        f"{name}_slowdown S": NumberText(
            f"{_STATISTICS[name]} slowdown, flows of size {size_class('S')}", "less"
        )
        for name in ("p50", "p95")
    },
    "flows": NumberText("flows"),
    "unfinished": NumberText("flows that didn't end", "less"),
    "goodput_gbps": NumberText("payload that arrived, all flows together"),
    "goodput_of_starts_gbps": NumberText("payload that arrived until the last flow started"),
    "flows_a_host": NumberText("flows a host"),
    "starts_ms": NumberText("time in which flows start"),
    "end_ms": NumberText("end of the last flow"),
    "largest_queue_kb": NumberText("largest queue", "less"),
    "pause_frames": NumberText("PAUSE frames", "less"),
    "pause_frames *": NumberText("PAUSE frames that switches * sent"),
    # of one class the same as of all: it isn't tested twice
    **{f"pause_frames class {n}": NumberText(f"PAUSE frames, class {n}") for n in range(8)},
}
"""What the numbers are called, without the group that a blank is before."""
GROUP_TEXTS: Mapping[str, str] = {
    ALL: "all flows",
    **{name: f"flows of size {size_class(name)}" for name, _ in SIZES},
    collective.GROUP: "flows of the collective operation",
    INCAST: "flows of in-casts",
}


def by_size(flows: Iterable[FlowSpec]) -> Iterator[FlowSpec]:
    """Yields each in a group of its size, if it has no other: series are of groups."""
    for flow in flows:
        # All fields by hand: there are hundreds of thousands, and dataclasses.replace takes three
        # times as long.
        yield flow if flow.group else FlowSpec(
            flow.id, flow.src, flow.dst, flow.start_s, flow.size_bytes, flow.rate_bps,
            flow.duration_s,
            size_group(flow.size_bytes), flow.traffic_class, flow.after, flow.after_s, flow.colour,
            flow.acknowledged,
        )  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """Flows in the order of their numbers. Times in s; NaN for one that hadn't arrived when the run
    ended."""

    sizes: NDArray[np.str_]
    start_s: Array
    fct_s: Array
    slowdown: Array
    """Completion time over that in the empty network."""

    def of(self, size: str) -> tuple[Array, Array]:
        """Returns the completion times and slowdowns of the flows of a size, NaN among them."""
        chosen = slice(None) if size == ALL else self.sizes == size
        return self.fct_s[chosen], self.slowdown[chosen]


def kinds(plan: Plan) -> list[str]:
    """Returns the groups of flows: by size, and those of a collective operation and of in-casts if
    there are any."""
    groups = plan.topology.flow_columns.groups
    return [
        *(name for name, _ in SIZES),
        *(name for name in (collective.GROUP, INCAST) if name in groups),
    ]


def ended(plan: Plan, recording: Recording) -> Ended:
    return recording.once("ended", lambda: _ended(plan, recording))


def _ended(plan: Plan, recording: Recording) -> Ended:
    columns = plan.topology.flow_columns
    which, paths = recording_numbers.EmptyPaths.of(plan).of_flows(columns)
    least = np.empty(len(columns))
    for number, path in enumerate(paths):
        mask = which == number
        least[mask] = path.fcts_s(columns.sizes[mask], plan.payload_bytes)
    times = np.array([record.fct_s for record in recording.flows], float)  # None is NaN
    starts = np.array([record.start_s for record in recording.flows])
    return Ended(np.array(columns.groups)[columns.group], starts, times, times / least)


def numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    """Returns the completion times in ms and slowdowns, mean and percentiles, by size; how many
    flows haven't arrived; PAUSE frames, by the tier that sends them (a switch's name without its
    number) and by class. Of a size of which a flow hasn't arrived there is neither mean nor
    percentile: the others are the faster ones; nor is there a percentile of so few flows that none
    is beyond it. Goodput is payload that arrived until the last flow did, or the run ended, and
    until the last flow started; the largest queue is what the run saw when it looked."""
    return recording.once("numbers", lambda: _numbers(plan, recording))


def _numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    measured: dict[str, float | None] = {}
    of = ended(plan, recording)
    for size in (ALL, *kinds(plan)):
        times, slowdowns = of.of(size)
        missing = np.isnan(times)
        measured[f"flows {size}"] = float(times.size)
        measured[f"unfinished {size}"] = float(missing.sum())
        for name, values in (("ms", times * 1e3), ("slowdown", slowdowns)):
            values = values[:0] if missing.any() else values
            measured[f"mean_{name} {size}"] = recording_numbers.mean(values)
            for q in PERCENTILES:
                enough = values if values.size >= needed(f"p{q:g}") else values[:0]
                measured[f"p{q:g}_{name} {size}"] = recording_numbers.percentile(enough, q)
    measured |= _parts(plan, recording)
    ends = [flow.start_s + flow.fct_s for flow in recording.flows if flow.fct_s is not None]
    span_s = (
        max(ends) if len(ends) == len(recording.flows) else recording.duration_s
    ) - recording.start_s
    measured["goodput_gbps"] = 8e-9 * sum(flow.received_bytes for flow in recording.flows) / span_s
    measured["flows_a_host"] = len(recording.flows) / len(plan.topology.hosts)
    measured["starts_ms"] = 1e3 * (float(of.start_s.max()) - recording.start_s)
    measured["end_ms"] = 1e3 * span_s
    measured["goodput_of_starts_gbps"] = _goodput_gbps(recording, float(of.start_s.max()))
    measured["largest_queue_kb"] = max(
        recording.recorded.queue_max.values(), default=0.0
    ) / 1e3 or _sampled_kb(recording)
    measured["pause_frames"] = float(sum(link.pause for link in recording.links.values()))
    for name, frames in sorted(pause_by_tier(recording).items()):
        measured[f"pause_frames {name}"] = float(frames)
    protected = lossless.classes(str(plan.topology.parameters["lossless_classes"]))
    for number, frames in enumerate(pause_by_class(recording)):
        if frames or number in protected:  # 0 is a number to compare with
            measured[f"pause_frames class {number}"] = float(frames)
    return measured


def _parts(plan: Plan, recording: Recording) -> dict[str, float | None]:
    """Returns the mean of each part of the completion time in ms by size, `own_ms all`; nothing
    where the run wasn't explained. They sum to the mean completion time, and are missing where that
    is."""
    parts, of = recording.recorded.parts, ended(plan, recording)
    if parts is None:
        return {}
    by_name: dict[str, float | None] = {}
    for size in (ALL, *kinds(plan)):
        chosen = np.ones(of.sizes.size, bool) if size == ALL else of.sizes == size
        known = bool(chosen.any()) and not np.isnan(of.fct_s[chosen]).any()
        means = parts.parts_ps[chosen].mean(axis=0) / 1e9 if known else [None] * len(parts.names)
        by_name |= {
            f"{name}_ms {size}": None if value is None else float(value)
            for name, value in zip(parts.names, means, strict=True)
        }
    return by_name


def _goodput_gbps(recording: Recording, end_s: float) -> float | None:
    """Returns the payload that arrives from the run's start to a time; None where nothing was read
    until then."""
    series = [
        recording.series.get(name, "received_bytes")
        for name in dict.fromkeys(flow.group for flow in recording.flows)
    ]
    if end_s <= recording.start_s or not all(
        times.size > 1 and times[1] <= end_s for times, _ in series
    ):
        return None
    at = np.array([recording.start_s, end_s])
    arrived = sum(float(np.diff(series_math.counter_at(*received, at))[0]) for received in series)
    return 8e-9 * arrived / (end_s - recording.start_s)


def _sampled_kb(recording: Recording) -> float | None:
    """Returns the largest of the queues that were sampled; None: there are none."""
    ports = recording.series.entities("waiting_bytes")
    return max(
        (recording.series.get(port, "waiting_bytes")[1].max() / 1e3 for port in ports), default=None
    )


def pause_by_tier(recording: Recording) -> dict[str, int]:
    return recording.once("pause by tier", lambda: _pause_by_tier(recording))


def _pause_by_tier(recording: Recording) -> dict[str, int]:
    by_tier: dict[str, int] = {}
    for name, link in recording.links.items():
        tier = tier_of(name)
        by_tier[tier] = by_tier.get(tier, 0) + link.pause
    return by_tier


def tier_of(link: str) -> str:
    """Returns the name of a link's sender without its number: the link is `l0->t3` or
    `l0:2->t3`."""
    return re.sub(r"\d*(:\d+)?$", "", link.partition("->")[0])


def pause_by_class(recording: Recording) -> list[int]:
    counts = [link.pause_by_class for link in recording.links.values() if link.pause_by_class]
    return [sum(column) for column in zip(*counts, strict=True)]


def table(plan: Plan, recording: Recording) -> Iterator[dict[str, Any]]:
    """Yields the columns of flows.parquet, a row a flow, by groups of rows."""
    for first in range(0, max(len(recording.flows), 1), _GROUP_ROWS):
        yield _rows(plan, recording, slice(first, first + _GROUP_ROWS))


def _rows(plan: Plan, recording: Recording, rows: slice) -> dict[str, Any]:
    from pcn.experiments.data import parquet  # an extra

    of, parts = ended(plan, recording), recording.recorded.parts
    specs, records = plan.topology.flows[rows], recording.flows[rows]
    flows = plan.topology.flow_columns.part(rows.start, rows.stop)

    def counts(name: str) -> NDArray[np.int64]:
        return np.array([*map(attrgetter(name), records)], np.int64)

    sent = counts("sent_packets")
    return {
        "id": flows.ids,
        "src": [spec.src for spec in specs],
        "dst": [spec.dst for spec in specs],
        "start_s": _known(np.where((sent > 0) | ~flows.waits, of.start_s[rows], np.nan)),
        "size_bytes": flows.sizes,
        "size": [spec.group for spec in specs],
        "class": flows.traffic_class,
        "finished": ~np.isnan(of.fct_s[rows]),
        "fct_s": _known(of.fct_s[rows]),
        "slowdown": _known(of.slowdown[rows]),
        "sent_packets": sent,
        "src_port": counts("src_port"),
        "received_packets": counts("received_packets"),
        "marked_packets": counts("marked_packets"),
        "repeated_packets": counts("repeated_packets"),
        "timeouts": counts("timeouts"),
        **{
            name: parquet.numbers(values, int)
            for name, values in (parts.columns(rows) if parts else {}).items()
        },
    }


def _known(values: Array) -> Any:
    """Returns the values as a column, None in place of NaN."""
    if not np.isnan(values).any():
        return values
    from pcn.experiments.data import parquet  # an extra

    return parquet.numbers([None if value != value else value for value in values.tolist()], float)
