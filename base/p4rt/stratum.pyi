"""Written by lint/messages.py of stratum/p4_role_config.proto."""

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
class P4RoleConfig(Message):
    DESCRIPTOR: Descriptor
    class PacketFilter(Message):
        DESCRIPTOR: Descriptor
        metadata_id: builtins.int
        value: builtins.bytes
        def __init__(self, *, metadata_id: builtins.int | None = ..., value: builtins.bytes | None = ...) -> None: ...
    @builtins.property
    def exclusive_p4_ids(self) -> RepeatedScalarFieldContainer[builtins.int]: ...
    @builtins.property
    def shared_p4_ids(self) -> RepeatedScalarFieldContainer[builtins.int]: ...
    @builtins.property
    def packet_in_filter(self) -> P4RoleConfig.PacketFilter: ...
    receives_packet_ins: builtins.bool
    can_push_pipeline: builtins.bool
    def __init__(self, *, exclusive_p4_ids: typing.Iterable[builtins.int] | None = ..., shared_p4_ids: typing.Iterable[builtins.int] | None = ..., packet_in_filter: P4RoleConfig.PacketFilter | None = ..., receives_packet_ins: builtins.bool | None = ..., can_push_pipeline: builtins.bool | None = ...) -> None: ...
    def HasField(self, field_name: typing.Literal['packet_in_filter']) -> builtins.bool: ...
