"""DCTCP (SIGCOMM'10): a window that falls by the share of marked packets."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    5,
    "DCTCP (SIGCOMM'10)",
    __name__,
    figures={
        "dctcp-fig13": "fig13:Fig13",
        "dctcp-fig14": "fig14:Fig14",
        "dctcp-fig17": "fig17:Fig17",
        "dctcp-fig18": "fig18:Fig18",
    },
)
