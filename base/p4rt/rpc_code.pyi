"""Written by lint/messages.py of google/rpc/code.proto."""

from pcn.base.p4rt.stub_types import *

DESCRIPTOR: FileDescriptor
class _Code:
 ValueType = NewType('ValueType', _int)
class _CodeWrapper(_EnumTypeWrapper[Code.ValueType], _type):
 OK: Code.ValueType
 CANCELLED: Code.ValueType
 UNKNOWN: Code.ValueType
 INVALID_ARGUMENT: Code.ValueType
 DEADLINE_EXCEEDED: Code.ValueType
 NOT_FOUND: Code.ValueType
 ALREADY_EXISTS: Code.ValueType
 PERMISSION_DENIED: Code.ValueType
 UNAUTHENTICATED: Code.ValueType
 RESOURCE_EXHAUSTED: Code.ValueType
 FAILED_PRECONDITION: Code.ValueType
 ABORTED: Code.ValueType
 OUT_OF_RANGE: Code.ValueType
 UNIMPLEMENTED: Code.ValueType
 INTERNAL: Code.ValueType
 UNAVAILABLE: Code.ValueType
 DATA_LOSS: Code.ValueType
class Code(_Code, metaclass=_CodeWrapper): ...
OK: Code.ValueType
CANCELLED: Code.ValueType
UNKNOWN: Code.ValueType
INVALID_ARGUMENT: Code.ValueType
DEADLINE_EXCEEDED: Code.ValueType
NOT_FOUND: Code.ValueType
ALREADY_EXISTS: Code.ValueType
PERMISSION_DENIED: Code.ValueType
UNAUTHENTICATED: Code.ValueType
RESOURCE_EXHAUSTED: Code.ValueType
FAILED_PRECONDITION: Code.ValueType
ABORTED: Code.ValueType
OUT_OF_RANGE: Code.ValueType
UNIMPLEMENTED: Code.ValueType
INTERNAL: Code.ValueType
UNAVAILABLE: Code.ValueType
DATA_LOSS: Code.ValueType
