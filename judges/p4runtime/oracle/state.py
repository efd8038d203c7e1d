"""What a P4Runtime server has to hold, as plain values. They are never changed in place, so a copy
is cheap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from oracle.forms import Form


class EntryKey(NamedTuple):
    """What identifies a table entry; `match` None: the default entry."""

    table: int
    match: Form | None
    priority: int


class Entry(NamedTuple):
    """A table entry. `action` None: a default entry that does nothing. `counter`, `meter` None:
    there is none."""

    action: Form | None
    controller_metadata: int = 0
    metadata: bytes = b""
    idle: int = 0
    counter: Form | None = None
    meter: Form | None = None
    const: bool = False


class Group(NamedTuple):
    """A group of an action selector: its members with their weights, and what some watch, by
    member."""

    max_size: int
    members: tuple[tuple[int, int], ...]
    watches: Form


class Multicast(NamedTuple):
    metadata: bytes
    replicas: Form


class Session(NamedTuple):
    """A clone session. `length`: bytes to which it cuts clones, or 0."""

    service: int
    length: int
    replicas: Form


@dataclass
class State:
    """All entities by their keys. `cells` holds what was written; `whole` what was written to a
    whole array."""

    entries: dict[EntryKey, Entry] = field(default_factory=dict)
    members: dict[tuple[int, int], Form] = field(default_factory=dict)
    groups: dict[tuple[int, int], Group] = field(default_factory=dict)
    multicasts: dict[int, Multicast] = field(default_factory=dict)
    sessions: dict[int, Session] = field(default_factory=dict)
    cells: dict[tuple[str, int, int], Any] = field(default_factory=dict)
    whole: dict[tuple[str, int], Any] = field(default_factory=dict)
    value_sets: dict[int, frozenset[Form]] = field(default_factory=dict)
    digests: dict[int, Form] = field(default_factory=dict)

    def copy(self) -> State:
        """The same values in separate dictionaries."""
        return State(**{field.name: dict(getattr(self, field.name)) for field in fields(self)})

    def of_table(self, table: int) -> Iterator[tuple[EntryKey, Entry]]:
        """A table's entries, without the default entry."""
        return (
            (key, entry)
            for key, entry in self.entries.items()
            if key.table == table and key.match is not None
        )

    def actions(self, tables: tuple[int, ...]) -> Iterator[Form]:
        """The actions of these tables' entries."""
        for key, entry in self.entries.items():
            if key.table in tables and key.match is not None and entry.action is not None:
                yield entry.action

    def members_of(self, profile: int) -> list[int]:
        """The ids of a profile's members."""
        return [number for owner, number in self.members if owner == profile]

    def groups_of(self, profile: int) -> list[int]:
        """The ids of a selector's groups."""
        return [number for owner, number in self.groups if owner == profile]
