"""What registers hold and digests carry: values of P4 types, and P4Runtime's form of them (P4Data).

bit<W>, int<W>      a number; varbit<W>: (number, length in bits)
bool, error, enum   a bool; its name
enum bit<W>         a number
struct, header      values by members' names; an invalid header: {}
header union        {name of its valid header: the header}, or {}
tuple, stacks       values in order
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pcn.base import p4values
from pcn.base.p4rt import p4d, p4t


class DataType(Protocol):
    """A P4 type."""

    def encode_data(self, value: Any) -> p4d.P4Data:
        """Returns P4Runtime's form of a value. Raises ValueError."""

    def decode_data(self, data: p4d.P4Data) -> Any:
        """Returns the value. Raises ValueError."""


class Types:
    """The types of one p4info."""

    def __init__(self, info: p4t.P4TypeInfo) -> None:
        self._info = info
        self._named: dict[tuple[str, str], DataType | None] = {}
        """By kind and name; None: it is being read."""

    def read(self, spec: p4t.P4DataTypeSpec) -> DataType:
        """Returns the type of a spec. Raises ValueError."""
        kind = spec.WhichOneof("type_spec")
        if kind == "bitstring":
            return Bits(spec.bitstring)
        if kind == "bool":
            return Bool()
        if kind == "error":
            return Choice("error")
        if kind == "tuple":
            return Tuple([self.read(part) for part in spec.tuple.members])
        if kind == "header_stack":
            header = self._header(spec.header_stack.header.name)
            return HeaderStack(header, spec.header_stack.size)
        if kind == "header_union_stack":
            union = self._union(spec.header_union_stack.header_union.name)
            return UnionStack(union, spec.header_union_stack.size)
        if kind is None:
            raise ValueError("a type is empty")
        return self._type(kind, getattr(spec, kind).name)

    def _type(self, kind: str, name: str) -> DataType:
        """Returns a named type, which is read once, however many others consist of it."""
        described = kind.replace("_", " ")
        known = getattr(self._info, f"{kind}s")
        if name not in known:
            raise ValueError(f"no {described} {name!r}")
        if (kind, name) not in self._named:
            self._named[kind, name] = None
            self._named[kind, name] = self._read_named(kind, known[name])
        named = self._named[kind, name]
        if named is None:
            raise ValueError(f"the {described} {name!r} contains itself")
        return named

    def _read_named(self, kind: str, spec: Any) -> DataType:
        if kind == "struct":
            return Struct({part.name: self.read(part.type_spec) for part in spec.members})
        if kind == "header":
            return Header({part.name: Bits(part.type_spec) for part in spec.members})
        if kind == "header_union":
            return Union({part.name: self._header(part.header.name) for part in spec.members})
        if kind == "enum":
            return Choice("enum")
        if kind == "serializable_enum":
            return Serial(spec.underlying_type.bitwidth)
        if spec.WhichOneof("representation") == "original_type":
            return self.read(spec.original_type)
        translated = spec.translated_type
        if translated.WhichOneof("sdn_type") == "sdn_bitwidth":
            return Translated(translated.sdn_bitwidth)
        return Translated(0)

    def _header(self, name: str) -> Header:
        header = self._type("header", name)
        assert isinstance(header, Header)
        return header

    def _union(self, name: str) -> Union:
        union = self._type("header_union", name)
        assert isinstance(union, Union)
        return union


def _expect(data: p4d.P4Data, form: str) -> None:
    if data.WhichOneof("data") != form:
        raise ValueError(f"a value of type {form} has the form {data.WhichOneof('data')}")


