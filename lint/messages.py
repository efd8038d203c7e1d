"""Writes what Python needs of the .proto files: each one's descriptor, which git has, and stubs for
type checkers, which `make setup` and a release's wheel have.

    python lint/messages.py          # make messages

Source of the grammar: the Protocol Buffers language specification (proto3). Read are `syntax`,
`package`, `import`, messages with fields, `repeated`, maps, `oneof`, `reserved` and nested types,
enums, and services; options, extensions, groups and `optional` are refused.
"""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool

from pcn.base import protos

ROOT: Final = Path(__file__).resolve().parent.parent
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS: Final = {
    name: _Field.Type.Value(f"TYPE_{name.upper()}")
    for name in (
        *("double", "float", "bool", "string", "bytes"),
        *("int32", "int64", "uint32", "uint64", "sint32", "sint64"),
        *("fixed32", "fixed64", "sfixed32", "sfixed64"),
    )
}
_KEYS = _SCALARS.keys() - {"double", "float", "bytes"}
_TOKEN = re.compile(r'"[^"\n]*"|-?[\w.]+|[^\s\w]')
_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*")
_TYPE = re.compile(r"\.?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_NUMBER = re.compile(r"-?\d+")
_STRING = re.compile(r'"[^"\n]*"')
_MAX_NUMBER = (1 << 29) - 1
"""Of a field, and a bound of what `reserved` calls max."""


def read(
    name: str, text: str, imported: Callable[[str], Any] = protos.load
) -> descriptor_pb2.FileDescriptorProto:
    """Returns what a file declares; `imported` gives the descriptor of a file by its name. Raises
    ValueError with the line."""
    return _Reader(name, text, imported).file


class _Reader:
    """Of one file."""

    def __init__(self, name: str, text: str, imported: Callable[[str], Any]) -> None:
        # what is left out keeps its lines, for messages
        self._text = _ASIDE.sub(lambda aside: " " + "\n" * aside[0].count("\n"), text)
        self._tokens = [*_TOKEN.findall(self._text), ""]  # "": the end
        self._next = 0
        self.file = descriptor_pb2.FileDescriptorProto(name=name, syntax="proto3")
        self._imported = imported
        self._kinds: dict[str, int] = {}
        """By a type's whole name: message or enum."""
        self._others: dict[str, int] = {}
        """Likewise, of what it imports."""
        self._named: list[tuple[Any, str, str, str, int]] = []
        """What has a type that is called by its name, the field for it, the name, the scope in
        which it stands, its token."""
        self._statements(self.file)
        for owner, attribute, type_name, scope, token in self._named:
            kind, whole = self._resolved(type_name, scope, token)
            setattr(owner, attribute, whole)
            if attribute == "type_name":
                owner.type = kind
            elif kind != _Field.TYPE_MESSAGE:
                raise self._fault(f"{type_name} is no message", token)

    # ---- tokens ----

    def _fault(self, text: str, token: int | None = None) -> ValueError:
        number = self._next if token is None else token
        starts = [match.start() for match in _TOKEN.finditer(self._text)] + [len(self._text)]
        line = self._text.count("\n", 0, starts[number]) + 1
        return ValueError(f"{self.file.name}:{line}: {text}")

    def _take(self, pattern: re.Pattern[str], expected: str) -> str:
        token: str = self._tokens[self._next]
        if not pattern.fullmatch(token):
            raise self._fault(f"{expected} is expected, not {token or 'the end'!r}")
        self._next += 1
        return token

    def _expect(self, *signs: str) -> None:
        for sign in signs:
            token = self._tokens[self._next]
            if token != sign:
                raise self._fault(f"{sign!r} is expected, not {token or 'the end'!r}")
            self._next += 1

    def _taken(self, sign: str) -> bool:
        if self._tokens[self._next] != sign:
            return False
        self._next += 1
        return True

    def _name(self) -> str:
        return self._take(_NAME, "a name")

    def _string(self) -> str:
        return self._take(_STRING, "a text")[1:-1]

    def _number(self, least: int, most: int) -> int:
        number = int(self._take(_NUMBER, "a number"))
        if not least <= number <= most:
            self._next -= 1
            raise self._fault(f"a number of {least} to {most} is expected, not {number}")
        return number

    # ---- statements ----

    def _statements(self, file: descriptor_pb2.FileDescriptorProto) -> None:
        self._expect("syntax", "=", '"proto3"', ";")
        while self._tokens[self._next]:
            if self._taken("package"):
                if self._kinds or self.file.service:
                    raise self._fault("a package stands before what is in it")
                file.package = self._take(_TYPE, "a name")
                self._expect(";")
            elif self._taken("import"):
                self._import()
            elif self._taken("message"):
                self._message(file.message_type.add(), file.package)
            elif self._taken("enum"):
                self._enum(file.enum_type.add(), file.package)
            elif self._taken("service"):
                self._service(file.service.add())
            else:
                raise self._fault(f"{self._tokens[self._next]!r} isn't read")

    def _import(self) -> None:
        name = self._string()
        try:
            file = self._imported(name)
        except (OSError, ValueError) as error:
            self._next -= 1
            raise self._fault(f"{name} can't be imported: {error}") from None
        self.file.dependency.append(name)
        messages = list(file.message_types_by_name.values())
        enums = list(file.enum_types_by_name.values())
        for message in messages:  # which grows by what they contain
            self._others[message.full_name] = _Field.TYPE_MESSAGE
            messages += message.nested_types
            enums += message.enum_types
        self._others |= {enum.full_name: _Field.TYPE_ENUM for enum in enums}
        self._expect(";")

    def _declared(self, scope: str, kind: int) -> tuple[str, str]:
        """Returns the name of a type that begins here, and its whole name."""
        name = self._name()
        whole = f"{scope}.{name}".lstrip(".")
        if whole in self._kinds:
            self._next -= 1
            raise self._fault(f"{whole} is declared twice")
        self._kinds[whole] = kind
        return name, whole

    def _message(self, message: descriptor_pb2.DescriptorProto, scope: str) -> None:
        message.name, whole = self._declared(scope, _Field.TYPE_MESSAGE)
        self._expect("{")
        while not self._taken("}"):
            if self._taken("message"):
                self._message(message.nested_type.add(), whole)
            elif self._taken("enum"):
                self._enum(message.enum_type.add(), whole)
            elif self._taken("reserved"):
                self._reserved(message)
            elif self._taken("oneof"):
                number = len(message.oneof_decl)
                message.oneof_decl.add(name=self._name())
                self._expect("{")
                while not self._taken("}"):
                    field = message.field.add(oneof_index=number, label=_Field.LABEL_OPTIONAL)
                    self._field(field, whole)
            elif self._taken("map"):
                self._map(message, whole)
            else:
                repeated = self._taken("repeated")
                label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
                self._field(message.field.add(label=label), whole)

    def _field(self, field: _Field, scope: str) -> None:
        self._typed(field, scope)
        field.name = self._name()
        self._expect("=")
        field.number = self._number(1, _MAX_NUMBER)
        self._expect(";")

    def _typed(self, field: _Field, scope: str) -> None:
        kind = self._take(_TYPE, "a type")
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            self._named.append((field, "type_name", kind, scope, self._next - 1))

    def _map(self, message: descriptor_pb2.DescriptorProto, scope: str) -> None:
        """A map is a repeated message of a key and a value."""
        entry = message.nested_type.add()
        entry.options.map_entry = True
        self._expect("<")
        key = entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL)
        if self._tokens[self._next] not in _KEYS:
            raise self._fault("a map's key is a whole number, a bool or a string")
        self._typed(key, scope)
        self._expect(",")
        self._typed(entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), scope)
        self._expect(">")
        field = message.field.add(name=self._name(), label=_Field.LABEL_REPEATED)
        entry.name = (
            "".join(part[:1].upper() + part[1:] for part in field.name.split("_")) + "Entry"
        )
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{scope}.{entry.name}"
        self._expect("=")
        field.number = self._number(1, _MAX_NUMBER)
        self._expect(";")

    def _reserved(self, message: descriptor_pb2.DescriptorProto) -> None:
        while True:
            if self._tokens[self._next].startswith('"'):
                message.reserved_name.append(self._string())
            else:
                first = last = self._number(1, _MAX_NUMBER)
                if self._taken("to"):
                    last = _MAX_NUMBER if self._taken("max") else self._number(first, _MAX_NUMBER)
                message.reserved_range.add(start=first, end=last + 1)
            if self._taken(";"):
                return
            self._expect(",")

    def _enum(self, enum: descriptor_pb2.EnumDescriptorProto, scope: str) -> None:
        enum.name, _ = self._declared(scope, _Field.TYPE_ENUM)
        self._expect("{")
        while not self._taken("}"):
            value = enum.value.add(name=self._name())
            self._expect("=")
            value.number = self._number(-1 << 31, (1 << 31) - 1)
            self._expect(";")

    def _service(self, service: descriptor_pb2.ServiceDescriptorProto) -> None:
        service.name = self._name()
        self._expect("{")
        while not self._taken("}"):
            self._expect("rpc")
            method = service.method.add(name=self._name())
            self._expect("(")
            if self._taken("stream"):
                method.client_streaming = True
            self._called(method, "input_type")
            self._expect(")", "returns", "(")
            if self._taken("stream"):
                method.server_streaming = True
            self._called(method, "output_type")
            self._expect(")", ";")

    def _called(self, method: descriptor_pb2.MethodDescriptorProto, attribute: str) -> None:
        kind = self._take(_TYPE, "a type")
        self._named.append((method, attribute, kind, self.file.package, self._next - 1))

    # ---- names of types ----

    def _resolved(self, name: str, scope: str, token: int) -> tuple[int, str]:
        """Returns a type's kind and whole name: that of the innermost scope that has it."""
        while True:
            whole = name[1:] if name.startswith(".") else f"{scope}.{name}".lstrip(".")
            kind = self._kinds.get(whole) or self._others.get(whole)
            if kind is not None:
                return kind, f".{whole}"
            if not scope or name.startswith("."):
                raise self._fault(f"no type is called {name}", token)
            scope = scope.rpartition(".")[0]


