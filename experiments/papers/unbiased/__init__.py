"""Unbiased QCN (RZ 3880): congestion points at inputs, and the flows that their samples notify."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.unbiased.fig2 import Fig2
from pcn.experiments.papers.unbiased.fig5 import Fig5
from pcn.experiments.papers.unbiased.fig6 import Fig6
from pcn.experiments.papers.unbiased.fig7 import Fig7
from pcn.experiments.papers.unbiased.innocent import Innocent

PAPER = Paper(2, "Unbiased QCN (RZ 3880)", (Innocent(), Fig2(), Fig5(), Fig6(), Fig7()))
