"""DCQCN (SIGCOMM'15): what PFC does to flows that share links, and DCQCN against it."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    1,
    "DCQCN (SIGCOMM'15)",
    __name__,
    figures={
        "dcqcn-fig3": "unfairness:Unfairness",
        "dcqcn-fig4": "victim:Victim",
        "dcqcn-fixed-point": "fixed_point:FixedPoint",
    },
)
