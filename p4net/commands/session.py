"""What a command file has made so far: handles and what they stand for, as BMv2 gives them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import TableEntry
from pcn.controller.p4info import Schema
from pcn.p4net.steps import Place, Step, Write

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_VERSION_BITS = 24


Undo: TypeAlias = Callable[[], object]


class Handles(Generic[T]):
    """Values by handle: the lowest free index, and above 24 bits how often this index was freed,
    where BMv2 counts that (`versions`). `changes` gets what takes a change back."""

    def __init__(self, label: str, changes: list[Undo], versions: bool = False) -> None:
        self._label = label
        self._changes = changes
        self._versions: list[int] = []
        self._values: dict[int, T] = {}  # by index
        self._free: list[int] = []  # a heap of indexes; those that are taken again don't count
        self._counts = versions

    def add(self, value: T) -> int:
        """Returns the new handle."""
        index = len(self._versions)
        while self._free and index == len(self._versions):
            lowest = heapq.heappop(self._free)
            index = index if lowest in self._values else lowest
        if index == len(self._versions):
            self._versions.append(0)
        self._values[index] = value

        def undo() -> None:
            del self._values[index]
            heapq.heappush(self._free, index)

        self._changes.append(undo)
        return self._versions[index] << _VERSION_BITS | index

    def __getitem__(self, handle: int) -> T:
        return self._values[self._index(handle)]

    def __setitem__(self, handle: int, value: T) -> None:
        index = self._index(handle)
        before, self._values[index] = self._values[index], value
        self._changes.append(lambda: self._values.update({index: before}))

    def remove(self, handle: int) -> T:
        """Frees a handle. Returns its value. Raises ValueError."""
        index = self._index(handle)
        version, value = self._versions[index], self._values.pop(index)
        self._versions[index] += self._counts
        heapq.heappush(self._free, index)

        def undo() -> None:
            self._versions[index], self._values[index] = version, value

        self._changes.append(undo)
        return value

    def items(self) -> Mapping[int, T]:
        """Returns values by handle."""
        return {
            self._versions[index] << _VERSION_BITS | index: value
            for index, value in self._values.items()
        }

    def _index(self, handle: int) -> int:
        index = handle & (1 << _VERSION_BITS) - 1
        if index not in self._values or self._versions[index] != handle >> _VERSION_BITS:
            raise ValueError(f"no {self._label} has the handle {handle} here")
        return index


@dataclass(frozen=True)
class Node:
    """A node of the replication engine: copies with one instance (`rid`) to ports."""

    rid: int
    ports: tuple[int, ...]


class Session:
    """The state of one file."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.changes: list[Undo] = []  # of the present command
        self.entries: dict[str, Handles[TableEntry]] = {}
        self.members: dict[str, Handles[None]] = {}
        self.groups: dict[str, Handles[tuple[int, ...]]] = {}  # members' handles in order
        self.nodes: Handles[Node] = Handles("replication node", self.changes)
        self.multicast: dict[int, tuple[int, ...]] = {}  # by group: handles of nodes
        self.mirrors: set[int] = set()
        self.value_sets: dict[str, tuple[int, ...]] = {}  # by name: members
        self._place: Place  # of the present command: `at`

    def at(self, place: Place) -> None:
        """The next command stands there."""
        self._place = place
        self.changes.clear()

    def undo(self) -> None:
        """Takes back what the present command has changed here: the switch has refused it."""
        while self.changes:
            self.changes.pop()()

    def assign(self, values: dict[K, V], key: K, value: V | None) -> None:
        """Sets a value, or with None removes it."""
        before = values.get(key)
        self.changes.append(lambda: _set(values, key, before))
        _set(values, key, value)

    @property
    def place(self) -> Place:
        """The line of the present command."""
        return self._place

    def write(self, kind: p4r.Update.Type.ValueType, entity: object) -> Write:
        """Returns an update of an entity. Raises ValueError."""
        encoded: p4r.Entity = entity.encode(self.schema)  # type: ignore[attr-defined]
        return Write(self._place, p4r.Update(type=kind, entity=encoded))

    def handles(self, table: str) -> Handles[TableEntry]:
        """Returns those of a table's entries."""
        return self.entries.setdefault(table, Handles("entry", self.changes, versions=True))


def _set(values: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


@dataclass(frozen=True)
class Command:
    """What a command does: `run` gets the words behind its name, of which there are `least` to
    `most`."""

    usage: str
    run: Callable[[Session, Sequence[str]], Sequence[Step]]
    least: int
    most: int | None = None  # None: any number


INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
