"""HPCC (SIGCOMM'19): windows by what in-band telemetry has of each link's load. What it gives under traffic is in the
study of PCN beside today's transports."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.hpcc.eta import Eta
from pcn.experiments.papers.hpcc.fig9 import Fig9
from pcn.experiments.papers.hpcc.fig10 import Fig10
from pcn.experiments.papers.hpcc.fig11 import Fig11
from pcn.experiments.papers.hpcc.fig13 import ByWAi, Reference

PAPER = Paper(6, "HPCC (SIGCOMM'19)", (Eta(), Fig9(), Fig10(), Fig11(), Reference(), ByWAi()))
