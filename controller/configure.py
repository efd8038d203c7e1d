"""What each switch of a topology is programmed with: routes, PFC by port, the entries of the
scheme's marking points, and the clone sessions that these need.

The data plane's clock is real time. So everything that is a time here is dilated: at k times slower
links, a pause quantum, 512 bit times, lasts k times longer. Tables have times in its ticks. Their
fields are named for BMv2's, of 1 us; where a switch's clock ticks n times a us, they have n times
as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from pcn.controller import marking, pfc
from pcn.controller.constants import RECIRCULATION_PORT
from pcn.controller.control_plane import (
    CloneSession,
    ControlPlane,
    Prepared,
    TableEntry,
)
from pcn.controller.marking_contract import GeneratorTable, PacketGenerator, PortEntries, PortTable
from pcn.controller.pfc import PFC_CLONE_SESSION, PfcPort
from pcn.controller.programs import Program, ProgramError
from pcn.controller.routes import (
    MultipathRoute,
    PortGroup,
    Route,
    group_entry,
    host_ways,
    join,
    route_entry,
)
from pcn.softswitch.tick import TICK_NS
from pcn.topologies.lossless import PFC
from pcn.topologies.model import Topology, TopologyError

_Part: TypeAlias = PortEntries | PortGroup | Route | MultipathRoute


class Scheme(Protocol):
    """What marks, as data: names of marking points."""

    @property
    def name(self) -> str: ...

    @property
    def marking(self) -> Sequence[str]: ...


class Configured(Protocol):
    """A scheme and the parameters that its marking points are configured from."""

    @property
    def scheme(self) -> Scheme: ...

    @property
    def parameters(self) -> Any: ...

    def at(self, rate_bps: float) -> Any:
        """Returns the parameters of a port of this rate."""


@dataclass(frozen=True)
class SwitchPlan:
    """Everything that one switch is programmed with. `marking`: of each port, at each marking
    point."""

    switch: str
    routes: tuple[Route | MultipathRoute, ...]
    pfc: tuple[PfcPort, ...]
    groups: tuple[PortGroup, ...] = ()
    marking: tuple[PortEntries, ...] = ()
    clone_sessions: tuple[int, ...] = (PFC_CLONE_SESSION,)


def plan(
    topology: Topology,
    switch: str,
    dilation: float,
    scheme: Configured | None = None,
    tick_ns: int = TICK_NS,
) -> SwitchPlan:
    """Returns a switch's program from the topology and the scheme. `tick_ns`: of its clock, real
    time. Raises LabError: TopologyError for what can't work."""
    topology.switch(switch)
    ports = topology.ports(switch)
    ways, groups = host_ways(topology, switch)
    points = [marking.find(name) for name in scheme.scheme.marking] if scheme else []

    def configured(table: PortTable, port: int) -> Any:
        parameters = (
            scheme.at(topology.link_at(switch, port).rate_bps)
            if scheme and table is not pfc
            else None
        )
        try:
            return table.configure(topology, switch, port, dilation * TICK_NS / tick_ns, parameters)
        except ValueError as error:
            raise TopologyError(f"{switch}:{port}: {error}") from None
        except AttributeError as error:
            if scheme is None or error.obj is not parameters:
                raise
            raise TopologyError(
                f"{scheme.scheme.name}: table {table.TABLE} is set from a parameter {error.name}, "
                f"which {type(parameters).__name__} doesn't have"
            ) from None

    return SwitchPlan(
        switch,
        routes=tuple(join(ways)),
        pfc=tuple(configured(pfc, port) for port in ports if topology.flow_control == PFC),
        groups=tuple(groups),
        marking=tuple(configured(point, port) for point in points for port in ports),
        clone_sessions=tuple(
            dict.fromkeys(
                (
                    *pfc.CLONE_SESSIONS,
                    *(session for point in points for session in point.CLONE_SESSIONS),
                )
            )
        ),
    )


def packet_generator(
    topology: Topology, switch: str, dilation: float, scheme: Configured
) -> PacketGenerator | None:
    """Returns what the switch's packet generator makes for the scheme's marking points; None:
    nothing. It is the target's, and isn't set over P4Runtime. `plan` has found that all can work.
    Raises TopologyError."""
    points = map(marking.find, scheme.scheme.marking)
    per_point = [
        point.packet_generator(topology, switch, dilation, scheme.parameters)
        for point in points
        if isinstance(point, GeneratorTable)
    ]
    generators = [generator for generator in per_point if generator is not None]
    if len(generators) > 1:
        raise TopologyError(
            f"{switch}: {len(generators)} marking points of {scheme.scheme.name} need a packet "
            "generator, and it has one"
        )
    return generators[0] if generators else None


def clone_sessions(plan: SwitchPlan) -> list[CloneSession]:
    """Copies go to the recirculation port, whose egress makes of them what the program sends
    itself."""
    return [CloneSession(session, replicas=[RECIRCULATION_PORT]) for session in plan.clone_sessions]


def require_tables(program: Program, scheme: Scheme) -> None:
    """Raises ProgramError where the program hasn't the tables of the scheme's marking points."""
    there = {table.alias for table in program.schema.tables}
    for name in scheme.marking:
        table = marking.find(name).TABLE
        if table not in there:
            point = Path(name).stem
            raise ProgramError(
                f"program {program.name} has no table {table}, which {scheme.name} sets (as "
                f"{point})"
            )


def entries(plan: SwitchPlan) -> list[TableEntry]:
    """Returns all table entries of a plan."""
    return [entry for part in _parts(plan) for entry in _entries(part)]


class Programmer:
    """Programs switches of one kind that run one program: parts that several plans have alike, such
    as a port's or a route, are made into entries and translated once."""

    def __init__(self) -> None:
        self._prepared: dict[object, Prepared] = {}

    def program(self, switch: ControlPlane, plan: SwitchPlan) -> None:
        """Writes a plan into a switch whose pipeline is set and whose tables are empty. The clone
        sessions come first: PFC works from the first packet on."""
        sessions = None, plan.clone_sessions
        if sessions not in self._prepared:
            self._prepared[sessions] = switch.prepare(clone_sessions(plan))
        switch.insert_prepared([self._prepared[sessions]])
        switch.insert_prepared([self._prepare(switch, part) for part in _parts(plan)])

    def _prepare(self, switch: ControlPlane, part: _Part) -> Prepared:
        key = type(part), part  # named tuples of two types are equal where their fields are
        try:
            prepared = self._prepared.get(key)
        except TypeError:  # a port of a user's marking point may have no hash
            return switch.prepare(_entries(part))
        if prepared is None:
            prepared = self._prepared[key] = switch.prepare(_entries(part))
        return prepared


def program_switch(switch: ControlPlane, plan: SwitchPlan) -> None:
    """Writes a plan into a switch, as `Programmer` does."""
    Programmer().program(switch, plan)


def _parts(plan: SwitchPlan) -> Sequence[_Part]:
    return [*plan.pfc, *plan.marking, *plan.groups, *plan.routes]


def _entries(part: _Part) -> Sequence[TableEntry]:
    if isinstance(part, PortGroup):
        return [group_entry(part)]
    if isinstance(part, (Route, MultipathRoute)):
        return [route_entry(part)]
    return part.entries()
