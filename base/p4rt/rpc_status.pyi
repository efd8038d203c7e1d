"""Written by lint/messages.py of google/rpc/status.proto."""

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

from pcn.base.p4rt import any_pb

DESCRIPTOR: FileDescriptor
class Status(Message):
    DESCRIPTOR: Descriptor
    code: builtins.int
    message: builtins.str
    @builtins.property
    def details(self) -> RepeatedCompositeFieldContainer[any_pb.Any]: ...
    def __init__(self, *, code: builtins.int | None = ..., message: builtins.str | None = ..., details: typing.Iterable[any_pb.Any] | None = ...) -> None: ...
