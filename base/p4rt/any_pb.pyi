"""Written by lint/messages.py of google/protobuf/any.proto."""

from pcn.base.p4rt.stub_types import *

DESCRIPTOR: FileDescriptor
class Any(well_known_types.Any, Message):
 type_url: _str
 value: _bytes
 def __init__(self, *, type_url: _str = ..., value: _bytes = ...) -> None: ...
