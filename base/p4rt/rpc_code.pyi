"""Written by lint/messages.py of google/rpc/code.proto."""

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
