"""Written by lint/messages.py of gnmi/gnmi.proto."""

from pcn.base.p4rt.stub_types import *
from pcn.base.p4rt import any_pb
from pcn.base.p4rt import gnmi_ext

DESCRIPTOR: FileDescriptor
class _Encoding:
 ValueType = NewType('ValueType', _int)
class _EncodingWrapper(_EnumTypeWrapper[Encoding.ValueType], _type):
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
 ValueType = NewType('ValueType', _int)
class _SubscriptionModeWrapper(_EnumTypeWrapper[SubscriptionMode.ValueType], _type):
 TARGET_DEFINED: SubscriptionMode.ValueType
 ON_CHANGE: SubscriptionMode.ValueType
 SAMPLE: SubscriptionMode.ValueType
class SubscriptionMode(_SubscriptionMode, metaclass=_SubscriptionModeWrapper): ...
TARGET_DEFINED: SubscriptionMode.ValueType
ON_CHANGE: SubscriptionMode.ValueType
SAMPLE: SubscriptionMode.ValueType
class Notification(Message):
 timestamp: _int
 prefix: Final[Path]
 update: Final[Messages[Update]]
 delete: Final[Messages[Path]]
 atomic: _bool
 def __init__(self, *, timestamp: _int = ..., prefix: Path = ..., update: Iterable[Update] = ..., delete: Iterable[Path] = ..., atomic: _bool = ...) -> None: ...
 def HasField(self, field_name: Literal['prefix']) -> _bool: ...
class Update(Message):
 path: Final[Path]
 value: Final[Value]
 val: Final[TypedValue]
 duplicates: _int
 def __init__(self, *, path: Path = ..., value: Value = ..., val: TypedValue = ..., duplicates: _int = ...) -> None: ...
 def HasField(self, field_name: Literal['path', 'value', 'val']) -> _bool: ...
class TypedValue(Message):
 string_val: _str
 int_val: _int
 uint_val: _int
 bool_val: _bool
 bytes_val: _bytes
 float_val: _float
 double_val: _float
 decimal_val: Final[Decimal64]
 leaflist_val: Final[ScalarArray]
 any_val: Final[any_pb.Any]
 json_val: _bytes
 json_ietf_val: _bytes
 ascii_val: _str
 proto_bytes: _bytes
 def __init__(self, *, string_val: _str = ..., int_val: _int = ..., uint_val: _int = ..., bool_val: _bool = ..., bytes_val: _bytes = ..., float_val: _float = ..., double_val: _float = ..., decimal_val: Decimal64 = ..., leaflist_val: ScalarArray = ..., any_val: any_pb.Any = ..., json_val: _bytes = ..., json_ietf_val: _bytes = ..., ascii_val: _str = ..., proto_bytes: _bytes = ...) -> None: ...
 def HasField(self, field_name: Literal['string_val', 'int_val', 'uint_val', 'bool_val', 'bytes_val', 'float_val', 'double_val', 'decimal_val', 'leaflist_val', 'any_val', 'json_val', 'json_ietf_val', 'ascii_val', 'proto_bytes', 'value']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['value']) -> Literal['string_val', 'int_val', 'uint_val', 'bool_val', 'bytes_val', 'float_val', 'double_val', 'decimal_val', 'leaflist_val', 'any_val', 'json_val', 'json_ietf_val', 'ascii_val', 'proto_bytes'] | None: ...
class Path(Message):
 element: Final[Scalars[_str]]
 origin: _str
 elem: Final[Messages[PathElem]]
 target: _str
 def __init__(self, *, element: Iterable[_str] = ..., origin: _str = ..., elem: Iterable[PathElem] = ..., target: _str = ...) -> None: ...
class PathElem(Message):
 class KeyEntry(Message):
  key: _str
  value: _str
  def __init__(self, *, key: _str = ..., value: _str = ...) -> None: ...
 name: _str
 key: Final[ScalarMap[_str, _str]]
 def __init__(self, *, name: _str = ..., key: Mapping[_str, _str] = ...) -> None: ...
class Value(Message):
 value: _bytes
 type: Encoding.ValueType
 def __init__(self, *, value: _bytes = ..., type: Encoding.ValueType = ...) -> None: ...
class Error(Message):
 code: _int
 message: _str
 data: Final[any_pb.Any]
 def __init__(self, *, code: _int = ..., message: _str = ..., data: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['data']) -> _bool: ...
class Decimal64(Message):
 digits: _int
 precision: _int
 def __init__(self, *, digits: _int = ..., precision: _int = ...) -> None: ...
class ScalarArray(Message):
 element: Final[Messages[TypedValue]]
 def __init__(self, *, element: Iterable[TypedValue] = ...) -> None: ...
class SubscribeRequest(Message):
 subscribe: Final[SubscriptionList]
 poll: Final[Poll]
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, subscribe: SubscriptionList = ..., poll: Poll = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['subscribe', 'poll', 'request']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['request']) -> Literal['subscribe', 'poll'] | None: ...
class Poll(Message):
 def __init__(self) -> None: ...
