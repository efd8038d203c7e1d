"""Written by lint/messages.py of p4/config/v1/p4info.proto."""

from pcn.base.p4rt.stub_types import *
from pcn.base.p4rt import any_pb
from pcn.base.p4rt import p4t

DESCRIPTOR: FileDescriptor
class P4Info(Message):
 pkg_info: Final[PkgInfo]
 tables: Final[Messages[Table]]
 actions: Final[Messages[Action]]
 action_profiles: Final[Messages[ActionProfile]]
 counters: Final[Messages[Counter]]
 direct_counters: Final[Messages[DirectCounter]]
 meters: Final[Messages[Meter]]
 direct_meters: Final[Messages[DirectMeter]]
 controller_packet_metadata: Final[Messages[ControllerPacketMetadata]]
 value_sets: Final[Messages[ValueSet]]
 registers: Final[Messages[Register]]
 digests: Final[Messages[Digest]]
 externs: Final[Messages[Extern]]
 type_info: Final[p4t.P4TypeInfo]
 def __init__(self, *, pkg_info: PkgInfo = ..., tables: Iterable[Table] = ..., actions: Iterable[Action] = ..., action_profiles: Iterable[ActionProfile] = ..., counters: Iterable[Counter] = ..., direct_counters: Iterable[DirectCounter] = ..., meters: Iterable[Meter] = ..., direct_meters: Iterable[DirectMeter] = ..., controller_packet_metadata: Iterable[ControllerPacketMetadata] = ..., value_sets: Iterable[ValueSet] = ..., registers: Iterable[Register] = ..., digests: Iterable[Digest] = ..., externs: Iterable[Extern] = ..., type_info: p4t.P4TypeInfo = ...) -> None: ...
 def HasField(self, field_name: Literal['pkg_info', 'type_info']) -> _bool: ...
class Documentation(Message):
 brief: _str
 description: _str
 def __init__(self, *, brief: _str = ..., description: _str = ...) -> None: ...
class PlatformProperties(Message):
 multicast_group_table_size: _int
 multicast_group_table_total_replicas: _int
 multicast_group_table_max_replicas_per_entry: _int
 def __init__(self, *, multicast_group_table_size: _int = ..., multicast_group_table_total_replicas: _int = ..., multicast_group_table_max_replicas_per_entry: _int = ...) -> None: ...
class PkgInfo(Message):
 name: _str
 version: _str
 doc: Final[Documentation]
 annotations: Final[Scalars[_str]]
 annotation_locations: Final[Messages[p4t.SourceLocation]]
 arch: _str
 organization: _str
 contact: _str
 url: _str
 structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
 platform_properties: Final[PlatformProperties]
 def __init__(self, *, name: _str = ..., version: _str = ..., doc: Documentation = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., arch: _str = ..., organization: _str = ..., contact: _str = ..., url: _str = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ..., platform_properties: PlatformProperties = ...) -> None: ...
 def HasField(self, field_name: Literal['doc', 'platform_properties']) -> _bool: ...
class P4Ids(Message):
 class _Prefix:
  ValueType = NewType('ValueType', _int)
 class _PrefixWrapper(_EnumTypeWrapper[P4Ids.Prefix.ValueType], _type):
  UNSPECIFIED: P4Ids.Prefix.ValueType
  ACTION: P4Ids.Prefix.ValueType
  TABLE: P4Ids.Prefix.ValueType
  VALUE_SET: P4Ids.Prefix.ValueType
  CONTROLLER_HEADER: P4Ids.Prefix.ValueType
  PSA_EXTERNS_START: P4Ids.Prefix.ValueType
  ACTION_PROFILE: P4Ids.Prefix.ValueType
  COUNTER: P4Ids.Prefix.ValueType
  DIRECT_COUNTER: P4Ids.Prefix.ValueType
  METER: P4Ids.Prefix.ValueType
  DIRECT_METER: P4Ids.Prefix.ValueType
  REGISTER: P4Ids.Prefix.ValueType
  DIGEST: P4Ids.Prefix.ValueType
  OTHER_EXTERNS_START: P4Ids.Prefix.ValueType
  MAX: P4Ids.Prefix.ValueType
 class Prefix(_Prefix, metaclass=_PrefixWrapper): ...
 UNSPECIFIED: P4Ids.Prefix.ValueType
 ACTION: P4Ids.Prefix.ValueType
 TABLE: P4Ids.Prefix.ValueType
 VALUE_SET: P4Ids.Prefix.ValueType
 CONTROLLER_HEADER: P4Ids.Prefix.ValueType
 PSA_EXTERNS_START: P4Ids.Prefix.ValueType
 ACTION_PROFILE: P4Ids.Prefix.ValueType
 COUNTER: P4Ids.Prefix.ValueType
 DIRECT_COUNTER: P4Ids.Prefix.ValueType
 METER: P4Ids.Prefix.ValueType
 DIRECT_METER: P4Ids.Prefix.ValueType
 REGISTER: P4Ids.Prefix.ValueType
 DIGEST: P4Ids.Prefix.ValueType
 OTHER_EXTERNS_START: P4Ids.Prefix.ValueType
 MAX: P4Ids.Prefix.ValueType
 def __init__(self) -> None: ...
