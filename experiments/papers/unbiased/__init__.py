"""Unbiased QCN (RZ 3880): congestion points at inputs, and the flows that their samples notify."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    2,
    "Unbiased QCN (RZ 3880)",
    __name__,
    scenarios={
        "unbiased": "innocent:Innocent",
    },
    figures={
        "unbiased-fig2": "fig2:Fig2",
        "unbiased-fig5": "fig5:Fig5",
        "unbiased-fig6": "fig6:Fig6",
        "unbiased-fig7": "fig7:Fig7",
    },
)
