"""Swift (SIGCOMM'20): a window that holds the round trip at a target."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    7,
    "Swift (SIGCOMM'20)",
    __name__,
    figures={
        "swift-target": "target:Target",
    },
)