class Preamble(Message):
 id: _int
 name: _str
 alias: _str
 annotations: Final[Scalars[_str]]
 annotation_locations: Final[Messages[p4t.SourceLocation]]
 doc: Final[Documentation]
 structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
 def __init__(self, *, id: _int = ..., name: _str = ..., alias: _str = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., doc: Documentation = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ...) -> None: ...
 def HasField(self, field_name: Literal['doc']) -> _bool: ...
class Extern(Message):
 extern_type_id: _int
 extern_type_name: _str
 instances: Final[Messages[ExternInstance]]
 def __init__(self, *, extern_type_id: _int = ..., extern_type_name: _str = ..., instances: Iterable[ExternInstance] = ...) -> None: ...
class ExternInstance(Message):
 preamble: Final[Preamble]
 info: Final[any_pb.Any]
 def __init__(self, *, preamble: Preamble = ..., info: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'info']) -> _bool: ...
class MatchField(Message):
 class _MatchType:
  ValueType = NewType('ValueType', _int)
 class _MatchTypeWrapper(_EnumTypeWrapper[MatchField.MatchType.ValueType], _type):
  UNSPECIFIED: MatchField.MatchType.ValueType
  EXACT: MatchField.MatchType.ValueType
  LPM: MatchField.MatchType.ValueType
  TERNARY: MatchField.MatchType.ValueType
  RANGE: MatchField.MatchType.ValueType
  OPTIONAL: MatchField.MatchType.ValueType
 class MatchType(_MatchType, metaclass=_MatchTypeWrapper): ...
 UNSPECIFIED: MatchField.MatchType.ValueType
 EXACT: MatchField.MatchType.ValueType
 LPM: MatchField.MatchType.ValueType
 TERNARY: MatchField.MatchType.ValueType
 RANGE: MatchField.MatchType.ValueType
 OPTIONAL: MatchField.MatchType.ValueType
 id: _int
 name: _str
 annotations: Final[Scalars[_str]]
 annotation_locations: Final[Messages[p4t.SourceLocation]]
 bitwidth: _int
 match_type: MatchField.MatchType.ValueType
 other_match_type: _str
 doc: Final[Documentation]
 type_name: Final[p4t.P4NamedType]
 structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
 def __init__(self, *, id: _int = ..., name: _str = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., bitwidth: _int = ..., match_type: MatchField.MatchType.ValueType = ..., other_match_type: _str = ..., doc: Documentation = ..., type_name: p4t.P4NamedType = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ...) -> None: ...
 def HasField(self, field_name: Literal['match_type', 'other_match_type', 'doc', 'type_name', 'match']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['match']) -> Literal['match_type', 'other_match_type'] | None: ...
class TableActionCall(Message):
 class Argument(Message):
  param_id: _int
  value: _bytes
  def __init__(self, *, param_id: _int = ..., value: _bytes = ...) -> None: ...
 action_id: _int
 arguments: Final[Messages[TableActionCall.Argument]]
 def __init__(self, *, action_id: _int = ..., arguments: Iterable[TableActionCall.Argument] = ...) -> None: ...
class Table(Message):
 class _IdleTimeoutBehavior:
  ValueType = NewType('ValueType', _int)
 class _IdleTimeoutBehaviorWrapper(_EnumTypeWrapper[Table.IdleTimeoutBehavior.ValueType], _type):
  NO_TIMEOUT: Table.IdleTimeoutBehavior.ValueType
  NOTIFY_CONTROL: Table.IdleTimeoutBehavior.ValueType
 class IdleTimeoutBehavior(_IdleTimeoutBehavior, metaclass=_IdleTimeoutBehaviorWrapper): ...
 NO_TIMEOUT: Table.IdleTimeoutBehavior.ValueType
 NOTIFY_CONTROL: Table.IdleTimeoutBehavior.ValueType
 preamble: Final[Preamble]
 match_fields: Final[Messages[MatchField]]
 action_refs: Final[Messages[ActionRef]]
 const_default_action_id: _int
 initial_default_action: Final[TableActionCall]
 implementation_id: _int
 direct_resource_ids: Final[Scalars[_int]]
 size: _int
 idle_timeout_behavior: Table.IdleTimeoutBehavior.ValueType
 is_const_table: _bool
 has_initial_entries: _bool
 other_properties: Final[any_pb.Any]
 def __init__(self, *, preamble: Preamble = ..., match_fields: Iterable[MatchField] = ..., action_refs: Iterable[ActionRef] = ..., const_default_action_id: _int = ..., initial_default_action: TableActionCall = ..., implementation_id: _int = ..., direct_resource_ids: Iterable[_int] = ..., size: _int = ..., idle_timeout_behavior: Table.IdleTimeoutBehavior.ValueType = ..., is_const_table: _bool = ..., has_initial_entries: _bool = ..., other_properties: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'initial_default_action', 'other_properties']) -> _bool: ...
