"""TCD (SIGCOMM'21): congestion detection in three states."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    3,
    "TCD (SIGCOMM'21)",
    __name__,
    scenarios={
        "tcd": "undetermined:Undetermined",
    },
    figures={
        "tcd-fig11": "fig11:Fig11",
        "tcd-fig12": "fig12:Fig12",
        "tcd-table3": "table3:Table3",
        "tcd-table3-ib": "infiniband:Table3InfiniBand",
        "tcd-fig14": "fig14:Fig14",
        "tcd-fig15": "fig15:Fig15",
        "tcd-fig15b": "fig15b:Fig15b",
        "tcd-fig16": "fig16:Fig16",
        "tcd-fig17": "fig17:Fig17",
    },
)
