"""Written by lint/messages.py of p4/config/v1/p4info.proto."""

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
from pcn.base.p4rt import p4t

DESCRIPTOR: FileDescriptor
class P4Info(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def pkg_info(self) -> PkgInfo: ...
    @builtins.property
    def tables(self) -> RepeatedCompositeFieldContainer[Table]: ...
    @builtins.property
    def actions(self) -> RepeatedCompositeFieldContainer[Action]: ...
    @builtins.property
    def action_profiles(self) -> RepeatedCompositeFieldContainer[ActionProfile]: ...
    @builtins.property
    def counters(self) -> RepeatedCompositeFieldContainer[Counter]: ...
    @builtins.property
    def direct_counters(self) -> RepeatedCompositeFieldContainer[DirectCounter]: ...
    @builtins.property
    def meters(self) -> RepeatedCompositeFieldContainer[Meter]: ...
    @builtins.property
    def direct_meters(self) -> RepeatedCompositeFieldContainer[DirectMeter]: ...
    @builtins.property
    def controller_packet_metadata(self) -> RepeatedCompositeFieldContainer[ControllerPacketMetadata]: ...
    @builtins.property
    def value_sets(self) -> RepeatedCompositeFieldContainer[ValueSet]: ...
    @builtins.property
    def registers(self) -> RepeatedCompositeFieldContainer[Register]: ...
    @builtins.property
    def digests(self) -> RepeatedCompositeFieldContainer[Digest]: ...
    @builtins.property
    def externs(self) -> RepeatedCompositeFieldContainer[Extern]: ...
    @builtins.property
    def type_info(self) -> p4t.P4TypeInfo: ...
    def __init__(self, *, pkg_info: PkgInfo | None = ..., tables: typing.Iterable[Table] | None = ..., actions: typing.Iterable[Action] | None = ..., action_profiles: typing.Iterable[ActionProfile] | None = ..., counters: typing.Iterable[Counter] | None = ..., direct_counters: typing.Iterable[DirectCounter] | None = ..., meters: typing.Iterable[Meter] | None = ..., direct_meters: typing.Iterable[DirectMeter] | None = ..., controller_packet_metadata: typing.Iterable[ControllerPacketMetadata] | None = ..., value_sets: typing.Iterable[ValueSet] | None = ..., registers: typing.Iterable[Register] | None = ..., digests: typing.Iterable[Digest] | None = ..., externs: typing.Iterable[Extern] | None = ..., type_info: p4t.P4TypeInfo | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['pkg_info', 'type_info']) -> builtins.bool: ...
class Documentation(Message):
    DESCRIPTOR: Descriptor
    brief: builtins.str
    description: builtins.str
    def __init__(self, *, brief: builtins.str | None = ..., description: builtins.str | None = ...) -> None: ...
class PlatformProperties(Message):
    DESCRIPTOR: Descriptor
    multicast_group_table_size: builtins.int
    multicast_group_table_total_replicas: builtins.int
    multicast_group_table_max_replicas_per_entry: builtins.int
    def __init__(self, *, multicast_group_table_size: builtins.int | None = ..., multicast_group_table_total_replicas: builtins.int | None = ..., multicast_group_table_max_replicas_per_entry: builtins.int | None = ...) -> None: ...
class PkgInfo(Message):
    DESCRIPTOR: Descriptor
    name: builtins.str
    version: builtins.str
    @builtins.property
    def doc(self) -> Documentation: ...
    @builtins.property
    def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
    @builtins.property
    def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
    arch: builtins.str
    organization: builtins.str
    contact: builtins.str
    url: builtins.str
    @builtins.property
    def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
    @builtins.property
    def platform_properties(self) -> PlatformProperties: ...
    def __init__(self, *, name: builtins.str | None = ..., version: builtins.str | None = ..., doc: Documentation | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., arch: builtins.str | None = ..., organization: builtins.str | None = ..., contact: builtins.str | None = ..., url: builtins.str | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ..., platform_properties: PlatformProperties | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['doc', 'platform_properties']) -> builtins.bool: ...
class P4Ids(Message):
    DESCRIPTOR: Descriptor
    class _Prefix:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _PrefixWrapper(_EnumTypeWrapper[P4Ids.Prefix.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
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
    DESCRIPTOR: Descriptor
    id: builtins.int
    name: builtins.str
    alias: builtins.str
    @builtins.property
    def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
    @builtins.property
    def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
    @builtins.property
    def doc(self) -> Documentation: ...
    @builtins.property
    def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
    def __init__(self, *, id: builtins.int | None = ..., name: builtins.str | None = ..., alias: builtins.str | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., doc: Documentation | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['doc']) -> builtins.bool: ...
class Extern(Message):
    DESCRIPTOR: Descriptor
    extern_type_id: builtins.int
    extern_type_name: builtins.str
    @builtins.property
    def instances(self) -> RepeatedCompositeFieldContainer[ExternInstance]: ...
    def __init__(self, *, extern_type_id: builtins.int | None = ..., extern_type_name: builtins.str | None = ..., instances: typing.Iterable[ExternInstance] | None = ...) -> None: ...
class ExternInstance(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def info(self) -> any_pb.Any: ...
    def __init__(self, *, preamble: Preamble | None = ..., info: any_pb.Any | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'info']) -> builtins.bool: ...
class MatchField(Message):
    DESCRIPTOR: Descriptor
    class _MatchType:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _MatchTypeWrapper(_EnumTypeWrapper[MatchField.MatchType.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
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
    id: builtins.int
    name: builtins.str
    @builtins.property
    def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
    @builtins.property
    def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
    bitwidth: builtins.int
    match_type: MatchField.MatchType.ValueType
    other_match_type: builtins.str
    @builtins.property
    def doc(self) -> Documentation: ...
    @builtins.property
    def type_name(self) -> p4t.P4NamedType: ...
    @builtins.property
    def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
    def __init__(self, *, id: builtins.int | None = ..., name: builtins.str | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., bitwidth: builtins.int | None = ..., match_type: MatchField.MatchType.ValueType | None = ..., other_match_type: builtins.str | None = ..., doc: Documentation | None = ..., type_name: p4t.P4NamedType | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['match_type', 'other_match_type', 'doc', 'type_name', 'match']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['match']) -> typing.Literal['match_type', 'other_match_type'] | None: ...
class TableActionCall(Message):
    DESCRIPTOR: Descriptor
    class Argument(Message):
        DESCRIPTOR: Descriptor
        param_id: builtins.int
        value: builtins.bytes
        def __init__(self, *, param_id: builtins.int | None = ..., value: builtins.bytes | None = ...) -> None: ...
    action_id: builtins.int
    @builtins.property
    def arguments(self) -> RepeatedCompositeFieldContainer[TableActionCall.Argument]: ...
    def __init__(self, *, action_id: builtins.int | None = ..., arguments: typing.Iterable[TableActionCall.Argument] | None = ...) -> None: ...
class Table(Message):
    DESCRIPTOR: Descriptor
    class _IdleTimeoutBehavior:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _IdleTimeoutBehaviorWrapper(_EnumTypeWrapper[Table.IdleTimeoutBehavior.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        NO_TIMEOUT: Table.IdleTimeoutBehavior.ValueType
        NOTIFY_CONTROL: Table.IdleTimeoutBehavior.ValueType
    class IdleTimeoutBehavior(_IdleTimeoutBehavior, metaclass=_IdleTimeoutBehaviorWrapper): ...
    NO_TIMEOUT: Table.IdleTimeoutBehavior.ValueType
    NOTIFY_CONTROL: Table.IdleTimeoutBehavior.ValueType
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def match_fields(self) -> RepeatedCompositeFieldContainer[MatchField]: ...
    @builtins.property
    def action_refs(self) -> RepeatedCompositeFieldContainer[ActionRef]: ...
    const_default_action_id: builtins.int
    @builtins.property
    def initial_default_action(self) -> TableActionCall: ...
    implementation_id: builtins.int
    @builtins.property
    def direct_resource_ids(self) -> RepeatedScalarFieldContainer[builtins.int]: ...
    size: builtins.int
    idle_timeout_behavior: Table.IdleTimeoutBehavior.ValueType
    is_const_table: builtins.bool
    has_initial_entries: builtins.bool
    @builtins.property
    def other_properties(self) -> any_pb.Any: ...
    def __init__(self, *, preamble: Preamble | None = ..., match_fields: typing.Iterable[MatchField] | None = ..., action_refs: typing.Iterable[ActionRef] | None = ..., const_default_action_id: builtins.int | None = ..., initial_default_action: TableActionCall | None = ..., implementation_id: builtins.int | None = ..., direct_resource_ids: typing.Iterable[builtins.int] | None = ..., size: builtins.int | None = ..., idle_timeout_behavior: Table.IdleTimeoutBehavior.ValueType | None = ..., is_const_table: builtins.bool | None = ..., has_initial_entries: builtins.bool | None = ..., other_properties: any_pb.Any | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'initial_default_action', 'other_properties']) -> builtins.bool: ...
class ActionRef(Message):
    DESCRIPTOR: Descriptor
    class _Scope:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _ScopeWrapper(_EnumTypeWrapper[ActionRef.Scope.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        TABLE_AND_DEFAULT: ActionRef.Scope.ValueType
        TABLE_ONLY: ActionRef.Scope.ValueType
        DEFAULT_ONLY: ActionRef.Scope.ValueType
        GROUP_ACTION: ActionRef.Scope.ValueType
    class Scope(_Scope, metaclass=_ScopeWrapper): ...
    TABLE_AND_DEFAULT: ActionRef.Scope.ValueType
    TABLE_ONLY: ActionRef.Scope.ValueType
    DEFAULT_ONLY: ActionRef.Scope.ValueType
    GROUP_ACTION: ActionRef.Scope.ValueType
    id: builtins.int
    scope: ActionRef.Scope.ValueType
    @builtins.property
    def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
    @builtins.property
    def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
    @builtins.property
    def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
    def __init__(self, *, id: builtins.int | None = ..., scope: ActionRef.Scope.ValueType | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ...) -> None: ...
class Action(Message):
    DESCRIPTOR: Descriptor
    class Param(Message):
        DESCRIPTOR: Descriptor
        id: builtins.int
        name: builtins.str
        @builtins.property
        def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
        @builtins.property
        def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
        bitwidth: builtins.int
        @builtins.property
        def doc(self) -> Documentation: ...
        @builtins.property
        def type_name(self) -> p4t.P4NamedType: ...
        @builtins.property
        def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
        def __init__(self, *, id: builtins.int | None = ..., name: builtins.str | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., bitwidth: builtins.int | None = ..., doc: Documentation | None = ..., type_name: p4t.P4NamedType | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ...) -> None: ...
        def HasField(self, field_name: typing.Literal['doc', 'type_name']) -> builtins.bool: ...
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def params(self) -> RepeatedCompositeFieldContainer[Action.Param]: ...
    def __init__(self, *, preamble: Preamble | None = ..., params: typing.Iterable[Action.Param] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble']) -> builtins.bool: ...
class ActionProfile(Message):
    DESCRIPTOR: Descriptor
    class SumOfWeights(Message):
        DESCRIPTOR: Descriptor
        def __init__(self) -> None: ...
    class SumOfMembers(Message):
        DESCRIPTOR: Descriptor
        max_member_weight: builtins.int
        def __init__(self, *, max_member_weight: builtins.int | None = ...) -> None: ...
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def table_ids(self) -> RepeatedScalarFieldContainer[builtins.int]: ...
    with_selector: builtins.bool
    size: builtins.int
    max_group_size: builtins.int
    @builtins.property
    def sum_of_weights(self) -> ActionProfile.SumOfWeights: ...
    @builtins.property
    def sum_of_members(self) -> ActionProfile.SumOfMembers: ...
    weights_disallowed: builtins.bool
    def __init__(self, *, preamble: Preamble | None = ..., table_ids: typing.Iterable[builtins.int] | None = ..., with_selector: builtins.bool | None = ..., size: builtins.int | None = ..., max_group_size: builtins.int | None = ..., sum_of_weights: ActionProfile.SumOfWeights | None = ..., sum_of_members: ActionProfile.SumOfMembers | None = ..., weights_disallowed: builtins.bool | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'sum_of_weights', 'sum_of_members', 'selector_size_semantics']) -> builtins.bool: ...
    def WhichOneof(self, oneof_group: typing.Literal['selector_size_semantics']) -> typing.Literal['sum_of_weights', 'sum_of_members'] | None: ...
class CounterSpec(Message):
    DESCRIPTOR: Descriptor
    class _Unit:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _UnitWrapper(_EnumTypeWrapper[CounterSpec.Unit.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
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
    def __init__(self, *, unit: CounterSpec.Unit.ValueType | None = ...) -> None: ...
class Counter(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def spec(self) -> CounterSpec: ...
    size: builtins.int
    @builtins.property
    def index_type_name(self) -> p4t.P4NamedType: ...
    def __init__(self, *, preamble: Preamble | None = ..., spec: CounterSpec | None = ..., size: builtins.int | None = ..., index_type_name: p4t.P4NamedType | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'spec', 'index_type_name']) -> builtins.bool: ...
class DirectCounter(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def spec(self) -> CounterSpec: ...
    direct_table_id: builtins.int
    def __init__(self, *, preamble: Preamble | None = ..., spec: CounterSpec | None = ..., direct_table_id: builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'spec']) -> builtins.bool: ...
class MeterSpec(Message):
    DESCRIPTOR: Descriptor
    class _Unit:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _UnitWrapper(_EnumTypeWrapper[MeterSpec.Unit.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        UNSPECIFIED: MeterSpec.Unit.ValueType
        BYTES: MeterSpec.Unit.ValueType
        PACKETS: MeterSpec.Unit.ValueType
    class Unit(_Unit, metaclass=_UnitWrapper): ...
    UNSPECIFIED: MeterSpec.Unit.ValueType
    BYTES: MeterSpec.Unit.ValueType
    PACKETS: MeterSpec.Unit.ValueType
    class _Type:
        ValueType = typing.NewType('ValueType', builtins.int)
        V: typing.TypeAlias = ValueType
    class _TypeWrapper(_EnumTypeWrapper[MeterSpec.Type.ValueType], builtins.type):
        DESCRIPTOR: EnumDescriptor
        TWO_RATE_THREE_COLOR: MeterSpec.Type.ValueType
        SINGLE_RATE_THREE_COLOR: MeterSpec.Type.ValueType
        SINGLE_RATE_TWO_COLOR: MeterSpec.Type.ValueType
    class Type(_Type, metaclass=_TypeWrapper): ...
    TWO_RATE_THREE_COLOR: MeterSpec.Type.ValueType
    SINGLE_RATE_THREE_COLOR: MeterSpec.Type.ValueType
    SINGLE_RATE_TWO_COLOR: MeterSpec.Type.ValueType
    unit: MeterSpec.Unit.ValueType
    type: MeterSpec.Type.ValueType
    def __init__(self, *, unit: MeterSpec.Unit.ValueType | None = ..., type: MeterSpec.Type.ValueType | None = ...) -> None: ...
class Meter(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def spec(self) -> MeterSpec: ...
    size: builtins.int
    @builtins.property
    def index_type_name(self) -> p4t.P4NamedType: ...
    def __init__(self, *, preamble: Preamble | None = ..., spec: MeterSpec | None = ..., size: builtins.int | None = ..., index_type_name: p4t.P4NamedType | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'spec', 'index_type_name']) -> builtins.bool: ...
class DirectMeter(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def spec(self) -> MeterSpec: ...
    direct_table_id: builtins.int
    def __init__(self, *, preamble: Preamble | None = ..., spec: MeterSpec | None = ..., direct_table_id: builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'spec']) -> builtins.bool: ...
class ControllerPacketMetadata(Message):
    DESCRIPTOR: Descriptor
    class Metadata(Message):
        DESCRIPTOR: Descriptor
        id: builtins.int
        name: builtins.str
        @builtins.property
        def annotations(self) -> RepeatedScalarFieldContainer[builtins.str]: ...
        @builtins.property
        def annotation_locations(self) -> RepeatedCompositeFieldContainer[p4t.SourceLocation]: ...
        bitwidth: builtins.int
        @builtins.property
        def type_name(self) -> p4t.P4NamedType: ...
        @builtins.property
        def structured_annotations(self) -> RepeatedCompositeFieldContainer[p4t.StructuredAnnotation]: ...
        def __init__(self, *, id: builtins.int | None = ..., name: builtins.str | None = ..., annotations: typing.Iterable[builtins.str] | None = ..., annotation_locations: typing.Iterable[p4t.SourceLocation] | None = ..., bitwidth: builtins.int | None = ..., type_name: p4t.P4NamedType | None = ..., structured_annotations: typing.Iterable[p4t.StructuredAnnotation] | None = ...) -> None: ...
        def HasField(self, field_name: typing.Literal['type_name']) -> builtins.bool: ...
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def metadata(self) -> RepeatedCompositeFieldContainer[ControllerPacketMetadata.Metadata]: ...
    def __init__(self, *, preamble: Preamble | None = ..., metadata: typing.Iterable[ControllerPacketMetadata.Metadata] | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble']) -> builtins.bool: ...
class ValueSet(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def match(self) -> RepeatedCompositeFieldContainer[MatchField]: ...
    size: builtins.int
    def __init__(self, *, preamble: Preamble | None = ..., match: typing.Iterable[MatchField] | None = ..., size: builtins.int | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble']) -> builtins.bool: ...
class Register(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def type_spec(self) -> p4t.P4DataTypeSpec: ...
    size: builtins.int
    @builtins.property
    def index_type_name(self) -> p4t.P4NamedType: ...
    def __init__(self, *, preamble: Preamble | None = ..., type_spec: p4t.P4DataTypeSpec | None = ..., size: builtins.int | None = ..., index_type_name: p4t.P4NamedType | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'type_spec', 'index_type_name']) -> builtins.bool: ...
class Digest(Message):
    DESCRIPTOR: Descriptor
    @builtins.property
    def preamble(self) -> Preamble: ...
    @builtins.property
    def type_spec(self) -> p4t.P4DataTypeSpec: ...
    def __init__(self, *, preamble: Preamble | None = ..., type_spec: p4t.P4DataTypeSpec | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['preamble', 'type_spec']) -> builtins.bool: ...
