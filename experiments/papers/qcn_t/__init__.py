"""QCN-T (Computer Networks 2018): QCN by a timer alone."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    4,
    "QCN-T (Computer Networks 2018)",
    __name__,
    figures={
        "qcn-t": "convergence:Convergence",
        "qcn-t-delay": "margin:Margin",
    },
)
