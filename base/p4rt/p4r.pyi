"""Written by lint/messages.py of p4/v1/p4runtime.proto."""

from pcn.base.p4rt.stub_types import *
from pcn.base.p4rt import any_pb
from pcn.base.p4rt import p4d
from pcn.base.p4rt import p4i
from pcn.base.p4rt import rpc_status

DESCRIPTOR: FileDescriptor
class _SdnPort:
 ValueType = NewType('ValueType', _int)
class _SdnPortWrapper(_EnumTypeWrapper[SdnPort.ValueType], _type):
 SDN_PORT_UNKNOWN: SdnPort.ValueType
 SDN_PORT_MIN: SdnPort.ValueType
 SDN_PORT_MAX: SdnPort.ValueType
 SDN_PORT_RECIRCULATE: SdnPort.ValueType
 SDN_PORT_CPU: SdnPort.ValueType
class SdnPort(_SdnPort, metaclass=_SdnPortWrapper): ...
SDN_PORT_UNKNOWN: SdnPort.ValueType
SDN_PORT_MIN: SdnPort.ValueType
SDN_PORT_MAX: SdnPort.ValueType
SDN_PORT_RECIRCULATE: SdnPort.ValueType
SDN_PORT_CPU: SdnPort.ValueType
class WriteRequest(Message):
 class _Atomicity:
  ValueType = NewType('ValueType', _int)
 class _AtomicityWrapper(_EnumTypeWrapper[WriteRequest.Atomicity.ValueType], _type):
  CONTINUE_ON_ERROR: WriteRequest.Atomicity.ValueType
  ROLLBACK_ON_ERROR: WriteRequest.Atomicity.ValueType
  DATAPLANE_ATOMIC: WriteRequest.Atomicity.ValueType
 class Atomicity(_Atomicity, metaclass=_AtomicityWrapper): ...
 CONTINUE_ON_ERROR: WriteRequest.Atomicity.ValueType
 ROLLBACK_ON_ERROR: WriteRequest.Atomicity.ValueType
 DATAPLANE_ATOMIC: WriteRequest.Atomicity.ValueType
 device_id: _int
 role_id: _int
 role: _str
 election_id: Final[Uint128]
 updates: Final[Messages[Update]]
 atomicity: WriteRequest.Atomicity.ValueType
 def __init__(self, *, device_id: _int = ..., role_id: _int = ..., role: _str = ..., election_id: Uint128 = ..., updates: Iterable[Update] = ..., atomicity: WriteRequest.Atomicity.ValueType = ...) -> None: ...
 def HasField(self, field_name: Literal['election_id']) -> _bool: ...
class WriteResponse(Message):
 def __init__(self) -> None: ...
class ReadRequest(Message):
 device_id: _int
 role: _str
 entities: Final[Messages[Entity]]
 def __init__(self, *, device_id: _int = ..., role: _str = ..., entities: Iterable[Entity] = ...) -> None: ...
class ReadResponse(Message):
 entities: Final[Messages[Entity]]
 def __init__(self, *, entities: Iterable[Entity] = ...) -> None: ...
class Update(Message):
 class _Type:
  ValueType = NewType('ValueType', _int)
 class _TypeWrapper(_EnumTypeWrapper[Update.Type.ValueType], _type):
  UNSPECIFIED: Update.Type.ValueType
  INSERT: Update.Type.ValueType
  MODIFY: Update.Type.ValueType
  DELETE: Update.Type.ValueType
 class Type(_Type, metaclass=_TypeWrapper): ...
 UNSPECIFIED: Update.Type.ValueType
 INSERT: Update.Type.ValueType
 MODIFY: Update.Type.ValueType
 DELETE: Update.Type.ValueType
 type: Update.Type.ValueType
 entity: Final[Entity]
 def __init__(self, *, type: Update.Type.ValueType = ..., entity: Entity = ...) -> None: ...
 def HasField(self, field_name: Literal['entity']) -> _bool: ...
