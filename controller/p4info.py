"""The names of a p4info, read as wide as P4Runtime has them; `schema.schema_of` makes them.

    schema.tables["ipv4_lpm"].match_fields["dst_addr"].bitwidth
    schema.actions["forward"].params

Two keys of a table or two actions may end in one word, an alias have dots, a profile no table.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Generic, Protocol, SupportsBytes, TypeVar

from pcn.base import p4values
from pcn.base.aliases import aliases, ends
from pcn.base.errors import nearest
from pcn.base.p4rt import p4i, p4r
from pcn.controller.data_types import DataType, Types


class MatchKind(IntEnum):
    """How a key field matches."""

    UNSPECIFIED = p4i.MatchField.UNSPECIFIED
    EXACT = p4i.MatchField.EXACT
    LPM = p4i.MatchField.LPM
    TERNARY = p4i.MatchField.TERNARY
    RANGE = p4i.MatchField.RANGE
    OPTIONAL = p4i.MatchField.OPTIONAL


class CounterUnit(IntEnum):
    """What a counter counts."""

    UNSPECIFIED = p4i.CounterSpec.UNSPECIFIED
    BYTES = p4i.CounterSpec.BYTES
    PACKETS = p4i.CounterSpec.PACKETS
    BOTH = p4i.CounterSpec.BOTH


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
        shown = [getattr(entity, "alias", entity.name) for entity in self]
        return f"no {self._kind} {key!r}; {nearest(key, shown)}"


class Schema:
    """The names of a p4info; `data` is what a switch loads with it. Raises ValueError where its
    parts don't fit each other."""

    def __init__(self, info: p4i.P4Info, data: SupportsBytes | None = None) -> None:
        self.p4info = info
        self._data = data
        types = Types(info.type_info)
        self.actions = Names("action", map(Action, info.actions))
        self.counters = Names("counter", map(CounterArray, info.counters))
        self.meters = Names("meter", map(Described, info.meters))
        self.direct_meters = Names("direct meter", map(Described, info.direct_meters))
        self.registers = Names("register", (Typed(spec, types) for spec in info.registers))
        self.digests = Names("digest", (Typed(spec, types) for spec in info.digests))
        self.value_sets = Names("value set", map(ValueSet, info.value_sets))
        self.controller_packet_metadata = Names(
            "header", map(PacketHeader, info.controller_packet_metadata)
        )
        preambles = {table.preamble.id: table.preamble for table in info.tables}
        self.direct_counters = Names(
            "direct counter", (DirectCounter(spec, preambles) for spec in info.direct_counters)
        )
        self.action_profiles = Names("action profile", map(Described, info.action_profiles))
        for profile in info.action_profiles:
            for number in profile.table_ids:
                if number not in preambles:
                    raise ValueError(f"no table has the id {number}")
        self.tables = Names("table", (Table(table, self) for table in info.tables))

    @property
    def p4blob(self) -> bytes:
        """What a switch loads."""
        return bytes(self._data) if self._data is not None else b""

    def get_pipeline_config(self) -> p4r.ForwardingPipelineConfig:
        """Returns what a switch is given. Its cookie is a hash of the rest."""
        blob = self.p4blob
        digest = hashlib.sha256(self.p4info.SerializeToString(deterministic=True) + blob).digest()
        return p4r.ForwardingPipelineConfig(
            p4info=self.p4info,
            p4_device_config=blob,
            cookie=p4r.ForwardingPipelineConfig.Cookie(cookie=int.from_bytes(digest[:8], "big")),
        )


class Described:
    """An object of a program. `alias` is the name that the compiler gave it for short, `spec` what
    the p4info has of it, `size` how many entries or cells, if any."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        preamble = spec.preamble
        self.id, self.name, self.alias = preamble.id, preamble.name, preamble.alias
        self.size: int = getattr(spec, "size", 0)


class Field:
    """A field of `bitwidth` bits, 0 where the program translates it: a parameter, a field of
    packets' metadata."""

    def __init__(self, spec: p4i.Action.Param | p4i.ControllerPacketMetadata.Metadata) -> None:
        self.id, self.name, self.bitwidth = spec.id, spec.name, spec.bitwidth
        self.annotations = [annotation.partition("(")[0] for annotation in spec.annotations]
        self.address = _is_address(spec.annotations)


def _is_address(annotations: Iterable[str]) -> bool:
    """Returns whether annotations have @format(IPV4_ADDRESS) or another address."""
    return any(text.startswith("@format(") and "ADDRESS" in text for text in annotations)


class Action(Described):
    """An action with its parameters."""

    def __init__(self, spec: p4i.Action) -> None:
        super().__init__(spec)
        self.params = Names("parameter", map(Field, spec.params))


