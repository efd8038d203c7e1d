"""Written by lint/messages.py of google/protobuf/any.proto."""

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
class Any(well_known_types.Any, Message):
    type_url: _str
    value: _bytes
    def __init__(self, *, type_url: _str | None = ..., value: _bytes | None = ...) -> None: ...
