"""The parameters that every topology has: PFC's thresholds, the largest frame.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topologies.model import Value

MTU_BYTES = 1058  # the largest frame of the experiments: 1000 B payload as RoCEv2
XOFF_BYTES = 512e3  # PCN, section 7: for all schemes
PAUSE_QUANTA = 0xFFFF


def parameters(
    xoff_bytes: float = XOFF_BYTES,
    xon_bytes: float | None = None,
    mtu_bytes: float = MTU_BYTES,
    pause_quanta: float = PAUSE_QUANTA,
) -> dict[str, Value]:
    """By name. XON defaults to XOFF less two MTUs: the distance that SIGCOMM'15 has, NSDI'20 gives none."""
    return {
        "mtu_bytes": mtu_bytes,
        "xoff_bytes": xoff_bytes,
        "xon_bytes": xoff_bytes - 2 * mtu_bytes if xon_bytes is None else xon_bytes,
        "pause_quanta": pause_quanta,
    }


def completed(given: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters of a topology, with the usual values of those that it doesn't have."""
    own = {name: float(value) for name, value in given.items() if name in parameters() and not isinstance(value, str)}
    return {**given, **{name: value for name, value in parameters(**own).items() if name not in given}}
