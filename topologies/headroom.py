"""What can still come in after a PAUSE falls due, for which a lossless class of a shared buffer has
headroom."""

from __future__ import annotations

from collections.abc import Iterator

from pcn.topologies.lossless import CLASSES, PFC
from pcn.topologies.model import Topology

_PFC_BYTES = 60
"""Of a PFC frame, without FCS."""


def needed_bytes(
    topology: Topology, switch: str, port: int, frame_bytes: float, response_s: float = 0.0
) -> int:
    """Returns it of a switch's port, as virtual time reckons: while the PAUSE waits for a frame and
    for PFC frames of the other classes, during both delays, the far end's response and the switch's
    latency; and three frames."""
    link = topology.link_at(switch, port)
    waiting_s = 8 * (frame_bytes + CLASSES * _PFC_BYTES) / link.rate_bps
    delay_s = waiting_s + 2 * link.delay_s + response_s + topology.switch(switch).latency_s
    return int(delay_s * link.rate_bps / 8 + 1e-6) + 1 + round(3 * frame_bytes)


def faults(topology: Topology, frame_bytes: float, response_s: float = 0.0) -> Iterator[str]:
    """Yields the classes whose headroom is too small, a line each, ports of the same fault
    together."""
    if topology.flow_control != PFC:
        return
    ports_by_fault: dict[tuple[str, int, float, int], list[int]] = {}
    for switch in topology.switches:
        for port in topology.ports(switch.name) if switch.buffer is not None else ():
            needed = needed_bytes(topology, switch.name, port, frame_bytes, response_s)
            for number in topology.lossless_classes:
                rate_bps = topology.link_at(switch.name, port).rate_bps
                assert switch.buffer is not None
                share = switch.buffer.share(port, rate_bps, number, lossless=True)
                if share.headroom_bytes is not None and share.headroom_bytes < needed:
                    ports_by_fault.setdefault(
                        (switch.name, number, share.headroom_bytes, needed), []
                    ).append(port)
    for (name, number, headroom_bytes, needed), ports in ports_by_fault.items():
        yield (
            f"{name}:{','.join(map(str, ports))}: class {number}: a headroom of "
            f"{headroom_bytes:.0f} bytes: after a PAUSE falls due {needed} can still come in, with "
            f"frames of {frame_bytes:.0f} bytes"
        )
