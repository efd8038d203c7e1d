"""finsy's P4Schema, read as wide as P4Runtime has p4infos; `schema.schema_of` makes it.

finsy's classes describe the leaves. Its maps of names, and its types of data, are replaced: they
are what refuses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Generic, Protocol, SupportsBytes, TypeVar

from finsy import P4Schema
from finsy.p4schema import (
    P4Action,
    P4ActionProfile,
    P4ActionRef,
    P4BitsType,
    P4BoolType,
    P4ControllerPacketMetadata,
    P4Counter,
    P4Digest,
    P4DirectCounter,
    P4DirectMeter,
    P4HeaderStackType,
    P4HeaderUnionStackType,
    P4MatchField,
    P4Meter,
    P4NewType,
    P4Register,
    P4SchemaCache,
    P4Table,
    P4TypeInfo,
    P4ValueSet,
)
from finsy.proto import p4d, p4i, p4t

from pcn.softswitch.aliases import aliases, ends
from pcn.topologies.errors import nearest


class Named(Protocol):
    """What a p4info calls by a name and an id."""

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


class Names(Generic[T]):
    """Entities of one kind, by id, by whole name, by alias, and by the last parts of a name that no
    other ends in."""

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
        counts = Counter(end for entity in self for end in ends(entity.name))
        for entity in self:
            for end in ends(entity.name):
                if counts[end] == 1:
                    self._by_name.setdefault(end, entity)

    def get(self, key: str | int) -> T | None:
        """Returns the entity with a name or an id; None: there is none, or a last part is that of
        several."""
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
        if isinstance(key, int):
            return f"no {self._kind} has the id {key}"
        several = sorted(entity.name for entity in self if key in ends(entity.name))
        if several:
            return f"{self._kind} {key!r} is one of {', '.join(several)}: write which"
        return f"no {self._kind} {key!r}; {nearest(key, [entity.name for entity in self])}"


class Schema(P4Schema):
    """The names of a p4info. Raises ValueError, or what finsy raises, where its parts don't fit
    each other."""

    def __init__(self, info: p4i.P4Info, data: SupportsBytes | None = None) -> None:
        super().__init__(None, data)
        self._info = info
        self._types = Types(info.type_info)
        # What finsy's parts ask for while they are made: types (which no entity reads), actions.
        defs = SimpleNamespace(type_info=_NoTypes())
        self._actions = defs.actions = Names("action", map(P4Action, info.actions))
        for action in self._actions:
            action._finish_init(defs)
        self._counters = Names("counter", map(P4Counter, info.counters))
        self._meters = Names("meter", map(P4Meter, info.meters))
        self._direct_meters = Names("direct meter", map(P4DirectMeter, info.direct_meters))
        self._registers = Names(
            "register", (Register(register, self._types) for register in info.registers)
        )
        self._digests = Names("digest", (Digest(digest, self._types) for digest in info.digests))
        self._value_sets = Names(
            "value set", (ValueSet(value_set, defs) for value_set in info.value_sets)
        )
        self._headers = Names(
            "header", map(P4ControllerPacketMetadata, info.controller_packet_metadata)
        )
        tables = {table.preamble.id: table.preamble for table in info.tables}
        self._direct_counters = Names(
            "direct counter", (DirectCounter(counter, tables) for counter in info.direct_counters)
        )
        self._profiles = Names(
            "action profile", (ActionProfile(profile, tables) for profile in info.action_profiles)
        )
        self._tables = Names("table", (Table(table, self, defs) for table in info.tables))
        self._cookie = P4SchemaCache.compute_cookie(
            info.SerializeToString(deterministic=True), self.p4blob
        )

    exists = property(lambda self: True)
    is_authoritative = property(lambda self: self._p4blob is not None)
    p4info = property(lambda self: self._info)
    pkg_info = property(lambda self: self._info.pkg_info)
    name = property(lambda self: self._info.pkg_info.name)
    version = property(lambda self: self._info.pkg_info.version)
    arch = property(lambda self: self._info.pkg_info.arch)
    p4cookie = property(lambda self: self._cookie)
    tables = property(lambda self: self._tables)
    actions = property(lambda self: self._actions)
    action_profiles = property(lambda self: self._profiles)
    controller_packet_metadata = property(lambda self: self._headers)
    direct_counters = property(lambda self: self._direct_counters)
    direct_meters = property(lambda self: self._direct_meters)
    counters = property(lambda self: self._counters)
    meters = property(lambda self: self._meters)
    registers = property(lambda self: self._registers)
    digests = property(lambda self: self._digests)
    value_sets = property(lambda self: self._value_sets)

    def has_p4info(self, p4info: p4i.P4Info) -> bool:
        """Returns whether this is the schema of a p4info."""
        same: bool = self._info == p4info
        return same


class MatchField(P4MatchField):
    """A key field, with an alias that no other of its table has."""

    def __init__(self, pbuf: p4i.MatchField, alias: str, defs: Any) -> None:
        super().__init__(pbuf)
        self._shown = alias
        self._finish_init(defs)  # its @format

    alias = property(lambda self: self._shown)


def _match_fields(fields: Sequence[p4i.MatchField], defs: Any) -> Names[Any]:
    shown = aliases([field.name for field in fields])
    return Names(
        "match field",
        (MatchField(field, alias, defs) for field, alias in zip(fields, shown, strict=True)),
    )


class Table(P4Table):
    """A table, its parts found in the schema by id."""

    def __init__(self, pbuf: p4i.Table, schema: Schema, defs: Any) -> None:
        super().__init__(p4i.Table(preamble=pbuf.preamble), defs)
        self.pbuf = pbuf
        self._fields = _match_fields(pbuf.match_fields, defs)
        self._refs = Names("action", (P4ActionRef(ref, defs) for ref in pbuf.action_refs))
        self._constant = (
            self._refs[pbuf.const_default_action_id] if pbuf.const_default_action_id else None
        )
        self._profile = (
            schema.action_profiles[pbuf.implementation_id] if pbuf.implementation_id else None
        )
        direct = [
            schema.direct_counters.get(number) or schema.direct_meters[number]
            for number in pbuf.direct_resource_ids
        ]
        self._counter = next(
            (resource for resource in direct if isinstance(resource, P4DirectCounter)), None
        )
        self._meter = next(
            (resource for resource in direct if isinstance(resource, P4DirectMeter)), None
        )

    match_fields = property(lambda self: self._fields)
    actions = property(lambda self: self._refs)
    const_default_action = property(lambda self: self._constant)
    action_profile = property(lambda self: self._profile)
    direct_counter = property(lambda self: self._counter)
    direct_meter = property(lambda self: self._meter)


class ValueSet(P4ValueSet):
    """A parser's value set."""

    def __init__(self, pbuf: p4i.ValueSet, defs: Any) -> None:
        super().__init__(p4i.ValueSet(preamble=pbuf.preamble))
        self.pbuf = pbuf
        self._fields = _match_fields(pbuf.match, defs)

    match = property(lambda self: self._fields)


