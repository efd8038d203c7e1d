"""Section 7.2's run, for Fig. 12 and 13: Hadoop flows on Fig. 1's network, those of H2 to H15 synchronous."""

from __future__ import annotations

import numpy as np

from experiments.paper import measure
from experiments.paper.plans import PAYLOAD_BYTES, compact_plan
from experiments.recording import FlowRecord, Recording
from experiments.scenarios.base import HEADER_BYTES, Plan
from experiments.workloads import W2, arrivals_per_s, poisson_flows
from topologies.model import FlowSpec

LOAD = 0.6
RATE_BPS = 40e9
ARRIVALS_S, DURATION_S = 300e-3, 400e-3
BURSTING = tuple(f"h{i}" for i in range(2, 16))
GROUPS = ("h0", "h1", "bursts")
ABOUT = (
    "Fig. 1's network. Flows of W2 (Table 1) arrive at random for 300 ms: from H0 to R0 and from H1 to R1 with a load "
    "of 0.3 each, and from H2 to H15 to R1, all 14 at the same times and of the same sizes, with 0.3 together: so both "
    "bottlenecks, S0 to S1 and S1 to R1, have 0.6. The same flows for every scheme. A flow that is still going 100 ms "
    "after the last arrival counts with the time that it had."
)


def hadoop_plan(scheme: str, seed: int, w_min: float = 1 / 128, w_max: float = 0.5) -> Plan:
    """The run. PCN's T is 50 us; H0's and H1's flows are each many in a row, of one or a few at a time."""
    flows: list[FlowSpec] = []
    for stream, (group, senders, receiver) in enumerate(
        (("h0", ("h0",), "r0"), ("h1", ("h1",), "r1"), ("bursts", BURSTING, "r1"))
    ):
        random = np.random.default_rng([seed, stream])
        per_s = arrivals_per_s(LOAD / 2, RATE_BPS, W2, PAYLOAD_BYTES, PAYLOAD_BYTES + HEADER_BYTES) / len(senders)
        flows += poisson_flows(random, W2, per_s, ARRIVALS_S, senders, receiver, group, len(flows))
    return compact_plan("hadoop", scheme, seed, flows, DURATION_S, w_min=w_min, w_max=w_max)


def numbers(recording: Recording) -> dict[str, float | None]:
    """PAUSE frames a second and completion times in ms, by group and of all."""
    found: dict[str, float | None] = {
        "pause_per_s": measure.pauses(recording, recording.links, 0.0, DURATION_S) / DURATION_S,
        "pause_s0_per_s": measure.pauses(recording, ["s1->s0"], 0.0, DURATION_S) / DURATION_S,
        "unfinished": float(sum(flow.fct_s is None for flow in recording.flows)),
    }
    for group in (*GROUPS, "all"):
        times = np.array([_time_s(flow) for flow in recording.flows if group in ("all", flow.group)]) * 1e3
        found[f"mean_ms {group}"] = measure.mean(times)
        found[f"p99_ms {group}"] = measure.percentile(times, 99)
    return found


def _time_s(flow: FlowRecord) -> float:
    return DURATION_S - flow.start_s if flow.fct_s is None else flow.fct_s
