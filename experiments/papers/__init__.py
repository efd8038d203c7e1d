"""The papers whose experiments run here, and these experiments by name."""

from __future__ import annotations

from experiments.experiment import Experiment, Paper
from experiments.papers import dcqcn, pcn, qcn_t, tcd, unbiased

PAPERS: tuple[Paper, ...] = (pcn.PAPER, dcqcn.PAPER, unbiased.PAPER, tcd.PAPER, qcn_t.PAPER)

EXPERIMENTS: dict[str, Experiment] = {one.name: one for paper in PAPERS for one in paper.experiments}
SCENARIOS = {name: one for name, one in EXPERIMENTS.items() if one.page}
"""What `pcn run` runs."""
FIGURES = {name: one for name, one in EXPERIMENTS.items() if not one.page}
"""What `pcn figure` runs."""
