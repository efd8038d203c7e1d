"""The schemes' parameters as scenarios offer them: by the papers' names, with units, whichever scenario it is.

They are the fields of the schemes' dataclasses. A run has one scheme, and names are its: `NAME=VALUE` sets NAME of each
scheme that runs, and where schemes give a name to different things, `SCHEME.NAME=VALUE` sets that scheme's alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, assignment
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.hosts.algorithms import SchemeError, find_scheme, schemes
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.recommended import recommended
from pcn.topologies.errors import nearest
from pcn.topologies.model import Topology

Default = tuple[Value, str]
"""A scenario's own default of a scheme's parameter: the value, or None and what it follows from."""


class Offers(Protocol):
    """A scenario, as far as its parameters go."""

    name: str

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        """Returns those of a run of this scheme."""

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """By names that are no parameters, where their values come from."""


def scheme_names(text: str) -> list[str]:
    """Returns the names of the schemes that a text finds, with commas between, each once. Raises ExperimentError."""
    try:
        return list(dict.fromkeys(find_scheme(one.strip()).name for one in text.split(",")))
    except SchemeError as error:
        raise ExperimentError(str(error)) from None


def of(
    scheme: str, own: Iterable[Parameter] = (), defaults: Mapping[str, Default] = MappingProxyType({})
) -> tuple[Parameter, ...]:
    """Returns a scenario's own parameters and then the scheme's, with the scenario's defaults: those of `pcn.T` are of
    every scheme whose T means what PCN's does. A name that the scenario has itself is SCHEME.NAME here."""
    found = {one.name: one for one in own}
    scenarios, found_scheme = frozenset(found), find_scheme(scheme)
    usual = {_meaning(*full.split(".")): default for full, default in defaults.items()}
    for one in describe(found_scheme.parameters):
        name = f"{scheme}.{one.name}" if one.name in scenarios else one.name
        follows = found_scheme.by_network.get(one.field)
        value, derived = usual.get((one.name, one.what), (None, follows) if follows else (one.default, ""))
        if one.kind in ("size", "count") and value is not None:
            value = round(value)
        found[name] = Parameter(name, one.kind, value, one.what, one.least, one.most, derived)
    return tuple(found.values())


def fields(scheme: str, values: Mapping[str, Value]) -> dict[str, float]:
    """Returns what the algorithm is given, from a plan's values."""
    return {field: float(values[name] or 0) for field, name in _names(scheme, values).items()}


_READ_BACK = {"k_min_bytes": "k_min", "k_max_bytes": "k_max", "p_max": "p_max"}
"""Fields of schemes' parameters that are settings of ports."""


def as_run(plan: Plan, recording: Recording) -> dict[str, Value | None]:
    """Returns the plan's values, where ports have another one that they had in the run, read back: None where they
    differ."""
    values: dict[str, Value | None] = dict(plan.values)
    if all(one.buffer is not None for one in plan.topology.switches):
        values |= dict.fromkeys(("xoff_bytes", "xon_bytes") & values.keys())
    ports = sum(len(plan.topology.ports(one.name)) for one in plan.topology.switches)
    for field, setting in _READ_BACK.items():
        if field not in plan.scheme_parameters:
            continue
        had = {found[setting] for found in recording.settings.values() if setting in found}
        own = plan.scheme_parameters[field]
        had |= {own} if len(recording.settings) < ports else set()
        if not all(math.isclose(one, own, rel_tol=1e-6) for one in had):
            values[name_of(plan.scheme, field, plan.values)] = next(iter(had)) if len(had) == 1 else None
    return values


def name_of(scheme: str, field: str, values: Mapping[str, Value]) -> str:
    """Returns the name that a field of the scheme's parameters has among a run's values."""
    return _names(scheme, values)[field]


def with_network(scheme: str, values: Mapping[str, Value], topology: Topology) -> dict[str, Value]:
    """Returns the values, and those of the scheme's parameters that follow from the network where none is given."""
    found, names = find_scheme(scheme), _names(scheme, values)
    missing = [field for field in found.by_network if values.get(names[field]) is None]
    usual = recommended(topology, found) if missing else {}
    return {**values, **{names[field]: usual[field] for field in missing}}


def settings(scenario: Offers, chosen: Sequence[str], assignments: Iterable[str]) -> dict[str, dict[str, Value]]:
    """Returns the values of `NAME=VALUE` and `SCHEME.NAME=VALUE` by scheme, of these schemes, and parameter.

    Raises ExperimentError for a malformed assignment, a name that none of them has (with the nearest one), that means
    different things to them or that is given twice, and for a bad value.
    """
    found: dict[str, dict[str, Value]] = {scheme: {} for scheme in chosen}
    for given in assignments:
        name, text = assignment(given)
        for scheme, parameter in meant(scenario, chosen, name).items():
            if parameter.name in found[scheme]:
                raise ExperimentError(f"{name} is given twice: give one")
            found[scheme][parameter.name] = parameter.parse(text)
    return found


def meant(scenario: Offers, chosen: Sequence[str], name: str) -> dict[str, Parameter]:
    """Returns the parameter that a name is, of each of these schemes that has it. Raises ExperimentError."""
    found = _named(scenario, chosen, name)
    if len({(one.kind, one.what) for one in found.values()}) > 1:
        raise ExperimentError(f"{name} differs by scheme: give {' or '.join(f'{scheme}.{name}' for scheme in found)}")
    if found:
        return found
    if name in scenario.elsewhere:
        raise ExperimentError(f"no parameter {name!r}: {scenario.elsewhere[name]}")
    if others := [*_named(scenario, tuple(schemes), name)]:
        raise ExperimentError(
            f"{name} is a parameter of {', '.join(others)}: no such scheme runs here. Leave it out, "
            f"or add --scheme {others[0]}"
        )
    known = [one.name for scheme in (*chosen, *schemes) for one in scenario.parameters(scheme)]
    listed = f"`pcn run {scenario.name} --list` lists them"
    raise ExperimentError(f"no parameter {name!r}; {nearest(name, known)} ({listed})")


def _named(scenario: Offers, among: Sequence[str], name: str) -> dict[str, Parameter]:
    return {
        scheme: one
        for scheme in among
        for one in scenario.parameters(scheme)
        if name in (one.name, f"{scheme}.{one.name}")
    }


def _meaning(scheme: str, name: str) -> tuple[str, str]:
    """Returns what distinguishes a parameter from another scheme's of that name."""
    (found,) = [one for one in describe(find_scheme(scheme).parameters) if one.name == name]
    return found.name, found.what


def _names(scheme: str, values: Mapping[str, Value]) -> dict[str, str]:
    """Returns the names of the scheme's parameters among a run's values, by field."""
    described = describe(find_scheme(scheme).parameters)
    return {one.field: full if (full := f"{scheme}.{one.name}") in values else one.name for one in described}
