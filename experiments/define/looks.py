"""How the schemes that papers compare are called in texts and drawn in pictures. Any other has its
own name."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

from pcn.experiments.define.charts import Stroke

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
    "timely-hpcc": "TIMELY (HPCC)",
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
    """How a line is drawn: the palette's name of its colour, the mark at its points, the stroke.
    Marks and strokes alone distinguish all schemes in greyscale."""

    colour: str
    mark: str
    stroke: Stroke


LOOKS = {
    "pcn": Look("flow0", "o", "solid"),
    "dcqcn": Look("flow1", "D", "solid"),
    "qcn": Look("flow2", "s", "solid"),
    "timely": Look("flow3", "^", "solid"),
    "hpcc": Look("other0", "P", "solid"),
    "swift": Look("other1", "h", "solid"),
    "dctcp": Look("other2", ">", "solid"),
    "rccc": Look("other4", "p", "solid"),
    "red": Look("other3", "X", "solid"),
    "pfc": Look("other3", "X", "dashed"),
    "pcn-x": Look("other4", "v", "dashed"),
    "dcqcn-ns3": Look("flow1", "d", "dashed"),
    "nscc": Look("flow2", "*", "dashed"),
    "timely-hpcc": Look("other4", "^", "dashdot"),
    "pcn-time": Look("flow0", "o", "dashed"),
    "timely-tcd": Look("flow3", "^", "dashed"),
    "ibcc-tcd": Look("other1", "h", "dashed"),
    "tcd-time": Look("other2", "P", "dashed"),
    "qcn-t": Look("other0", "s", "dashed"),
    "pcn-w": Look("flow0", "<", "dotted"),
    "dcqcn-tcd": Look("flow1", "D", "dotted"),
    "qcn-in": Look("flow2", "s", "dotted"),
    "qcn-os": Look("flow3", "*", "dotted"),
    "ibcc": Look("other1", "h", "dotted"),
    "tcd": Look("other2", "P", "dotted"),
    "qcn-out": Look("other0", "v", "dotted"),
    "qcn-os-largest": Look("other4", ">", "dotted"),
    "qcn-both": Look("flow2", "p", "dashdot"),
    "qcn-os-sojourn": Look("flow3", "<", "dashdot"),
}
MARKS = ("o", "s", "D", "^", "v", "<", ">", "P", "X", "*", "p", "h", "d")
GROUPS = {
    name: f"flow{number}"
    for number, name in enumerate(("S", "M", "L", "XL", "collective", "incast"))
}
"""Colours of the groups that traffic has, whichever of them a run has, and in which order its flows
start."""


def flow_colours(entities: Iterable[str]) -> dict[str, str]:
    """Returns the colour of each flow, or group of flows, by its name in series: traffic's groups
    by GROUPS, first, all else in order."""
    unique = dict.fromkeys(entities)
    groups = {name: colour for name, colour in GROUPS.items() if name in unique}
    rest = [name for name in unique if name not in groups]
    free = (
        f"flow{number}" for number in itertools.count() if f"flow{number}" not in groups.values()
    )
    return groups | dict(zip(rest, free, strict=False))


def label(scheme: str) -> str:
    """Returns the display name: `dcqcn` is DCQCN."""
    return _LABELS.get(scheme, scheme)
