"""`summary.json`: a run in one page of numbers. Times and rates are nominal, in SI units.

An entry is a Column of its object, or a counter of a record (`declared`), and nothing else lists
it; docs/summary.md has the table that `documentation` makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from typing import Any

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import FlowRecord, LinkRecord, PortRecord, Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.checks import Check
from pcn.experiments.results.columns import Column, Columns, declared
from pcn.experiments.results.judged_run import Result
from pcn.experiments.results.over_time import over_time
from pcn.hosts.algorithms import find_scheme
from pcn.topologies import lossless
from pcn.topologies.model import Topology

SCHEMA = 1

Summary = dict[str, Any]
_OF_EACH = (
    "scheme",
    "clock",
    "target",
    "k",
    "parameters",
    "files",
    "duration_s",
    "digest",
    "packets",
    "pfc",
    "steady",
    "measures",
    "latency",
    "checks",
)


@dataclass(frozen=True)
class _Port:
    """A port with what its columns need."""

    record: PortRecord
    name: str
    recording: Recording

    @cached_property
    def queue(self) -> tuple[Array, Array] | None:
        """Samples of the queue; None: the plan samples others."""
        times, queue = self.recording.series.get(self.name, "waiting_bytes")
        return (times, queue) if times.size > 0 and times[0] < self.recording.duration_s else None

    @property
    def span_s(self) -> tuple[float, float]:
        return self.recording.start_s, self.recording.duration_s

    def queue_mean(self) -> float | None:
        return series_math.step_mean(*self.queue, *self.span_s) if self.queue else None

    def queue_max(self) -> float | None:
        return (
            float(np.max(self.queue[1][self.queue[0] <= self.recording.duration_s]))
            if self.queue
            else None
        )

    def utilisation(self) -> float:
        sent = self.recording.series.get(self.name, "transmitted_bytes")
        return series_math.utilisation(*sent, self.record.rate_bps, *self.span_s)


@dataclass(frozen=True)
class _Flow:
    """A flow with what its columns need."""

    record: FlowRecord
    duration_s: float

    def share(self, packets: int) -> float | None:
        return packets / self.record.received_packets if self.record.received_packets else None


def _percentile(q: float, latency: Any) -> float | None:
    latency_s: float | None = latency.percentile_s(q)
    return latency_s


def _threshold(name: str, topology: Topology) -> float | None:
    """Returns a parameter of the topology's flow control, in bytes or quanta; None where that flow
    control has none of this name."""
    if name in ("xoff_bytes", "xon_bytes") and all(
        switch.buffer is not None for switch in topology.switches
    ):
        return None
    return topology.number(name) if name in lossless.names(topology.flow_control) else None


def _latency(result: Result) -> dict[str, Any]:
    return {str(number): latency for number, latency in result.recording.recorded.latency.items()}


PACKETS = Columns(
    [
        Column("sent", int, "packets of all flows", lambda run: _sum(run.flows, "sent_packets")),
        Column(
            "received",
            int,
            "those that arrived, each once",
            lambda run: _sum(run.flows, "received_packets"),
        ),
        Column(
            "lost",
            int,
            "the difference",
            lambda run: _sum(run.flows, "sent_packets") - _sum(run.flows, "received_packets"),
        ),
    ]
)
LINK = Columns(declared(LinkRecord))
PFC = Columns(
    [
        Column(
            "pause",
            int,
            "PAUSE frames over all links",
            lambda run: _sum(run.links.values(), "pause"),
        ),
        Column(
            "resume",
            int,
            "RESUME frames over all links",
            lambda run: _sum(run.links.values(), "resume"),
        ),
        Column("links", {"*": LINK}, "each direction of a link, such as `s1->s0`"),
    ]
)
FLOW_CONTROL = Columns(
    [
        Column("kind", str, "pfc or credits", "flow_control"),
        Column(
            "lossless_classes",
            [int],
            "traffic classes that it protects",
            lambda control: list(control.lossless_classes),
        ),
        *(
            Column(
                name,
                float | None,
                (
                    f"{meaning}; null: not of this kind, or all switches have shared buffers "
                    "(topology.json)"
                ),
                partial(_threshold, name),
            )
            for name, meaning in (
                ("xoff_bytes", "bytes of an input above which a switch sends PAUSE"),
                ("xon_bytes", "bytes below which it sends RESUME"),
                ("pause_quanta", "length of a PAUSE, quanta of 512 bits"),
                ("buffer_bytes", "buffer of an input port and virtual lane"),
                ("credit_interval_s", "least time between credits of one lane, s"),
            )
        ),
    ]
)
PORT = Columns(
    [
        *declared(PortRecord, "record."),
        Column(
            "queue_bytes_mean",
            float | None,
            "mean queue, bytes; null: not sampled",
            _Port.queue_mean,
        ),
        Column(
            "queue_bytes_max",
            float | None,
            "largest queue, bytes; null: not sampled",
            _Port.queue_max,
        ),
        Column("utilisation", float, "transmitted share of its rate, 0 to 1", _Port.utilisation),
    ]
)
FLOW = Columns(
    [
        Column("id", int, "number of the flow", "record.id"),
        Column("src", str, "sending host", "record.src"),
        Column("dst", str, "receiving host", "record.dst"),
        Column("sent_bytes", int, "payload sent, bytes", "record.sent_bytes"),
        Column("received_bytes", int, "payload that arrived, bytes", "record.received_bytes"),
        Column(
            "goodput_bps",
            float,
            (
                "payload that arrived, over the time from the start to the flow's end or the "
                "run's, bit/s"
            ),
            lambda flow: goodput_bps(flow.record, flow.duration_s),
        ),
        Column("start_s", float, "time of its start, s", "record.start_s"),
        Column(
            "fct_s",
            float | None,
            "flow completion time, s; null: the run's end stopped it",
            "record.fct_s",
        ),
        Column(
            "marked_fraction",
            float | None,
            "share of the packets that arrived with CE, 0 to 1; null: none arrived",
            lambda flow: flow.share(flow.record.marked_packets),
        ),
        Column(
            "marked_ue_fraction",
            float | None,
            "share of the packets that arrived with UE, 0 to 1; null: none arrived",
            lambda flow: flow.share(flow.record.marked_ue_packets),
        ),
    ]
)
STEADY = Columns(
    [
        Column("from_s", float, "begin of the steady state, s; it lasts to the run's end"),
        Column(
            "utilisation", float, "frames transmitted by the bottleneck, share of its rate, 0 to 1"
        ),
        Column(
            "jain",
            float | None,
            "Jain's index of the goodputs of flows without a group; null: there are none",
        ),
        Column("queue_bytes_mean", float, "mean queue of the bottleneck, bytes"),
        Column("pause", int, "PAUSE frames over all links"),
    ]
)
LATENCY = Columns(
    [
        Column("packets", int, "data packets that arrived"),
        Column(
            "mean_s",
            float | None,
            "mean time from the first bit at the sender's NIC to the last one's arrival, s",
            lambda latency: latency.mean_s(),
        ),
        *(
            Column(
                f"p{q:g}_s",
                float | None,
                f"time that {q:g}% of them don't exceed, s",
                partial(_percentile, q),
            )
            for q in (50, 95, 99, 99.9)
        ),
        Column("max_s", float | None, "the longest time, s", partial(_percentile, 100)),
    ]
)
RULE = Columns(
    [
        Column("value", float, "the value, in SI units", lambda rule: rule["value"]),
        Column(
            "rule",
            str,
            "how it follows from the network, `set`, or that it is the same on every one",
            lambda rule: rule["rule"],
        ),
        Column("source", str, "who states that, or empty", lambda rule: rule["source"]),
        Column(
            "ports",
            {"*": float},
            "by the rate of a switch's port, bit/s, the value that it has",
            lambda rule: rule["ports"],
        ),
    ]
)
CHECK = Columns(
    [
        Column("claim", str, "number in docs/claims.md, or empty"),
        Column("what", str, "what is compared"),
        Column("paper", float | None, "the paper's value, in `unit`"),
        Column("theory", float | None, "the theory's value"),
        Column("measured", float | None, "the run's value"),
        Column("unit", str, "unit of the three, or empty"),
        Column("verdict", str, "met, trend, not met or not comparable"),
        Column("known", str, "section of docs/ that explains the difference, or empty"),
    ]
)
RUN = Columns(
    [
        Column("schema", int, "version of this format", lambda result: SCHEMA),
        Column("scenario", str, "name of the experiment", "plan.scenario"),
        Column(
            "reference",
            str,
            "the experiment with what it is made of, as a query: topology, sizes, pattern, flows",
            "experiment.reference",
        ),
        Column("scheme", str, "congestion control", "plan.scheme"),
        Column("clock", str, "live, paced or virtual"),
        Column("target", str, "switch: softswitch, engine or bmv2"),
        Column("k", float, "factor by which live or paced time was stretched", "recording.k"),
        Column("seed", int, "seed of all draws", "plan.seed"),
        Column(
            "parameters",
            dict,
            (
                "parameters of scenario and scheme; thresholds of ports as they were in the run, "
                "null where ports differ"
            ),
            lambda result: scheme_parameters.as_run(result.plan, result.recording),
        ),
        Column(
            "rules",
            {"*": RULE},
            "the scheme's parameters, by the names of `parameters`",
            lambda result: scheme_parameters.rules_of(result.plan),
        ),
        Column(
            "flow_control",
            FLOW_CONTROL,
            "flow control of all links, as it was set",
            "plan.topology",
        ),
        Column("versions", {"*": str}, "versions of what took part", "recording.versions"),
        Column("provenance", {"*": str}, "commit, command line and machine"),
        Column(
            "scheme_reference",
            str,
            "what finds the scheme in any process: its name, or FILE.py:NAME",
            lambda result: find_scheme(result.plan.scheme).reference,
        ),
        Column(
            "files",
            {"*": str},
            "files that it was made of, by path: the first 12 digits of their SHA-256",
        ),
        Column("notes", [str], "remarks on this run", "recording.notes"),
        Column("duration_s", float, "end of the run, s", "recording.duration_s"),
        Column(
            "wall_s",
            float,
            "real time that it took, s",
            lambda result: round(result.recording.wall_s, 3),
        ),
        Column(
            "deadlock_s",
            float | None,
            "time since which a deadlock holds, s; null: none was found",
            lambda result: result.recording.deadlock and result.recording.deadlock.since_s,
        ),
        Column(
            "digest",
            str | None,
            "hash of all events in virtual time: equal runs have equal ones; null: of a live run",
            "recording.digest",
        ),
        Column("packets", PACKETS, "data packets", lambda result: result.recording),
        Column("pfc", PFC, "flow control frames", lambda result: result.recording),
        Column(
            "ports",
            {"*": PORT},
            "switches' ports, such as `s0:4`",
            lambda result: {
                name: _Port(port, name, result.recording)
                for name, port in result.recording.ports.items()
            },
        ),
        Column(
            "flows",
            [FLOW],
            (
                "flows in the order of their numbers; none of `pcn run traffic`, which writes "
                "flows.parquet"
            ),
            lambda result: [
                _Flow(flow, result.recording.duration_s)
                for flow in (() if result.experiment.many_flows else result.recording.flows)
            ],
        ),
        Column("steady", STEADY, "steady state"),
        Column("measures", {"*": float | None}, "the experiment's own numbers", "outcome.numbers"),
        Column(
            "latency",
            {"*": LATENCY},
            "of data packets by traffic class, where it was measured",
            _latency,
        ),
        Column(
            "samples",
            dict,
            "flows of traffic by group and size: a digest of the flows; of each group the bins' "
            "largest sizes in bytes, flows, unfinished ones, and sorted completion times and "
            "slowdowns (base64 of little-endian float32), at most 512 a bin",
            "outcome.samples",
        ),
        Column(
            "curves",
            {"*": [[float]]},
            (
                "x and y of what can be drawn over other runs: over time in ms, or the "
                "experiment's own"
            ),
            lambda result: {**over_time(result.recording), **result.outcome.curves},
        ),
        Column("checks", [CHECK], "rows of the report: paper, theory and run"),
    ]
)


def build(result: Result) -> Summary:
    """Returns the summary of a run."""
    return RUN.of(result)


def side_by_side(results: Sequence[Result], compared: Sequence[Check]) -> Summary:
    """Returns `comparison.json` of the runs of several schemes or clocks, by directory: of each
    what distinguishes it, and the checks across them."""
    first = results[0]
    return {
        "schema": SCHEMA,
        "scenario": first.plan.scenario,
        "seed": first.plan.seed,
        "provenance": dict(first.provenance),
        "wall_s": round(sum(result.recording.wall_s for result in results), 3),
        "runs": {
            result.folder: {name: whole[name] for name in _OF_EACH}
            for result in results
            for whole in [build(result)]
        },
        "checks": [CHECK.of(check) for check in compared],
    }


def goodput_bps(flow: FlowRecord, duration_s: float) -> float:
    """Returns the payload that arrived, over the time from the flow's start to its end (or that of
    the run)."""
    active = flow.fct_s or flow.duration_s or duration_s - flow.start_s
    return 8 * flow.received_bytes / active if active > 0 else 0.0


def dumps(summary: Summary) -> str:
    """Returns the summary as JSON text; refuses NaN and infinities, which JSON doesn't have."""
    return json.dumps(summary, indent=2, allow_nan=False) + "\n"


def documentation() -> str:
    """Returns the table of docs/summary.md: each entry with its type and meaning."""
    return "\n".join(["| entry | type | meaning |", "|---|---|---|", *RUN.documented()]) + "\n"


def _sum(records: Any, name: str) -> int:
    return sum(map(attrgetter(name), records))


if __name__ == "__main__":
    print(documentation(), end="")
