"""Written by lint/messages.py of gnmi_ext/gnmi_ext.proto."""

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
class _ExtensionID:
    ValueType = NewType('ValueType', _int)
class _ExtensionIDWrapper(_EnumTypeWrapper[ExtensionID.ValueType], _type):
    EID_UNSET: ExtensionID.ValueType
    EID_EXPERIMENTAL: ExtensionID.ValueType
class ExtensionID(_ExtensionID, metaclass=_ExtensionIDWrapper): ...
EID_UNSET: ExtensionID.ValueType
EID_EXPERIMENTAL: ExtensionID.ValueType
class Extension(Message):
    registered_ext: Final[RegisteredExtension]
    master_arbitration: Final[MasterArbitration]
    history: Final[History]
    commit: Final[Commit]
    depth: Final[Depth]
    config_subscription: Final[ConfigSubscription]
    def __init__(self, *, registered_ext: RegisteredExtension | None = ..., master_arbitration: MasterArbitration | None = ..., history: History | None = ..., commit: Commit | None = ..., depth: Depth | None = ..., config_subscription: ConfigSubscription | None = ...) -> None: ...
    def HasField(self, field_name: Literal['registered_ext', 'master_arbitration', 'history', 'commit', 'depth', 'config_subscription', 'ext']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['ext']) -> Literal['registered_ext', 'master_arbitration', 'history', 'commit', 'depth', 'config_subscription'] | None: ...
class RegisteredExtension(Message):
    id: ExtensionID.ValueType
    msg: _bytes
    def __init__(self, *, id: ExtensionID.ValueType | None = ..., msg: _bytes | None = ...) -> None: ...
class MasterArbitration(Message):
    role: Final[Role]
    election_id: Final[Uint128]
    def __init__(self, *, role: Role | None = ..., election_id: Uint128 | None = ...) -> None: ...
    def HasField(self, field_name: Literal['role', 'election_id']) -> _bool: ...
class Uint128(Message):
    high: _int
    low: _int
    def __init__(self, *, high: _int | None = ..., low: _int | None = ...) -> None: ...
class Role(Message):
    id: _str
    def __init__(self, *, id: _str | None = ...) -> None: ...
class History(Message):
    snapshot_time: _int
    range: Final[TimeRange]
    def __init__(self, *, snapshot_time: _int | None = ..., range: TimeRange | None = ...) -> None: ...
    def HasField(self, field_name: Literal['snapshot_time', 'range', 'request']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['request']) -> Literal['snapshot_time', 'range'] | None: ...
class TimeRange(Message):
    start: _int
    end: _int
    def __init__(self, *, start: _int | None = ..., end: _int | None = ...) -> None: ...
class Commit(Message):
    id: _str
    commit: Final[CommitRequest]
    confirm: Final[CommitConfirm]
    cancel: Final[CommitCancel]
    set_rollback_duration: Final[CommitSetRollbackDuration]
    def __init__(self, *, id: _str | None = ..., commit: CommitRequest | None = ..., confirm: CommitConfirm | None = ..., cancel: CommitCancel | None = ..., set_rollback_duration: CommitSetRollbackDuration | None = ...) -> None: ...
    def HasField(self, field_name: Literal['commit', 'confirm', 'cancel', 'set_rollback_duration', 'action']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['action']) -> Literal['commit', 'confirm', 'cancel', 'set_rollback_duration'] | None: ...
class CommitRequest(Message):
    rollback_duration: Final[object]
    def __init__(self, *, rollback_duration: object | None = ...) -> None: ...
    def HasField(self, field_name: Literal['rollback_duration']) -> _bool: ...
class CommitConfirm(Message):
    def __init__(self) -> None: ...
class CommitCancel(Message):
    def __init__(self) -> None: ...
class CommitSetRollbackDuration(Message):
    rollback_duration: Final[object]
    def __init__(self, *, rollback_duration: object | None = ...) -> None: ...
    def HasField(self, field_name: Literal['rollback_duration']) -> _bool: ...
class Depth(Message):
    level: _int
    def __init__(self, *, level: _int | None = ...) -> None: ...
class ConfigSubscription(Message):
    start: Final[ConfigSubscriptionStart]
    sync_done: Final[ConfigSubscriptionSyncDone]
    def __init__(self, *, start: ConfigSubscriptionStart | None = ..., sync_done: ConfigSubscriptionSyncDone | None = ...) -> None: ...
    def HasField(self, field_name: Literal['start', 'sync_done', 'action']) -> _bool: ...
    def WhichOneof(self, oneof_group: Literal['action']) -> Literal['start', 'sync_done'] | None: ...
class ConfigSubscriptionStart(Message):
    def __init__(self) -> None: ...
class ConfigSubscriptionSyncDone(Message):
    commit_confirm_id: _str
    server_commit_id: _str
    done: _bool
    def __init__(self, *, commit_confirm_id: _str | None = ..., server_commit_id: _str | None = ..., done: _bool | None = ...) -> None: ...
