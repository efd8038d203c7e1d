"""The networks that TCD's paper runs, and the victims' traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import (
    HEADER_BYTES,
    PAYLOAD_BYTES,
    Plan,
    known_fields,
    numbers,
    plan_of,
)
from pcn.experiments.data.recording import FlowRecord, Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.flow_sizes import HADOOP, FixedSizes, FlowSizes
from pcn.experiments.define.workloads import arrivals_per_s, poisson_flows, poisson_times
from pcn.topologies.head_of_line import P1, P2, P3, head_of_line
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import FlowSpec, Topology

LINE_BPS, SENDER_BPS = 40e9, 20e9
BURSTING = tuple(f"a{i}" for i in range(15))
SEEDS = (1, 2, 3, 4, 5)
SENDERS_LOAD = 0.6
ARRIVALS_S, DURATION_S = 100e-3, 120e-3
WITHIN = 0.05
MESSAGES = FixedSizes("messages", ((128_000, 0.8), (1_000_000, 0.2)))
"""MPI's and I/O's "typical sizes" that the paper takes from elsewhere; these are ours."""
_FRAME_BYTES = PAYLOAD_BYTES + HEADER_BYTES
TRAFFIC = (
    "Fig. 2's network: 40 Gbit/s, S0's and S1's links 20 Gbit/s, 4 us each. Hadoop flows arrive at "
    "random for 100 ms from S0 to R0, the victims, and from S1 to R1, with a load of 0.6 of their "
    "links each, drawn until they bring it within 5%"
)


def victims_plan(name: str, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
    """Returns Fig. 2's network with Hadoop flows of S0 and S1, and what A0 to A14 send at once,
    equal for all schemes.

    `values`: `bursts_load`, of R1's link, in Hadoop flows; or `burst_bytes`, of each host, once in
    a millisecond on average; and fields of the scheme's parameters, of which those that it hasn't
    change nothing.
    """
    settings = numbers(values)
    load, burst_bytes = settings.pop("bursts_load", 0.5), settings.pop("burst_bytes", 0.0)
    topology = replace(head_of_line(), flows=_flows(seed, HADOOP, load, burst_bytes))
    return _plan(name, scheme, seed, topology, settings)


def messages_plan(name: str, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
    """Plans the network of `victims_plan` with messages instead of Hadoop flows, and InfiniBand's
    credits instead of PFC. `sender_bps` is the rate of S0's and S1's links; it doesn't change their
    messages."""
    settings = numbers(values)
    load, sender_bps = settings.pop("bursts_load", 0.3), settings.pop("sender_bps", SENDER_BPS)
    network = head_of_line(sender_bps=sender_bps)
    topology = replace(network, flow_control=CREDITS, flows=_flows(seed, MESSAGES, load))
    return _plan(name, scheme, seed, topology, settings)


def _plan(
    name: str, scheme: str, seed: int, topology: Topology, settings: Mapping[str, float]
) -> Plan:
    fields = known_fields(scheme, settings)
    return plan_of(name, scheme, seed, topology, DURATION_S, fields, [P2, P1, P3], 0.5e-3)


def _flows(
    seed: int, sizes: FlowSizes, load: float, burst_bytes: float = 0.0
) -> tuple[FlowSpec, ...]:
    flows: list[FlowSpec] = []
    for stream, (sender, receiver) in enumerate((("s0", "r0"), ("s1", "r1"))):
        random = np.random.default_rng([seed, stream])
        flows += _drawn(
            random, sizes, SENDERS_LOAD * SENDER_BPS, (sender,), receiver, sender, len(flows)
        )
    random = np.random.default_rng([seed, 2])
    if burst_bytes:
        for start_s in poisson_times(random, 1e3, ARRIVALS_S):
            flows += [
                FlowSpec(number, host, "r1", start_s, round(burst_bytes), group="bursts")
                for number, host in enumerate(BURSTING, start=len(flows))
            ]
    else:
        flows += _drawn(random, sizes, load * LINE_BPS, BURSTING, "r1", "bursts", len(flows))
    return tuple(flows)


def _drawn(
    random: np.random.Generator,
    sizes: FlowSizes,
    offered_bps: float,
    senders: tuple[str, ...],
    receiver: str,
    group: str,
    first_id: int,
) -> list[FlowSpec]:
    """Returns the flows that together bring this rate of frames, within 5%: in 100 ms there are few
    large ones, and what is drawn first may bring far less or more."""
    per_s = arrivals_per_s(1.0, offered_bps, sizes, PAYLOAD_BYTES, _FRAME_BYTES) / len(senders)
    expected = offered_bps / 8 * ARRIVALS_S * PAYLOAD_BYTES / _FRAME_BYTES
    drawn: list[FlowSpec] = []
    while abs(sum(flow.size_bytes or 0 for flow in drawn) - expected) > WITHIN * expected:
        drawn = poisson_flows(random, sizes, per_s, ARRIVALS_S, senders, receiver, group, first_id)
    return drawn


def victims(recording: Recording) -> list[FlowRecord]:
    return [flow for flow in recording.flows if flow.src == "s0"]


def times_us(
    plan: Plan, recording: Recording, group: str, least: float = 0.0, most: float = float("inf")
) -> Array:
    """Returns the completion times of a group's flows of one size. One that is still going counts
    with the time it had."""
    return np.array([
        (recording.duration_s - flow.start_s if flow.fct_s is None else flow.fct_s) * 1e6
        for flow, spec in zip(recording.flows, plan.topology.flows, strict=True)
        if flow.group == group and least <= (spec.size_bytes or 0) < most
    ])  # fmt: skip


SIZES = {
    "< 10 KB": (0.0, 10e3),
    "10 to 100 KB": (10e3, 100e3),
    "100 KB to 1 MB": (100e3, 1e6),
    "> 1 MB": (1e6, 1e12),
}


def victims_numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    """Returns the shares of the victims with a packet marked CE, and UE; mean completion times in
    us, theirs by size, and the bursts'."""
    flows = victims(recording)
    return {
        "victims": float(len(flows)),
        "ce_share": sum(flow.marked_packets > 0 for flow in flows) / len(flows) if flows else None,
        "ue_share": sum(flow.marked_ue_packets > 0 for flow in flows) / len(flows)
        if flows
        else None,
        "mean_us": recording_numbers.mean(times_us(plan, recording, "s0")),
        **{
            f"mean_us {name}": recording_numbers.mean(times_us(plan, recording, "s0", *ends))
            for name, ends in SIZES.items()
        },
        "bursts_us": recording_numbers.mean(times_us(plan, recording, "bursts")),
    }