class ActionRef(Message):
 class _Scope:
  ValueType = NewType('ValueType', _int)
 class _ScopeWrapper(_EnumTypeWrapper[ActionRef.Scope.ValueType], _type):
  TABLE_AND_DEFAULT: ActionRef.Scope.ValueType
  TABLE_ONLY: ActionRef.Scope.ValueType
  DEFAULT_ONLY: ActionRef.Scope.ValueType
  GROUP_ACTION: ActionRef.Scope.ValueType
 class Scope(_Scope, metaclass=_ScopeWrapper): ...
 TABLE_AND_DEFAULT: ActionRef.Scope.ValueType
 TABLE_ONLY: ActionRef.Scope.ValueType
 DEFAULT_ONLY: ActionRef.Scope.ValueType
 GROUP_ACTION: ActionRef.Scope.ValueType
 id: _int
 scope: ActionRef.Scope.ValueType
 annotations: Final[Scalars[_str]]
 annotation_locations: Final[Messages[p4t.SourceLocation]]
 structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
 def __init__(self, *, id: _int = ..., scope: ActionRef.Scope.ValueType = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ...) -> None: ...
class Action(Message):
 class Param(Message):
  id: _int
  name: _str
  annotations: Final[Scalars[_str]]
  annotation_locations: Final[Messages[p4t.SourceLocation]]
  bitwidth: _int
  doc: Final[Documentation]
  type_name: Final[p4t.P4NamedType]
  structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
  def __init__(self, *, id: _int = ..., name: _str = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., bitwidth: _int = ..., doc: Documentation = ..., type_name: p4t.P4NamedType = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ...) -> None: ...
  def HasField(self, field_name: Literal['doc', 'type_name']) -> _bool: ...
 preamble: Final[Preamble]
 params: Final[Messages[Action.Param]]
 def __init__(self, *, preamble: Preamble = ..., params: Iterable[Action.Param] = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble']) -> _bool: ...
class ActionProfile(Message):
 class SumOfWeights(Message):
  def __init__(self) -> None: ...
 class SumOfMembers(Message):
  max_member_weight: _int
  def __init__(self, *, max_member_weight: _int = ...) -> None: ...
 preamble: Final[Preamble]
 table_ids: Final[Scalars[_int]]
 with_selector: _bool
 size: _int
 max_group_size: _int
 sum_of_weights: Final[ActionProfile.SumOfWeights]
 sum_of_members: Final[ActionProfile.SumOfMembers]
 weights_disallowed: _bool
 def __init__(self, *, preamble: Preamble = ..., table_ids: Iterable[_int] = ..., with_selector: _bool = ..., size: _int = ..., max_group_size: _int = ..., sum_of_weights: ActionProfile.SumOfWeights = ..., sum_of_members: ActionProfile.SumOfMembers = ..., weights_disallowed: _bool = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'sum_of_weights', 'sum_of_members', 'selector_size_semantics']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['selector_size_semantics']) -> Literal['sum_of_weights', 'sum_of_members'] | None: ...
class CounterSpec(Message):
 class _Unit:
  ValueType = NewType('ValueType', _int)
 class _UnitWrapper(_EnumTypeWrapper[CounterSpec.Unit.ValueType], _type):
  UNSPECIFIED: CounterSpec.Unit.ValueType
  BYTES: CounterSpec.Unit.ValueType
  PACKETS: CounterSpec.Unit.ValueType
  BOTH: CounterSpec.Unit.ValueType
 class Unit(_Unit, metaclass=_UnitWrapper): ...
 UNSPECIFIED: CounterSpec.Unit.ValueType
 BYTES: CounterSpec.Unit.ValueType
 PACKETS: CounterSpec.Unit.ValueType
 BOTH: CounterSpec.Unit.ValueType
 unit: CounterSpec.Unit.ValueType
 def __init__(self, *, unit: CounterSpec.Unit.ValueType = ...) -> None: ...
class Counter(Message):
 preamble: Final[Preamble]
 spec: Final[CounterSpec]
 size: _int
 index_type_name: Final[p4t.P4NamedType]
 def __init__(self, *, preamble: Preamble = ..., spec: CounterSpec = ..., size: _int = ..., index_type_name: p4t.P4NamedType = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'spec', 'index_type_name']) -> _bool: ...