class DirectCounter(P4DirectCounter):
    """The counter of a table's entries."""

    def __init__(self, pbuf: p4i.DirectCounter, tables: Mapping[int, p4i.Preamble]) -> None:
        super().__init__(pbuf)
        self._table = tables[pbuf.direct_table_id].name

    direct_table_name = property(lambda self: self._table)


class ActionProfile(P4ActionProfile):
    """An action profile, of any number of tables."""

    def __init__(self, pbuf: p4i.ActionProfile, tables: Mapping[int, p4i.Preamble]) -> None:
        super().__init__(pbuf)
        self._tables = sorted(tables[number].alias for number in pbuf.table_ids)

    table_names = property(lambda self: self._tables)


class Register(P4Register):
    """A register."""

    def __init__(self, pbuf: p4i.Register, types: Types) -> None:
        super().__init__(pbuf)
        self._cell = types.read(pbuf.type_spec)

    type_spec = property(lambda self: self._cell)


class Digest(P4Digest):
    """A digest."""

    def __init__(self, pbuf: p4i.Digest, types: Types) -> None:
        super().__init__(pbuf)
        self._item = types.read(pbuf.type_spec)

    type_spec = property(lambda self: self._item)


# ---- data: what digests and registers hold ----


class _NoTypes(dict[str, None]):
    """The types of fields and parameters, which a p4info may leave out."""

    def __missing__(self, name: str) -> None:
        return None


