"""How much waits at a port in the classes that PFC doesn't protect: a parameter that every topology
has."""

from __future__ import annotations

from collections.abc import Mapping

from pcn.base.errors import TopologyError

Value = float | int | str
QUEUE = "queue_packets"
_MOST = 2**16 - 2
"""Of the engine's 16 bits: 65,535 stands for a missing queue."""


def parameters(queue_packets: int = 0) -> dict[str, Value]:
    """Returns it by name: an option of each topology."""
    return {QUEUE: queue_packets}


def queue_packets(settings: Mapping[str, Value]) -> int:
    """Returns how many packets of a lossy class wait at a port of a switch before more are lost; 0:
    as many as the switch holds. Raises TopologyError."""
    packets = settings.get(QUEUE) or 0
    if isinstance(packets, str) or not 0 <= packets <= _MOST or packets != int(packets):
        raise TopologyError(
            f"{QUEUE} is {packets!r}: a whole number from 1 to {_MOST}, or 0 for no limit"
        )
    return int(packets)
