"""Written by lint/messages.py of gnmi/gnmi.proto."""

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

from pcn.base.p4rt import any_pb
from pcn.base.p4rt import gnmi_ext

DESCRIPTOR: FileDescriptor
class _Encoding:
    ValueType = typing.NewType('ValueType', builtins.int)
    V: typing.TypeAlias = ValueType
class _EncodingWrapper(_EnumTypeWrapper[Encoding.ValueType], builtins.type):
    DESCRIPTOR: EnumDescriptor
    JSON: Encoding.ValueType
    BYTES: Encoding.ValueType
    PROTO: Encoding.ValueType
    ASCII: Encoding.ValueType
    JSON_IETF: Encoding.ValueType
class Encoding(_Encoding, metaclass=_EncodingWrapper): ...
JSON: Encoding.ValueType
BYTES: Encoding.ValueType
PROTO: Encoding.ValueType
ASCII: Encoding.ValueType
JSON_IETF: Encoding.ValueType
class _SubscriptionMode:
    ValueType = typing.NewType('ValueType', builtins.int)
    V: typing.TypeAlias = ValueType
class _SubscriptionModeWrapper(_EnumTypeWrapper[SubscriptionMode.ValueType], builtins.type):
    DESCRIPTOR: EnumDescriptor
    TARGET_DEFINED: SubscriptionMode.ValueType
    ON_CHANGE: SubscriptionMode.ValueType
    SAMPLE: SubscriptionMode.ValueType
class SubscriptionMode(_SubscriptionMode, metaclass=_SubscriptionModeWrapper): ...
TARGET_DEFINED: SubscriptionMode.ValueType
ON_CHANGE: SubscriptionMode.ValueType
SAMPLE: SubscriptionMode.ValueType
class Notification(Message):
    DESCRIPTOR: Descriptor
    timestamp: builtins.int
    @builtins.property
    def prefix(self) -> Path: ...
    @builtins.property
    def update(self) -> RepeatedCompositeFieldContainer[Update]: ...
    @builtins.property
    def delete(self) -> RepeatedCompositeFieldContainer[Path]: ...
    atomic: builtins.bool
    def __init__(self, *, timestamp: builtins.int | None = ..., prefix: Path | None = ..., update: typing.Iterable[Update] | None = ..., delete: typing.Iterable[Path] | None = ..., atomic: builtins.bool | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['prefix']) -> builtins.bool: ...
