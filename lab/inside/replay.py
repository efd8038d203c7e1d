"""Plays a session again, in virtual time: the same network, the same commands at the same simulated
times, so the same digest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.base.errors import LabError, error_text
from pcn.hosts.algorithms import Configured, SchemeError, find_scheme, schemes
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.flows import Flow, flows
from pcn.lab.inside.agents import agent_stats
from pcn.lab.inside.driven import Driven
from pcn.lab.inside.log import End, Head, LogError, read
from pcn.topologies import order
from pcn.topologies.lookup import with_order
from pcn.topologies.model import Topology
from pcn.topologies.serialise import from_dict
from pcn.virtualnet.threads import threads_for


@dataclass(frozen=True)
class Replayed:
    """What a session came to. `digest` and `events` are this run's; `expected` is the session's
    end, None of one that was killed, or whose log isn't whole: it is played up to its last
    command."""

    name: str
    now_s: float
    commands: int
    digest: str
    events: int
    expected: End | None
    flows: list[Flow]

    @property
    def differs(self) -> bool:
        """Whether this run isn't what the session was."""
        return self.expected is not None and (self.expected.digest, self.expected.events) != (
            self.digest,
            self.events,
        )


def replay(
    path: Path,
    scheme: str | None = None,
    progress: Callable[[float, float], None] | None = None,
    chosen_order: str | None = None,
) -> Replayed:
    """Plays a log again. `scheme`, `chosen_order`: the log's, where that is a file of the session's
    user: a log that names a file runs none of it. Raises LabError."""
    head, lines = read(path)
    topology = _ordered(path, _topology(path, head), chosen_order)
    configured = _scheme(path, head, scheme)
    with VirtualNetwork(
        topology, configured, seed=head.seed, threads=threads_for(topology)
    ) as network:
        driven, commands, expected, at_s = Driven(network), 0, None, 0.0
        for line in lines:
            if isinstance(line, End):
                expected, at_s = line, line.at_s
                break
            at_s, command = line
            network.run(until_s=at_s, progress=progress)
            driven.carry_out(command)
            commands += 1
        network.run(until_s=at_s, progress=progress)
        totals = network.totals()
        stats = {host.name: agent_stats(driven, host.name) for host in topology.hosts}
        return Replayed(
            head.name, network.now_s, commands, f"{totals.digest:016x}", totals.events, expected,
            flows(topology, stats),
        )  # fmt: skip


def _topology(path: Path, head: Head) -> Topology:
    try:
        topology = from_dict(head.topology)
        if not isinstance(topology, Topology):
            raise TypeError
        return topology
    except LabError as error:
        raise LogError(f"{path}: line 1: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise LogError(f"{path}: line 1: not a topology: {error_text(error)}") from None


def _ordered(path: Path, topology: Topology, chosen_order: str | None) -> Topology:
    """Returns the topology with this order at its switches; None: its own, unless that is a
    file."""
    if chosen_order is not None:
        return with_order(topology, chosen_order)
    for switch in topology.switches:
        if order.file_and_name(switch.arbitration) is not None:
            raise LogError(
                f"{path}: the session had the order {switch.arbitration[:80]!r}, which is a file: "
                "look at it, and name it with --order"
            )
    return topology


def _scheme(path: Path, head: Head, scheme: str | None) -> Configured:
    if scheme is None:
        if head.scheme not in schemes:
            raise LogError(
                f"{path}: the session ran the scheme {head.scheme[:80]!r}, which is a file: look "
                "at it, and name it with --scheme"
            )
        scheme = head.scheme
    at_ports: Mapping[float, Mapping[str, Any]] = dict(head.at_ports)
    try:
        return find_scheme(scheme).configure(head.parameters, at_ports)
    except SchemeError as error:
        raise LogError(f"{path}: line 1: {error}") from None