# ---- stubs ----


class _Stub:
    """The stub of one module's messages."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._modules: set[str] = set()
        """Of ours, whose messages it names."""
        self.lines: list[str] = []
        for enum in file.enum_types_by_name.values():
            self._enum(enum, "")
        for message in file.message_types_by_name.values():
            self._message(message, "")

    def __str__(self) -> str:
        imports = "".join(
            f"from pcn.base.p4rt import {module}\n" for module in sorted(self._modules)
        )
        return _STUB.format(name=self._file.name, imports=imports) + "\n".join(self.lines) + "\n"

    def _name(self, descriptor: Any) -> str:
        """Returns a type as this module names it."""
        inner = descriptor.full_name.removeprefix(f"{descriptor.file.package}.")
        if descriptor.file.name == self._file.name:
            return str(inner)
        if descriptor.file.name not in MODULES:
            return "object"
        module = MODULES[descriptor.file.name]
        self._modules.add(module)
        return f"{module}.{inner}"

    def _enum(self, enum: Any, indent: str) -> None:
        value = f"{self._name(enum)}.ValueType"
        self.lines += [
            f"{indent}class _{enum.name}:",
            f"{indent} ValueType = NewType('ValueType', _int)",
            f"{indent}class _{enum.name}Wrapper(_EnumTypeWrapper[{value}], _type):",
            *(f"{indent} {name}: {value}" for name in enum.values_by_name),
            f"{indent}class {enum.name}(_{enum.name}, metaclass=_{enum.name}Wrapper): ...",
        ]
        self.lines += [f"{indent}{name}: {value}" for name in enum.values_by_name]

    def _message(self, message: Any, indent: str) -> None:
        base = _WELL_KNOWN.get(message.full_name, "Message")
        self.lines += [f"{indent}class {message.name}({base}):"]
        indent += " "
        for enum in message.enum_types:
            self._enum(enum, indent)
        for nested in message.nested_types:
            self._message(nested, indent)
        arguments = ["self", "*"] if message.fields else ["self"]
        for field in message.fields:
            held, accepted = self._types(field)
            assert not keyword.iskeyword(field.name)
            if (_has_presence(field) and field.message_type) or field.is_repeated:
                held = f"Final[{held}]"
            self.lines += [f"{indent}{field.name}: {held}"]
            arguments.append(f"{field.name}: {accepted} = ...")
        self.lines += [f"{indent}def __init__({', '.join(arguments)}) -> None: ..."]
        present = [field.name for field in message.fields if _has_presence(field)]
        if names := present + [oneof.name for oneof in message.oneofs]:
            self.lines += [
                f"{indent}def HasField(self, field_name: {_literal(names)}) -> _bool: ..."
            ]
        for oneof in message.oneofs:
            if len(message.oneofs) > 1:
                self.lines += [f"{indent}@overload"]
            fields = _literal([field.name for field in oneof.fields])
            self.lines += [
                f"{indent}def WhichOneof(self, oneof_group: {_literal([oneof.name])}) -> "
                f"{fields} | None: ..."
            ]

    def _types(self, field: Any) -> tuple[str, str]:
        """Returns what a field holds, and what a message is made with for it."""
        entry = field.message_type
        if entry is not None and entry.GetOptions().map_entry:
            key, value = (self._value(entry.fields_by_name[name]) for name in ("key", "value"))
            kind = "MessageMap" if entry.fields_by_name["value"].message_type else "ScalarMap"
            return f"{kind}[{key}, {value}]", f"Mapping[{key}, {value}]"
        value = self._value(field)
        if not field.is_repeated:
            return value, value
        kind = "Messages" if entry else "Scalars"
        return f"{kind}[{value}]", f"Iterable[{value}]"

    def _value(self, field: Any) -> str:
        if field.message_type is not None:
            return self._name(field.message_type)
        if field.enum_type is not None:
            return f"{self._name(field.enum_type)}.ValueType"
        return f"_{_PYTHON.get(field.type, 'int')}"


def _has_presence(field: Any) -> bool:
    """Returns whether a message distinguishes an unset field from one of value 0."""
    return not field.is_repeated and bool(field.message_type or field.containing_oneof)


def _literal(names: Iterable[str]) -> str:
    return f"Literal[{', '.join(map(repr, names))}]"


_PYTHON: Final = {
    _Field.TYPE_BOOL: "bool",
    _Field.TYPE_STRING: "str",
    _Field.TYPE_BYTES: "bytes",
    _Field.TYPE_DOUBLE: "float",
    _Field.TYPE_FLOAT: "float",
}
"""Of a scalar; of those that aren't listed it is int."""
_WELL_KNOWN: Final = {"google.protobuf.Any": "well_known_types.Any, Message"}
"""Messages to which protobuf gives methods."""
_STUB: Final = '''"""Written by lint/messages.py of {name}."""

from pcn.base.p4rt.stub_types import *
{imports}
DESCRIPTOR: FileDescriptor
'''
_TYPES: Final = '''"""Written by lint/messages.py: what all stubs name."""

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
'''