class Entity(Message):
 extern_entry: Final[ExternEntry]
 table_entry: Final[TableEntry]
 action_profile_member: Final[ActionProfileMember]
 action_profile_group: Final[ActionProfileGroup]
 meter_entry: Final[MeterEntry]
 direct_meter_entry: Final[DirectMeterEntry]
 counter_entry: Final[CounterEntry]
 direct_counter_entry: Final[DirectCounterEntry]
 packet_replication_engine_entry: Final[PacketReplicationEngineEntry]
 value_set_entry: Final[ValueSetEntry]
 register_entry: Final[RegisterEntry]
 digest_entry: Final[DigestEntry]
 def __init__(self, *, extern_entry: ExternEntry = ..., table_entry: TableEntry = ..., action_profile_member: ActionProfileMember = ..., action_profile_group: ActionProfileGroup = ..., meter_entry: MeterEntry = ..., direct_meter_entry: DirectMeterEntry = ..., counter_entry: CounterEntry = ..., direct_counter_entry: DirectCounterEntry = ..., packet_replication_engine_entry: PacketReplicationEngineEntry = ..., value_set_entry: ValueSetEntry = ..., register_entry: RegisterEntry = ..., digest_entry: DigestEntry = ...) -> None: ...
 def HasField(self, field_name: Literal['extern_entry', 'table_entry', 'action_profile_member', 'action_profile_group', 'meter_entry', 'direct_meter_entry', 'counter_entry', 'direct_counter_entry', 'packet_replication_engine_entry', 'value_set_entry', 'register_entry', 'digest_entry', 'entity']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['entity']) -> Literal['extern_entry', 'table_entry', 'action_profile_member', 'action_profile_group', 'meter_entry', 'direct_meter_entry', 'counter_entry', 'direct_counter_entry', 'packet_replication_engine_entry', 'value_set_entry', 'register_entry', 'digest_entry'] | None: ...
class ExternEntry(Message):
 extern_type_id: _int
 extern_id: _int
 entry: Final[any_pb.Any]
 def __init__(self, *, extern_type_id: _int = ..., extern_id: _int = ..., entry: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['entry']) -> _bool: ...
class TableEntry(Message):
 class IdleTimeout(Message):
  elapsed_ns: _int
  def __init__(self, *, elapsed_ns: _int = ...) -> None: ...
 table_id: _int
 match: Final[Messages[FieldMatch]]
 action: Final[TableAction]
 priority: _int
 controller_metadata: _int
 meter_config: Final[MeterConfig]
 counter_data: Final[CounterData]
 meter_counter_data: Final[MeterCounterData]
 is_default_action: _bool
 idle_timeout_ns: _int
 time_since_last_hit: Final[TableEntry.IdleTimeout]
 metadata: _bytes
 is_const: _bool
 def __init__(self, *, table_id: _int = ..., match: Iterable[FieldMatch] = ..., action: TableAction = ..., priority: _int = ..., controller_metadata: _int = ..., meter_config: MeterConfig = ..., counter_data: CounterData = ..., meter_counter_data: MeterCounterData = ..., is_default_action: _bool = ..., idle_timeout_ns: _int = ..., time_since_last_hit: TableEntry.IdleTimeout = ..., metadata: _bytes = ..., is_const: _bool = ...) -> None: ...
 def HasField(self, field_name: Literal['action', 'meter_config', 'counter_data', 'meter_counter_data', 'time_since_last_hit']) -> _bool: ...
