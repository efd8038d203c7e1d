"""Long flows on DCQCN's testbed. Which of the shortest paths a flow takes, its UDP source port
decides, and that its number: so each seed draws other numbers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from pcn.experiments.data.plan import Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_rate
from pcn.experiments.papers.dcqcn.claims import PFC
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.two_pods import two_pods

DRAWS = range(1, 101)
_PORTS = 1 << 14  # of which a flow has one, pcn.hosts.wire.source_port
_SPANS = {PFC: (2e-3, 7e-3)}
_SPAN = (50e-3, 100e-3)
"""Over which rates are measured: without congestion control, and with it, which has to settle
first."""


DRAWN_NUMBERS = "the flows' numbers, and so their paths"


def plan(name: str, scheme: str, seed: int, pairs: Sequence[tuple[str, str]]) -> Plan:
    """Returns the flows between these hosts, in this order, that begin together and don't end."""
    numbers = random.Random(seed).sample(range(1, _PORTS), len(pairs))
    _, end_s = span(scheme)
    flows = tuple(
        FlowSpec(number, *pair, duration_s=end_s)
        for number, pair in zip(numbers, pairs, strict=True)
    )
    topology = replace(two_pods(), flows=flows)
    (to_r,) = (port for port in topology.ports("t4") if topology.peer("t4", port).node == "r")
    return plan_of(name, scheme, seed, topology, end_s, {}, [Endpoint("t4", to_r)], 1e-3)


def span(scheme: str) -> tuple[float, float]:
    return _SPANS.get(scheme, _SPAN)


def rates(plan: Plan, recording: Recording) -> dict[str, float]:
    """Returns the rates at which frames of each host's flow arrived, Gbit/s."""
    share = plan.frame_bytes / plan.payload_bytes
    return {
        flow.src: counter_rate(*recording.series.get((
            f"flow {flow.id}"
        ), "received_bytes"), *span(plan.scheme)) * share
        * 8e-9
        for flow in plan.topology.flows
    }  # fmt: skip
