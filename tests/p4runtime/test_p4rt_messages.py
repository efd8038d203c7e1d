"""The messages of base/p4rt: what their .proto files have, what other packages' copies have, and
that a process may load both."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, strategies as st
from needs import P4NET, missing
from waiting import LIMIT_S

from lint import messages
from pcn.base import protos
from pcn.base.p4rt import any_pb, gnmi, gnmi_ext, p4d, p4i, p4r, p4t, rpc_code, rpc_status, stratum

Field = descriptor_pb2.FieldDescriptorProto
NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True)
TYPES = st.from_regex(r"[A-Z][A-Za-z0-9]{0,8}", fullmatch=True)
HEAD = 'syntax = "proto3";\n'


def test_descriptors_and_stubs_are_those_of_the_texts():
    different = [
        path.name for path, content in messages.written().items() if path.read_bytes() != content
    ]
    assert different == [], "make messages"


# ---- the reader ----


@st.composite
def files(draw: st.DrawFn) -> descriptor_pb2.FileDescriptorProto:
    """A file of messages and enums, some inside others, that refer to each other, and a service."""
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3")
    if package := draw(st.sampled_from(["", "a", "a.b.c"])):
        file.package = package
    kinds: list[tuple[str, int]] = []

    def enum(owner, scope: str, name: str):
        numbers = draw(st.lists(st.integers(1, 2**31 - 1), unique=True, max_size=3))
        declared = owner.add(name=name)
        for place, number in enumerate([0, *numbers, *[-n for n in numbers]]):
            declared.value.add(name=f"{name.upper()}_{place}", number=number)
        kinds.append((f"{scope}.{name}", Field.TYPE_ENUM))

    def message(owner, scope: str, name: str, depth: int):
        declared, whole = owner.add(name=name), f"{scope}.{name}"
        kinds.append((whole, Field.TYPE_MESSAGE))
        for number, nested in enumerate(draw(st.lists(TYPES, unique=True, max_size=2))):
            if draw(st.booleans()) or depth == 2:
                enum(declared.enum_type, whole, f"{nested}E{number}")
            else:
                message(declared.nested_type, whole, f"{nested}M{number}", depth + 1)

    scope = f".{file.package}" if file.package else ""
    for number, name in enumerate(draw(st.lists(TYPES, unique=True, min_size=1, max_size=4))):
        if draw(st.booleans()):
            message(file.message_type, scope, f"{name}M{number}", 0)
        else:
            enum(file.enum_type, scope, f"{name}E{number}")
    for declared, whole in list(_messages(file.message_type, scope)):
        _fill(draw, declared, whole, kinds)
    of_messages = [name for name, kind in kinds if kind == Field.TYPE_MESSAGE]
    if of_messages:
        service = file.service.add(name="S")
        for name in draw(st.lists(NAMES, unique=True, max_size=3)):
            method = service.method.add(name=name)
            method.input_type, method.output_type = (
                draw(st.sampled_from(of_messages)) for _ in range(2)
            )
            if draw(st.booleans()):
                method.client_streaming = True
            if draw(st.booleans()):
                method.server_streaming = True
    return file


def _messages(owner, scope: str) -> Iterator[tuple[Any, str]]:
    for declared in owner:
        yield declared, f"{scope}.{declared.name}"
        yield from _messages(declared.nested_type, f"{scope}.{declared.name}")


def _fill(draw: st.DrawFn, declared, whole: str, kinds: list[tuple[str, int]]):
    def type_of(field):
        if draw(st.booleans()):
            field.type_name, field.type = draw(st.sampled_from(kinds))
        else:
            field.type = messages._SCALARS[draw(st.sampled_from(sorted(messages._SCALARS)))]

    for place, name in enumerate(draw(st.lists(NAMES, unique=True, max_size=5))):
        number = draw(st.integers(1, 1000)) * 10 + place
        form = draw(st.sampled_from(["plain", "repeated", "oneof", "map"]))
        label = Field.LABEL_REPEATED if form in ("repeated", "map") else Field.LABEL_OPTIONAL
        field = declared.field.add(name=f"{name}_f{place}", number=number, label=label)
        if form == "map":
            parts = field.name.split("_")
            entry = declared.nested_type.add()
            entry.name = "".join(part[:1].upper() + part[1:] for part in parts) + "Entry"
            entry.options.map_entry = True
            key = entry.field.add(name="key", number=1, label=Field.LABEL_OPTIONAL)
            key.type = messages._SCALARS[draw(st.sampled_from(sorted(messages._KEYS)))]
            type_of(entry.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL))
            field.type, field.type_name = Field.TYPE_MESSAGE, f"{whole}.{entry.name}"
            continue
        type_of(field)
        if form == "oneof":
            field.oneof_index = len(declared.oneof_decl)
            declared.oneof_decl.add(name=f"o{place}")
    for start in draw(st.lists(st.integers(20_000, 30_000), unique=True, max_size=2)):
        declared.reserved_range.add(start=start, end=start + draw(st.integers(1, 3)))
    declared.reserved_name.extend(draw(st.lists(st.sampled_from(["old", "older"]), unique=True)))


def text_of(file: descriptor_pb2.FileDescriptorProto) -> str:
    """As a person writes it, and with what a reader passes over."""
    names = {number: name for name, number in messages._SCALARS.items()}

    def kind(field) -> str:
        return str(field.type_name or names[field.type])

    def enum(declared) -> Iterator[str]:
        yield f"enum {declared.name} {{ // {{"
        yield from (f"{value.name} = {value.number};" for value in declared.value)
        yield "}"

    def message(declared) -> Iterator[str]:
        yield f"message {declared.name} {{ /* }} */"
        maps = {nested.name: nested for nested in declared.nested_type if nested.options.map_entry}
        for nested in declared.enum_type:
            yield from enum(nested)
        for nested in declared.nested_type:
            if nested.name not in maps:
                yield from message(nested)
        for field in declared.field:
            entry = maps.get(field.type_name.rpartition(".")[2])
            if entry is not None:
                key, value = map(kind, entry.field)
                yield f"map<{key}, {value}> {field.name}={field.number};"
            elif field.HasField("oneof_index"):
                yield f"oneof {declared.oneof_decl[field.oneof_index].name} {{"
                yield f"{kind(field)} {field.name} = {field.number}; }}"
            else:
                repeated = "repeated " * (field.label == Field.LABEL_REPEATED)
                yield f"{repeated}{kind(field)} {field.name} = {field.number};"
        for span in declared.reserved_range:
            yield f"reserved {span.start} to {span.end - 1};"
        if declared.reserved_name:
            yield "reserved " + ", ".join(f'"{name}"' for name in declared.reserved_name) + ";"
        yield "}"

    lines = ["// a file", 'syntax="proto3";', f"package {file.package};" if file.package else ""]
    for declared in file.enum_type:
        lines += enum(declared)
    for declared in file.message_type:
        lines += message(declared)
    for service in file.service:
        lines.append(f"service {service.name} {{")
        for method in service.method:
            takes = "stream " * method.client_streaming + method.input_type
            gives = "stream " * method.server_streaming + method.output_type
            lines.append(f"rpc {method.name}({takes}) returns ({gives});")
        lines.append("}")
    return "\n".join(lines)


def ordered(file: descriptor_pb2.FileDescriptorProto) -> descriptor_pb2.FileDescriptorProto:
    """With nested types by name: entries of maps are declared by their fields."""
    copy = descriptor_pb2.FileDescriptorProto()
    copy.CopyFrom(file)
    for declared, _ in list(_messages(copy.message_type, "")):
        declared.nested_type.sort(key=lambda nested: nested.name)
    return copy


@given(files())
def test_reader_reads_what_is_written(file):
    assert ordered(messages.read("x.proto", text_of(file))) == ordered(file)


WORDS = re.findall(r"\S+", 'message enum { } ; = 1 -2 "x" a.b oneof map < > , // service rpc ( )')


@given(st.lists(st.sampled_from(WORDS)))
def test_reader_refuses_with_a_line(words):
    fault = ""
    try:
        messages.read("x.proto", HEAD + "\n".join(words))
    except ValueError as error:
        fault = str(error)
    assert re.match(r"x\.proto:\d+: |\Z", fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("message M { Gone g = 1; }", "x.proto:2: no type is called Gone"),
        ("message M {\n int32 a = 0; }", "x.proto:3: a number of 1 to 536870911 is expected"),
        ("message M {\n optional int32 a = 1; }", "x.proto:3: '=' is expected, not 'a'"),
        ("message M { map<bytes, M> a = 1; }", "a map's key is a whole number, a bool or a string"),
        ("message M {} message M {}", "x.proto:2: M is declared twice"),
        ("enum E { A = 0; }\nservice S { rpc C (E) returns (E); }", "x.proto:3: E is no message"),
        ('option x = "y";', "x.proto:2: 'option' isn't read"),
        ('import "no/such.proto";', "x.proto:2: no/such.proto can't be imported: "),
        ("message M {", "x.proto:2: a type is expected, not 'the end'"),
    ],
)
def test_reader_names_line_and_fault(text, fault):
    with pytest.raises(ValueError, match=r"^x\.proto:") as failure:
        messages.read("x.proto", HEAD + text)
    assert fault in str(failure.value)


def test_types_are_those_of_the_innermost_scope():
    text = "message T {} message M { message T {} T inner = 1; .T outer = 2; }"
    inner, outer = messages.read("x.proto", HEAD + text).message_type[1].field
    assert (inner.type_name, outer.type_name) == (".M.T", ".T")


# ---- other packages' copies ----


def described(file) -> dict[str, Any]:
    """What a file declares: of each field number, type and label, of each enum its values."""
    facts: dict[str, Any] = {}

    def add(message):
        for field in message.fields:
            named = field.message_type or field.enum_type
            facts[field.full_name] = (
                field.number, field.type, field.is_repeated, named and named.full_name,
                field.containing_oneof and field.containing_oneof.name,
            )  # fmt: skip
        facts[message.full_name] = message.GetOptions().map_entry
        for nested in message.nested_types:
            add(nested)
        for enum in message.enum_types:
            facts[enum.full_name] = dict(enum.values_by_name.items()).keys()
            facts[enum.full_name] = {value.name: value.number for value in enum.values}

    for message in file.message_types_by_name.values():
        add(message)
    for enum in file.enum_types_by_name.values():
        facts[enum.full_name] = {value.name: value.number for value in enum.values}
    for service in file.services_by_name.values():
        for method in service.methods:
            facts[method.full_name] = (
                method.input_type.full_name, method.output_type.full_name,
                method.client_streaming, method.server_streaming,
            )  # fmt: skip
    return facts


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (p4r, "p4r"),
        (p4i, "p4i"),
        (p4t, "p4t"),
        (p4d, "p4d"),
        (gnmi, "gnmi"),
        (gnmi_ext, "gnmi_ext"),
        (stratum, "stratum"),
        (rpc_code, "rpc_code"),
        (rpc_status, "rpc_status"),
    ],
)
def test_messages_are_those_of_finsy(ours, name):
    import finsy.proto

    theirs = described(getattr(finsy.proto, name).DESCRIPTOR)
    facts = described(ours.DESCRIPTOR)
    # of P4Runtime 1.6, which finsy lacks
    newer = {"p4.v1.ActionProfileActionSet.group_action"}
    scope = facts.get("p4.config.v1.ActionRef.Scope", {})
    if "p4.config.v1.ActionRef.Scope" in theirs:
        assert scope.pop("GROUP_ACTION") == 3
    assert {key: fact for key, fact in facts.items() if key not in newer} == theirs


P4RUNTIME = """
import importlib, sys
from google.protobuf import descriptor_pool
order, package = sys.argv[1], sys.argv[2]
def ours():
    from pcn.base.p4rt import p4r, gnmi
    from pcn.controller.entities import TableAction, TableEntry, TableMatch
    from pcn.controller.programs import Program
    import pcn.softswitch.p4runtime.server
    entry = TableEntry("ipv4_lpm", match=TableMatch(dst_addr="10.0.0.0/8"))
    return entry.encode(Program.find("pcn").schema).SerializeToString(), p4r
