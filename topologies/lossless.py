"""How a topology loses nothing, and the parameters that every topology has: PFC's thresholds, the largest frame.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from topologies.model import Value

PFC, CREDITS = "pfc", "credits"  # flow control of all links: IEEE 802.1Qbb, or InfiniBand's

MTU_BYTES = 1058  # the largest frame of the experiments: 1000 B payload as RoCEv2
XOFF_BYTES = 512e3  # PCN, section 7: for all schemes
PAUSE_QUANTA = 0xFFFF
BUFFER_BYTES = 280e3  # TCD, section 5: of a port and virtual lane
CREDIT_INTERVAL_S = 2e-6


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


def credit_parameters(
    buffer_bytes: float = BUFFER_BYTES, credit_interval_s: float = CREDIT_INTERVAL_S
) -> dict[str, Value]:
    """By name. `buffer_bytes`: of an input port and virtual lane. `credit_interval_s`: at least so long lies between
    two flow control packets that credits of one lane cause."""
    return {"buffer_bytes": buffer_bytes, "credit_interval_s": credit_interval_s}


def completed(given: Mapping[str, Value], flow_control: str) -> dict[str, Value]:
    """The parameters of a topology, with the usual values of those that it doesn't have."""
    own = {name: float(value) for name, value in given.items() if name in parameters() and not isinstance(value, str)}
    usual = {**parameters(**own), **(credit_parameters() if flow_control == CREDITS else {})}
    return {**given, **{name: value for name, value in usual.items() if name not in given}}