class Bits:
    """bit<W>, int<W>, varbit<W>."""

    def __init__(self, spec: p4t.P4BitstringLikeTypeSpec) -> None:
        kind = spec.WhichOneof("type_spec")
        if kind is None:
            raise ValueError("a type of bits is empty")
        self._signed, self._varying = kind == "int", kind == "varbit"
        self.bitwidth = spec.varbit.max_bitwidth if self._varying else getattr(spec, kind).bitwidth

    def encode_bytes(self, value: Any) -> bytes:
        """Returns the bytes of a number. Raises ValueError."""
        if self._signed:
            return p4values.signed(value, self.bitwidth)
        return p4values.exact(value, self.bitwidth)

    def decode_bytes(self, data: bytes) -> Any:
        """Returns the number. Raises ValueError."""
        if self._signed:
            return int.from_bytes(data, "big", signed=True)
        return p4values.decoded(data, self.bitwidth)

    def encode_data(self, value: Any) -> p4d.P4Data:
        if not self._varying:
            return p4d.P4Data(bitstring=self.encode_bytes(value))
        if not isinstance(value, tuple | list) or len(value) != 2:
            raise ValueError(f"a value of varying length is (number, bits), not {value!r:.200}")
        number, bits = value
        if not isinstance(bits, int) or not 0 < bits <= self.bitwidth:
            raise ValueError(f"{bits!r:.200} bits: from 1 to {self.bitwidth} are possible")
        return p4d.P4Data(
            varbit=p4d.P4Varbit(bitstring=p4values.exact(number, bits), bitwidth=bits)
        )

    def decode_data(self, data: p4d.P4Data) -> Any:
        if self._varying:
            return self.decode_bytes(data.varbit.bitstring), data.varbit.bitwidth
        return self.decode_bytes(data.bitstring)


class Bool:
    """bool."""

    def encode_data(self, value: Any) -> p4d.P4Data:
        return p4d.P4Data(bool=bool(value))

    def decode_data(self, data: p4d.P4Data) -> bool:
        return data.bool


class Serial:
    """An enum of bit<W>."""

    def __init__(self, width: int) -> None:
        self._width = width

    def encode_data(self, value: Any) -> p4d.P4Data:
        return p4d.P4Data(enum_value=p4values.exact(value, self._width))

    def decode_data(self, data: p4d.P4Data) -> Any:
        return p4values.decoded(data.enum_value, self._width)


class Translated:
    """A type whose values the program translates: bits, or of width 0 texts."""

    def __init__(self, width: int) -> None:
        self._width = width

    def encode_data(self, value: Any) -> p4d.P4Data:
        return p4d.P4Data(bitstring=p4values.exact(value, self._width))

    def decode_data(self, data: p4d.P4Data) -> Any:
        return p4values.decoded(data.bitstring, self._width)


class Choice:
    """A type whose values are names: `form` is P4Data's field, enum or error."""

    def __init__(self, form: str) -> None:
        self._form = form

    def encode_data(self, value: str) -> p4d.P4Data:
        data = p4d.P4Data()
        setattr(data, self._form, value)
        return data

    def decode_data(self, data: p4d.P4Data) -> str:
        _expect(data, self._form)
        name: str = getattr(data, self._form)
        return name


class Header:
    """A header."""

    def __init__(self, members: Mapping[str, Bits]) -> None:
        self._members = members

    def encode(self, value: Mapping[str, Any]) -> p4d.P4Header:
        """Returns P4Runtime's form of a header. Raises ValueError."""
        if not value:
            return p4d.P4Header(is_valid=False)
        _same_names("header", self._members, value)
        parts = [part.encode_bytes(value[name]) for name, part in self._members.items()]
        return p4d.P4Header(is_valid=True, bitstrings=parts)

    def decode(self, header: p4d.P4Header) -> dict[str, Any]:
        """Returns the header. Raises ValueError."""
        if not header.is_valid and not header.bitstrings:
            return {}
        parts = zip(self._members.items(), header.bitstrings, strict=True)
        return {name: part.decode_bytes(data) for (name, part), data in parts}

    def encode_data(self, value: Mapping[str, Any]) -> p4d.P4Data:
        return p4d.P4Data(header=self.encode(value))

    def decode_data(self, data: p4d.P4Data) -> dict[str, Any]:
        return self.decode(data.header)