class FieldMatch(Message):
 class Exact(Message):
  value: _bytes
  def __init__(self, *, value: _bytes = ...) -> None: ...
 class Ternary(Message):
  value: _bytes
  mask: _bytes
  def __init__(self, *, value: _bytes = ..., mask: _bytes = ...) -> None: ...
 class LPM(Message):
  value: _bytes
  prefix_len: _int
  def __init__(self, *, value: _bytes = ..., prefix_len: _int = ...) -> None: ...
 class Range(Message):
  low: _bytes
  high: _bytes
  def __init__(self, *, low: _bytes = ..., high: _bytes = ...) -> None: ...
 class Optional(Message):
  value: _bytes
  def __init__(self, *, value: _bytes = ...) -> None: ...
 field_id: _int
 exact: Final[FieldMatch.Exact]
 ternary: Final[FieldMatch.Ternary]
 lpm: Final[FieldMatch.LPM]
 range: Final[FieldMatch.Range]
 optional: Final[FieldMatch.Optional]
 other: Final[any_pb.Any]
 def __init__(self, *, field_id: _int = ..., exact: FieldMatch.Exact = ..., ternary: FieldMatch.Ternary = ..., lpm: FieldMatch.LPM = ..., range: FieldMatch.Range = ..., optional: FieldMatch.Optional = ..., other: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['exact', 'ternary', 'lpm', 'range', 'optional', 'other', 'field_match_type']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['field_match_type']) -> Literal['exact', 'ternary', 'lpm', 'range', 'optional', 'other'] | None: ...
class TableAction(Message):
 action: Final[Action]
 action_profile_member_id: _int
 action_profile_group_id: _int
 action_profile_action_set: Final[ActionProfileActionSet]
 def __init__(self, *, action: Action = ..., action_profile_member_id: _int = ..., action_profile_group_id: _int = ..., action_profile_action_set: ActionProfileActionSet = ...) -> None: ...
 def HasField(self, field_name: Literal['action', 'action_profile_member_id', 'action_profile_group_id', 'action_profile_action_set', 'type']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['type']) -> Literal['action', 'action_profile_member_id', 'action_profile_group_id', 'action_profile_action_set'] | None: ...
class Action(Message):
 class Param(Message):
  param_id: _int
  value: _bytes
  def __init__(self, *, param_id: _int = ..., value: _bytes = ...) -> None: ...
 action_id: _int
 params: Final[Messages[Action.Param]]
 def __init__(self, *, action_id: _int = ..., params: Iterable[Action.Param] = ...) -> None: ...
class ActionProfileActionSet(Message):
 class _ActionSelectionMode:
  ValueType = NewType('ValueType', _int)
 class _ActionSelectionModeWrapper(_EnumTypeWrapper[ActionProfileActionSet.ActionSelectionMode.ValueType], _type):
  DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR: ActionProfileActionSet.ActionSelectionMode.ValueType
  HASH: ActionProfileActionSet.ActionSelectionMode.ValueType
  RANDOM: ActionProfileActionSet.ActionSelectionMode.ValueType
 class ActionSelectionMode(_ActionSelectionMode, metaclass=_ActionSelectionModeWrapper): ...
 DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR: ActionProfileActionSet.ActionSelectionMode.ValueType
 HASH: ActionProfileActionSet.ActionSelectionMode.ValueType
 RANDOM: ActionProfileActionSet.ActionSelectionMode.ValueType
 class _SizeSemantics:
  ValueType = NewType('ValueType', _int)
 class _SizeSemanticsWrapper(_EnumTypeWrapper[ActionProfileActionSet.SizeSemantics.ValueType], _type):
  DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR: ActionProfileActionSet.SizeSemantics.ValueType
  SUM_OF_WEIGHTS: ActionProfileActionSet.SizeSemantics.ValueType
  SUM_OF_MEMBERS: ActionProfileActionSet.SizeSemantics.ValueType
 class SizeSemantics(_SizeSemantics, metaclass=_SizeSemanticsWrapper): ...
 DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR: ActionProfileActionSet.SizeSemantics.ValueType
 SUM_OF_WEIGHTS: ActionProfileActionSet.SizeSemantics.ValueType
 SUM_OF_MEMBERS: ActionProfileActionSet.SizeSemantics.ValueType
 group_action: Final[Action]
 action_profile_actions: Final[Messages[ActionProfileAction]]
 action_selection_mode: ActionProfileActionSet.ActionSelectionMode.ValueType
 size_semantics: ActionProfileActionSet.SizeSemantics.ValueType
 def __init__(self, *, group_action: Action = ..., action_profile_actions: Iterable[ActionProfileAction] = ..., action_selection_mode: ActionProfileActionSet.ActionSelectionMode.ValueType = ..., size_semantics: ActionProfileActionSet.SizeSemantics.ValueType = ...) -> None: ...
 def HasField(self, field_name: Literal['group_action']) -> _bool: ...