class Types:
    """The types of one p4info."""

    def __init__(self, info: p4t.P4TypeInfo) -> None:
        self._info = info
        leaves = p4t.P4TypeInfo()  # what finsy reads as P4Runtime has it
        leaves.CopyFrom(info)
        for kind in ("structs", "new_types"):
            leaves.ClearField(kind)
        self._leaves = P4TypeInfo(leaves)
        self._structs: dict[str, Struct | None] = {}  # None: it is being read
        self._new_types: dict[str, Any] = {}  # likewise

    def read(self, spec: p4t.P4DataTypeSpec) -> Any:
        """Returns the type of a spec, with finsy's encode_data and decode_data. Raises
        ValueError."""
        kind = spec.WhichOneof("type_spec")
        if kind == "bitstring":
            return P4BitsType(spec.bitstring)
        if kind == "bool":
            return P4BoolType(spec.bool)
        if kind == "error":
            return Choice("error")
        if kind == "tuple":
            return Tuple([self.read(part) for part in spec.tuple.members])
        if kind == "header_stack":
            return P4HeaderStackType(spec.header_stack, self._leaves)
        if kind == "header_union_stack":
            return P4HeaderUnionStackType(spec.header_union_stack, self._leaves)
        if kind is None:
            raise ValueError("a type is empty")
        return self._named(kind, getattr(spec, kind).name)

    def _named(self, kind: str, name: str) -> Any:
        known = getattr(self._info, f"{kind}s")
        if name not in known:
            raise ValueError(f"there is no {kind.replace('_', ' ')} {name!r}")
        if kind == "struct":
            return self._struct(name)
        if kind == "enum":
            return Choice("enum")
        if kind == "new_type":
            return self._new_type(name)
        return getattr(self._leaves, f"{kind}s")[name]

    def _new_type(self, name: str) -> Any:
        """Returns a new type, which is read once, however many others consist of it."""
        new_type = self._info.new_types[name]
        if new_type.WhichOneof("representation") != "original_type":
            return P4NewType(name, new_type)
        if name not in self._new_types:
            self._new_types[name] = None
            self._new_types[name] = self.read(new_type.original_type)
        if self._new_types[name] is None:
            raise ValueError(f"the new type {name!r} contains itself")
        return self._new_types[name]

    def _struct(self, name: str) -> Struct:
        if name not in self._structs:
            self._structs[name] = None
            members = self._info.structs[name].members
            self._structs[name] = Struct({part.name: self.read(part.type_spec) for part in members})
        struct = self._structs[name]
        if struct is None:
            raise ValueError(f"the struct {name!r} contains itself")
        return struct


class Choice:
    """A type whose values are names: `form` is P4Data's field, enum or error."""

    def __init__(self, form: str) -> None:
        self.type_name = form

    def encode_data(self, value: str) -> p4d.P4Data:
        """Returns P4Runtime's form of a name."""
        data = p4d.P4Data()
        setattr(data, self.type_name, value)
        return data

    def decode_data(self, data: p4d.P4Data) -> str:
        """Returns the name. Raises ValueError."""
        if data.WhichOneof("data") != self.type_name:
            raise ValueError(
                f"a value of type {self.type_name} has the form {data.WhichOneof('data')}"
            )
        name: str = getattr(data, self.type_name)
        return name


class Struct:
    """A struct: values by members' names."""

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members = members

    def encode_data(self, value: Mapping[str, Any]) -> p4d.P4Data:
        """Returns P4Runtime's form of a value for each member. Raises ValueError."""
        if set(value) != set(self.members):
            raise ValueError(
                f"a struct has the members {', '.join(self.members)}, not {', '.join(value)}"
            )
        parts = [part.encode_data(value[name]) for name, part in self.members.items()]
        return p4d.P4Data(struct=p4d.P4StructLike(members=parts))

    def decode_data(self, data: p4d.P4Data) -> dict[str, Any]:
        """Returns the values. Raises ValueError."""
        parts = zip(self.members.items(), data.struct.members, strict=True)
        return {name: part.decode_data(value) for (name, part), value in parts}


class Tuple:
    """A tuple: values in members' order."""

    def __init__(self, members: Sequence[Any]) -> None:
        self.members = members

    def encode_data(self, value: Sequence[Any]) -> p4d.P4Data:
        """Returns P4Runtime's form of a value for each member. Raises ValueError."""
        parts = [
            part.encode_data(component) for part, component in zip(self.members, value, strict=True)
        ]
        return p4d.P4Data(tuple=p4d.P4StructLike(members=parts))

    def decode_data(self, data: p4d.P4Data) -> tuple[Any, ...]:
        """Returns the values. Raises ValueError."""
        return tuple(
            part.decode_data(component)
            for part, component in zip(self.members, data.tuple.members, strict=True)
        )
