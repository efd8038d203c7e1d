"""What a command file has made so far: handles and what they stand for, as BMv2 gives them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from finsy import P4Schema
from finsy.proto import p4r

from pcn.controller.control_plane import TableEntry
from pcn.p4net.steps import Place, Step, Write

T = TypeVar("T")
_VERSION_BITS = 24


class Handles(Generic[T]):
    """Values by handle: the lowest free index, and above 24 bits how often this index was freed, where BMv2 counts that
    (`versions`)."""

    def __init__(self, what: str, versions: bool = False) -> None:
        self._what = what
        self._versions: list[int] = []
        self._values: dict[int, T] = {}  # by index
        self._counts = versions

    def add(self, value: T) -> int:
        """Returns the new handle."""
        index = next(number for number in range(len(self._values) + 1) if number not in self._values)
        if index == len(self._versions):
            self._versions.append(0)
        self._values[index] = value
        return self._versions[index] << _VERSION_BITS | index

    def __getitem__(self, handle: int) -> T:
        return self._values[self._index(handle)]

    def __setitem__(self, handle: int, value: T) -> None:
        self._values[self._index(handle)] = value

    def remove(self, handle: int) -> T:
        """Frees a handle. Returns its value. Raises ValueError."""
        index = self._index(handle)
        self._versions[index] += self._counts
        return self._values.pop(index)

    def items(self) -> Mapping[int, T]:
        """Returns values by handle."""
        return {self._versions[index] << _VERSION_BITS | index: value for index, value in self._values.items()}

    def _index(self, handle: int) -> int:
        index = handle & (1 << _VERSION_BITS) - 1
        if index not in self._values or self._versions[index] != handle >> _VERSION_BITS:
            raise ValueError(f"no {self._what} has the handle {handle} here")
        return index


@dataclass
class Group:
    """A group of an action profile, with its members' handles in order."""

    members: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Node:
    """A node of the replication engine: copies with one instance (`rid`) to ports."""

    rid: int
    ports: tuple[int, ...]


class Session:
    """The state of one file."""

    def __init__(self, schema: P4Schema) -> None:
        self.schema = schema
        self.entries: dict[str, Handles[TableEntry]] = {}
        self.members: dict[str, Handles[None]] = {}
        self.groups: dict[str, Handles[Group]] = {}
        self.nodes: Handles[Node] = Handles("replication node")
        self.multicast: dict[int, list[int]] = {}  # by group: handles of nodes
        self.mirrors: set[int] = set()
        self._place = Place.__new__(Place)

    def at(self, place: Place) -> None:
        """The next command stands there."""
        self._place = place

    @property
    def place(self) -> Place:
        """The line of the present command."""
        return self._place

    def write(self, kind: p4r.Update.Type.ValueType, entity: object) -> Write:
        """Returns an update of an entity of finsy. Raises ValueError."""
        encoded: p4r.Entity = entity.encode(self.schema)  # type: ignore[attr-defined]
        return Write(self._place, p4r.Update(type=kind, entity=encoded))

    def handles(self, table: str) -> Handles[TableEntry]:
        """Returns those of a table's entries."""
        return self.entries.setdefault(table, Handles("entry", versions=True))


@dataclass(frozen=True)
class Command:
    """What a command does: `run` gets the words behind its name, of which there are `least` to `most`."""

    usage: str
    run: Callable[[Session, Sequence[str]], Sequence[Step]]
    least: int
    most: int | None = None  # None: any number


INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
