"""The schemes' parameters as scenarios offer them: by the papers' names, with units, whichever
scenario it is.

They are the fields of the schemes' dataclasses. A run has one scheme, and names are its:
`NAME=VALUE` sets NAME of each scheme that runs, and where schemes give a name to different things,
`SCHEME.NAME=VALUE` sets that scheme's alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol, TypedDict

from pcn.base.errors import nearest
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, assignment
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.hosts import algorithms
from pcn.hosts.algorithms import Rule, SchemeError, find_scheme
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.recommended import network_facts, recommended, recommended_at_ports
from pcn.topologies.model import Topology

Default = tuple[Value, str]
"""A scenario's own default of a scheme's parameter: the value, or None and what it follows from."""


class SchemePart(TypedDict):
    """What of a `Plan` is about its scheme's parameters."""

    values: dict[str, Value]
    scheme_parameters: dict[str, float]
    derived: tuple[str, ...]
    port_parameters: dict[float, dict[str, float]]


class Offers(Protocol):
    """A scenario, as far as its parameters go."""

    name: str

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        """Returns those of a run of this scheme."""

    @property
    def elsewhere(self) -> Mapping[str, str]:
        """By names that are no parameters, where their values come from."""


def scheme_names(text: str) -> list[str]:
    """Returns the names of the schemes that a text finds, with commas between, each once. Raises
    ExperimentError."""
    try:
        return list(dict.fromkeys(find_scheme(word.strip()).name for word in text.split(",")))
    except SchemeError as error:
        raise ExperimentError(str(error)) from None


def of(
    scheme: str,
    parameters: Iterable[Parameter] = (),
    defaults: Mapping[str, Default] = MappingProxyType({}),
) -> tuple[Parameter, ...]:
    """Returns a scenario's own parameters and then the scheme's, with the scenario's defaults:
    those of `pcn.T` are of every scheme whose T means what PCN's does. A name that the scenario has
    itself is SCHEME.NAME here."""
    by_name = {parameter.name: parameter for parameter in parameters}
    scenarios, found_scheme = frozenset(by_name), find_scheme(scheme)
    usual = {_meaning(*full.split(".")): default for full, default in defaults.items()}
    rules = found_scheme.rules
    for description in describe(found_scheme.parameters):
        name = f"{scheme}.{description.name}" if description.name in scenarios else description.name
        by_rule: Default = (
            (None, rules[description.field].text)
            if description.field in rules
            else (description.default, "")
        )
        value, derived = usual.get((description.name, description.meaning), by_rule)
        if description.kind in ("size", "count") and value is not None:
            value = round(value)
        by_name[name] = Parameter(
            name,
            description.kind,
            value,
            description.meaning,
            description.least,
            description.most,
            derived,
        )
    return tuple(by_name.values())


def as_published(*names: str) -> dict[str, Default]:
    """Returns as a scenario's own defaults the values that these schemes' parameters have in their
    papers, whatever the network: for scenarios that are a paper's."""
    published: dict[str, Default] = {}
    for name in names:
        scheme = find_scheme(name)
        by_rule = [
            entry for entry in describe(scheme.parameters) if entry.field in scheme.by_network
        ]
        published |= {f"{name}.{entry.name}": (entry.default, "") for entry in by_rule}
    return published


def fields(scheme: str, values: Mapping[str, Value]) -> dict[str, float]:
    """Returns what the algorithm is given, from a plan's values."""
    return {field: float(values[name] or 0) for field, name in _names(scheme, values).items()}


_READ_BACK = {"k_min_bytes": "k_min", "k_max_bytes": "k_max", "p_max": "p_max"}
"""Fields of schemes' parameters that topologies may have by port."""


def as_run(plan: Plan, recording: Recording) -> dict[str, Value | None]:
    """Returns the plan's values, where ports have another one that they had in the run, read back:
    None where they differ."""
    values: dict[str, Value | None] = dict(plan.values)
    if all(switch.buffer is not None for switch in plan.topology.switches):
        values |= dict.fromkeys(("xoff_bytes", "xon_bytes") & values.keys())
    ports = sum(len(plan.topology.ports(switch.name)) for switch in plan.topology.switches)
    by_port = {field for parameter in plan.port_parameters.values() for field in parameter}
    for field in dict.fromkeys((*_READ_BACK, *sorted(by_port))):
        if field not in plan.scheme_parameters:
            continue
        setting = _READ_BACK.get(field, "")
        had = {
            port_settings[setting]
            for port_settings in recording.settings.values()
            if setting in port_settings
        }
        planned = plan.scheme_parameters[field]
        if len(recording.settings) < ports:
            had |= (
                {parameter[field] for parameter in plan.port_parameters.values()}
                if field in by_port
                else {planned}
            )
        if not all(math.isclose(value, planned, rel_tol=1e-6) for value in had):
            values[name_of(plan.scheme, field, plan.values)] = (
                next(iter(had)) if len(had) == 1 else None
            )
    return values


SET, USUAL = Rule("set", "the run's settings"), "the same on every network"


def rules_of(plan: Plan) -> dict[str, dict[str, object]]:
    """Returns by the scheme's parameters their value, the rule that it follows from, who states
    that, and the values of ports of other rates."""
    scheme, names = find_scheme(plan.scheme), _names(plan.scheme, plan.values)
    rules = {
        **{entry.field: Rule(USUAL, scheme.summary) for entry in describe(scheme.parameters)},
        **scheme.rules,
    }
    usual = {entry.field: entry.default for entry in describe(scheme.parameters)}
    stated: dict[str, dict[str, object]] = {}
    for field, name in names.items():
        value = plan.scheme_parameters.get(field, usual[field])
        follows = field in plan.derived or (field not in scheme.rules and value == usual[field])
        rule = rules[field] if follows else SET
        ports = {
            f"{rate:.0f}": at[field] for rate, at in plan.port_parameters.items() if field in at
        }
        stated[name] = {"value": value, "rule": rule.text, "source": rule.source, "ports": ports}
    return stated