class ActionProfileAction(Message):
 action: Final[Action]
 weight: _int
 watch: _int
 watch_port: _bytes
 def __init__(self, *, action: Action = ..., weight: _int = ..., watch: _int = ..., watch_port: _bytes = ...) -> None: ...
 def HasField(self, field_name: Literal['action', 'watch', 'watch_port', 'watch_kind']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['watch_kind']) -> Literal['watch', 'watch_port'] | None: ...
class ActionProfileMember(Message):
 action_profile_id: _int
 member_id: _int
 action: Final[Action]
 def __init__(self, *, action_profile_id: _int = ..., member_id: _int = ..., action: Action = ...) -> None: ...
 def HasField(self, field_name: Literal['action']) -> _bool: ...
class ActionProfileGroup(Message):
 class Member(Message):
  member_id: _int
  weight: _int
  watch: _int
  watch_port: _bytes
  def __init__(self, *, member_id: _int = ..., weight: _int = ..., watch: _int = ..., watch_port: _bytes = ...) -> None: ...
  def HasField(self, field_name: Literal['watch', 'watch_port', 'watch_kind']) -> _bool: ...
  def WhichOneof(self, oneof_group: Literal['watch_kind']) -> Literal['watch', 'watch_port'] | None: ...
 action_profile_id: _int
 group_id: _int
 members: Final[Messages[ActionProfileGroup.Member]]
 max_size: _int
 def __init__(self, *, action_profile_id: _int = ..., group_id: _int = ..., members: Iterable[ActionProfileGroup.Member] = ..., max_size: _int = ...) -> None: ...
class Index(Message):
 index: _int
 def __init__(self, *, index: _int = ...) -> None: ...
class MeterEntry(Message):
 meter_id: _int
 index: Final[Index]
 config: Final[MeterConfig]
 counter_data: Final[MeterCounterData]
 def __init__(self, *, meter_id: _int = ..., index: Index = ..., config: MeterConfig = ..., counter_data: MeterCounterData = ...) -> None: ...
 def HasField(self, field_name: Literal['index', 'config', 'counter_data']) -> _bool: ...
class DirectMeterEntry(Message):
 table_entry: Final[TableEntry]
 config: Final[MeterConfig]
 counter_data: Final[MeterCounterData]
 def __init__(self, *, table_entry: TableEntry = ..., config: MeterConfig = ..., counter_data: MeterCounterData = ...) -> None: ...
 def HasField(self, field_name: Literal['table_entry', 'config', 'counter_data']) -> _bool: ...
class MeterConfig(Message):
 cir: _int
 cburst: _int
 pir: _int
 pburst: _int
 eburst: _int
 def __init__(self, *, cir: _int = ..., cburst: _int = ..., pir: _int = ..., pburst: _int = ..., eburst: _int = ...) -> None: ...
class CounterEntry(Message):
 counter_id: _int
 index: Final[Index]
 data: Final[CounterData]
 def __init__(self, *, counter_id: _int = ..., index: Index = ..., data: CounterData = ...) -> None: ...
 def HasField(self, field_name: Literal['index', 'data']) -> _bool: ...
class DirectCounterEntry(Message):
 table_entry: Final[TableEntry]
 data: Final[CounterData]
 def __init__(self, *, table_entry: TableEntry = ..., data: CounterData = ...) -> None: ...
 def HasField(self, field_name: Literal['table_entry', 'data']) -> _bool: ...
class CounterData(Message):
 byte_count: _int
 packet_count: _int
 def __init__(self, *, byte_count: _int = ..., packet_count: _int = ...) -> None: ...
class MeterCounterData(Message):
 green: Final[CounterData]
 yellow: Final[CounterData]
 red: Final[CounterData]
 def __init__(self, *, green: CounterData = ..., yellow: CounterData = ..., red: CounterData = ...) -> None: ...
 def HasField(self, field_name: Literal['green', 'yellow', 'red']) -> _bool: ...