class DirectCounter(Message):
 preamble: Final[Preamble]
 spec: Final[CounterSpec]
 direct_table_id: _int
 def __init__(self, *, preamble: Preamble = ..., spec: CounterSpec = ..., direct_table_id: _int = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'spec']) -> _bool: ...
class MeterSpec(Message):
 class _Unit:
  ValueType = NewType('ValueType', _int)
 class _UnitWrapper(_EnumTypeWrapper[MeterSpec.Unit.ValueType], _type):
  UNSPECIFIED: MeterSpec.Unit.ValueType
  BYTES: MeterSpec.Unit.ValueType
  PACKETS: MeterSpec.Unit.ValueType
 class Unit(_Unit, metaclass=_UnitWrapper): ...
 UNSPECIFIED: MeterSpec.Unit.ValueType
 BYTES: MeterSpec.Unit.ValueType
 PACKETS: MeterSpec.Unit.ValueType
 class _Type:
  ValueType = NewType('ValueType', _int)
 class _TypeWrapper(_EnumTypeWrapper[MeterSpec.Type.ValueType], _type):
  TWO_RATE_THREE_COLOR: MeterSpec.Type.ValueType
  SINGLE_RATE_THREE_COLOR: MeterSpec.Type.ValueType
  SINGLE_RATE_TWO_COLOR: MeterSpec.Type.ValueType
 class Type(_Type, metaclass=_TypeWrapper): ...
 TWO_RATE_THREE_COLOR: MeterSpec.Type.ValueType
 SINGLE_RATE_THREE_COLOR: MeterSpec.Type.ValueType
 SINGLE_RATE_TWO_COLOR: MeterSpec.Type.ValueType
 unit: MeterSpec.Unit.ValueType
 type: MeterSpec.Type.ValueType
 def __init__(self, *, unit: MeterSpec.Unit.ValueType = ..., type: MeterSpec.Type.ValueType = ...) -> None: ...
class Meter(Message):
 preamble: Final[Preamble]
 spec: Final[MeterSpec]
 size: _int
 index_type_name: Final[p4t.P4NamedType]
 def __init__(self, *, preamble: Preamble = ..., spec: MeterSpec = ..., size: _int = ..., index_type_name: p4t.P4NamedType = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'spec', 'index_type_name']) -> _bool: ...
class DirectMeter(Message):
 preamble: Final[Preamble]
 spec: Final[MeterSpec]
 direct_table_id: _int
 def __init__(self, *, preamble: Preamble = ..., spec: MeterSpec = ..., direct_table_id: _int = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'spec']) -> _bool: ...
class ControllerPacketMetadata(Message):
 class Metadata(Message):
  id: _int
  name: _str
  annotations: Final[Scalars[_str]]
  annotation_locations: Final[Messages[p4t.SourceLocation]]
  bitwidth: _int
  type_name: Final[p4t.P4NamedType]
  structured_annotations: Final[Messages[p4t.StructuredAnnotation]]
  def __init__(self, *, id: _int = ..., name: _str = ..., annotations: Iterable[_str] = ..., annotation_locations: Iterable[p4t.SourceLocation] = ..., bitwidth: _int = ..., type_name: p4t.P4NamedType = ..., structured_annotations: Iterable[p4t.StructuredAnnotation] = ...) -> None: ...
  def HasField(self, field_name: Literal['type_name']) -> _bool: ...
 preamble: Final[Preamble]
 metadata: Final[Messages[ControllerPacketMetadata.Metadata]]
 def __init__(self, *, preamble: Preamble = ..., metadata: Iterable[ControllerPacketMetadata.Metadata] = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble']) -> _bool: ...
class ValueSet(Message):
 preamble: Final[Preamble]
 match: Final[Messages[MatchField]]
 size: _int
 def __init__(self, *, preamble: Preamble = ..., match: Iterable[MatchField] = ..., size: _int = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble']) -> _bool: ...
class Register(Message):
 preamble: Final[Preamble]
 type_spec: Final[p4t.P4DataTypeSpec]
 size: _int
 index_type_name: Final[p4t.P4NamedType]
 def __init__(self, *, preamble: Preamble = ..., type_spec: p4t.P4DataTypeSpec = ..., size: _int = ..., index_type_name: p4t.P4NamedType = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'type_spec', 'index_type_name']) -> _bool: ...
class Digest(Message):
 preamble: Final[Preamble]
 type_spec: Final[p4t.P4DataTypeSpec]
 def __init__(self, *, preamble: Preamble = ..., type_spec: p4t.P4DataTypeSpec = ...) -> None: ...
 def HasField(self, field_name: Literal['preamble', 'type_spec']) -> _bool: ...
