"""TCD (SIGCOMM'21): congestion detection in three states."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.tcd.fig11 import Fig11
from pcn.experiments.papers.tcd.fig12 import Fig12
from pcn.experiments.papers.tcd.fig14 import Fig14
from pcn.experiments.papers.tcd.fig15 import Fig15
from pcn.experiments.papers.tcd.fig15b import Fig15b
from pcn.experiments.papers.tcd.fig16 import Fig16
from pcn.experiments.papers.tcd.fig17 import Fig17
from pcn.experiments.papers.tcd.infiniband import Table3InfiniBand
from pcn.experiments.papers.tcd.table3 import Table3
from pcn.experiments.papers.tcd.undetermined import Undetermined

PAPER = Paper(
    3,
    "TCD (SIGCOMM'21)",
    (Undetermined(), Fig11(), Fig12(), Table3(), Table3InfiniBand(), Fig14(), Fig15(), Fig15b(), Fig16(), Fig17()),
)
