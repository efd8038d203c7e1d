"""Written by lint/messages.py of google/rpc/status.proto."""

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

from pcn.base.p4rt import any_pb

DESCRIPTOR: FileDescriptor
class Status(Message):
    code: _int
    message: _str
    details: Final[RepeatedCompositeFieldContainer[any_pb.Any]]
    def __init__(self, *, code: _int | None = ..., message: _str | None = ..., details: Iterable[any_pb.Any] | None = ...) -> None: ...
