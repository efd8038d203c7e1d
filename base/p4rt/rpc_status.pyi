"""Written by lint/messages.py of google/rpc/status.proto."""

from pcn.base.p4rt.stub_types import *
from pcn.base.p4rt import any_pb

DESCRIPTOR: FileDescriptor
class Status(Message):
 code: _int
 message: _str
 details: Final[Messages[any_pb.Any]]
 def __init__(self, *, code: _int = ..., message: _str = ..., details: Iterable[any_pb.Any] = ...) -> None: ...
