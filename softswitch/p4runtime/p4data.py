"""P4Data, P4Runtime's form of any P4 value, for registers and digests.

Source: P4Runtime specification, "Representation of Arbitrary P4 Types". What a BMv2 register can
hold is a bit<W>, an int<W>, a bool, or an enum on top of bits; a digest is a struct, a tuple or a
header of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from pcn.base.p4rt import p4d, p4i, p4t
from pcn.softswitch.p4runtime import bytestring
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, UNIMPLEMENTED, RpcError

MAX_SIZE: Final = 4096  # a type, its members, and theirs
MAX_DEPTH: Final = 64  # types that contain each other
MAX_WIDTH: Final = 1 << 16  # bits
_NAMED: Final = ("enum", "error")  # forms whose values are names


class Scalar(NamedTuple):
    """A type that fits one number. `form` is the P4Data field that carries it."""

    form: str  # bitstring, bool, enum_value, enum, error
    width: int
    signed: bool = False
    members: tuple[str, ...] = ()  # of an enum without values, or of `error`, by number

    @property
    def size(self) -> int:
        """As Composite's: itself alone."""
        return 1

    @property
    def leaves(self) -> int:
        """As Composite's."""
        return 1

    @property
    def bits(self) -> int:
        """Bits of the largest value."""
        return (len(self.members) - 1).bit_length() if self.form in _NAMED else self.width

    def fill(self, data: p4d.P4Data, value: int) -> None:
        """Writes the cell's unsigned content into a message."""
        if self.form == "bitstring":
            data.bitstring = self._octets(value)
        elif self.form == "bool":
            data.bool = bool(value)
        elif self.form in _NAMED:
            setattr(
                data, self.form, self.members[value] if value < len(self.members) else str(value)
            )
        else:
            data.enum_value = self._octets(value)

    def encode(self, value: int) -> p4d.P4Data:
        """Returns the P4Data of the cell's unsigned content."""
        data = p4d.P4Data()
        self.fill(data, value)
        return data

    def decode(self, data: p4d.P4Data, label: str) -> int:
        """Returns the cell's unsigned content. Raises RpcError."""
        form = data.WhichOneof("data")
        if form != self.form:
            raise RpcError(
                INVALID_ARGUMENT, f"{label}: the value must be a {self.form}, not {form or 'empty'}"
            )
        if form == "bool":
            return int(data.bool)
        if form in _NAMED:
            name = getattr(data, form)
            if name not in self.members:
                raise RpcError(INVALID_ARGUMENT, f"{label}: the {form} has no member {name}")
            return self.members.index(name)
        value = data.bitstring if form == "bitstring" else data.enum_value
        if self.signed:
            return bytestring.decode_signed(value, self.width, label) & ((1 << self.width) - 1)
        return bytestring.decode(value, self.width, label, OUT_OF_RANGE)

    def _octets(self, value: int) -> bytes:
        if self.signed:
            return bytestring.encode_signed(
                value - (1 << self.width) if value >> (self.width - 1) else value
            )
        return bytestring.encode(value)


class Composite(NamedTuple):
    """A struct, tuple or header: `form` is the P4Data field, `parts` its members in order."""

    form: str  # struct, tuple, header
    parts: tuple[Type, ...]
    size: int  # itself and all that it contains
    leaves: int  # the scalars in it

    def encode(self, values: Iterator[int]) -> p4d.P4Data:
        """Returns the P4Data of the leaves' unsigned contents, in order."""
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
    """Returns the P4Data of a type from the unsigned contents of its leaves."""
    return _encode(kind, iter(values))


def _encode(kind: Type, values: Iterator[int]) -> p4d.P4Data:
    return kind.encode(next(values)) if isinstance(kind, Scalar) else kind.encode(values)


