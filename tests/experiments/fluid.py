"""A recording made from the paper's fluid model, to try what reads recordings. Not a run of
anything."""

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import (
    FlowRecord,
    LinkRecord,
    PortRecord,
    Recording,
    flow_entity,
)
from pcn.experiments.data.series import Series
from pcn.experiments.define.fluid import Fluid

STEP_S = 50e-6


def fluid(plan: Plan) -> Recording:
    """PCN's flows on the bottleneck as appendix A has them. A host's flows start with equal shares
    of its NIC."""
    capacity, period, frame, ends = (
        plan.capacity_bps,
        plan.number("T"),
        plan.frame_bytes,
        plan.topology.flows,
    )
    hosts = [flow.src for flow in ends]
    model = Fluid(capacity, period, plan.number("w_min"), plan.number("w_max"))
    loops = model.run(
        [capacity / hosts.count(host) for host in hosts], round(plan.duration_s / period) + 1
    )

    times = np.arange(1, round(plan.duration_s / STEP_S) + 1) * STEP_S
    loop = np.minimum((times - STEP_S / 2) // period, loops.w.size - 1).astype(int)
    queue = loops.queue_at(times)
    received = np.cumsum(loops.received[loop] * STEP_S / 8, axis=0)
    transmitted = received.sum(axis=1)
    marked = np.cumsum(np.where(queue > frame, np.diff(transmitted, prepend=0), 0))
    pauses = np.cumsum((queue > 3 * plan.number("xoff")) & (times < 5e-3))

    series = Series()
    for index in range(len(ends)):
        # the algorithm's; the NIC shares
        series.add(0, flow_entity(index + 1), "rate_bps", capacity)
        for k in range(1, loops.w.size):
            series.add(k * period, flow_entity(index + 1), "rate_bps", float(loops.rates[k, index]))
    port, links = str(plan.bottleneck), [f"s0->{host}" for host in dict.fromkeys(hosts)]
    for step, now in enumerate(times.tolist()):
        for metric, value in {
            "waiting_bytes": queue[step],
            "waiting_packets": queue[step] / frame,
            "pn": 0.0,
            "transmitted_bytes": transmitted[step],
            "transmitted_packets": transmitted[step] / frame,
            "marked_packets": marked[step] / frame,
        }.items():
            series.add(now, port, metric, float(value))
        for link in links:
            series.add(now, link, "pause", float(pauses[step]))
        for index, amount in enumerate(received[step]):
            series.add(
                now, flow_entity(index + 1), "received_bytes",
                float(amount) * plan.payload_bytes / frame,
            )  # fmt: skip
            series.add(now, flow_entity(index + 1), "received_packets", float(amount) / frame)

    counts = [round(float(amount) / frame) for amount in received[-1]]
    marked_share = float(marked[-1] / transmitted[-1])
    return Recording(
        series=series,
        flows=tuple(
            FlowRecord(
                id=flow.id, src=flow.src, dst=flow.dst, start_s=0.0, sent_packets=count,
                sent_bytes=count * plan.payload_bytes, received_packets=count,
                received_bytes=count * plan.payload_bytes,
                marked_packets=round(count * marked_share),
            )
            for flow, count in zip(ends, counts, strict=True)
        ),
        links={link: _link_record(int(pauses[-1]), 1, 0.001) for link in links}
        | {"s1->s0": _link_record(0, 0, 0.0)},
        ports={
            port: PortRecord(
                round(float(transmitted[-1]) / frame), capacity, round(float(marked[-1]) / frame)
            )
        },
        left_inside={}, k=400, duration_s=plan.duration_s, wall_s=42.0,
        versions={"python": "3.11.2"}, notes=("A note.",),
    )  # fmt: skip


def _link_record(pause: int, resume: int, paused_s: float) -> LinkRecord:
    return LinkRecord(pause=pause, resume=resume, paused_s=paused_s, pause_by_class=())
