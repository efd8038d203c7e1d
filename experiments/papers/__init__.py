"""The papers whose experiments run here, and these experiments by name."""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Iterator, MutableMapping

from pcn.experiments.data.parameters import lookup
from pcn.experiments.define.experiment import Experiment, Paper
from pcn.experiments.papers import dcqcn, dctcp, hpcc, pcn, qcn_t, swift, tcd, unbiased
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
_TRAFFIC = "pcn.experiments.traffic.experiment:Traffic"


class Catalog(MutableMapping[str, Experiment]):
    """Experiments by name. A module is imported when its experiment is looked up, not when names
    are listed."""

    def __init__(self, classes: dict[str, str]) -> None:
        """`classes`: by name, "module:Class"."""
        self._classes = classes
        self._loaded: dict[str, Experiment] = {}

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._loaded:
            module, _, class_name = self._classes[name].partition(":")
            self._loaded[name] = getattr(importlib.import_module(module), class_name)()
        return self._loaded[name]

    def __setitem__(self, name: str, experiment: Experiment) -> None:
        self._classes[name] = f"{type(experiment).__module__}:{type(experiment).__qualname__}"
        self._loaded[name] = experiment

    def __delitem__(self, name: str) -> None:
        del self._classes[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)


SCENARIOS = Catalog(
    {
        name: f"{paper.package}.{place}"
        for paper in PAPERS
        for name, place in paper.scenarios.items()
    }
    | {NAME: _TRAFFIC}
)
"""What `pcn run` runs."""
FIGURES = Catalog(
    {name: f"{paper.package}.{place}" for paper in PAPERS for name, place in paper.figures.items()}
)
"""What `pcn figure` runs."""
EXPERIMENTS = ChainMap[str, Experiment](FIGURES, SCENARIOS)
"""Scenarios, then figures."""


def find_experiment(reference: str) -> Experiment:
    """Finds by name; traffic by what it is made of, too. Raises ExperimentError."""
    if reference.startswith(f"{NAME}?"):
        from pcn.experiments.traffic.experiment import Traffic

        return Traffic(from_reference(reference))
    return lookup(reference, EXPERIMENTS, "experiment")


def find_scenario(reference: str) -> Experiment:
    """Finds as `find_experiment` does, of those that `pcn run` runs."""
    return (
        find_experiment(reference) if "?" in reference else lookup(reference, SCENARIOS, "scenario")
    )