class Types:
    """The types of one p4info: each is made once, however many others it is a part of."""

    def __init__(self, info: p4i.P4Info) -> None:
        self._info = info.type_info
        self._made: dict[tuple[str, str], Type] = {}
        self._under_way: list[tuple[str, str]] = []  # those that what is made is a part of

    def resolve(self, spec: p4t.P4DataTypeSpec, label: str) -> Type:
        """Returns the type that a spec of the p4info names. Raises RpcError INVALID_ARGUMENT for
        one that no register can hold, that is unknown, that contains itself, or that has more than
        MAX_SIZE members in all."""
        kind = spec.WhichOneof("type_spec")
        if kind == "bitstring":
            return _bits(spec.bitstring, label)
        if kind == "bool":
            return Scalar("bool", 1)
        if kind == "error":
            return Scalar("error", 32, members=tuple(self._info.error.members))
        if kind == "tuple":
            return _composite(
                "tuple", (self.resolve(member, label) for member in spec.tuple.members), label
            )
        if kind in ("enum", "serializable_enum", "new_type", "struct", "header"):
            return self._named(kind, getattr(spec, kind).name, label)
        raise RpcError(
            INVALID_ARGUMENT,
            f"{label}: the p4info gives it a type ({kind}) that the switch cannot hold",
        )

    def _named(self, kind: str, name: str, label: str) -> Type:
        key = (kind, name)
        if key not in self._made:
            if name not in getattr(self._info, kind + "s"):
                raise RpcError(INVALID_ARGUMENT, f"{label}: the p4info has no {kind} {name!r}")
            if key in self._under_way:
                raise RpcError(INVALID_ARGUMENT, f"{label}: the {kind} {name!r} contains itself")
            if len(self._under_way) >= MAX_DEPTH:
                raise RpcError(
                    INVALID_ARGUMENT,
                    f"{label}: more than {MAX_DEPTH} types contain each other, at {name!r}",
                )
            self._under_way.append(key)
            self._made[key] = self._make(kind, name, label)
            self._under_way.pop()
        return self._made[key]

    def _make(self, kind: str, name: str, label: str) -> Type:
        if kind == "enum":
            return Scalar(
                "enum", 32, members=tuple(member.name for member in self._info.enums[name].members)
            )
        if kind == "serializable_enum":
            return _scalar(
                "enum_value", self._info.serializable_enums[name].underlying_type.bitwidth, label
            )
        if kind == "new_type":
            new = self._info.new_types[name]
            if new.WhichOneof("representation") == "original_type":
                return self.resolve(new.original_type, label)
            if new.translated_type.HasField("sdn_string"):
                raise RpcError(UNIMPLEMENTED, f"{label}: type {name} is translated to a string")
            return _scalar("bitstring", new.translated_type.sdn_bitwidth, label)
        if kind == "struct":
            fields = self._info.structs[name].members
            return _composite(
                "struct", (self.resolve(field.type_spec, label) for field in fields), label
            )
        bits = self._info.headers[name].members
        return _composite("header", (_bits(field.type_spec, label) for field in bits), label)


def _composite(form: str, parts: Iterable[Type], label: str) -> Composite:
    types: list[Type] = []
    size = 1
    for part in parts:
        types.append(part)
        size += part.size
        if size > MAX_SIZE:
            raise RpcError(
                INVALID_ARGUMENT, f"{label}: its type has more than {MAX_SIZE} members in all"
            )
    return Composite(form, tuple(types), size, sum(part.leaves for part in types))


def _scalar(form: str, width: int, label: str, *, signed: bool = False) -> Scalar:
    if not 1 <= width <= MAX_WIDTH:
        raise RpcError(
            INVALID_ARGUMENT, f"{label}: the p4info gives it {width} bits; 1 to {MAX_WIDTH} may be"
        )
    return Scalar(form, width, signed=signed)


def _bits(spec: p4t.P4BitstringLikeTypeSpec, label: str) -> Scalar:
    kind = spec.WhichOneof("type_spec")
    if kind == "bit":
        return _scalar("bitstring", spec.bit.bitwidth, label)
    if kind == "int":
        return _scalar("bitstring", spec.int.bitwidth, label, signed=True)
    raise RpcError(
        INVALID_ARGUMENT,
        f"{label}: the p4info gives it a type ({kind}) that the switch cannot hold",
    )
