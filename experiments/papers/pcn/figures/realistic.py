"""Section 7.4's runs, for Fig. 14 and 20: the Clos of 512 hosts, sizes of Table 1, in-casts of 1 to
15 senders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.flow_sizes import W1, W2, ClassSizes
from pcn.experiments.define.recording_numbers import completion_times_s
from pcn.experiments.define.workloads import arrivals_per_s, incast_flows
from pcn.experiments.papers.pcn.plans import pcn_fields, timely_fields
from pcn.topologies.clos import clos
from pcn.topologies.model import Endpoint, FlowSpec

LOAD, HOST_BPS = 0.6, 10e9
WORKLOADS = (W1, W2)
SIZES = ("S", "M", "L", "XL")
"""Table 1's classes, from the shortest flows to the longest."""
PRIORITIES = dict(zip(SIZES, (6, 5, 4, 3), strict=True))
"""B.4: "S size flows are in the first priority", XL in the fourth; class 7 has the notifications of
senders."""
TIERS = {"t": "ToRs", "l": "leaves", "p": "spines"}
_STREAM = 74
_ENDS_S = 1.0
"""All flows have arrived long before, except with a scheme that leaves some of them at a
standstill."""


def realistic_plan(
    name: str,
    scheme: str,
    seed: int,
    workload: ClassSizes,
    count: int,
    by_priority: bool,
    **fields: float,
) -> Plan:
    """Returns `count` flows and the last in-cast's, until they have arrived; each of a group by its
    size. The same flows for every scheme. `by_priority`: of four classes, all lossless. `fields`
    are the scheme's parameters."""
    topology = clos(
        lossless_classes=",".join(map(str, PRIORITIES.values())) if by_priority else "3"
    )
    random = np.random.default_rng([seed, _STREAM, WORKLOADS.index(workload)])
    per_s = arrivals_per_s(LOAD, HOST_BPS, workload, PAYLOAD_BYTES, PAYLOAD_BYTES + HEADER_BYTES)
    drawn = incast_flows(random, workload, per_s, count, [host.name for host in topology.hosts])
    flows = tuple(_sorted(flow, workload, by_priority) for flow in drawn)
    topology = replace(topology, flows=flows)
    parameters = (
        pcn_fields(scheme, 1 / 128, 50e-6)
        | timely_fields(scheme, topology)
        | known_fields(scheme, fields)
    )
    plan = plan_of(name, scheme, seed, topology, _ENDS_S, parameters, [Endpoint("t0", 1)], _ENDS_S)
    return replace(plan, sampling=replace(plan.sampling, counters_s=_ENDS_S, flows_s=_ENDS_S))


def _sorted(flow: FlowSpec, workload: ClassSizes, by_priority: bool) -> FlowSpec:
    size = flow.size_bytes or 0
    kind = next(
        name
        for name, size_class in zip(SIZES, workload.classes, strict=True)
        if size <= size_class.high
    )
    return replace(
        flow, group=kind, traffic_class=PRIORITIES[kind] if by_priority else flow.traffic_class
    )


def numbers(recording: Recording) -> dict[str, float | None]:
    """Returns PAUSE frames by the tier that sends them and by class, completion times in ms by
    size, and how many flows complete a second, until the last one has."""
    complete = [flow.start_s + flow.fct_s for flow in recording.flows if flow.fct_s is not None]
    measured: dict[str, float | None] = {
        "pause": float(sum(link.pause for link in recording.links.values())),
        "unfinished": float(len(recording.flows) - len(complete)),
        "flows_per_s": len(complete) / max(complete)
        if len(complete) == len(recording.flows)
        else None,
    }
    for letter, tier in TIERS.items():
        measured[f"pause {tier}"] = float(
            sum(link.pause for name, link in recording.links.items() if name[0] == letter)
        )
    for kind, number in PRIORITIES.items():
        measured[f"pause {kind}"] = float(
            sum(link.pause_by_class[number] for link in recording.links.values())
        )
    for kind in ("all", *SIZES):
        times = (
            completion_times_s(flow for flow in recording.flows if kind in ("all", flow.group))
            * 1e3
        )
        measured[f"mean_ms {kind}"], measured[f"p99_ms {kind}"] = (
            recording_numbers.mean(times),
            recording_numbers.percentile(times, 99),
        )
    return measured
