"""The papers whose experiments run here, and these experiments by name."""

from __future__ import annotations

import importlib
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import lookup
from pcn.experiments.define.experiment import Experiment, Paper
from pcn.experiments.papers import dcqcn, dctcp, hpcc, pcn, qcn_t, swift, tcd, unbiased
from pcn.experiments.traffic.spec import NAME, from_reference
from pcn.topologies import entry_points

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PAPERS: tuple[Paper, ...] = tuple(
    paper.PAPER for paper in (pcn, dcqcn, unbiased, tcd, qcn_t, dctcp, hpcc, swift)
)
_TRAFFIC = "pcn.experiments.traffic.experiment:Traffic"


class Catalog(MutableMapping[str, Experiment]):
    """Experiments by name: ours, then installed packages', by entry points KIND.NAME and those of
    their papers (`paper.NAME`). A module is imported when its experiment is looked up, not when
    names are listed; installed packages are searched for names that aren't ours, and for the
    list."""

    def __init__(self, kind: str, classes: dict[str, str]) -> None:
        """`kind`: "scenario" or "figure"; `classes`: by name, "module:Class"."""
        self._kind, self._classes = kind, classes
        self._loaded: dict[str, Experiment] = {}

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        """The entry points of experiments whose names aren't ours; of a paper that can't be loaded
        the paper's, whose error a lookup raises."""
        points = entry_points.installed(self._kind)
        for point in entry_points.installed("paper"):
            try:
                paper = entry_points.loaded("paper", point, Paper, ExperimentError)
            except ExperimentError:
                points.append(point)
                continue
            points += [
                type(point)(name, f"{paper.package}.{place}", point.group)
                for name, place in getattr(paper, f"{self._kind}s").items()
            ]
        return {point.name: point for point in points if point.name not in self._classes}

    def __getitem__(self, name: str) -> Experiment:
        if name in self._loaded:
            return self._loaded[name]
        if name in self._classes:
            module, _, class_name = self._classes[name].partition(":")
            experiment: Experiment = getattr(importlib.import_module(module), class_name)()
        else:
            point = self._installed[name]
            class_ = entry_points.loaded(self._kind, point, type, ExperimentError)
            experiment = class_()
            if not isinstance(experiment, Experiment) or experiment.name != name:
                raise ExperimentError(
                    f"{self._kind} {name!r}, {point.value}: it isn't the class of an Experiment of "
                    "that name"
                )
        self._loaded[name] = experiment
        return experiment

    def __setitem__(self, name: str, experiment: Experiment) -> None:
        self._classes[name] = f"{type(experiment).__module__}:{type(experiment).__qualname__}"
        self._loaded[name] = experiment

    def __delitem__(self, name: str) -> None:
        del self._classes[name]
        self._loaded.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self._installed

    def __iter__(self) -> Iterator[str]:
        yield from self._classes
        yield from self._installed

    def __len__(self) -> int:
        return len(self._classes) + len(self._installed)


SCENARIOS = Catalog(
    "scenario",
    {
        name: f"{paper.package}.{place}"
        for paper in PAPERS
        for name, place in paper.scenarios.items()
    }
    | {NAME: _TRAFFIC},
)
"""What `pcn run` runs."""
FIGURES = Catalog(
    "figure",
    {name: f"{paper.package}.{place}" for paper in PAPERS for name, place in paper.figures.items()},
)
"""What `pcn figure` runs."""


def described(experiments: Mapping[str, Experiment]) -> Iterator[tuple[str, str]]:
    """Yields experiments' names and what they are, or why one of a package can't be loaded."""
    for name in experiments:
        try:
            yield name, f"{experiments[name].title}. {experiments[name].source}"
        except ExperimentError as error:
            yield name, f"can't be loaded: {error}"


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