class Union:
    """A header union."""

    def __init__(self, members: Mapping[str, Header]) -> None:
        self._members = members

    def encode(self, value: Mapping[str, Any]) -> p4d.P4HeaderUnion:
        """Returns P4Runtime's form of a union. Raises ValueError."""
        if not value:
            return p4d.P4HeaderUnion()
        if len(value) > 1 or not value.keys() <= self._members.keys():
            raise ValueError(
                f"a header union has one of {', '.join(self._members)}, not {', '.join(value)}"
            )
        ((name, header),) = value.items()
        return p4d.P4HeaderUnion(
            valid_header_name=name, valid_header=self._members[name].encode(header)
        )

    def decode(self, union: p4d.P4HeaderUnion) -> dict[str, Any]:
        """Returns the union. Raises ValueError."""
        name = union.valid_header_name
        if not name:
            return {}
        if name not in self._members:
            raise ValueError(f"a header union has one of {', '.join(self._members)}, not {name}")
        return {name: self._members[name].decode(union.valid_header)}

    def encode_data(self, value: Mapping[str, Any]) -> p4d.P4Data:
        return p4d.P4Data(header_union=self.encode(value))

    def decode_data(self, data: p4d.P4Data) -> dict[str, Any]:
        return self.decode(data.header_union)


class HeaderStack:
    """A stack of headers."""

    def __init__(self, header: Header, size: int) -> None:
        self._header, self._size = header, size

    def encode_data(self, value: Sequence[Mapping[str, Any]]) -> p4d.P4Data:
        _same_size("header stack", self._size, value)
        entries = [self._header.encode(header) for header in value]
        return p4d.P4Data(header_stack=p4d.P4HeaderStack(entries=entries))

    def decode_data(self, data: p4d.P4Data) -> list[dict[str, Any]]:
        return [self._header.decode(header) for header in data.header_stack.entries]


class UnionStack:
    """A stack of header unions."""

    def __init__(self, union: Union, size: int) -> None:
        self._union, self._size = union, size

    def encode_data(self, value: Sequence[Mapping[str, Any]]) -> p4d.P4Data:
        _same_size("header union stack", self._size, value)
        entries = [self._union.encode(union) for union in value]
        return p4d.P4Data(header_union_stack=p4d.P4HeaderUnionStack(entries=entries))

    def decode_data(self, data: p4d.P4Data) -> list[dict[str, Any]]:
        return [self._union.decode(union) for union in data.header_union_stack.entries]


class Struct:
    """A struct."""

    def __init__(self, members: Mapping[str, DataType]) -> None:
        self.members = members

    def encode_data(self, value: Mapping[str, Any]) -> p4d.P4Data:
        _same_names("struct", self.members, value)
        parts = [part.encode_data(value[name]) for name, part in self.members.items()]
        return p4d.P4Data(struct=p4d.P4StructLike(members=parts))

    def decode_data(self, data: p4d.P4Data) -> dict[str, Any]:
        parts = zip(self.members.items(), data.struct.members, strict=True)
        return {name: part.decode_data(value) for (name, part), value in parts}


class Tuple:
    """A tuple."""

    def __init__(self, members: Sequence[DataType]) -> None:
        self.members = members

    def encode_data(self, value: Sequence[Any]) -> p4d.P4Data:
        _same_size("tuple", len(self.members), value)
        parts = [
            part.encode_data(component) for part, component in zip(self.members, value, strict=True)
        ]
        return p4d.P4Data(tuple=p4d.P4StructLike(members=parts))

    def decode_data(self, data: p4d.P4Data) -> tuple[Any, ...]:
        return tuple(
            part.decode_data(component)
            for part, component in zip(self.members, data.tuple.members, strict=True)
        )


def _same_names(kind: str, members: Mapping[str, Any], value: Mapping[str, Any]) -> None:
    if set(value) != set(members):
        raise ValueError(f"a {kind} has the members {', '.join(members)}, not {', '.join(value)}")


def _same_size(kind: str, size: int, value: Sequence[Any]) -> None:
    if len(value) != size:
        raise ValueError(f"a {kind} has {size} values, not {len(value)}")
