"""What a p4info describes: a file's, or that of the switch that a client is connected to.

finsy's entities encode and decode by a P4Schema. finsy's refuses p4infos that P4Runtime allows: two keys of a table, or
two actions, whose names end in one word, an alias with two dots, members of the types error and enum, an action profile
without a table. This one reads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from finsy import P4Schema
    from finsy.proto.p4.config.v1.p4info_pb2 import P4Info


class Named(Protocol):
    """What a p4info calls by a name and an id."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Names(Generic[T]):
    """Entities of one kind, by id, by whole name, by alias, and by the last parts of a name that no other ends in."""

    def __init__(self, kind: str, entities: Iterable[T]) -> None:
        self._kind = kind
        self._by_id: dict[int, T] = {}
        for entity in entities:
            if entity.id in self._by_id:
                raise ValueError(f"two {kind}s have the id {entity.id}")
            self._by_id[entity.id] = entity
        self._by_name: dict[str, T] = {}
        for entity in self:
            if self._by_name.setdefault(entity.name, entity) is not entity:
                raise ValueError(f"two {kind}s are called {entity.name!r}")
        for entity in self:
            self._by_name.setdefault(getattr(entity, "alias", entity.name), entity)
        ends = Counter(end for entity in self for end in set(_ends(entity.name)))
        for entity in self:
            for end in _ends(entity.name):
                if ends[end] == 1:
                    self._by_name.setdefault(end, entity)

    def get(self, key: str | int) -> T | None:
        """Returns the entity with a name or an id; None: there is none, or a last part is that of several."""
        return self._by_id.get(key) if isinstance(key, int) else self._by_name.get(key)

    def __getitem__(self, key: str | int) -> T:
        """Returns the entity with a name or an id. Raises ValueError."""
        entity = self.get(key)
        if entity is None:
            raise ValueError(self._missing(key))
        return entity

    def __iter__(self) -> Iterator[T]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def _missing(self, key: str | int) -> str:
        from pcn.topologies.errors import nearest

        if isinstance(key, int):
            return f"no {self._kind} has the id {key}"
        several = sorted(entity.name for entity in self if key in _ends(entity.name))
        if several:
            return f"{self._kind} {key!r} is one of {', '.join(several)}: write which"
        return f"no {self._kind} {key!r}; {nearest(key, [entity.name for entity in self])}"


def _ends(name: str) -> list[str]:
    """Returns the last parts of a name, the shortest first: its last component, its last two, and so on."""
    parts = name.split(".")
    return [".".join(parts[at:]) for at in range(len(parts) - 1, 0, -1)]


def aliases(names: Sequence[str]) -> list[str]:
    """Returns for each name its shortest last part that no other of the names ends in."""
    ends = Counter(end for name in names for end in {*_ends(name), name})
    return [next((end for end in _ends(name) if ends[end] == 1), name) for name in names]


def schema_of(info: P4Info, data: Path | bytes | None = None) -> P4Schema:
    """Returns the names of a p4info; `data` is what a switch loads with it. Raises ValueError where its parts don't
    fit each other."""
    from pcn.controller.p4info import Schema  # slow to load; who looks for a program may not need it

    try:
        return Schema(info, data)
    except Exception as error:  # finsy checks some of them, asserts others, and takes the rest as they are
        raise ValueError(f"its parts don't fit: {type(error).__name__}: {error}") from None
