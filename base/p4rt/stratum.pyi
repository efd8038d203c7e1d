"""Written by lint/messages.py of stratum/p4_role_config.proto."""

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
class P4RoleConfig(Message):
    class PacketFilter(Message):
        metadata_id: _int
        value: _bytes
        def __init__(self, *, metadata_id: _int | None = ..., value: _bytes | None = ...) -> None: ...
    exclusive_p4_ids: Final[RepeatedScalarFieldContainer[_int]]
    shared_p4_ids: Final[RepeatedScalarFieldContainer[_int]]
    packet_in_filter: Final[P4RoleConfig.PacketFilter]
    receives_packet_ins: _bool
    can_push_pipeline: _bool
    def __init__(self, *, exclusive_p4_ids: Iterable[_int] | None = ..., shared_p4_ids: Iterable[_int] | None = ..., packet_in_filter: P4RoleConfig.PacketFilter | None = ..., receives_packet_ins: _bool | None = ..., can_push_pipeline: _bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal['packet_in_filter']) -> _bool: ...