class Update(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def path(self) -> Path: ...
    @builtins.property
    def value(self) -> Value: ...
    @builtins.property
    def val(self) -> TypedValue: ...
    duplicates: builtins.int
    def __init__(self, *, path: Path | None = ..., value: Value | None = ..., val: TypedValue | None = ..., duplicates: builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['path', 'value', 'val']) -> builtins.bool: ...
class TypedValue(Message):
    DESCRIPTOR: Descriptor
    string_val: builtins.str
    int_val: builtins.int
    uint_val: builtins.int
    bool_val: builtins.bool
    bytes_val: builtins.bytes
    float_val: builtins.float
    double_val: builtins.float
    @builtins.property
    def decimal_val(self) -> Decimal64: ...
    @builtins.property
    def leaflist_val(self) -> ScalarArray: ...
    @builtins.property
    def any_val(self) -> any_pb.Any: ...
    json_val: builtins.bytes
    json_ietf_val: builtins.bytes
    ascii_val: builtins.str
    proto_bytes: builtins.bytes
    def __init__(self, *, string_val: builtins.str | None = ..., int_val: builtins.int | None = ..., uint_val: builtins.int | None = ..., bool_val: builtins.bool | None = ..., bytes_val: builtins.bytes | None = ..., float_val: builtins.float | None = ..., double_val: builtins.float | None = ..., decimal_val: Decimal64 | None = ..., leaflist_val: ScalarArray | None = ..., any_val: any_pb.Any | None = ..., json_val: builtins.bytes | None = ..., json_ietf_val: builtins.bytes | None = ..., ascii_val: builtins.str | None = ..., proto_bytes: builtins.bytes | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['string_val', 'int_val', 'uint_val', 'bool_val', 'bytes_val', 'float_val', 'double_val', 'decimal_val', 'leaflist_val', 'any_val', 'json_val', 'json_ietf_val', 'ascii_val', 'proto_bytes', 'value']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['value']) -> typing.Literal['string_val', 'int_val', 'uint_val', 'bool_val', 'bytes_val', 'float_val', 'double_val', 'decimal_val', 'leaflist_val', 'any_val', 'json_val', 'json_ietf_val', 'ascii_val', 'proto_bytes'] | None: ...
class Path(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def element(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
    origin: builtins.str
    @builtins.property
    def elem(self) -> RepeatedCompositeFieldContainer[PathElem]: ...
    target: builtins.str
    def __init__(self, *, element: typing.Iterable[builtins.str] | None = ..., origin: builtins.str | None = ..., elem: typing.Iterable[PathElem] | None = ..., target: builtins.str | None = ...) -> None: ...
class PathElem(Message):
    DESCRIPTOR: Descriptor
    class KeyEntry(Message):
        DESCRIPTOR: Descriptor
        key: builtins.str
        value: builtins.str
        def __init__(self, *, key: builtins.str | None = ..., value: builtins.str | None = ...) -> None: ...
    name: builtins.str
    @builtins.property
    def key(self) -> ScalarMap[builtins.str, builtins.str]: ...
    def __init__(self, *, name: builtins.str | None = ..., key: typing.Mapping[builtins.str, builtins.str] | None = ...) -> None: ...
class Value(Message):
    DESCRIPTOR: Descriptor
    value: builtins.bytes
    type: Encoding.ValueType
    def __init__(self, *, value: builtins.bytes | None = ..., type: Encoding.ValueType | None = ...) -> None: ...
class Error(Message):
    DESCRIPTOR: Descriptor
    code: builtins.int
    message: builtins.str
    @builtins.property
    def data(self) -> any_pb.Any: ...
    def __init__(self, *, code: builtins.int | None = ..., message: builtins.str | None = ..., data: any_pb.Any | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['data']) -> builtins.bool: ...
class Decimal64(Message):
    DESCRIPTOR: Descriptor
    digits: builtins.int
    precision: builtins.int
    def __init__(self, *, digits: builtins.int | None = ..., precision: builtins.int | None = ...) -> None: ...
class ScalarArray(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def element(self) -> RepeatedCompositeFieldContainer[TypedValue]: ...
    def __init__(self, *, element: typing.Iterable[TypedValue] | None = ...) -> None: ...
class SubscribeRequest(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def subscribe(self) -> SubscriptionList: ...
    @builtins.property
    def poll(self) -> Poll: ...
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, subscribe: SubscriptionList | None = ..., poll: Poll | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['subscribe', 'poll', 'request']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['request']) -> typing.Literal['subscribe', 'poll'] | None: ...
class Poll(Message):
    DESCRIPTOR: Descriptor
    def __init__(self) -> None: ...
class SubscribeResponse(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def update(self) -> Notification: ...
    sync_response: builtins.bool
    @builtins.property
    def error(self) -> Error: ...
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, update: Notification | None = ..., sync_response: builtins.bool | None = ..., error: Error | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['update', 'sync_response', 'error', 'response']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['response']) -> typing.Literal['update', 'sync_response', 'error'] | None: ...
class SubscriptionList(Message):
    DESCRIPTOR: Descriptor
    class _Mode:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _ModeWrapper(_EnumTypeWrapper[SubscriptionList.Mode.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        STREAM: SubscriptionList.Mode.ValueType
        ONCE: SubscriptionList.Mode.ValueType
        POLL: SubscriptionList.Mode.ValueType
    class Mode(_Mode, metaclass=_ModeWrapper): ...
    STREAM: SubscriptionList.Mode.ValueType
    ONCE: SubscriptionList.Mode.ValueType
    POLL: SubscriptionList.Mode.ValueType
    @builtins.property
    def prefix(self) -> Path: ...
    @builtins.property
    def subscription(self) -> RepeatedCompositeFieldContainer[Subscription]: ...
    @builtins.property
    def qos(self) -> QOSMarking: ...
    mode: SubscriptionList.Mode.ValueType
    allow_aggregation: builtins.bool
    @builtins.property
    def use_models(self) -> RepeatedCompositeFieldContainer[ModelData]: ...
    encoding: Encoding.ValueType
    updates_only: builtins.bool
    def __init__(self, *, prefix: Path | None = ..., subscription: typing.Iterable[Subscription] | None = ..., qos: QOSMarking | None = ..., mode: SubscriptionList.Mode.ValueType | None = ..., allow_aggregation: builtins.bool | None = ..., use_models: typing.Iterable[ModelData] | None = ..., encoding: Encoding.ValueType | None = ..., updates_only: builtins.bool | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['prefix', 'qos']) -> builtins.bool: ...
class Subscription(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def path(self) -> Path: ...
    mode: SubscriptionMode.ValueType
    sample_interval: builtins.int
    suppress_redundant: builtins.bool
    heartbeat_interval: builtins.int
    def __init__(self, *, path: Path | None = ..., mode: SubscriptionMode.ValueType | None = ..., sample_interval: builtins.int | None = ..., suppress_redundant: builtins.bool | None = ..., heartbeat_interval: builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['path']) -> builtins.bool: ...
class QOSMarking(Message):
    DESCRIPTOR: Descriptor
    marking: builtins.int
    def __init__(self, *, marking: builtins.int | None = ...) -> None: ...
class SetRequest(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def prefix(self) -> Path: ...
    @builtins.property
    def delete(self) -> RepeatedCompositeFieldContainer[Path]: ...
    @builtins.property
    def replace(self) -> RepeatedCompositeFieldContainer[Update]: ...
    @builtins.property
    def update(self) -> RepeatedCompositeFieldContainer[Update]: ...
    @builtins.property
    def union_replace(self) -> RepeatedCompositeFieldContainer[Update]: ...
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, prefix: Path | None = ..., delete: typing.Iterable[Path] | None = ..., replace: typing.Iterable[Update] | None = ..., update: typing.Iterable[Update] | None = ..., union_replace: typing.Iterable[Update] | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['prefix']) -> builtins.bool: ...
class SetResponse(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def prefix(self) -> Path: ...
    @builtins.property
    def response(self) -> RepeatedCompositeFieldContainer[UpdateResult]: ...
    @builtins.property
    def message(self) -> Error: ...
    timestamp: builtins.int
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, prefix: Path | None = ..., response: typing.Iterable[UpdateResult] | None = ..., message: Error | None = ..., timestamp: builtins.int | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['prefix', 'message']) -> builtins.bool: ...
class UpdateResult(Message):
    DESCRIPTOR: Descriptor
    class _Operation:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _OperationWrapper(_EnumTypeWrapper[UpdateResult.Operation.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        INVALID: UpdateResult.Operation.ValueType
        DELETE: UpdateResult.Operation.ValueType
        REPLACE: UpdateResult.Operation.ValueType
        UPDATE: UpdateResult.Operation.ValueType
        UNION_REPLACE: UpdateResult.Operation.ValueType
    class Operation(_Operation, metaclass=_OperationWrapper): ...
    INVALID: UpdateResult.Operation.ValueType
    DELETE: UpdateResult.Operation.ValueType
    REPLACE: UpdateResult.Operation.ValueType
    UPDATE: UpdateResult.Operation.ValueType
    UNION_REPLACE: UpdateResult.Operation.ValueType
    timestamp: builtins.int
    @builtins.property
    def path(self) -> Path: ...
    @builtins.property
    def message(self) -> Error: ...
    op: UpdateResult.Operation.ValueType
    def __init__(self, *, timestamp: builtins.int | None = ..., path: Path | None = ..., message: Error | None = ..., op: UpdateResult.Operation.ValueType | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['path', 'message']) -> builtins.bool: ...
class GetRequest(Message):
    DESCRIPTOR: Descriptor
    class _DataType:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _DataTypeWrapper(_EnumTypeWrapper[GetRequest.DataType.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        ALL: GetRequest.DataType.ValueType
        CONFIG: GetRequest.DataType.ValueType
        STATE: GetRequest.DataType.ValueType
        OPERATIONAL: GetRequest.DataType.ValueType
    class DataType(_DataType, metaclass=_DataTypeWrapper): ...
    ALL: GetRequest.DataType.ValueType
    CONFIG: GetRequest.DataType.ValueType
    STATE: GetRequest.DataType.ValueType
    OPERATIONAL: GetRequest.DataType.ValueType
    @builtins.property
    def prefix(self) -> Path: ...
    @builtins.property
    def path(self) -> RepeatedCompositeFieldContainer[Path]: ...
    type: GetRequest.DataType.ValueType
    encoding: Encoding.ValueType
    @builtins.property
    def use_models(self) -> RepeatedCompositeFieldContainer[ModelData]: ...
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, prefix: Path | None = ..., path: typing.Iterable[Path] | None = ..., type: GetRequest.DataType.ValueType | None = ..., encoding: Encoding.ValueType | None = ..., use_models: typing.Iterable[ModelData] | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['prefix']) -> builtins.bool: ...
class GetResponse(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def notification(self) -> RepeatedCompositeFieldContainer[Notification]: ...
    @builtins.property
    def error(self) -> Error: ...
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, notification: typing.Iterable[Notification] | None = ..., error: Error | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['error']) -> builtins.bool: ...
class CapabilityRequest(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
class CapabilityResponse(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def supported_models(self) -> RepeatedCompositeFieldContainer[ModelData]: ...
    @builtins.property
    def supported_encodings(self) -> RepeatedScalarFieldContainer[Encoding.ValueType]: ...
    gNMI_version: builtins.str
    @builtins.property
    def extension(self) -> RepeatedCompositeFieldContainer[gnmi_ext.Extension]: ...
    def __init__(self, *, supported_models: typing.Iterable[ModelData] | None = ..., supported_encodings: typing.Iterable[Encoding.ValueType] | None = ..., gNMI_version: builtins.str | None = ..., extension: typing.Iterable[gnmi_ext.Extension] | None = ...) -> None: ...
class ModelData(Message):
    DESCRIPTOR: Descriptor
    name: builtins.str
    organization: builtins.str
    version: builtins.str
    def __init__(self, *, name: builtins.str | None = ..., organization: builtins.str | None = ..., version: builtins.str | None = ...) -> None: ...
