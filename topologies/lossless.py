"""The parameters that every topology here has: PFC's thresholds, the weights of PCN, the largest frame.

Python's standard library only: `mn --custom` loads topologies with the system's Python.
"""

from __future__ import annotations

from topologies.model import Value

MTU_BYTES = 1058  # the largest frame of the experiments: 1000 B payload as RoCEv2
XOFF_BYTES = 512e3  # PCN, section 7: for all schemes


def parameters(
    xoff_bytes: float, xon_bytes: float | None, mtu_bytes: int, pause_quanta: int, w_min: float, w_max: float
) -> dict[str, Value]:
    """By name. XON defaults to XOFF less two MTUs: DCQCN's distance, PCN gives none."""
    return {
        "mtu_bytes": mtu_bytes,
        "xoff_bytes": xoff_bytes,
        "xon_bytes": xoff_bytes - 2 * mtu_bytes if xon_bytes is None else xon_bytes,
        "pause_quanta": pause_quanta,
        "w_min": w_min,
        "w_max": w_max,
    }
