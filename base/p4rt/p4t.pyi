"""Written by lint/messages.py of p4/config/v1/p4types.proto."""

from builtins import bool as _bool, bytes as _bytes, float as _float, int as _int
from builtins import str as _str, type as _type
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NewType, overload

from google.protobuf.descriptor import FileDescriptor
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
class P4TypeInfo(Message):
    class StructsEntry(Message):
        key: _str
        value: Final[P4StructTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4StructTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    class HeadersEntry(Message):
        key: _str
        value: Final[P4HeaderTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4HeaderTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    class HeaderUnionsEntry(Message):
        key: _str
        value: Final[P4HeaderUnionTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4HeaderUnionTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    class EnumsEntry(Message):
        key: _str
        value: Final[P4EnumTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4EnumTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    class SerializableEnumsEntry(Message):
        key: _str
        value: Final[P4SerializableEnumTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4SerializableEnumTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    class NewTypesEntry(Message):
        key: _str
        value: Final[P4NewTypeSpec]
        def __init__(self, *, key: _str | None = ..., value: P4NewTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['value']) -> _bool: ...
    structs: Final[MessageMap[_str, P4StructTypeSpec]]
    headers: Final[MessageMap[_str, P4HeaderTypeSpec]]
    header_unions: Final[MessageMap[_str, P4HeaderUnionTypeSpec]]
    enums: Final[MessageMap[_str, P4EnumTypeSpec]]
    error: Final[P4ErrorTypeSpec]
    serializable_enums: Final[MessageMap[_str, P4SerializableEnumTypeSpec]]
    new_types: Final[MessageMap[_str, P4NewTypeSpec]]
    def __init__(self, *, structs: Mapping[_str, P4StructTypeSpec] | None = ..., headers: Mapping[_str, P4HeaderTypeSpec] | None = ..., header_unions: Mapping[_str, P4HeaderUnionTypeSpec] | None = ..., enums: Mapping[_str, P4EnumTypeSpec] | None = ..., error: P4ErrorTypeSpec | None = ..., serializable_enums: Mapping[_str, P4SerializableEnumTypeSpec] | None = ..., new_types: Mapping[_str, P4NewTypeSpec] | None = ...) -> None: ...
    def HasField(self, field_name: Literal['error']) -> _bool: ...
class P4DataTypeSpec(Message):
    bitstring: Final[P4BitstringLikeTypeSpec]
    bool: Final[P4BoolType]
    tuple: Final[P4TupleTypeSpec]
    struct: Final[P4NamedType]
    header: Final[P4NamedType]
    header_union: Final[P4NamedType]
    header_stack: Final[P4HeaderStackTypeSpec]
    header_union_stack: Final[P4HeaderUnionStackTypeSpec]
    enum: Final[P4NamedType]
    error: Final[P4ErrorType]
    serializable_enum: Final[P4NamedType]
    new_type: Final[P4NamedType]
    def __init__(self, *, bitstring: P4BitstringLikeTypeSpec | None = ..., bool: P4BoolType | None = ..., tuple: P4TupleTypeSpec | None = ..., struct: P4NamedType | None = ..., header: P4NamedType | None = ..., header_union: P4NamedType | None = ..., header_stack: P4HeaderStackTypeSpec | None = ..., header_union_stack: P4HeaderUnionStackTypeSpec | None = ..., enum: P4NamedType | None = ..., error: P4ErrorType | None = ..., serializable_enum: P4NamedType | None = ..., new_type: P4NamedType | None = ...) -> None: ...
    def HasField(self, field_name: Literal['bitstring', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'serializable_enum', 'new_type', 'type_spec']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['type_spec']) -> Literal['bitstring', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'serializable_enum', 'new_type'] | None: ...
class P4NamedType(Message):
    name: _str
    def __init__(self, *, name: _str | None = ...) -> None: ...
class P4BoolType(Message):
    def __init__(self) -> None: ...
class P4ErrorType(Message):
    def __init__(self) -> None: ...
class P4BitstringLikeTypeSpec(Message):
    bit: Final[P4BitTypeSpec]
    int: Final[P4IntTypeSpec]
    varbit: Final[P4VarbitTypeSpec]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, bit: P4BitTypeSpec | None = ..., int: P4IntTypeSpec | None = ..., varbit: P4VarbitTypeSpec | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
    def HasField(self, field_name: Literal['bit', 'int', 'varbit', 'type_spec']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['type_spec']) -> Literal['bit', 'int', 'varbit'] | None: ...
class P4BitTypeSpec(Message):
    bitwidth: _int
    def __init__(self, *, bitwidth: _int | None = ...) -> None: ...
class P4IntTypeSpec(Message):
    bitwidth: _int
    def __init__(self, *, bitwidth: _int | None = ...) -> None: ...
class P4VarbitTypeSpec(Message):
    max_bitwidth: _int
    def __init__(self, *, max_bitwidth: _int | None = ...) -> None: ...
class P4TupleTypeSpec(Message):
    members: Final[RepeatedCompositeFieldContainer[P4DataTypeSpec]]
    def __init__(self, *, members: Iterable[P4DataTypeSpec] | None = ...) -> None: ...
class P4StructTypeSpec(Message):
    class Member(Message):
        name: _str
        type_spec: Final[P4DataTypeSpec]
        def __init__(self, *, name: _str | None = ..., type_spec: P4DataTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['type_spec']) -> _bool: ...
    members: Final[RepeatedCompositeFieldContainer[P4StructTypeSpec.Member]]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, members: Iterable[P4StructTypeSpec.Member] | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
class P4HeaderTypeSpec(Message):
    class Member(Message):
        name: _str
        type_spec: Final[P4BitstringLikeTypeSpec]
        def __init__(self, *, name: _str | None = ..., type_spec: P4BitstringLikeTypeSpec | None = ...) -> None: ...
        def HasField(self, field_name: Literal['type_spec']) -> _bool: ...
    members: Final[RepeatedCompositeFieldContainer[P4HeaderTypeSpec.Member]]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, members: Iterable[P4HeaderTypeSpec.Member] | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
class P4HeaderUnionTypeSpec(Message):
    class Member(Message):
        name: _str
        header: Final[P4NamedType]
        def __init__(self, *, name: _str | None = ..., header: P4NamedType | None = ...) -> None: ...
        def HasField(self, field_name: Literal['header']) -> _bool: ...
    members: Final[RepeatedCompositeFieldContainer[P4HeaderUnionTypeSpec.Member]]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, members: Iterable[P4HeaderUnionTypeSpec.Member] | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
class P4HeaderStackTypeSpec(Message):
    header: Final[P4NamedType]
    size: _int
    def __init__(self, *, header: P4NamedType | None = ..., size: _int | None = ...) -> None: ...
    def HasField(self, field_name: Literal['header']) -> _bool: ...
class P4HeaderUnionStackTypeSpec(Message):
    header_union: Final[P4NamedType]
    size: _int
    def __init__(self, *, header_union: P4NamedType | None = ..., size: _int | None = ...) -> None: ...
    def HasField(self, field_name: Literal['header_union']) -> _bool: ...
class KeyValuePair(Message):
    key: _str
    value: Final[Expression]
    def __init__(self, *, key: _str | None = ..., value: Expression | None = ...) -> None: ...
    def HasField(self, field_name: Literal['value']) -> _bool: ...
class KeyValuePairList(Message):
    kv_pairs: Final[RepeatedCompositeFieldContainer[KeyValuePair]]
    def __init__(self, *, kv_pairs: Iterable[KeyValuePair] | None = ...) -> None: ...
class Expression(Message):
    string_value: _str
    int64_value: _int
    bool_value: _bool
    def __init__(self, *, string_value: _str | None = ..., int64_value: _int | None = ..., bool_value: _bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal['string_value', 'int64_value', 'bool_value', 'value']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['value']) -> Literal['string_value', 'int64_value', 'bool_value'] | None: ...
class ExpressionList(Message):
    expressions: Final[RepeatedCompositeFieldContainer[Expression]]
    def __init__(self, *, expressions: Iterable[Expression] | None = ...) -> None: ...
class StructuredAnnotation(Message):
    name: _str
    expression_list: Final[ExpressionList]
    kv_pair_list: Final[KeyValuePairList]
    source_location: Final[SourceLocation]
    def __init__(self, *, name: _str | None = ..., expression_list: ExpressionList | None = ..., kv_pair_list: KeyValuePairList | None = ..., source_location: SourceLocation | None = ...) -> None: ...
    def HasField(self, field_name: Literal['expression_list', 'kv_pair_list', 'source_location', 'body']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['body']) -> Literal['expression_list', 'kv_pair_list'] | None: ...
class SourceLocation(Message):
    file: _str
    line: _int
    column: _int
    def __init__(self, *, file: _str | None = ..., line: _int | None = ..., column: _int | None = ...) -> None: ...
class P4EnumTypeSpec(Message):
    class Member(Message):
        name: _str
        annotations: Final[RepeatedScalarFieldContainer[_str]]
        annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
        structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
        def __init__(self, *, name: _str | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
    members: Final[RepeatedCompositeFieldContainer[P4EnumTypeSpec.Member]]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, members: Iterable[P4EnumTypeSpec.Member] | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
class P4SerializableEnumTypeSpec(Message):
    class Member(Message):
        name: _str
        value: _bytes
        annotations: Final[RepeatedScalarFieldContainer[_str]]
        annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
        structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
        def __init__(self, *, name: _str | None = ..., value: _bytes | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
    underlying_type: Final[P4BitTypeSpec]
    members: Final[RepeatedCompositeFieldContainer[P4SerializableEnumTypeSpec.Member]]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, underlying_type: P4BitTypeSpec | None = ..., members: Iterable[P4SerializableEnumTypeSpec.Member] | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
    def HasField(self, field_name: Literal['underlying_type']) -> _bool: ...
class P4ErrorTypeSpec(Message):
    members: Final[RepeatedScalarFieldContainer[_str]]
    def __init__(self, *, members: Iterable[_str] | None = ...) -> None: ...
class P4NewTypeTranslation(Message):
    class SdnString(Message):
        def __init__(self) -> None: ...
    uri: _str
    sdn_bitwidth: _int
    sdn_string: Final[P4NewTypeTranslation.SdnString]
    def __init__(self, *, uri: _str | None = ..., sdn_bitwidth: _int | None = ..., sdn_string: P4NewTypeTranslation.SdnString | None = ...) -> None: ...
    def HasField(self, field_name: Literal['sdn_bitwidth', 'sdn_string', 'sdn_type']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['sdn_type']) -> Literal['sdn_bitwidth', 'sdn_string'] | None: ...
class P4NewTypeSpec(Message):
    original_type: Final[P4DataTypeSpec]
    translated_type: Final[P4NewTypeTranslation]
    annotations: Final[RepeatedScalarFieldContainer[_str]]
    annotation_locations: Final[RepeatedCompositeFieldContainer[SourceLocation]]
    structured_annotations: Final[RepeatedCompositeFieldContainer[StructuredAnnotation]]
    def __init__(self, *, original_type: P4DataTypeSpec | None = ..., translated_type: P4NewTypeTranslation | None = ..., annotations: Iterable[_str] | None = ..., annotation_locations: Iterable[SourceLocation] | None = ..., structured_annotations: Iterable[StructuredAnnotation] | None = ...) -> None: ...
    def HasField(self, field_name: Literal['original_type', 'translated_type', 'representation']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['representation']) -> Literal['original_type', 'translated_type'] | None: ...
