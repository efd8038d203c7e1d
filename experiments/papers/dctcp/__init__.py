"""DCTCP (SIGCOMM'10): a window that falls by the share of marked packets."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.dctcp.fig13 import Fig13
from pcn.experiments.papers.dctcp.fig14 import Fig14
from pcn.experiments.papers.dctcp.fig17 import Fig17
from pcn.experiments.papers.dctcp.fig18 import Fig18

PAPER = Paper(5, "DCTCP (SIGCOMM'10)", (Fig13(), Fig14(), Fig17(), Fig18()))
