"""Numbers that every program of p4src has (p4src/shared/constants.p4), which the p4info can't tell."""

from __future__ import annotations

CLASSES = 8
ROCE_CLASS = 3
RECIRCULATION_PORT = 510  # internal, where clones become PFC frames


def index(port: int, traffic_class: int = ROCE_CLASS) -> int:
    """The cell of a port and class in the data plane's registers and counters (`dropped`: of a port and reason)."""
    return port * CLASSES + traffic_class
