"""Written by lint/messages.py of p4/v1/p4data.proto."""

import builtins
import typing

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FileDescriptor
from google.protobuf.internal import well_known_types
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
    ScalarMap,
)
from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper
from google.protobuf.message import Message


DESCRIPTOR: FileDescriptor
class P4Data(Message):
    DESCRIPTOR: Descriptor
    bitstring: builtins.bytes
    @builtins.property
    def varbit(self) -> P4Varbit: ...
    bool: builtins.bool
    @builtins.property
    def tuple(self) -> P4StructLike: ...
    @builtins.property
    def struct(self) -> P4StructLike: ...
    @builtins.property
    def header(self) -> P4Header: ...
    @builtins.property
    def header_union(self) -> P4HeaderUnion: ...
    @builtins.property
    def header_stack(self) -> P4HeaderStack: ...
    @builtins.property
    def header_union_stack(self) -> P4HeaderUnionStack: ...
    enum: builtins.str
    error: builtins.str
    enum_value: builtins.bytes
    def __init__(self, *, bitstring: builtins.bytes | None = ..., varbit: P4Varbit | None = ..., bool: builtins.bool | None = ..., tuple: P4StructLike | None = ..., struct: P4StructLike | None = ..., header: P4Header | None = ..., header_union: P4HeaderUnion | None = ..., header_stack: P4HeaderStack | None = ..., header_union_stack: P4HeaderUnionStack | None = ..., enum: builtins.str | None = ..., error: builtins.str | None = ..., enum_value: builtins.bytes | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['bitstring', 'varbit', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'enum_value', 'data']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['data']) -> typing.Literal['bitstring', 'varbit', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'enum_value'] | None: ...
class P4Varbit(Message):
    DESCRIPTOR: Descriptor
    bitstring: builtins.bytes
    bitwidth: builtins.int
    def __init__(self, *, bitstring: builtins.bytes | None = ..., bitwidth: builtins.int | None = ...) -> None: ...
class P4StructLike(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def members(self) -> RepeatedCompositeFieldContainer[P4Data]: ...
    def __init__(self, *, members: typing.Iterable[P4Data] | None = ...) -> None: ...
class P4Header(Message):
    DESCRIPTOR: Descriptor
    is_valid: builtins.bool
    @builtins.property
    def bitstrings(self) -> RepeatedScalarFieldContainer[builtins.bytes]: ...
    def __init__(self, *, is_valid: builtins.bool | None = ..., bitstrings: typing.Iterable[builtins.bytes] | None = ...) -> None: ...
class P4HeaderUnion(Message):
    DESCRIPTOR: Descriptor
    valid_header_name: builtins.str
    @builtins.property
    def valid_header(self) -> P4Header: ...
    def __init__(self, *, valid_header_name: builtins.str | None = ..., valid_header: P4Header | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['valid_header']) -> builtins.bool: ...
class P4HeaderStack(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def entries(self) -> RepeatedCompositeFieldContainer[P4Header]: ...
    def __init__(self, *, entries: typing.Iterable[P4Header] | None = ...) -> None: ...
class P4HeaderUnionStack(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def entries(self) -> RepeatedCompositeFieldContainer[P4HeaderUnion]: ...
    def __init__(self, *, entries: typing.Iterable[P4HeaderUnion] | None = ...) -> None: ...
