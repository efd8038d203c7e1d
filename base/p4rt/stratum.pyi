"""Written by lint/messages.py of stratum/p4_role_config.proto."""

from pcn.base.p4rt.stub_types import *

DESCRIPTOR: FileDescriptor
class P4RoleConfig(Message):
 class PacketFilter(Message):
  metadata_id: _int
  value: _bytes
  def __init__(self, *, metadata_id: _int = ..., value: _bytes = ...) -> None: ...
 exclusive_p4_ids: Final[Scalars[_int]]
 shared_p4_ids: Final[Scalars[_int]]
 packet_in_filter: Final[P4RoleConfig.PacketFilter]
 receives_packet_ins: _bool
 can_push_pipeline: _bool
 def __init__(self, *, exclusive_p4_ids: Iterable[_int] = ..., shared_p4_ids: Iterable[_int] = ..., packet_in_filter: P4RoleConfig.PacketFilter = ..., receives_packet_ins: _bool = ..., can_push_pipeline: _bool = ...) -> None: ...
 def HasField(self, field_name: Literal['packet_in_filter']) -> _bool: ...
