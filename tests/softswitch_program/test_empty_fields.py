"""Fields of no bits: a program with them is the one without them."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from program_json import Builder, assign, extract, field, op, primitive, state, value

from pcn.controller.programs import Program
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.program.errors import ProgramError, UnsupportedProgram
from pcn.softswitch.program.load import load_program

Json = dict[str, Any]


def code(program: Json) -> str:
    return generate(load_program(json.dumps(program)))


def nodes(part) -> Iterator[Json]:
    """All objects of a JSON."""
    if isinstance(part, list):
        for element in part:
            yield from nodes(element)
    elif isinstance(part, dict):
        yield part
        yield from nodes(list(part.values()))


def with_empty_field(program: Json, type_index: int, place: int) -> Json:
    """The program with one such field more in a header type, which nothing names."""
    changed = copy.deepcopy(program)
    kind = changed["header_types"][type_index % len(changed["header_types"])]
    place %= len(kind["fields"]) + 1
    kind["fields"].insert(place, [f"none{len(kind['fields'])}", 0, False])
    types = {header["name"]: header["header_type"] for header in changed["headers"]}
    stacks = {stack["name"]: stack["header_type"] for stack in changed["header_stacks"]}
    for node in nodes(changed):
        if node.get("op") == "access_field":
            left = node["left"]
            while left["type"] == "expression":
                left = left["value"]
                if "op" in left:
                    left = {**left["left"], "type": "header_stack"}
            known = stacks if left["type"] == "header_stack" else types
            if known[left["value"]] == kind["name"] and node["right"] >= place:
                node["right"] += 1
    return changed


@pytest.fixture(scope="module")
def compiled() -> Json:
    program = json.loads(bytes(Program.compiled("pcn")))
    program.setdefault("header_stacks", [])
    return program


@settings(max_examples=10, deadline=None)
@given(places=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=6))
def test_empty_fields_change_no_line_of_code(compiled: Json, places):
    changed = compiled
    for type_index, place in places:
        changed = with_empty_field(changed, type_index, place)
    assert code(changed) == code(compiled)


def plain() -> Builder:
    builder = Builder().header("h", [["a", 8], ["b", 16]])
    builder.header("m", [["x", 8]], metadata=True)
    return builder


def empty() -> Builder:
    builder = Builder().header("h", [["none", 0], ["a", 8], ["b", 16]])
    builder.header("m", [["x", 8], ["void", 0]], metadata=True)
    return builder


ACCESSED = op("access_field", {"type": "header", "value": "h"}, 1)

STATEMENTS = [
    ([assign(field("h", "a"), field("h", "none"))], [assign(field("h", "a"), value(0))]),
    (
        [assign(field("h", "none"), field("h", "a")), assign(field("h", "a"), value(3))],
        [primitive("no_op"), assign(field("h", "a"), value(3))],
    ),
    (
        [assign(field("h", "b"), op("+", ACCESSED, field("m", "void")))],
        [assign(field("h", "b"), op("+", field("h", "a"), value(0)))],
    ),
    (
        [primitive("modify_field_rng_uniform", field("m", "void"), value(0), value(0))],
        [primitive("no_op")],
    ),
    (
        [primitive("_jump", value(2)), assign(field("m", "void"), value(1)), primitive("exit")],
        [primitive("_jump", value(2)), primitive("no_op"), primitive("exit")],
    ),
]


@pytest.mark.parametrize("number", range(len(STATEMENTS)))
def test_empty_field_reads_as_zero_and_takes_no_value(number):
    with_them, without = STATEMENTS[number]
    assert code(empty().run(with_them).json()) == code(plain().run(without).json())


def test_parser_passes_empty_fields():
    """Of the key, and what a state sets."""
    programs = []
    for builder, keys, sets in (
        (empty(), [field("h", "none"), field("h", "a")], [field("h", "none")]),
        (plain(), [field("h", "a")], []),
    ):
        operations = [extract("h")]
        operations += [{"op": "set", "parameters": [target, value(1)]} for target in sets]
        case = {"type": "hexstr", "value": "0x07", "mask": None, "next_state": None}
        builder.states = [state("start", operations, None, key=keys, cases=[case])]
        programs.append(builder.run([]).json())
    assert code(programs[0]) == code(programs[1])


def test_hash_and_field_list_take_nothing_of_empty_fields():
    programs = []
    for builder, more in ((empty(), [field("h", "none")]), (plain(), [])):
        inputs = [field("h", "a"), *more, field("h", "b")]
        builder.extra = {
            "calculations": [{"name": "c", "id": 0, "algo": "crc16", "input": inputs}],
            "field_lists": [{"name": "l", "id": 1, "elements": [*more, field("m", "x")]}],
        }
        hashed = {"type": "calculation", "value": "c"}
        statement = primitive(
            "modify_field_with_hash_based_offset", field("m", "x"), value(0), hashed, value(8)
        )
        programs.append(builder.run([statement, primitive("resubmit", value(1))]).json())
    assert code(programs[0]) == code(programs[1])


def test_key_or_digest_of_no_bits_is_refused_by_its_place():
    builder = empty()
    key = [{"match_type": "exact", "name": "h.none", "target": ["h", "none"], "mask": None}]
    builder.table("t", actions=[builder.action("set", [])], key=key)
    with pytest.raises(UnsupportedProgram, match=r"tables\[0\].key\[0\]: a key of width 0"):
        load_program(json.dumps(builder.json()))
    builder = empty()
    builder.extra = {"learn_lists": [{"name": "l", "id": 1, "elements": [field("h", "none")]}]}
    with pytest.raises(UnsupportedProgram, match="a digest with a field of width 0"):
        load_program(json.dumps(builder.run([]).json()))


@pytest.mark.parametrize(
    "change",
    [
        lambda p: p.update(headers=[1, {"name": [], "header_type": {}}]),
        lambda p: p.update(header_union_types=[{"name": "u", "headers": [[1], "x"]}], checksums=7),
        lambda p: p.update(pipelines=[{"tables": [{"key": [None, {"target": [[], {}]}]}]}]),
        lambda p: p["actions"].append({"primitives": [{"op": ["assign"], "parameters": [[]]}]}),
        lambda p: p.update(field_aliases=[[]], learn_lists=[{"elements": [3]}]),
    ],
)
def test_malformed_parts_beside_an_empty_field_are_refused(change):
    program = empty().run([]).json()
    change(program)
    with pytest.raises(ProgramError):
        load_program(json.dumps(program))
