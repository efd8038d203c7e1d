"""Tables of the data plane with entries port by port: PFC's, and those of marking points.

One module fills one table, and stands beside its P4 file: `pcn.controller.pfc`, and each of
`pcn.controller.marking`. Such a module is a `PortTable`: what the table holds comes from a topology
and a scheme's parameters. If `pcn set` is to read and change it, the module is a `SettableTable`.
If experiments are to sample registers of its P4, by port and class, it names them: `SAMPLED`. If
its P4 needs a clock that ticks more often than v1model's, once a us, it names the tick: `TICK_S`,
in nominal time, 1 ns or more. If its P4 needs frames at a period, the module is a `GeneratorTable`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pcn.base.units import KINDS, Kind
from pcn.topologies.model import Topology

if TYPE_CHECKING:
    from pcn.controller.control_plane import TableEntry  # brings protobuf, slow to load


@dataclass(frozen=True)
class Setting:
    """A parameter that each port has. `kind` is its unit, as in `pcn.base.units`: "size"
    (bytes), "count", "share". Values lie in [`minimum`, `maximum`]."""

    name: str
    kind: Kind
    meaning: str
    minimum: float = 0.0
    maximum: float = math.inf

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(
                f"setting {self.name}: no kind {self.kind!r}: choose from {', '.join(KINDS)}"
            )


class PortEntries(Protocol):
    """What one port is configured with."""

    @property
    def port(self) -> int: ...

    def entries(self) -> list[TableEntry]: ...


class PortTable(Protocol):
    """A module that fills a table."""

    @property
    def TABLE(self) -> str:  # noqa: N802
        """The table's name in P4."""

    @property
    def CLONE_SESSIONS(self) -> Sequence[int]:  # noqa: N802
        """Clone sessions that its P4 needs."""

    def configure(
        self, topology: Topology, switch: str, port: int, dilation: float, parameters: Any
    ) -> PortEntries:
        """Returns what a port is configured with, from the topology and the scheme's parameters.
        Times are real: those of the modelled network times `dilation`. Raises ValueError for what
        can't work."""


@dataclass(frozen=True)
class PacketGenerator:
    """What a switch's packet generator makes: every `period_us` (real time) from its start on, a
    frame for each of `packet_ids` (16 bits) comes in on `port`, with that number in its header
    (softswitch/csrc/generator.h)."""

    port: int
    period_us: int
    packet_ids: tuple[int, ...]


@runtime_checkable
class GeneratorTable(PortTable, Protocol):
    """One whose P4 takes frames of the switch's packet generator."""

    def packet_generator(
        self, topology: Topology, switch: str, dilation: float, parameters: Any
    ) -> PacketGenerator | None:
        """Returns what is to be made for these parameters; None: nothing."""


@runtime_checkable
class SettableTable(PortTable, Protocol):
    """One whose entries, one a port, `pcn set` changes."""

    @property
    def SETTINGS(self) -> Sequence[Setting]:  # noqa: N802
        """What of it `pcn set` reads and changes."""

    def show(self, arguments: Mapping[str, int]) -> dict[str, float]:
        """Returns the settings that an entry's action arguments stand for, by name."""

    def change(
        self, port: int, arguments: Mapping[str, int], values: Mapping[str, float]
    ) -> PortEntries:
        """Returns the port with these settings changed, those that were named alone: the others are
        in `show(arguments)`. Raises ValueError for what can't work."""