class SubscribeResponse(Message):
 update: Final[Notification]
 sync_response: _bool
 error: Final[Error]
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, update: Notification = ..., sync_response: _bool = ..., error: Error = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['update', 'sync_response', 'error', 'response']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['response']) -> Literal['update', 'sync_response', 'error'] | None: ...
class SubscriptionList(Message):
 class _Mode:
  ValueType = NewType('ValueType', _int)
 class _ModeWrapper(_EnumTypeWrapper[SubscriptionList.Mode.ValueType], _type):
  STREAM: SubscriptionList.Mode.ValueType
  ONCE: SubscriptionList.Mode.ValueType
  POLL: SubscriptionList.Mode.ValueType
 class Mode(_Mode, metaclass=_ModeWrapper): ...
 STREAM: SubscriptionList.Mode.ValueType
 ONCE: SubscriptionList.Mode.ValueType
 POLL: SubscriptionList.Mode.ValueType
 prefix: Final[Path]
 subscription: Final[Messages[Subscription]]
 qos: Final[QOSMarking]
 mode: SubscriptionList.Mode.ValueType
 allow_aggregation: _bool
 use_models: Final[Messages[ModelData]]
 encoding: Encoding.ValueType
 updates_only: _bool
 def __init__(self, *, prefix: Path = ..., subscription: Iterable[Subscription] = ..., qos: QOSMarking = ..., mode: SubscriptionList.Mode.ValueType = ..., allow_aggregation: _bool = ..., use_models: Iterable[ModelData] = ..., encoding: Encoding.ValueType = ..., updates_only: _bool = ...) -> None: ...
 def HasField(self, field_name: Literal['prefix', 'qos']) -> _bool: ...
class Subscription(Message):
 path: Final[Path]
 mode: SubscriptionMode.ValueType
 sample_interval: _int
 suppress_redundant: _bool
 heartbeat_interval: _int
 def __init__(self, *, path: Path = ..., mode: SubscriptionMode.ValueType = ..., sample_interval: _int = ..., suppress_redundant: _bool = ..., heartbeat_interval: _int = ...) -> None: ...
 def HasField(self, field_name: Literal['path']) -> _bool: ...
class QOSMarking(Message):
 marking: _int
 def __init__(self, *, marking: _int = ...) -> None: ...
class SetRequest(Message):
 prefix: Final[Path]
 delete: Final[Messages[Path]]
 replace: Final[Messages[Update]]
 update: Final[Messages[Update]]
 union_replace: Final[Messages[Update]]
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, prefix: Path = ..., delete: Iterable[Path] = ..., replace: Iterable[Update] = ..., update: Iterable[Update] = ..., union_replace: Iterable[Update] = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['prefix']) -> _bool: ...
class SetResponse(Message):
 prefix: Final[Path]
 response: Final[Messages[UpdateResult]]
 message: Final[Error]
 timestamp: _int
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, prefix: Path = ..., response: Iterable[UpdateResult] = ..., message: Error = ..., timestamp: _int = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['prefix', 'message']) -> _bool: ...
class UpdateResult(Message):
 class _Operation:
  ValueType = NewType('ValueType', _int)
 class _OperationWrapper(_EnumTypeWrapper[UpdateResult.Operation.ValueType], _type):
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
 timestamp: _int
 path: Final[Path]
 message: Final[Error]
 op: UpdateResult.Operation.ValueType
 def __init__(self, *, timestamp: _int = ..., path: Path = ..., message: Error = ..., op: UpdateResult.Operation.ValueType = ...) -> None: ...
 def HasField(self, field_name: Literal['path', 'message']) -> _bool: ...
class GetRequest(Message):
 class _DataType:
  ValueType = NewType('ValueType', _int)
 class _DataTypeWrapper(_EnumTypeWrapper[GetRequest.DataType.ValueType], _type):
  ALL: GetRequest.DataType.ValueType
  CONFIG: GetRequest.DataType.ValueType
  STATE: GetRequest.DataType.ValueType
  OPERATIONAL: GetRequest.DataType.ValueType
 class DataType(_DataType, metaclass=_DataTypeWrapper): ...
 ALL: GetRequest.DataType.ValueType
 CONFIG: GetRequest.DataType.ValueType
 STATE: GetRequest.DataType.ValueType
 OPERATIONAL: GetRequest.DataType.ValueType
 prefix: Final[Path]
 path: Final[Messages[Path]]
 type: GetRequest.DataType.ValueType
 encoding: Encoding.ValueType
 use_models: Final[Messages[ModelData]]
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, prefix: Path = ..., path: Iterable[Path] = ..., type: GetRequest.DataType.ValueType = ..., encoding: Encoding.ValueType = ..., use_models: Iterable[ModelData] = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['prefix']) -> _bool: ...
class GetResponse(Message):
 notification: Final[Messages[Notification]]
 error: Final[Error]
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, notification: Iterable[Notification] = ..., error: Error = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
 def HasField(self, field_name: Literal['error']) -> _bool: ...
class CapabilityRequest(Message):
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
class CapabilityResponse(Message):
 supported_models: Final[Messages[ModelData]]
 supported_encodings: Final[Scalars[Encoding.ValueType]]
 gNMI_version: _str
 extension: Final[Messages[gnmi_ext.Extension]]
 def __init__(self, *, supported_models: Iterable[ModelData] = ..., supported_encodings: Iterable[Encoding.ValueType] = ..., gNMI_version: _str = ..., extension: Iterable[gnmi_ext.Extension] = ...) -> None: ...
class ModelData(Message):
 name: _str
 organization: _str
 version: _str
 def __init__(self, *, name: _str = ..., organization: _str = ..., version: _str = ...) -> None: ...
