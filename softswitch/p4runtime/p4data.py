"""P4Data, P4Runtime's form of any P4 value, for registers and digests.

Source: P4Runtime specification, "Representation of Arbitrary P4 Types". What a BMv2 register can hold is a bit<W>, an
int<W>, a bool, or an enum on top of bits; a digest is a struct, a tuple or a header of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from finsy.proto import p4d, p4i, p4t

from softswitch.p4runtime import bytestring
from softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, UNIMPLEMENTED, RpcError


@dataclass(frozen=True)
class Scalar:
    """A type that fits one number. `form` is the P4Data field that carries it."""

    form: str  # bitstring, bool, enum_value, enum
    width: int
    signed: bool = False
    members: tuple[str, ...] = ()  # of an enum without values, by number

    def fill(self, data: p4d.P4Data, value: int) -> None:
        """Writes the cell's unsigned content into a message."""
        if self.form == "bitstring":
            data.bitstring = self._octets(value)
        elif self.form == "bool":
            data.bool = bool(value)
        elif self.form == "enum":
            data.enum = self.members[value] if value < len(self.members) else str(value)
        else:
            data.enum_value = self._octets(value)

    def encode(self, value: int) -> p4d.P4Data:
        """The P4Data of the cell's unsigned content."""
        data = p4d.P4Data()
        self.fill(data, value)
        return data

    def decode(self, data: p4d.P4Data, what: str) -> int:
        """The cell's unsigned content. Raises RpcError."""
        form = data.WhichOneof("data")
        if form != self.form:
            raise RpcError(INVALID_ARGUMENT, f"{what}: the value must be a {self.form}, not {form or 'empty'}")
        if form == "bool":
            return int(data.bool)
        if form == "enum":
            if data.enum not in self.members:
                raise RpcError(INVALID_ARGUMENT, f"{what}: the enum has no member {data.enum}")
            return self.members.index(data.enum)
        value = data.bitstring if form == "bitstring" else data.enum_value
        if self.signed:
            return bytestring.decode_signed(value, self.width, what) & ((1 << self.width) - 1)
        return bytestring.decode(value, self.width, what, OUT_OF_RANGE)

    def _octets(self, value: int) -> bytes:
        if self.signed:
            return bytestring.encode_signed(value - (1 << self.width) if value >> (self.width - 1) else value)
        return bytestring.encode(value)


@dataclass(frozen=True)
class Composite:
    """A struct, tuple or header: `form` is the P4Data field, `parts` its members in order."""

    form: str  # struct, tuple, header
    parts: tuple[Type, ...]

    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        """The P4Data of the leaves' unsigned contents, in order."""
        data = p4d.P4Data()
        parts = [_encode(part, values) for part in self.parts]
        if self.form == "struct":
            data.struct.members.extend(parts)
        elif self.form == "tuple":
            data.tuple.members.extend(parts)
        else:
            data.header.is_valid = True
            data.header.bitstrings.extend(part.bitstring for part in parts)
        return data


Type = Scalar | Composite


def encode(kind: Type, values: Sequence[int]) -> p4d.P4Data:
    """The P4Data of a type from the unsigned contents of its leaves."""
    return _encode(kind, iter(values))


def _encode(kind: Type, values: Iterator[int]) -> p4d.P4Data:
    return kind.encode(next(values)) if isinstance(kind, Scalar) else kind.encode(values)


def resolve(spec: p4t.P4DataTypeSpec, info: p4i.P4Info, what: str) -> Type:
    """The type that a spec of the p4info names. Raises RpcError INVALID_ARGUMENT for one that no register can hold."""
    kind = spec.WhichOneof("type_spec")
    types = info.type_info
    if kind == "bitstring":
        return _bits(spec.bitstring, what)
    if kind == "bool":
        return Scalar("bool", 1)
    if kind == "error":
        return Scalar("bitstring", 32)
    if kind == "enum":
        members = types.enums[spec.enum.name].members
        return Scalar("enum", 32, members=tuple(member.name for member in members))
    if kind == "serializable_enum":
        return Scalar("enum_value", types.serializable_enums[spec.serializable_enum.name].underlying_type.bitwidth)
    if kind == "new_type":
        new = types.new_types[spec.new_type.name]
        if new.WhichOneof("representation") == "original_type":
            return resolve(new.original_type, info, what)
        if new.translated_type.HasField("sdn_string"):
            raise RpcError(UNIMPLEMENTED, f"{what}: type {spec.new_type.name} is translated to a string")
        return Scalar("bitstring", new.translated_type.sdn_bitwidth)
    if kind == "struct":
        fields = types.structs[spec.struct.name].members
        return Composite("struct", tuple(resolve(field.type_spec, info, what) for field in fields))
    if kind == "tuple":
        return Composite("tuple", tuple(resolve(member, info, what) for member in spec.tuple.members))
    if kind == "header":
        bits = types.headers[spec.header.name].members
        return Composite("header", tuple(_bits(field.type_spec, what) for field in bits))
    raise RpcError(INVALID_ARGUMENT, f"{what}: the p4info gives it a type ({kind}) that the switch cannot hold")


def _bits(spec: p4t.P4BitstringLikeTypeSpec, what: str) -> Scalar:
    kind = spec.WhichOneof("type_spec")
    if kind == "bit":
        return Scalar("bitstring", spec.bit.bitwidth)
    if kind == "int":
        return Scalar("bitstring", spec.int.bitwidth, signed=True)
    raise RpcError(INVALID_ARGUMENT, f"{what}: the p4info gives it a type ({kind}) that the switch cannot hold")
