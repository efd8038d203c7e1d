"""PCN (NSDI'20): its scenarios, its figures, and studies of ours about it."""

from __future__ import annotations

from pcn.experiments.define.experiment import Paper

PAPER = Paper(
    0,
    "PCN (NSDI'20)",
    __name__,
    scenarios={
        "dumbbell": "scenarios.dumbbell:Dumbbell",
        "victim": "scenarios.victim:Victim",
        "fig5": "scenarios.fig5:Fig5",
    },
    figures={
        "fig2": "figures.fig2:Fig2",
        "fig10": "figures.fig10:Fig10",
        "fig11": "figures.fig11:Fig11",
        "fig12": "figures.fig12:Fig12",
        "fig13": "figures.fig13:Fig13",
        "fluid": "figures.fluid_check:FluidCheck",
        "fig14": "figures.fig14:Fig14",
        "fig17": "figures.fig17:Fig17",
        "fig18": "figures.fig18:Fig18",
        "fig19": "figures.fig19:Fig19",
        "fig20": "figures.fig20:Fig20",
        "fig21": "figures.fig21:Fig21",
        "factors": "studies.factors:FactorStudy",
        "marking": "studies.fairness:MarkingPoint",
        "fairness": "studies.fairness:FairnessSweep",
        "pcn-x": "studies.fairness:FairnessRules",
        "silence": "studies.silence:Silence",
        "today": "studies.today:Today",
        "marks": "studies.marks:Marks",
        "shared-buffer": "studies.shared_buffer:SharedBuffers",
    },
)
