"""The schemes' parameters as scenarios offer them: by the papers' names, with units, whichever scenario it is.

They are the fields of the schemes' dataclasses. Where two schemes give a name to different things, the later one's is
prefixed with the scheme: `R_AI` of one, `X_R_AI` of scheme X.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

from experiments.data.errors import ExperimentError
from experiments.data.parameters import Parameter, Value
from hosts.algorithms import Scheme, SchemeError, find_scheme, schemes
from hosts.algorithms.parameters import Description, describe
from hosts.recommended import recommended
from topologies.model import Topology

Default = tuple[Value, str]
"""A scenario's own default of a scheme's parameter: the value, or None and what it follows from."""


def scheme_names(text: str) -> list[str]:
    """Returns the names of the schemes that a text finds, with commas between, each once. Raises ExperimentError."""
    try:
        return list(dict.fromkeys(find_scheme(one.strip()).name for one in text.split(",")))
    except SchemeError as error:
        raise ExperimentError(str(error)) from None


def _offered() -> Mapping[str, Mapping[str, Description]]:
    """By scheme and name, of the schemes that were found so far."""
    return _described(tuple(schemes.values()))


@functools.cache
def _described(found_so_far: tuple[Scheme, ...]) -> Mapping[str, Mapping[str, Description]]:
    known: dict[str, Description] = {}
    found: dict[str, dict[str, Description]] = {}
    for scheme in found_so_far:
        mine = found[scheme.name] = {}
        for one in describe(scheme.parameters):
            name = one.name if known.get(one.name, one) == one else f"{scheme.name.replace('-', '_')}_{one.name}"
            mine[name] = known[name] = one
    return found


def parameters(**defaults: Default) -> tuple[Parameter, ...]:
    """Of all schemes, each name once, with a scenario's own defaults."""
    made: dict[str, Parameter] = {}
    for scheme, theirs in _offered().items():
        for name, one in theirs.items():
            follows = schemes[scheme].by_network.get(one.field)
            value, derived = defaults.get(name, (None, follows) if follows else (one.default, ""))
            if one.kind in ("size", "count") and value is not None:
                value = round(value)
            made[name] = Parameter(name, one.kind, value, one.what, one.least, one.most, derived)
    return tuple(made.values())


def fields(scheme: str, values: Mapping[str, Value]) -> dict[str, float]:
    """Returns what the algorithm is given, from a plan's values."""
    return {one.field: float(values[name] or 0) for name, one in _of(scheme).items()}


def with_network(scheme: str, values: Mapping[str, Value], topology: Topology) -> dict[str, Value]:
    """Returns the values, and those of the scheme's parameters that follow from the network where none is given."""
    found = find_scheme(scheme)
    names = {one.field: name for name, one in _of(scheme).items()}
    missing = [field for field in found.by_network if values.get(names[field]) is None]
    usual = recommended(topology, found) if missing else {}
    return {**values, **{names[field]: usual[field] for field in missing}}


def own(scheme: str, offered: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Returns those of a scenario's parameters that a run of this scheme has: no other scheme's."""
    return tuple(one for one in offered if one.name not in _foreign(scheme))


def given(scheme: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Returns those of the given values that are none of another scheme alone."""
    return {name: value for name, value in values.items() if name not in _foreign(scheme)}


def owners(name: str) -> list[str]:
    """Returns the schemes that have this parameter; none: it is the scenario's."""
    return [scheme for scheme, theirs in _offered().items() if name in theirs]


def check_given(names: Iterable[str], schemes: Iterable[str], offered: tuple[Parameter, ...]) -> None:
    """Raises ExperimentError for a parameter that none of the schemes has: it would change nothing."""
    schemes = tuple(schemes)
    known = {one.name for scheme in schemes for one in own(scheme, offered)}
    for name in names:
        if name not in known:
            theirs = owners(name)
            called = [own_name for scheme in schemes for own_name, one in _of(scheme).items() if one.name == name]
            if called:
                raise ExperimentError(f"{name} is a parameter of {', '.join(theirs)}; here it is {called[0]}")
            raise ExperimentError(
                f"{name} is a parameter of {', '.join(theirs)}: no such scheme runs here. Leave it out, "
                f"or add --scheme {theirs[0]}"
            )


def _of(scheme: str) -> Mapping[str, Description]:
    return _offered().get(scheme, {})


def _foreign(scheme: str) -> set[str]:
    """Returns the names that other schemes have and this one hasn't."""
    others = {name for other, theirs in _offered().items() if other != scheme for name in theirs}
    return others - set(_of(scheme))
