"""Constants of every program of p4src (p4src/shared/constants.p4) and of PFC, which the p4info lacks."""

from __future__ import annotations

CLASSES = 8
ROCE_CLASS = 3
RECIRCULATION_PORT = 510  # internal, where clones become PFC frames
GENERATOR_PORT = 508  # internal, where what a switch's packet generator makes comes in (p4src/v1model/generated.p4)
PFC_BYTES = 60  # of a PFC frame, without FCS
MAX_QUANTA = 0xFFFF  # of a PFC frame, whose field has 16 bits


def index(port: int, traffic_class: int = ROCE_CLASS) -> int:
    """The cell of a port and class in the data plane's registers and counters (`dropped`: of a port and reason)."""
    return port * CLASSES + traffic_class
