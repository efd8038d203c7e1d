"""How the schemes that papers compare are called in texts and drawn in pictures. Any other has its own name."""

from __future__ import annotations

from typing import Any, NamedTuple

_LABELS = {
    "pcn": "PCN",
    "pcn-x": "PCN-X",
    "pcn-time": "PCN-TIME",
    "qcn": "QCN",
    "dcqcn": "DCQCN",
    "dcqcn-ns3": "DCQCN (ns-3)",
    "dctcp": "DCTCP",
    "hpcc": "HPCC",
    "swift": "Swift",
    "nscc": "NSCC",
    "pcn-w": "PCN-W",
    "timely": "TIMELY",
    "ibcc": "IB CC",
    "pfc": "PFC alone",
    "qcn-in": "QCN at inputs",
    "qcn-os": "QCN-OS, random",
    "qcn-os-largest": "QCN-OS, largest",
    "qcn-os-sojourn": "QCN-OS, sojourn",
    "qcn-out": "QCN at buffered outputs",
    "qcn-both": "QCN at both",
    "qcn-t": "QCN-T",
    "red": "RED",
    "tcd": "TCD",
    "tcd-time": "TCD-TIME",
    "dcqcn-tcd": "DCQCN with TCD",
    "timely-tcd": "TIMELY with TCD",
    "ibcc-tcd": "IB CC with TCD",
}


class Look(NamedTuple):
    """Line style that stays distinguishable in greyscale and for colour-blind readers. The colour is the palette's."""

    colour: str
    mark: str
    dashes: Any


LOOKS = {
    "pcn": Look("flow0", "o", "-"),
    "dcqcn": Look("flow1", "D", "-"),
    "qcn": Look("flow2", "s", "-"),
    "timely": Look("flow3", "^", "-"),
    "pfc": Look("other3", "X", (0, (4, 1.5))),
    "pcn-x": Look("other4", "v", (0, (6, 1.5))),
    "pcn-w": Look("flow0", "<", (0, (2, 1))),
    "dcqcn-ns3": Look("flow1", "d", (0, (4, 1.5))),
    "dctcp": Look("other2", ">", "-"),
    "hpcc": Look("other0", "P", "-"),
    "swift": Look("other1", "h", "-"),
    "nscc": Look("flow2", "*", (0, (5, 1))),
}


def label(scheme: str) -> str:
    """Returns the display name: `dcqcn` is DCQCN."""
    return _LABELS.get(scheme, scheme)