# ---- files ----

MODULES: Final = {
    "p4/config/v1/p4types.proto": "p4t",
    "p4/config/v1/p4info.proto": "p4i",
    "p4/v1/p4data.proto": "p4d",
    "google/rpc/code.proto": "rpc_code",
    "google/rpc/status.proto": "rpc_status",
    "p4/v1/p4runtime.proto": "p4r",
    "gnmi_ext/gnmi_ext.proto": "gnmi_ext",
    "gnmi/gnmi.proto": "gnmi",
    "stratum/p4_role_config.proto": "stratum",
    "google/protobuf/any.proto": "any_pb",
}
"""The modules of base/p4rt by their files, each behind those that it imports."""
_CLOCK: Final = "softswitch/clock.proto"


def written() -> dict[Path, bytes]:
    """Returns what is written, by path. Raises ValueError where a .proto isn't right."""
    pool = descriptor_pool.DescriptorPool()
    files = dict[Path, bytes]()

    def load(name: str) -> Any:
        with contextlib.suppress(KeyError):
            return pool.FindFileByName(name)
        if name in protos.OF_PROTOBUF:
            serialized = protos.of_protobuf(name)
        else:
            path = (ROOT if name == _CLOCK else protos.ROOT) / name
            file = read(name, path.read_text(encoding="utf-8"), load)
            serialized = file.SerializeToString(deterministic=True)
            files[path.with_suffix(protos.END)] = serialized
        pool.AddSerializedFile(serialized)
        return pool.FindFileByName(name)

    load(_CLOCK)
    files[protos.ROOT.parent / "stub_types.pyi"] = _TYPES.encode()
    for name, module in MODULES.items():
        stub = str(_Stub(load(name)))
        files[protos.ROOT.parent / f"{module}.pyi"] = stub.encode()
    return files


def main() -> None:
    for path, content in written().items():
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)


if __name__ == "__main__":
    main()
