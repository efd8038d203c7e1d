"""PCN (NSDI'20): its scenarios, its figures, and studies of ours about it."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.pcn.figures.fig2 import Fig2
from pcn.experiments.papers.pcn.figures.fig10 import Fig10
from pcn.experiments.papers.pcn.figures.fig11 import Fig11
from pcn.experiments.papers.pcn.figures.fig12 import Fig12
from pcn.experiments.papers.pcn.figures.fig13 import Fig13
from pcn.experiments.papers.pcn.figures.fig14 import Fig14
from pcn.experiments.papers.pcn.figures.fig17 import Fig17
from pcn.experiments.papers.pcn.figures.fig18 import Fig18
from pcn.experiments.papers.pcn.figures.fig19 import Fig19
from pcn.experiments.papers.pcn.figures.fig20 import Fig20
from pcn.experiments.papers.pcn.figures.fig21 import Fig21
from pcn.experiments.papers.pcn.figures.fluid_check import FluidCheck
from pcn.experiments.papers.pcn.scenarios.dumbbell import Dumbbell
from pcn.experiments.papers.pcn.scenarios.fig5 import Fig5
from pcn.experiments.papers.pcn.scenarios.victim import Victim
from pcn.experiments.papers.pcn.studies.factors import FactorStudy
from pcn.experiments.papers.pcn.studies.fairness import FairnessRules, FairnessSweep, MarkingPoint
from pcn.experiments.papers.pcn.studies.shared_buffer import SharedBuffers
from pcn.experiments.papers.pcn.studies.silence import Silence
from pcn.experiments.papers.pcn.studies.today import Today

_SCENARIOS = (Dumbbell(), Victim(), Fig5())
_FIGURES = (
    *(Fig2(), Fig10(), Fig11(), Fig12(), Fig13(), FluidCheck(), Fig14(), Fig17(), Fig18(), Fig19(), Fig20()),
    Fig21(),
)
_STUDIES = (FactorStudy(), MarkingPoint(), FairnessSweep(), FairnessRules(), Silence(), Today(), SharedBuffers())

PAPER = Paper(0, "PCN (NSDI'20)", (*_SCENARIOS, *_FIGURES, *_STUDIES))
