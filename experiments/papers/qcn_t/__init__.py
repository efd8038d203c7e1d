"""QCN-T (Computer Networks 2018): QCN by a timer alone."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.qcn_t.convergence import Convergence
from pcn.experiments.papers.qcn_t.margin import Margin

PAPER = Paper(4, "QCN-T (Computer Networks 2018)", (Convergence(), Margin()))