class PacketReplicationEngineEntry(Message):
 multicast_group_entry: Final[MulticastGroupEntry]
 clone_session_entry: Final[CloneSessionEntry]
 def __init__(self, *, multicast_group_entry: MulticastGroupEntry = ..., clone_session_entry: CloneSessionEntry = ...) -> None: ...
 def HasField(self, field_name: Literal['multicast_group_entry', 'clone_session_entry', 'type']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['type']) -> Literal['multicast_group_entry', 'clone_session_entry'] | None: ...
class BackupReplica(Message):
 port: _bytes
 instance: _int
 def __init__(self, *, port: _bytes = ..., instance: _int = ...) -> None: ...
class Replica(Message):
 egress_port: _int
 port: _bytes
 instance: _int
 backup_replicas: Final[Messages[BackupReplica]]
 def __init__(self, *, egress_port: _int = ..., port: _bytes = ..., instance: _int = ..., backup_replicas: Iterable[BackupReplica] = ...) -> None: ...
 def HasField(self, field_name: Literal['egress_port', 'port', 'port_kind']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['port_kind']) -> Literal['egress_port', 'port'] | None: ...
class MulticastGroupEntry(Message):
 multicast_group_id: _int
 replicas: Final[Messages[Replica]]
 metadata: _bytes
 def __init__(self, *, multicast_group_id: _int = ..., replicas: Iterable[Replica] = ..., metadata: _bytes = ...) -> None: ...
class CloneSessionEntry(Message):
 session_id: _int
 replicas: Final[Messages[Replica]]
 class_of_service: _int
 packet_length_bytes: _int
 def __init__(self, *, session_id: _int = ..., replicas: Iterable[Replica] = ..., class_of_service: _int = ..., packet_length_bytes: _int = ...) -> None: ...
class ValueSetMember(Message):
 match: Final[Messages[FieldMatch]]
 def __init__(self, *, match: Iterable[FieldMatch] = ...) -> None: ...
class ValueSetEntry(Message):
 value_set_id: _int
 members: Final[Messages[ValueSetMember]]
 def __init__(self, *, value_set_id: _int = ..., members: Iterable[ValueSetMember] = ...) -> None: ...
class RegisterEntry(Message):
 register_id: _int
 index: Final[Index]
 data: Final[p4d.P4Data]
 def __init__(self, *, register_id: _int = ..., index: Index = ..., data: p4d.P4Data = ...) -> None: ...
 def HasField(self, field_name: Literal['index', 'data']) -> _bool: ...
class DigestEntry(Message):
 class Config(Message):
  max_timeout_ns: _int
  max_list_size: _int
  ack_timeout_ns: _int
  def __init__(self, *, max_timeout_ns: _int = ..., max_list_size: _int = ..., ack_timeout_ns: _int = ...) -> None: ...
 digest_id: _int
 config: Final[DigestEntry.Config]
 def __init__(self, *, digest_id: _int = ..., config: DigestEntry.Config = ...) -> None: ...
 def HasField(self, field_name: Literal['config']) -> _bool: ...
class StreamMessageRequest(Message):
 arbitration: Final[MasterArbitrationUpdate]
 packet: Final[PacketOut]
 digest_ack: Final[DigestListAck]
 other: Final[any_pb.Any]
 def __init__(self, *, arbitration: MasterArbitrationUpdate = ..., packet: PacketOut = ..., digest_ack: DigestListAck = ..., other: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['arbitration', 'packet', 'digest_ack', 'other', 'update']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['update']) -> Literal['arbitration', 'packet', 'digest_ack', 'other'] | None: ...
class PacketOut(Message):
 payload: _bytes
 metadata: Final[Messages[PacketMetadata]]
 def __init__(self, *, payload: _bytes = ..., metadata: Iterable[PacketMetadata] = ...) -> None: ...
class DigestListAck(Message):
 digest_id: _int
 list_id: _int
 def __init__(self, *, digest_id: _int = ..., list_id: _int = ...) -> None: ...
