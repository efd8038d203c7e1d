"""QCN-T (Computer Networks 2018): QCN by a timer alone."""

from __future__ import annotations

from experiments.define.experiment import Paper
from experiments.papers.qcn_t.convergence import Convergence
from experiments.papers.qcn_t.margin import Margin

PAPER = Paper(4, "QCN-T (Computer Networks 2018)", (Convergence(), Margin()))