class MatchField:
    """A key field. Its `alias` is the shortest last part of its name that no other field of its
    table ends in; `match_type` a text where it is none of P4Runtime's."""

    def __init__(self, spec: p4i.MatchField, alias: str) -> None:
        self.id, self.name, self.alias, self.bitwidth = spec.id, spec.name, alias, spec.bitwidth
        self.address = _is_address(spec.annotations)
        which = spec.WhichOneof("match")
        if which is None:
            raise ValueError(f"the key {spec.name!r} has no kind of match")
        self.match_type: MatchKind | str = (
            MatchKind(spec.match_type) if which == "match_type" else spec.other_match_type
        )

    def encode(self, value: Any, fields: Any) -> None:
        """Adds a value to a message's fields, if it doesn't match all packets. Raises
        ValueError."""
        kind, width = self.match_type, self.bitwidth
        if value is None and kind is not MatchKind.EXACT:
            return
        if kind is MatchKind.EXACT:
            data = p4values.exact(value, width)
            fields.add(field_id=self.id).exact.value = data
        elif kind is MatchKind.LPM:
            data, prefix = p4values.lpm(value, width)
            if prefix:
                lpm = fields.add(field_id=self.id).lpm
                lpm.value, lpm.prefix_len = data, prefix
        elif kind is MatchKind.TERNARY:
            data, mask = p4values.ternary(value, width)
            if mask != b"\0":
                ternary = fields.add(field_id=self.id).ternary
                ternary.value, ternary.mask = data, mask
        elif kind is MatchKind.RANGE:
            low, high = p4values.between(value, width)
            bounds = fields.add(field_id=self.id).range
            bounds.low, bounds.high = low, high
        elif kind is MatchKind.OPTIONAL:
            data = p4values.exact(value, width)
            fields.add(field_id=self.id).optional.value = data
        else:
            raise ValueError(f"it has the match kind {kind}, which P4Runtime lacks")

    def decode(self, field: p4r.FieldMatch) -> Any:
        """Returns a field's value: as `p4values.decoded` does, of LPM `decoded_lpm`; of ternary
        ones value and mask, of ranges the bounds. Raises ValueError."""
        which = field.WhichOneof("field_match_type")
        if which == "lpm":
            return p4values.decoded_lpm(
                field.lpm.value, field.lpm.prefix_len, self.bitwidth, address=self.address
            )
        if which == "ternary":
            return self._decoded(field.ternary.value), self._decoded(field.ternary.mask)
        if which == "range":
            return self._decoded(field.range.low), self._decoded(field.range.high)
        if which == "exact":
            return self._decoded(field.exact.value)
        if which == "optional":
            return self._decoded(field.optional.value)
        raise ValueError(f"{self.name} has the match kind {which}, which isn't read")

    def _decoded(self, data: bytes) -> Any:
        return p4values.decoded(data, self.bitwidth, address=self.address)


def _match_fields(specs: Sequence[p4i.MatchField]) -> Names[MatchField]:
    shown = aliases([spec.name for spec in specs])
    return Names("match field", map(MatchField, specs, shown))


class Table(Described):
    """A table, its parts found in the schema by id."""

    def __init__(self, spec: p4i.Table, schema: Schema) -> None:
        super().__init__(spec)
        self.is_const = spec.is_const_table
        self.match_fields = _match_fields(spec.match_fields)
        self.actions = Names("action", (schema.actions[ref.id] for ref in spec.action_refs))
        self.const_default_action = (
            self.actions[spec.const_default_action_id] if spec.const_default_action_id else None
        )
        self.action_profile = (
            schema.action_profiles[spec.implementation_id] if spec.implementation_id else None
        )
        self.direct_counter: DirectCounter | None = None
        self.direct_meter: Described | None = None
        for number in spec.direct_resource_ids:
            counter = schema.direct_counters.get(number)
            if counter is None:
                self.direct_meter = self.direct_meter or schema.direct_meters[number]
            else:
                self.direct_counter = self.direct_counter or counter


class ValueSet(Described):
    """A parser's value set."""

    def __init__(self, spec: p4i.ValueSet) -> None:
        super().__init__(spec)
        self.match_fields = _match_fields(spec.match)


class CounterArray(Described):
    """A counter."""

    def __init__(self, spec: p4i.Counter) -> None:
        super().__init__(spec)
        self.unit = CounterUnit(spec.spec.unit)


class DirectCounter(Described):
    """The counter of a table's entries."""

    def __init__(self, spec: p4i.DirectCounter, tables: Mapping[int, p4i.Preamble]) -> None:
        super().__init__(spec)
        if spec.direct_table_id not in tables:
            raise ValueError(f"no table has the id {spec.direct_table_id}")
        self.direct_table_name = tables[spec.direct_table_id].name


class Typed(Described):
    """A register or a digest: what has values of a P4 type."""

    def __init__(self, spec: p4i.Register | p4i.Digest, types: Types) -> None:
        super().__init__(spec)
        self.type_spec: DataType = types.read(spec.type_spec)


class PacketHeader(Described):
    """The header that packets have between controller and program."""

    def __init__(self, spec: p4i.ControllerPacketMetadata) -> None:
        super().__init__(spec)
        self.metadata = Names("field", map(Field, spec.metadata))

    def encode(self, values: Mapping[str, Any]) -> list[p4r.PacketMetadata]:
        """Returns P4Runtime's form of a value for each field. Raises ValueError."""
        for name in values:
            _ = self.metadata[name]
        encoded = []
        for field in self.metadata:
            if field.name not in values:
                raise ValueError(f"a value for {field.name} is missing")
            try:
                data = p4values.exact(values[field.name], field.bitwidth)
            except ValueError as error:
                raise ValueError(f"{field.name}: {error}") from None
            encoded.append(p4r.PacketMetadata(metadata_id=field.id, value=data))
        return encoded

    def decode(self, metadata: Iterable[p4r.PacketMetadata]) -> dict[str, Any]:
        """Returns values by the fields' names. Raises ValueError."""
        values = {}
        for part in metadata:
            field = self.metadata[part.metadata_id]
            values[field.name] = p4values.decoded(part.value, field.bitwidth)
        return values
