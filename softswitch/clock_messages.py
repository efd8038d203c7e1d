"""The messages of clock.proto, made of its text when this module is imported: no generated code, no
protoc.

Source of the grammar: the Protocol Buffers language specification (proto3), of which clock.proto
needs messages with scalar and message fields, and a service with unary calls.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PROTO: Final = Path(__file__).with_name("clock.proto")
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    "bytes": _Field.TYPE_BYTES,
    "uint32": _Field.TYPE_UINT32,
    "uint64": _Field.TYPE_UINT64,
}


def _file(text: str) -> descriptor_pb2.FileDescriptorProto:
    text = re.sub(r"//.*", "", text)
    package = re.search(r"package (\w+);", text)
    assert package is not None
    file = descriptor_pb2.FileDescriptorProto(
        name="softswitch/clock.proto", package=package[1], syntax="proto3"
    )
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.DOTALL):
        message = file.message_type.add(name=name)
        for repeated, kind, field_name, number in re.findall(
            r"(repeated )?(\w+) (\w+) = (\d+);", body
        ):
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            if kind in _SCALARS:
                field.type = _SCALARS[kind]
            else:
                field.type, field.type_name = _Field.TYPE_MESSAGE, f".{package[1]}.{kind}"
    for name, body in re.findall(r"service (\w+) \{(.*?)\}", text, re.DOTALL):
        service = file.service.add(name=name)
        for method, takes, gives in re.findall(r"rpc (\w+) \((\w+)\) returns \((\w+)\);", body):
            names = (f".{package[1]}.{kind}" for kind in (takes, gives))
            service.method.add(name=method, input_type=next(names), output_type=next(names))
    return file


_pool = descriptor_pool.Default()  # where reflection looks
_pool.AddSerializedFile(_file(PROTO.read_text(encoding="utf-8")).SerializeToString())


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(name))


SERVICE: Final = _pool.FindServiceByName("softswitch.ManualClock")
Span: Final = _message("softswitch.Span")
Moment: Final = _message("softswitch.Moment")
Frame: Final = _message("softswitch.Frame")
Frames: Final = _message("softswitch.Frames")


def messages_of(method: str) -> tuple[Any, Any]:
    """Returns what a call takes and what it returns."""
    descriptor = SERVICE.methods_by_name[method]
    return message_factory.GetMessageClass(descriptor.input_type), message_factory.GetMessageClass(
        descriptor.output_type
    )
