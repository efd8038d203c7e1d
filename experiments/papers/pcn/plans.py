"""Plans of the paper's networks for any scheme: what the figures run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, Sampling, known_fields, numbers, plan_of
from pcn.experiments.papers.pcn.scenarios.dumbbell import Dumbbell
from pcn.hosts.algorithms.dcqcn import DcqcnParameters
from pcn.hosts.algorithms.parameters import describe
from pcn.topologies.compact import P0_S0, P2_S1, compact
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Endpoint, FlowSpec, Topology
from pcn.topologies.parking_lot import parking_lot

TIMELY_SEGMENT_BYTES = 16_000
"""The smallest that TIMELY's paper has. Fig. 2 shows what others come to."""


def pcn_fields(
    scheme: str, w_min: float, period_s: float, w_max: float = 0.5, **more: float
) -> dict[str, float]:
    """Returns what PCN and its variants are given; other schemes have none of these."""
    return known_fields(scheme, {"w_min": w_min, "w_max": w_max, "period_s": period_s, **more})


def timely_fields(scheme: str, topology: Topology) -> dict[str, float]:
    """Returns TIMELY's segments, and the network's least RTT."""
    return known_fields(
        scheme, {"segment_bytes": TIMELY_SEGMENT_BYTES, "min_rtt_s": topology.max_rtt_s()}
    )


def _of_section_7(scheme: str, rtt_s: float, w_min: float) -> dict[str, Value]:
    """Returns what PCN's section 7.1 and B.1 have on every dumbbell: T and TIMELY's thresholds by
    the round trip without frames, and the baselines' values of their papers, whatever the links'
    rate."""
    dcqcn = {parameter.name: parameter.default for parameter in describe(DcqcnParameters)}
    values: dict[str, Value] = {
        "w_min": w_min,
        "T": max(rtt_s, 1e-6),
        "segment": TIMELY_SEGMENT_BYTES,
    }
    if scheme == "timely":
        values |= {"T_low": rtt_s + 50e-6, "T_high": rtt_s + 500e-6, "min_rtt": max(rtt_s, 1e-6)}
    if scheme in ("dcqcn", "dcqcn-tcd"):
        values |= {
            name: dcqcn[name] for name in ("K_min", "K_max", "R_AI", "R_HAI", "byte_counter")
        }
    return values


def dumbbell_plan(
    scheme: str, seed: int, duration_s: float, values: Mapping[str, Value], every_s: float = 0.1e-3
) -> Plan:
    """Returns Section 7.1's dumbbell as the scenario has it, with more flows. `values`: flows
    (default: 4), rtt, T, w_min (default: 0.1 / N), or fields of the scheme's parameters."""
    more = numbers(values)
    flows = round(more.pop("flows", 4))
    named: dict[str, Value] = {
        name: more.pop(name) for name in ("rtt", "T", "w_min") if name in more
    }
    parameters = {parameter.name: parameter for parameter in Dumbbell().parameters(scheme)}
    rtt_s = float(named.get("rtt") or parameters["rtt"].default or 0)
    named = {**_of_section_7(scheme, rtt_s, 0.1 / flows), "duration": duration_s, **named}
    plan = Dumbbell().plan(
        scheme, seed, {name: value for name, value in named.items() if name in parameters}
    )
    return dataclasses.replace(
        plan,
        values={**plan.values, "flows": flows, **more},
        scheme_parameters={**plan.scheme_parameters, **more},
        topology=dumbbell(flows=flows, rtt_s=plan.number("rtt")),
        sampling=Sampling(
            (plan.bottleneck,), queues_s=every_s, counters_s=every_s, flows_s=every_s
        ),
    )


def compact_plan(
    name: str,
    scheme: str,
    seed: int,
    flows: Sequence[FlowSpec],
    duration_s: float,
    before_s: float = 0.0,
    every_s: float = 0.1e-3,
    period_s: float = 50e-6,
    w_min: float = 0.1 / 2,
    **more: float,
) -> Plan:
    """Returns Fig. 1's network with these flows."""
    topology = dataclasses.replace(compact(), flows=tuple(flows))
    fields = pcn_fields(scheme, w_min, period_s, **more) | timely_fields(scheme, topology)
    return plan_of(
        name, scheme, seed, topology, duration_s, fields, [P0_S0, P2_S1], every_s, -before_s
    )


def parking_lot_plan(
    scheme: str,
    seed: int,
    bottlenecks: int,
    duration_s: float,
    w_min: float,
    every_s: float = 0.1e-3,
) -> Plan:
    """Returns Fig. 19's network: T is the largest RTT, F0's."""
    topology = parking_lot(bottlenecks)
    fields = pcn_fields(scheme, w_min, topology.max_rtt_s()) | timely_fields(scheme, topology)
    queues = [Endpoint("s0", 1)]
    return plan_of(
        "parking-lot",
        scheme,
        seed,
        topology,
        duration_s,
        fields,
        queues,
        every_s,
        bottlenecks=bottlenecks,
    )
