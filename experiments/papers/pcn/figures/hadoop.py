"""Section 7.2's run, for Fig. 12 and 13: Hadoop flows on Fig. 1's network, those of H2 to H15
synchronous."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, with_fields
from pcn.experiments.data.recording import FlowRecord, Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.flow_sizes import W2
from pcn.experiments.define.outcomes import ratio
from pcn.experiments.define.workloads import arrivals_per_s, poisson_flows
from pcn.experiments.papers.pcn.plans import compact_plan
from pcn.topologies.model import FlowSpec

LOAD = 0.6
WITHIN = 0.05
"""How far from its load what is drawn may be, as a share of it."""
RATE_BPS = 40e9
ARRIVALS_S, DURATION_S = 1.0, 1.1
STEP_S = 1e-3
SLOW_BPS = 1e9
BURSTING = tuple(f"h{i}" for i in range(2, 16))
_FRAME_BYTES = PAYLOAD_BYTES + HEADER_BYTES
GROUPS = ("h0", "h1", "bursts")
ABOUT = (
    "Fig. 1's network. Flows of W2 (Table 1) arrive at random for a second: from H0 to R0 and from "
    "H1 to R1 with a load of 0.3 each, and from H2 to H15 to R1, all 14 at the same times and of "
    "the same sizes, with 0.3 together: so both bottlenecks, S0 to S1 and S1 to R1, have 0.6. "
    "Flows are drawn until they bring these loads within 5%: a second holds few of the bursts' "
    "large flows, and what is drawn first may bring far less or more. The same flows for every "
    "scheme. A flow that is still going 100 ms after the last arrival counts with the time that it "
    "had."
)


def hadoop_plan(
    scheme: str,
    seed: int,
    w_min: float = 1 / 128,
    w_max: float = 0.5,
    bursts_load: float = LOAD / 2,
    **fields: float,
) -> Plan:
    """Returns the run. PCN's T is 50 us; H0's and H1's flows are each many in a row, of one or a
    few at a time. `fields` are the scheme's parameters that are given other values."""
    flows: list[FlowSpec] = []
    for stream, (group, load, senders, receiver) in enumerate(
        (
            ("h0", LOAD / 2, ("h0",), "r0"),
            ("h1", LOAD / 2, ("h1",), "r1"),
            ("bursts", bursts_load, BURSTING, "r1"),
        )
    ):
        random = np.random.default_rng([seed, stream])
        per_s = arrivals_per_s(load, RATE_BPS, W2, PAYLOAD_BYTES, _FRAME_BYTES) / len(senders)
        drawn: list[FlowSpec] = []
        while abs(_load(drawn) - load) > WITHIN * load:
            drawn = poisson_flows(
                random, W2, per_s, ARRIVALS_S, senders, receiver, group, len(flows)
            )
        flows += drawn
    plan = compact_plan(
        "hadoop", scheme, seed, flows, DURATION_S, every_s=STEP_S, w_min=w_min, w_max=w_max
    )
    return with_fields(plan, **fields)


def _load(flows: Sequence[FlowSpec]) -> float:
    """Returns what these flows bring while flows arrive, in frames, over the rate of a link."""
    payload = sum(flow.size_bytes or 0 for flow in flows)
    return payload * _FRAME_BYTES / PAYLOAD_BYTES * 8 / (ARRIVALS_S * RATE_BPS)


def numbers(recording: Recording) -> dict[str, float | None]:
    """Returns PAUSE frames a second and completion times in ms, by group and of all."""
    measured: dict[str, float | None] = {
        "pause_per_s": recording_numbers.pauses(recording, recording.links, 0.0, DURATION_S)
        / DURATION_S,
        "pause_s0_per_s": recording_numbers.pauses(recording, ["s1->s0"], 0.0, DURATION_S)
        / DURATION_S,
        "unfinished": float(sum(flow.fct_s is None for flow in recording.flows)),
    }
    for group in (*GROUPS, "all"):
        times = (
            np.array([_time_s(flow) for flow in recording.flows if group in ("all", flow.group)])
            * 1e3
        )
        measured[f"mean_ms {group}"] = recording_numbers.mean(times)
        measured[f"p99_ms {group}"] = recording_numbers.percentile(times, 99)
    return measured


def h1_of_fair_share(recording: Recording) -> float | None:
    """Returns what H1's flows got of R1's link while there were both theirs and the bursts', over
    what is theirs if every flow gets the same."""
    edges = np.arange(0.0, DURATION_S, STEP_S)
    going, got = (
        [counted(recording, group, edges) for group in ("h1", "bursts")]
        for counted in (_going, _received)
    )
    both = (going[0] > 0) & (going[1] > 0)
    arrived = got[0] + got[1]
    fair = going[0][both] / (going[0] + going[1])[both] * arrived[both]
    return ratio(float(got[0][both].sum()), float(fair.sum()))


def slow_share(recording: Recording, group: str) -> float | None:
    """Returns the share of the time of a group's flows in which these get less than SLOW_BPS each,
    on average over the flows of the group that are under way at the same time."""
    edges = np.arange(0.0, DURATION_S, STEP_S)
    going, received = _going(recording, group, edges), _received(recording, group, edges)
    slow = received * 8 / STEP_S < SLOW_BPS * going
    return ratio(float(going[slow].sum()), float(going.sum()))


def _going(recording: Recording, group: str, edges: Array) -> Array:
    """Returns how many of a group's flows are going at each edge but the last."""
    count = np.zeros(edges.size - 1)
    for flow in recording.flows:
        if flow.group == group:
            count += (edges[:-1] >= flow.start_s) & (edges[:-1] < flow.start_s + _time_s(flow))
    return count


def _received(recording: Recording, group: str, edges: Array) -> Array:
    """Returns the payload of a group that arrives between two edges."""
    received: Array = np.diff(
        series_math.counter_at(*recording.series.get(group, "received_bytes"), edges)
    )
    return received


def _time_s(flow: FlowRecord) -> float:
    return DURATION_S - flow.start_s if flow.fct_s is None else flow.fct_s
