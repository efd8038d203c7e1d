"""Bytes of frames, from what Tofino's counters count."""

from __future__ import annotations

from pcn.controller.control_plane import Counter
from pcn.controller.tofino.model import FCS_BYTES

_INGRESS = "Ingress"
_BRIDGED_BYTES = {"PcnEgress": 4, "TcdEgress": 4, "QcnEgress": 12, "QcnInEgress": 12}
"""What a program's ingress puts in front of each frame for its egress: `bridge_t`, and QCN's
`origin_t`."""
_COPIES = ("notified",)
"""Counters of frames and of their cut copies, which have other headers."""


def of_frames(name: str, counted: Counter) -> Counter:
    """Returns a cell of the counter `name`, its whole name in the program, with the bytes of its
    frames, without FCS, as v1model counts them. None instead of bytes where a counter's frames have
    no common overhead."""
    control, *_, last = name.split(".")
    bridged = 0 if control.endswith(_INGRESS) else _BRIDGED_BYTES.get(control)
    if counted.bytes is None or last in _COPIES or bridged is None:
        return Counter(counted.packets, None)
    return Counter(counted.packets, counted.bytes - counted.packets * (FCS_BYTES + bridged))
