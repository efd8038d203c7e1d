"""Networks with InfiniBand's credits, and the flow control packets of their captures."""

import math
import struct
from dataclasses import dataclass, replace
from pathlib import Path

from networks import all_link_stats, read_pcap

from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import Topology

BLOCK, COUNTS, AHEAD = 64, 4096, 2048
BUFFER = 280_000
FC_TYPE = b"\x88\xb5"


def by_credits(topology: Topology, **parameters: float) -> Topology:
    return replace(
        topology, flow_control="credits", parameters={**topology.parameters, **parameters}
    )


def blocks(frame_bytes: int) -> int:
    return math.ceil(frame_bytes / BLOCK)


def period_s(rate_bps: float) -> float:
    """65,536 symbol times of a 4X link, which carries 32 bits in each."""
    return 65536 * 32 / rate_bps


def nothing_inside(network: VirtualNetwork) -> bool:
    held = any(stats.held_bytes for stats in all_link_stats(network))
    return not held and network.totals().packets == 0


@dataclass(frozen=True)
class FlowControl:
    """A flow control packet: when it had left, its lane, and its content."""

    time_s: float
    lane: int
    sent: int
    limit: int


def flow_control(path: Path) -> list[FlowControl]:
    packets = []
    for time_s, frame in read_pcap(path):
        if frame[12:14] == FC_TYPE:
            (word,) = struct.unpack(">I", frame[14:])
            assert word >> 28 == 0
            packets.append(FlowControl(time_s, word >> 12 & 15, word >> 16 & 0xFFF, word & 0xFFF))
    return packets
