"""DCQCN (SIGCOMM'15): what PFC does to flows that share links, and DCQCN against it."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.dcqcn.fixed_point import FixedPoint
from pcn.experiments.papers.dcqcn.unfairness import Unfairness
from pcn.experiments.papers.dcqcn.victim import Victim

PAPER = Paper(1, "DCQCN (SIGCOMM'15)", (Unfairness(), Victim(), FixedPoint()))
