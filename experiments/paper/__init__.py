"""The paper's figures, and studies of ours: each a list of virtual runs, what is kept of them, and the claims.

pcn figure fig11 fig17
"""

from __future__ import annotations

from experiments.paper.base import Figure
from experiments.paper.factors import FactorStudy
from experiments.paper.fairness import FairnessRules, FairnessSweep, MarkingPoint
from experiments.paper.fig2 import Fig2
from experiments.paper.fig10 import Fig10
from experiments.paper.fig11 import Fig11
from experiments.paper.fig12 import Fig12
from experiments.paper.fig13 import Fig13
from experiments.paper.fig17 import Fig17
from experiments.paper.fig18 import Fig18
from experiments.paper.fig19 import Fig19
from experiments.paper.fluid_check import FluidCheck

_PAPER = (Fig2(), Fig10(), Fig11(), Fig12(), Fig13(), FluidCheck(), Fig17(), Fig18(), Fig19())
_STUDIES = (FactorStudy(), MarkingPoint(), FairnessSweep(), FairnessRules())

FIGURES: dict[str, Figure] = {figure.name: figure for figure in (*_PAPER, *_STUDIES)}
"""By name, in the paper's order; then our studies."""
