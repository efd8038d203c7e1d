"""Written by lint/messages.py: what all stubs name."""

from builtins import bool as _bool, bytes as _bytes, float as _float, int as _int
from builtins import str as _str, type as _type
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NewType, overload

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal import well_known_types
from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer as Messages,
    RepeatedScalarFieldContainer as Scalars,
    ScalarMap,
)
from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper
from google.protobuf.message import Message

__all__ = [
    "FileDescriptor",
    "Final",
    "Iterable",
    "Literal",
    "Mapping",
    "Message",
    "MessageMap",
    "Messages",
    "NewType",
    "ScalarMap",
    "Scalars",
    "_EnumTypeWrapper",
    "_bool",
    "_bytes",
    "_float",
    "_int",
    "_str",
    "_type",
    "overload",
    "well_known_types",
]
