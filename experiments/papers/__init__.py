"""The papers whose experiments run here, and these experiments by name."""

from __future__ import annotations

from pcn.experiments.data.parameters import lookup
from pcn.experiments.define.experiment import Experiment, Paper
from pcn.experiments.papers import dcqcn, dctcp, hpcc, pcn, qcn_t, swift, tcd, unbiased
from pcn.experiments.traffic import Traffic
from pcn.experiments.traffic.spec import NAME, from_reference

PAPERS: tuple[Paper, ...] = (
    pcn.PAPER,
    dcqcn.PAPER,
    unbiased.PAPER,
    tcd.PAPER,
    qcn_t.PAPER,
    dctcp.PAPER,
    hpcc.PAPER,
    swift.PAPER,
)

EXPERIMENTS: dict[str, Experiment] = {
    one.name: one for one in (*(one for paper in PAPERS for one in paper.experiments), Traffic())
}
SCENARIOS = {name: one for name, one in EXPERIMENTS.items() if one.page}
"""What `pcn run` runs."""
FIGURES = {name: one for name, one in EXPERIMENTS.items() if not one.page}
"""What `pcn figure` runs."""


def find_experiment(reference: str) -> Experiment:
    """Finds by name; traffic by what it is made of, too. Raises ExperimentError."""
    if reference.startswith(f"{NAME}?"):
        return Traffic(from_reference(reference))
    return lookup(reference, EXPERIMENTS, "experiment")


def find_scenario(reference: str) -> Experiment:
    """Finds as `find_experiment` does, of those that `pcn run` runs."""
    return find_experiment(reference) if "?" in reference else lookup(reference, SCENARIOS, "scenario")