def name_of(scheme: str, field: str, values: Mapping[str, Value]) -> str:
    """Returns the name that a field of the scheme's parameters has among a run's values."""
    return _names(scheme, values)[field]


def with_network(
    scheme: str, values: Mapping[str, Value], topology: Topology, payload_bytes: int
) -> SchemePart:
    """Returns the values as a plan has them: those of the scheme's parameters for which none is
    given follow from the network, by the scheme's rules. Raises ExperimentError for values that
    don't go together."""
    definition, names = find_scheme(scheme), _names(scheme, values)
    missing = [field for field in definition.by_network if values.get(names[field]) is None]
    usual = recommended(topology, definition, payload_bytes) if missing else {}
    derived = tuple(field for field in missing if field in usual)
    filled = {**values, **{names[field]: usual[field] for field in derived}}
    part: SchemePart = {
        "values": filled,
        "scheme_parameters": fields(scheme, filled),
        "derived": derived,
        "port_parameters": recommended_at_ports(
            topology, definition, payload_bytes, definition.rules.keys() - set(derived)
        ),
    }
    try:
        definition.configure(part["scheme_parameters"], part["port_parameters"])
    except SchemeError as error:
        raise ExperimentError(str(error)) from None
    return part


def by_rules(plan: Plan) -> Plan:
    """Returns the plan with what of its scheme's parameters follows from its network, where the
    plan has no value."""
    definition, fixed = find_scheme(plan.scheme), plan.scheme_parameters
    usual = recommended(plan.topology, definition, plan.payload_bytes)
    derived = {
        field: value
        for field, value in usual.items()
        if field in definition.by_network and field not in fixed
    }
    return replace(
        plan,
        values={**plan.values, **derived},
        scheme_parameters={**fixed, **derived},
        derived=tuple(derived),
        port_parameters=recommended_at_ports(plan.topology, definition, plan.payload_bytes, fixed),
    )


def unfit(scheme: str, topology: Topology, payload_bytes: int) -> Iterator[str]:
    """Yields a remark for each way in which the network isn't what the scheme is made for."""
    definition = find_scheme(scheme)
    if definition.unfit is not None:
        yield from (
            f"{scheme}: {text}"
            for text in definition.unfit(network_facts(topology, definition, payload_bytes))
        )


def settings(
    scenario: Offers, chosen: Sequence[str], assignments: Iterable[str]
) -> dict[str, dict[str, Value]]:
    """Returns the values of `NAME=VALUE` and `SCHEME.NAME=VALUE` by scheme, of these schemes, and
    parameter.

    Raises ExperimentError for a malformed assignment, a name that none of them has (with the
    nearest one), that means different things to them or that is given twice, and for a bad value.
    """
    by_scheme: dict[str, dict[str, Value]] = {scheme: {} for scheme in chosen}
    for argument in assignments:
        name, text = assignment(argument)
        for scheme, parameter in meant(scenario, chosen, name).items():
            if parameter.name in by_scheme[scheme]:
                raise ExperimentError(f"{name} is given twice: give one")
            by_scheme[scheme][parameter.name] = parameter.parse(text)
    return by_scheme


def meant(scenario: Offers, chosen: Sequence[str], name: str) -> dict[str, Parameter]:
    """Returns the parameter that a name is, of each of these schemes that has it. Raises
    ExperimentError."""
    parameters = _named(scenario, chosen, name)
    if len({(parameter.kind, parameter.meaning) for parameter in parameters.values()}) > 1:
        raise ExperimentError(
            f"{name} differs by scheme: give "
            f"{' or '.join(f'{scheme}.{name}' for scheme in parameters)}"
        )
    if parameters:
        return parameters
    if name in scenario.elsewhere:
        raise ExperimentError(f"no parameter {name!r}: {scenario.elsewhere[name]}")
    if others := [*_named(scenario, tuple(algorithms.schemes), name)]:
        raise ExperimentError(
            f"{name} is a parameter of {', '.join(others)}: no such scheme runs here. Leave it "
            f"out, or add --scheme {others[0]}"
        )
    known = [
        parameter.name
        for scheme in (*chosen, *algorithms.schemes)
        for parameter in scenario.parameters(scheme)
    ]
    listed = f"`pcn run {scenario.name} --list` lists them"
    raise ExperimentError(f"no parameter {name!r}; {nearest(name, known)} ({listed})")


def _named(scenario: Offers, among: Sequence[str], name: str) -> dict[str, Parameter]:
    return {
        scheme: parameter
        for scheme in among
        for parameter in scenario.parameters(scheme)
        if name in (parameter.name, f"{scheme}.{parameter.name}")
    }


def _meaning(scheme: str, name: str) -> tuple[str, str]:
    """Returns what distinguishes a parameter from another scheme's of that name."""
    (description,) = [
        description
        for description in describe(find_scheme(scheme).parameters)
        if description.name == name
    ]
    return description.name, description.meaning


def _names(scheme: str, values: Mapping[str, Value]) -> dict[str, str]:
    """Returns the names of the scheme's parameters among a run's values, by field."""
    described = describe(find_scheme(scheme).parameters)
    return {
        description.field: full
        if (full := f"{scheme}.{description.name}") in values
        else description.name
        for description in described
    }
