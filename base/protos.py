"""Messages of .proto files, made of descriptors when they are first used: no generated code.

They are in a pool of this project's, so a process may load another package's copies of the same
files (finsy, p4runtime, googleapis-common-protos) beside them. Bytes are what both understand.

Beside each .proto lies its descriptor (`make messages` writes it and the stubs: to read the
text takes ten times as long, and every switch would have to wait for it).
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

POOL: Final = descriptor_pool.DescriptorPool()
_LOADING = threading.RLock()
END: Final = ".binpb"
ROOT: Final = Path(__file__).with_name("p4rt") / "protos"
OF_PROTOBUF: Final = {
    f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2" for name in ("any", "duration")
}
"""Files that protobuf brings, by name, and their modules."""


def load(name: str, root: Path = ROOT) -> Any:
    """Returns a file's descriptor, by the name that others import it by, with those that it
    imports; `root`: the folder in which it has this name. Raises OSError."""
    with _LOADING:
        with contextlib.suppress(KeyError):
            return POOL.FindFileByName(name)
        if name in OF_PROTOBUF:
            serialized = of_protobuf(name)
        else:
            serialized = (root / name).with_suffix(END).read_bytes()
            for imported in FileDescriptorProto.FromString(serialized).dependency:
                load(imported)
        POOL.AddSerializedFile(serialized)
        return POOL.FindFileByName(name)


def of_protobuf(name: str) -> bytes:
    """Returns the descriptor of one of OF_PROTOBUF."""
    file = importlib.import_module(OF_PROTOBUF[name]).DESCRIPTOR
    serialized: bytes = file.serialized_pb
    return serialized


def message(descriptor: Any) -> Any:
    """Returns the class of a message's descriptor."""
    return message_factory.GetMessageClass(descriptor)


def members(name: str, module: dict[str, Any]) -> Callable[[str], Any]:
    """Returns the `__getattr__` of a module that stands for a .proto file: its messages, enums and
    enums' values, each made when it is first used."""

    def member(key: str) -> Any:
        file = load(name)
        if key == "DESCRIPTOR":
            value = file
        elif key in file.message_types_by_name:
            value = message(file.message_types_by_name[key])
        elif key in file.enum_types_by_name:
            value = EnumTypeWrapper(file.enum_types_by_name[key])
        else:
            for enum in file.enum_types_by_name.values():
                if key in enum.values_by_name:
                    value = enum.values_by_name[key].number
                    break
            else:
                raise AttributeError(f"{name} has no {key}")
        module[key] = value
        return value

    return member