class StreamMessageResponse(Message):
 arbitration: Final[MasterArbitrationUpdate]
 packet: Final[PacketIn]
 digest: Final[DigestList]
 idle_timeout_notification: Final[IdleTimeoutNotification]
 other: Final[any_pb.Any]
 error: Final[StreamError]
 def __init__(self, *, arbitration: MasterArbitrationUpdate = ..., packet: PacketIn = ..., digest: DigestList = ..., idle_timeout_notification: IdleTimeoutNotification = ..., other: any_pb.Any = ..., error: StreamError = ...) -> None: ...
 def HasField(self, field_name: Literal['arbitration', 'packet', 'digest', 'idle_timeout_notification', 'other', 'error', 'update']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['update']) -> Literal['arbitration', 'packet', 'digest', 'idle_timeout_notification', 'other', 'error'] | None: ...
class PacketIn(Message):
 payload: _bytes
 metadata: Final[Messages[PacketMetadata]]
 def __init__(self, *, payload: _bytes = ..., metadata: Iterable[PacketMetadata] = ...) -> None: ...
class DigestList(Message):
 digest_id: _int
 list_id: _int
 data: Final[Messages[p4d.P4Data]]
 timestamp: _int
 def __init__(self, *, digest_id: _int = ..., list_id: _int = ..., data: Iterable[p4d.P4Data] = ..., timestamp: _int = ...) -> None: ...
class PacketMetadata(Message):
 metadata_id: _int
 value: _bytes
 def __init__(self, *, metadata_id: _int = ..., value: _bytes = ...) -> None: ...
class MasterArbitrationUpdate(Message):
 device_id: _int
 role: Final[Role]
 election_id: Final[Uint128]
 status: Final[rpc_status.Status]
 def __init__(self, *, device_id: _int = ..., role: Role = ..., election_id: Uint128 = ..., status: rpc_status.Status = ...) -> None: ...
 def HasField(self, field_name: Literal['role', 'election_id', 'status']) -> _bool: ...
class Role(Message):
 id: _int
 name: _str
 config: Final[any_pb.Any]
 def __init__(self, *, id: _int = ..., name: _str = ..., config: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['config']) -> _bool: ...
class IdleTimeoutNotification(Message):
 table_entry: Final[Messages[TableEntry]]
 timestamp: _int
 def __init__(self, *, table_entry: Iterable[TableEntry] = ..., timestamp: _int = ...) -> None: ...
class StreamError(Message):
 canonical_code: _int
 message: _str
 space: _str
 code: _int
 packet_out: Final[PacketOutError]
 digest_list_ack: Final[DigestListAckError]
 other: Final[StreamOtherError]
 def __init__(self, *, canonical_code: _int = ..., message: _str = ..., space: _str = ..., code: _int = ..., packet_out: PacketOutError = ..., digest_list_ack: DigestListAckError = ..., other: StreamOtherError = ...) -> None: ...
 def HasField(self, field_name: Literal['packet_out', 'digest_list_ack', 'other', 'details']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['details']) -> Literal['packet_out', 'digest_list_ack', 'other'] | None: ...
class PacketOutError(Message):
 packet_out: Final[PacketOut]
 def __init__(self, *, packet_out: PacketOut = ...) -> None: ...
 def HasField(self, field_name: Literal['packet_out']) -> _bool: ...
class DigestListAckError(Message):
 digest_list_ack: Final[DigestListAck]
 def __init__(self, *, digest_list_ack: DigestListAck = ...) -> None: ...
 def HasField(self, field_name: Literal['digest_list_ack']) -> _bool: ...
class StreamOtherError(Message):
 other: Final[any_pb.Any]
 def __init__(self, *, other: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['other']) -> _bool: ...
class Uint128(Message):
 high: _int
 low: _int
 def __init__(self, *, high: _int = ..., low: _int = ...) -> None: ...
