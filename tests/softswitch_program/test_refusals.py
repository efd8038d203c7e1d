"""What the switch can't run is refused at load by name: the construct, its place in the JSON, and
the line of P4 where the JSON has one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from program_json import Builder, assign, case, extract, field, header, op, primitive, state, value

from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.program.errors import UnsupportedProgram
from pcn.softswitch.program.limits import HEADERS
from pcn.softswitch.program.load import load_program

Json = dict[str, Any]
LINE = 7  # of `primitive`


def base() -> Builder:
    """A program that can run: two plain fields, a varbit, and a table with a key."""
    builder = Builder().header("h", [["a", 8], ["b", 16]]).header("v", [["n", 8], ["rest", "*"]])
    builder.types[-1]["max_length"] = 20
    builder.order.remove("v")
    key = [{"match_type": "exact", "name": "h.a", "target": ["h", "a"], "mask": None}]
    builder.table("t", actions=[builder.action("set", [])], key=key)
    return builder


def refusal(program: Json) -> str:
    with pytest.raises(UnsupportedProgram) as caught:
        generate(load_program(json.dumps(program)))
    return str(caught.value)


def log(argument: Json) -> Json:
    text = {"type": "string", "value": "{}"}
    return primitive("log_msg", text, {"type": "parameters_vector", "value": [argument]})


def condition(operand: Json) -> Json:
    return assign(field("h", "a"), op("b2d", None, operand))


def test_without_the_construct_it_can_run():
    for builder in (base(), unions()):
        generate(load_program(json.dumps(builder.run([assign(field("h", "a"), value(1))]).json())))


STATEMENTS = {
    "an unknown primitive": (primitive("frobnicate"), "primitive 'frobnicate'"),
    "an extern's method": (primitive("_My_extern_do", value(1)), "primitive '_My_extern_do'"),
    "an unknown operation": (
        assign(field("h", "a"), op("**", value(1), value(2))),
        "operation '**'",
    ),
    "an unknown kind of value": (
        assign(field("h", "a"), {"type": "float", "value": 1}),
        "a value of type 'float'",
    ),
    "metadata as a header": (
        primitive("assign_header", header("h"), header("standard_metadata")),
        "metadata as a whole",
    ),
    "metadata compared": (
        condition(op("==", header("standard_metadata"), header("standard_metadata"))),
        "metadata as a whole",
    ),
    "push of no stack": (primitive("push", header("h"), value(1)), "a header here"),
    "a varbit as a number": (
        assign(field("h", "a"), field("v", "rest")),
        "a varbit in an expression",
    ),
    "a varbit compared with a number": (
        condition(op("==", field("v", "rest"), value(1))),
        "a comparison of a varbit with something else",
    ),
    "varbits in order": (
        condition(op("<", field("v", "rest"), field("v", "rest"))),
        "the comparison < of varbits",
    ),
    "log_msg of a wide value": (
        log(op("<<", field("h", "b"), value(200))),
        "log_msg of a value of more than 127 bits",
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_are_refused_with_their_line(name):
    statement, message = STATEMENTS[name]
    text = refusal(base().run([statement]).json())
    assert message in text
    assert f"test.p4:{LINE}" in text


def with_parser(*ops: Json, **parts) -> Callable[[Json], None]:
    def edit(program: Json):
        program["parsers"][0]["parse_states"] = [state("start", list(ops), **parts)]

    return edit


def with_part(key: str, part: Json) -> Callable[[Json], None]:
    return lambda program: program[key].append(part)


def with_key(kind: str) -> Callable[[Json], None]:
    def edit(program: Json):
        program["pipelines"][0]["tables"][0]["key"][0]["match_type"] = kind

    return edit


def many_headers(program: Json):
    extra = [
        {"name": f"h{n}", "id": 100 + n, "header_type": "h_t", "metadata": False}
        for n in range(HEADERS)
    ]
    program["headers"] += extra


def calculation(algo: str = "crc16", kind: str = "field") -> Json:
    return {"name": "calc", "id": 0, "algo": algo, "input": [{"type": kind, "value": ["h", "a"]}]}


def wide_checksum(program: Json):
    program["header_types"].append({"name": "wide_t", "id": 90, "fields": [["x", 128, False]]})
    program["headers"].append(
        {"name": "wide", "id": 90, "header_type": "wide_t", "metadata": False}
    )
    program["calculations"].append(calculation())
    checksum = {
        "name": "sum", "id": 0, "type": "generic", "calculation": "calc", "target": ["wide", "x"],
    }  # fmt: skip
    program["checksums"].append(checksum)


PROGRAMS = {
    "an extern object": (
        with_part("extern_instances", {"name": "mine", "id": 0, "type": "My_extern"}),
        "extern object 'mine' of type 'My_extern'",
    ),
    "another format": (
        lambda p: p["__meta__"].update(version=[3, 0]),
        "version 3 of the BMv2 JSON format",
    ),
    "another architecture": (
        lambda p: p["pipelines"][0].update(name="main"),
        "'ingress' and 'egress' of v1model",
    ),
    "two parsers": (
        lambda p: p["parsers"].append(p["parsers"][0]),
        "expected one element as in v1model, found 2",
    ),
    "two deparsers": (lambda p: p["deparsers"].append(p["deparsers"][0]), "found 2"),
    "a meter of one rate": (
        with_part(
            "meter_arrays", {"name": "m", "id": 0, "type": "bytes", "rate_count": 1, "size": 1}
        ),
        "a meter that has not two rates",
    ),
    "an unknown hash": (with_part("calculations", calculation("md5")), "hash algorithm 'md5'"),
    "an unknown hash input": (
        with_part("calculations", calculation(kind="moon")),
        "input of type 'moon'",
    ),
    "an unknown checksum": (
        with_part(
            "checksums",
            {"name": "sum", "id": 0, "type": "odd", "calculation": "c", "target": ["h", "a"]},
        ),
        "a checksum that is not 'generic'",
    ),
    "a checksum in a wide field": (
        wide_checksum,
        "checksum 'sum': a checksum in a field of more than 64 bits",
    ),
    "a field list with a header": (
        with_part(
            "field_lists", {"name": "l", "id": 1, "elements": [{"type": "header", "value": "h"}]}
        ),
        "a field list with a header",
    ),
    "a key of P4_14": (with_key("valid"), "a key of match type 'valid' (P4_14)"),
    "an unknown match": (with_key("fuzzy"), "a key of match type 'fuzzy'"),
    "an unknown table": (
        lambda p: p["pipelines"][0]["tables"][0].update(type="magic"),
        "table 't' is implemented by 'magic'",
    ),
    "a key without bits": (
        lambda p: p["header_types"][1]["fields"].__setitem__(0, ["a", 0, False]),
        "a key of width 0",
    ),
    "a length of P4_14": (
        lambda p: p["header_types"][2].update(length_exp={"type": "field", "value": ["h", "a"]}),
        "a header type with length_exp (P4_14)",
    ),
    "too many headers": (
        many_headers,
        f"{HEADERS + 3:,} headers, and the switch takes {HEADERS:,} at most",
    ),
    "an unknown parser operation": (
        with_parser({"op": "rewind", "parameters": []}),
        "parser operation 'rewind'",
    ),
    "an unknown extraction": (
        with_parser({"op": "extract", "parameters": [{"type": "thing", "value": "h"}]}),
        "extraction into a 'thing'",
    ),
    "an unknown transition": (
        with_parser(extract("h"), key=[field("h", "a")], cases=[case(1, None) | {"type": "range"}]),
        "a transition of type 'range'",
    ),
    "a computed transition key": (
        with_parser(extract("h"), key=[op("+", field("h", "a"), value(1))], cases=[case(1, None)]),
        "a transition key that is not a field or lookahead",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_refused_by_name(name):
    edit, message = PROGRAMS[name]
    program = base().json()
    edit(program)
    assert message in refusal(program)


def unions() -> Builder:
    builder = base().header("one", [["x", 8]]).header("two", [["x", 16]])
    builder.order = ["h"]
    ids = [h["id"] for h in builder.headers[-2:]]
    types = {"u_t": ["one_t", "two_t"], "w_t": ["two_t", "one_t"]}
    builder.extra["header_union_types"] = [
        {"name": name, "id": number, "headers": [["m", first], ["n", second]]}
        for number, (name, (first, second)) in enumerate(types.items())
    ]
    builder.header("three", [["x", 16]], type_name="two_t").header(
        "four", [["x", 8]], type_name="one_t"
    )
    builder.order = ["h"]
    builder.extra["header_unions"] = [
        {"name": "u", "id": 0, "union_type": "u_t", "header_ids": ids},
        {
            "name": "w",
            "id": 1,
            "union_type": "w_t",
            "header_ids": [h["id"] for h in builder.headers[-2:]],
        },
    ]
    return builder


def test_unions_are_neither_compared_nor_converted():
    u, w = ({"type": "header_union", "value": name} for name in "uw")
    assert "a comparison of header unions" in refusal(
        unions().run([condition(op("==", u, u))]).json()
    )
    text = refusal(unions().run([primitive("assign_union", u, w)]).json())
    assert "an assignment between header unions of different types" in text
    assert f"test.p4:{LINE}" in text


def test_a_varbit_must_fit():
    builder = base().header("s", [["n", 8], ["rest", "*"]])
    builder.types[-1]["max_length"] = 10
    builder.order = ["h"]
    copy = primitive("assign_VL", field("s", "rest"), field("v", "rest"))
    assert "a varbit assigned to a shorter one" in refusal(builder.run([copy]).json())


def test_value_sets():
    """A transition that masks one; transitions whose keys cut one differently."""
    builder = base()
    builder.extra["parse_vsets"] = [
        {"name": "s", "id": 0, "compressed_bitwidth": 24, "max_size": 4}
    ]
    a, b = field("h", "a"), field("h", "b")
    member = {"type": "parse_vset", "value": "s", "mask": None, "next_state": None}
    builder.states = [
        state("start", [extract("h")], "next", key=[a, b], cases=[member]),
        state("next", [], key=[b, a], cases=[member]),
    ]
    assert "parse_states[1].transitions[0]: a value set for keys of different parts" in refusal(
        builder.json()
    )
    builder.states[1]["transition_key"] = [a, b]
    generate(load_program(json.dumps(builder.json())))
    builder.states[0]["transitions"][0] = member | {"mask": "0xffffff"}
    assert "a value set with a mask" in refusal(builder.json())
