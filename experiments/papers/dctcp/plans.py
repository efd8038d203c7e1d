"""Plans of the paper's testbed: senders around a switch, packets of 1,500 bytes."""

from __future__ import annotations

from dataclasses import replace

from pcn.experiments.data.plan import HEADER_BYTES, Plan, known_fields, plan_of
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FRAME_BYTES = 1500
PAYLOAD_BYTES = FRAME_BYTES - HEADER_BYTES
XOFF_BYTES = 50e6
"""PAUSE is out of reach."""


def star_plan(
    name: str,
    scheme: str,
    seed: int,
    senders: int,
    line_bps: float,
    delay_s: float,
    k_packets: float,
    ends_s: float,
) -> Plan:
    """Returns a plan of long flows from all senders to one receiver, which start one after the
    other within 10 round trips."""
    rtt_s = 4 * delay_s
    flows = tuple(
        FlowSpec(n, f"h{n - 1}", "r0", start_s=10 * rtt_s * n / senders)
        for n in range(1, senders + 1)
    )
    topology = star(senders, 1, line_bps, delay_s, xoff_bytes=XOFF_BYTES, mtu_bytes=FRAME_BYTES)
    topology = replace(topology, flows=flows)
    fields = known_fields(scheme, {"k_bytes": k_packets * FRAME_BYTES, "frame_bytes": FRAME_BYTES})
    queue, every_s = Endpoint("s0", senders + 1), rtt_s / 5
    plan = plan_of(
        name, scheme, seed, topology, ends_s, fields, [queue], every_s, payload_bytes=PAYLOAD_BYTES
    )
    return replace(
        plan, sampling=replace(plan.sampling, counters_s=ends_s / 100, flows_s=ends_s / 100)
    )
