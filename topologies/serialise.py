"""A topology as JSON and back: so that a process can work with a network that another one holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pcn.topologies.model import Topology


def to_dict(topology: Topology) -> dict[str, Any]:
    """Returns what JSON can hold; `from_dict` gives an equal topology."""
    document: dict[str, Any] = _plain(topology)
    return document


def from_dict(raw: dict[str, Any]) -> Topology:
    """Returns the topology of what `to_dict` wrote, also of an older release, without the fields
    that came since."""
    topology: Topology = _typed(Topology, raw)
    return topology


def _plain(value: Any) -> Any:
    """Returns a value with mappings in place of dataclasses, and lists in place of tuples."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def _typed(kind: Any, raw: Any) -> Any:
    """Returns the value of this type that `_plain` wrote so. Raises TypeError for what it didn't
    write: a topology may come in a stranger's file."""
    if is_dataclass(kind) and raw is not None:
        make: Any = kind
        kinds = _kinds(make)
        return make(**{name: _typed(kinds[name], member) for name, member in raw.items()})
    if get_origin(kind) is tuple and raw is not None:
        return tuple(_typed(get_args(kind)[0], member) for member in raw)
    if isinstance(raw, dict | list):  # of an optional field
        for part in get_args(kind):
            if is_dataclass(part) or get_origin(part) is tuple:
                return _typed(part, raw)
    if not _fits(kind, raw):
        raise TypeError(f"{str(raw)[:60]!r} isn't of the type {kind}")
    return raw


def _fits(kind: Any, raw: Any) -> bool:
    """Returns whether a value without dataclasses and tuples is of this type."""
    if kind is Any:
        return True
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(part, raw) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return raw in get_args(kind)
    if get_origin(kind) is Mapping:
        return isinstance(raw, dict) and all(_fits(get_args(kind)[1], v) for v in raw.values())
    if kind is float:
        return isinstance(raw, int | float) and not isinstance(raw, bool)
    if kind is int:
        return isinstance(raw, int) and not isinstance(raw, bool)
    return isinstance(kind, type) and isinstance(raw, kind)


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