def theirs():
    if package == "finsy":
        from finsy.proto import p4r
        return p4r
    if package == "p4runtime":
        from p4.v1 import p4runtime_pb2
        return p4runtime_pb2
    if package == "p4net":
        return importlib.import_module("p4net.control.client").p4runtime_pb2
    # as every file of protoc's does, with what PyPI's p4runtime 1.6 has
    from google.protobuf import any_pb2, message_factory
    from pathlib import Path
    import pcn.base
    folder = Path(pcn.base.__file__).parent / "p4rt/protos"
    pool = descriptor_pool.Default()
    names = ("google/rpc/status", "p4/config/v1/p4types", "p4/config/v1/p4info", "p4/v1/p4data",
             "p4/v1/p4runtime")
    for name in names:
        pool.AddSerializedFile((folder / f"{name}.binpb").read_bytes())
    class P4r:
        Entity = message_factory.GetMessageClass(pool.FindMessageTypeByName("p4.v1.Entity"))
    return P4r
if order == "ours first":
    (data, p4r), other = ours(), theirs()
else:
    other, (data, p4r) = theirs(), ours()
assert other.Entity is not p4r.Entity
entity = other.Entity.FromString(data)
assert entity.table_entry.match[0].lpm.prefix_len == 8 and entity.SerializeToString() == data
print("done")
"""


@pytest.mark.parametrize("order", ["ours first", "theirs first"])
@pytest.mark.parametrize("package", ["finsy", "protoc", "p4runtime", "p4net"])
def test_messages_load_beside_another_packages(package, order, tmp_path):
    if package != "protoc":
        try:
            metadata.distribution(package)
        except metadata.PackageNotFoundError:
            missing(P4NET)
    # code as old as p4runtime's runs with it alone
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    done = subprocess.run(
        [sys.executable, "-c", P4RUNTIME, order, package],
        cwd=tmp_path,  # the checkout has folders of these names
        env=os.environ if package in ("finsy", "protoc") else environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.stdout == "done\n", done.stderr


def test_any_packs_and_unpacks_by_name():
    packed = any_pb.Any()
    packed.Pack(p4r.Error(canonical_code=rpc_code.NOT_FOUND))
    assert packed.type_url == "type.googleapis.com/p4.v1.Error"
    error = p4r.Error()
    assert packed.Unpack(error)
    assert error.canonical_code == 5
    assert not packed.Unpack(p4r.Entity())


def test_files_are_loaded_when_they_are_used():
    code = (
        "from pcn.base import protos; from pcn.base.p4rt import gnmi, p4r\n"
        "def loaded(name):\n"
        "    try:\n        return bool(protos.POOL.FindFileByName(name))\n"
        "    except KeyError:\n        return False\n"
        "p4r.Entity\n"
        "print(loaded('p4/v1/p4runtime.proto'), loaded('gnmi/gnmi.proto'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"


def test_unknown_message_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"p4/v1/p4runtime\.proto has no Nothing"):
        _ = p4r.Nothing
    assert protos.load("p4/v1/p4runtime.proto") is p4r.DESCRIPTOR
