"""A recording made from the paper's fluid model (appendix A), to try what reads recordings. Not a run of anything."""

from __future__ import annotations

import numpy as np

from experiments.recording import FlowRecord, LinkRecord, PortRecord, Recording, flow_entity
from experiments.scenarios import Plan
from experiments.series import Series

STEP_S = 50e-6


def fluid(plan: Plan, seed: int = 1) -> Recording:
    """PCN's flows on one bottleneck: each flow decides every T, at its own phase; feedback takes an RTT."""
    random = np.random.default_rng(seed)
    capacity, period, w_min = plan.capacity_bps, plan.number("T"), plan.number("w_min")
    rtt, frame, ends = plan.topology.max_rtt_s(), plan.frame_bytes, plan.topology.flows
    series, sent, received = Series(), np.zeros(len(ends)), np.zeros(len(ends))
    rate, w = np.full(len(ends), capacity), np.full(len(ends), w_min)
    phase = random.uniform(0, period, len(ends)) + rtt
    queue = transmitted = marked = pauses = 0.0
    port, links = str(plan.bottleneck), [f"s0->{host}" for host in dict.fromkeys(flow.src for flow in ends)]
    for index in range(len(ends)):
        series.add(0, flow_entity(index + 1), "rate_bps", capacity)
    for step in range(round(plan.duration_s / STEP_S)):
        now = (step + 1) * STEP_S
        nic = rate.copy()
        for host in {flow.src for flow in ends}:
            own = [i for i, flow in enumerate(ends) if flow.src == host]
            nic[own] *= min(1.0, capacity / rate[own].sum())
        arrived = nic * STEP_S / 8
        gone = min(queue + arrived.sum(), capacity * STEP_S / 8)
        queue += arrived.sum() - gone
        sent += arrived
        received += nic / nic.sum() * gone
        transmitted += gone / frame
        marked += gone / frame if queue > frame else 0
        if queue > 3 * plan.number("xoff") and now < 5e-3:
            pauses += 1
        for index in np.flatnonzero((now - phase >= 0) & ((now - phase) % period < STEP_S)):
            if queue > frame:
                share = nic[index] / nic.sum() * capacity
                rate[index] = min(rate[index], share * (1 - w_min) * random.uniform(0.97, 1))
                w[index] = w_min
            else:
                rate[index] = rate[index] * (1 - w[index]) + capacity * w[index]
                w[index] = w[index] * (1 - w[index]) + plan.number("w_max") * w[index]
            series.add(now, flow_entity(int(index) + 1), "rate_bps", float(rate[index]))
        for metric, value in {
            "waiting_bytes": queue,
            "waiting_packets": queue / frame,
            "pn": 0.0,
            "transmitted_bytes": transmitted * frame,
            "transmitted_packets": transmitted,
            "marked_packets": marked,
        }.items():
            series.add(now, port, metric, value)
        for link in links:
            series.add(now, link, "pause", pauses)
        for index, payload in enumerate(received * plan.payload_bytes / frame):
            series.add(now, flow_entity(index + 1), "received_bytes", float(payload))
    counts = [round(float(amount) / frame) for amount in sent]
    return Recording(
        series=series,
        flows=tuple(
            FlowRecord(
                id=flow.id,
                src=flow.src,
                dst=flow.dst,
                start_s=0.0,
                sent_packets=count,
                sent_bytes=count * plan.payload_bytes,
                received_packets=count,
                received_bytes=count * plan.payload_bytes,
                marked_packets=round(count * marked / transmitted),
            )
            for flow, count in zip(ends, counts, strict=True)
        ),
        links={link: LinkRecord(round(pauses), 1, 0.001) for link in links} | {"s1->s0": LinkRecord(0, 0, 0.0)},
        ports={port: PortRecord(round(transmitted), round(marked), capacity)},
        left_inside={},
        k=400,
        duration_s=plan.duration_s,
        wall_s=42.0,
        versions={"python": "3.11.2"},
        notes=("A note.",),
    )
