"""Completes the shell's words: names in the network that is up, scenarios, figures. Never fails,
never waits: if the network doesn't answer, there is no completion."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pcn.lab.journal import Record
    from pcn.topologies.model import Topology

Completer = Callable[[click.Context, click.Parameter, str], list[str]]
_PLAIN = re.compile(r"[\w.,:/@%+=-]+")
"""A word that a shell takes as it is. Names of a switch's program are its author's, and may be a
command."""


def _completer(names: Callable[[click.Context], Iterable[str]]) -> Completer:
    """Offers the plain names that begin with what was typed."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        from pcn.base.errors import LabError
        from pcn.hosts.client import AgentError

        try:
            return [
                name
                for name in names(context)
                if name.startswith(incomplete) and _PLAIN.fullmatch(name)
            ]
        except (LabError, AgentError, OSError):
            return []

    return complete


def _commands(context: click.Context) -> list[str]:
    inner = context.find_root()
    for word in context.params.get("words") or ():
        if isinstance(inner.command, click.Group) and (
            command := inner.command.get_command(inner, word)
        ):
            inner = click.Context(command, parent=inner)
    return inner.command.list_commands(inner) if isinstance(inner.command, click.Group) else []


def _record(context: click.Context) -> Record:
    from pcn.lab.attach import find

    return find(context.params.get("network"))


def _topology(context: click.Context) -> Topology:
    from pcn.topologies.serialise import from_dict

    return from_dict(_record(context).topology)


def _switches(context: click.Context) -> list[str]:
    return [switch.name for switch in _topology(context).switches]


def _hosts(context: click.Context) -> list[str]:
    return [host.name for host in _topology(context).hosts]


def _nodes(context: click.Context) -> list[str]:
    return _switches(context) + _hosts(context)


def _ports(context: click.Context) -> list[str]:
    node = context.params.get("node") or context.params.get("switch")
    return [str(port) for port in _topology(context).ports(str(node))]


def _networks(_context: click.Context) -> list[str]:
    from pcn.lab import journal as records

    return records.names()


def _topologies(_context: click.Context) -> Iterable[str]:
    from pcn.topologies.lookup import names

    return names()


def _topology_options(context: click.Context) -> list[str]:
    from pcn.topologies.lookup import find_topology

    # Where the option has no value yet, click leaves the words that it hasn't matched.
    topology = context.params.get("topology") or next(iter(context.args), "")
    return [f"{name}=" for name in find_topology(topology).options]


def _scenarios(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.papers import SCENARIOS

    return SCENARIOS


def _parameters(context: click.Context) -> list[str]:
    """Returns the parameters of the scenario and of the command's schemes, each with "="."""
    from pcn.experiments.runner import parameters

    scenario = (
        context.params.get("scenario")
        or context.params.get("experiment")
        or next(iter(context.args), "")
    )
    return list(
        dict.fromkeys(
            f"{parameter.name}=" for parameter in parameters(scenario, context.params.get("scheme"))
        )
    )


def _figures(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.papers import FIGURES

    return *FIGURES, "all"


def _experiments(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.papers import EXPERIMENTS

    return EXPERIMENTS


def _workloads(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.define.collectives import names
    from pcn.experiments.traffic.spec import WORKLOADS

    return *WORKLOADS, *names()


def _arrivals(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.traffic.spec import ARRIVALS

    return ARRIVALS


def _patterns(_context: click.Context) -> Iterable[str]:
    from pcn.experiments.traffic.spec import PATTERNS

    return PATTERNS


def _schemes(_context: click.Context) -> Iterable[str]:
    from pcn.hosts.algorithms import names

    return names()


def _clocks(_context: click.Context) -> Iterable[str]:
    return "live", "paced", "virtual", "live,virtual"


def _scheme_parameters(context: click.Context) -> list[str]:
    import dataclasses

    from pcn.hosts.algorithms import find_scheme

    scheme = find_scheme(context.params.get("scheme") or "pcn")
    return [f"{field.name}=" for field in dataclasses.fields(scheme.parameters)]


def _targets(_context: click.Context) -> Iterable[str]:
    from pcn.lab.target import TARGETS

    return TARGETS


def _of_program(kind: str) -> Callable[[click.Context], Iterator[str]]:
    """Returns the names of the program's tables, counters or registers."""

    def names(context: click.Context) -> Iterator[str]:
        from pcn.controller.programs import Program

        schema = Program.find(_record(context).program).schema
        for spec in getattr(schema, kind):
            yield spec.alias

    return names


def _counters(context: click.Context) -> list[str]:
    from pcn.controller.interface_counters import DISCARDS

    return [*_of_program("counters")(context), *DISCARDS]


def _settings(context: click.Context) -> list[str]:
    from pcn.controller.settings import known

    typed = context.params.get("words") or ()
    return [
        *(() if typed else _ports(context)),
        *dict.fromkeys(f"{setting.name}=" for setting in known()),
    ]


def _flows(context: click.Context) -> Iterator[str]:
    from pcn.hosts.client import AgentClient

    for host in _hosts(context):
        control = _record(context).nodes[host].control
        with contextlib.closing(AgentClient(control, timeout_s=0.5)) as agent:
            for flow in agent.flows():
                if flow.state in ("waiting", "sending"):
                    yield str(flow.flow)


complete_switch = _completer(_switches)
complete_host = _completer(_hosts)
complete_node = _completer(_nodes)
complete_port = _completer(_ports)
complete_command = _completer(_commands)
complete_network = _completer(_networks)
complete_topology = _completer(_topologies)
complete_topology_option = _completer(_topology_options)
complete_scenario = _completer(_scenarios)
complete_parameter = _completer(_parameters)
complete_figure = _completer(_figures)
complete_experiment = _completer(_experiments)
complete_arrivals = _completer(_arrivals)
complete_workload = _completer(_workloads)
complete_pattern = _completer(_patterns)
complete_scheme = _completer(_schemes)
complete_clock = _completer(_clocks)
complete_scheme_parameter = _completer(_scheme_parameters)
complete_target = _completer(_targets)
complete_table = _completer(_of_program("tables"))
complete_counter = _completer(_counters)
complete_register = _completer(_of_program("registers"))
complete_setting = _completer(_settings)
complete_flow = _completer(_flows)