class SetForwardingPipelineConfigRequest(Message):
 class _Action:
  ValueType = NewType('ValueType', _int)
 class _ActionWrapper(_EnumTypeWrapper[SetForwardingPipelineConfigRequest.Action.ValueType], _type):
  UNSPECIFIED: SetForwardingPipelineConfigRequest.Action.ValueType
  VERIFY: SetForwardingPipelineConfigRequest.Action.ValueType
  VERIFY_AND_SAVE: SetForwardingPipelineConfigRequest.Action.ValueType
  VERIFY_AND_COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
  COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
  RECONCILE_AND_COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
 class Action(_Action, metaclass=_ActionWrapper): ...
 UNSPECIFIED: SetForwardingPipelineConfigRequest.Action.ValueType
 VERIFY: SetForwardingPipelineConfigRequest.Action.ValueType
 VERIFY_AND_SAVE: SetForwardingPipelineConfigRequest.Action.ValueType
 VERIFY_AND_COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
 COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
 RECONCILE_AND_COMMIT: SetForwardingPipelineConfigRequest.Action.ValueType
 device_id: _int
 role_id: _int
 role: _str
 election_id: Final[Uint128]
 action: SetForwardingPipelineConfigRequest.Action.ValueType
 config: Final[ForwardingPipelineConfig]
 def __init__(self, *, device_id: _int = ..., role_id: _int = ..., role: _str = ..., election_id: Uint128 = ..., action: SetForwardingPipelineConfigRequest.Action.ValueType = ..., config: ForwardingPipelineConfig = ...) -> None: ...
 def HasField(self, field_name: Literal['election_id', 'config']) -> _bool: ...
class SetForwardingPipelineConfigResponse(Message):
 def __init__(self) -> None: ...
class ForwardingPipelineConfig(Message):
 class Cookie(Message):
  cookie: _int
  def __init__(self, *, cookie: _int = ...) -> None: ...
 p4info: Final[p4i.P4Info]
 p4_device_config: _bytes
 cookie: Final[ForwardingPipelineConfig.Cookie]
 def __init__(self, *, p4info: p4i.P4Info = ..., p4_device_config: _bytes = ..., cookie: ForwardingPipelineConfig.Cookie = ...) -> None: ...
 def HasField(self, field_name: Literal['p4info', 'cookie']) -> _bool: ...
class GetForwardingPipelineConfigRequest(Message):
 class _ResponseType:
  ValueType = NewType('ValueType', _int)
 class _ResponseTypeWrapper(_EnumTypeWrapper[GetForwardingPipelineConfigRequest.ResponseType.ValueType], _type):
  ALL: GetForwardingPipelineConfigRequest.ResponseType.ValueType
  COOKIE_ONLY: GetForwardingPipelineConfigRequest.ResponseType.ValueType
  P4INFO_AND_COOKIE: GetForwardingPipelineConfigRequest.ResponseType.ValueType
  DEVICE_CONFIG_AND_COOKIE: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 class ResponseType(_ResponseType, metaclass=_ResponseTypeWrapper): ...
 ALL: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 COOKIE_ONLY: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 P4INFO_AND_COOKIE: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 DEVICE_CONFIG_AND_COOKIE: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 device_id: _int
 response_type: GetForwardingPipelineConfigRequest.ResponseType.ValueType
 def __init__(self, *, device_id: _int = ..., response_type: GetForwardingPipelineConfigRequest.ResponseType.ValueType = ...) -> None: ...
class GetForwardingPipelineConfigResponse(Message):
 config: Final[ForwardingPipelineConfig]
 def __init__(self, *, config: ForwardingPipelineConfig = ...) -> None: ...
 def HasField(self, field_name: Literal['config']) -> _bool: ...
class Error(Message):
 canonical_code: _int
 message: _str
 space: _str
 code: _int
 details: Final[any_pb.Any]
 def __init__(self, *, canonical_code: _int = ..., message: _str = ..., space: _str = ..., code: _int = ..., details: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['details']) -> _bool: ...
class CapabilitiesRequest(Message):
 device_id: _int
 def __init__(self, *, device_id: _int = ...) -> None: ...
class CapabilitiesResponse(Message):
 p4runtime_api_version: _str
 experimental: Final[any_pb.Any]
 def __init__(self, *, p4runtime_api_version: _str = ..., experimental: any_pb.Any = ...) -> None: ...
 def HasField(self, field_name: Literal['experimental']) -> _bool: ...
