"""Generated parsers and deparsers: bounds, errors, transitions, stacks, unions, varbits."""

from typing import Any

import pytest
from program_driver import Driver
from program_json import Builder, assign, case, extract, field, header, op, primitive, state, value

Json = dict[str, Any]
ERRORS = [["NoError", 0], ["PacketTooShort", 1], ["NoMatch", 2], ["StackOutOfBounds", 3], [(
    "HeaderTooShort"
), 4],
          ["ParserTimeout", 5], ["ParserInvalidArgument", 6], ["Mine", 7]]  # fmt: skip
META = [["seen", 32], ["wide", 128], ["bits", 8]]


def builder() -> Builder:
    b = Builder().header("meta", META, metadata=True)
    b.header("a", [["x", 8], ["y", 4], ["z", 12]])
    b.header("b", [["v", 16]])
    b.extra["errors"] = ERRORS
    return b


def lookahead(offset: int, width: int) -> Json:
    return {"type": "lookahead", "value": [offset, width]}


def setting(to: Json, source: Json) -> Json:
    return {"op": "set", "parameters": [to, source]}


def test_every_length():
    """Headers that are not wholly there are not extracted; what was not extracted stays behind
    them."""
    frame = bytes.fromhex("0123450a0bff")
    with Driver(builder().json()) as d:
        for length in range(len(frame) + 1):
            assert d.run(frame[:length]) == frame[:length]
            assert d.get("std.parser_error") == (0 if length >= 5 else 1)


def test_select_with_masks_and_fields_of_odd_width():
    b = builder()
    key = [field("a", "y"), field("a", "z")]
    cases = [case(0x03_0123, "more"), case(0x00_0001, "more", 0x00_000F)]
    b.states = [state("start", [extract("a")], key=key, cases=cases), state("more", [extract("b")])]
    b.run([assign(field("a", "x"), op("b2d", None, op("valid", None, header("b"))))])
    with Driver(b.json()) as d:
        for second, third, expected in [
            (0x31, 0x23, 1),
            (0xF0, 0x01, 1),
            (0xF0, 0x02, 0),
            (0x31, 0x24, 0),
        ]:
            assert d.run(bytes([9, second, third, 0, 0]))[0] == expected


def test_lookahead_is_bounded_and_extracts_nothing():
    b = builder()
    b.states = [state("start", [setting(field("meta", "seen"), lookahead(4, 12)), extract("b")], (
        "end"
    )),
                state("end", [setting(field("meta", "wide"), lookahead(0, 100))])]  # fmt: skip
    b.run([assign(field("b", "v"), field("meta", "seen"))])
    with Driver(b.json()) as d:
        assert d.run(bytes.fromhex("f123") + bytes(13))[:2].hex() == "0123"
        assert d.get("std.parser_error") == 0
        d.run(bytes.fromhex("f123") + bytes(12))  # 12 bytes do not hold 100 bits
        assert d.get("std.parser_error") == 1
        assert d.run(b"\xf1") == b"\xf1"
        assert d.get("std.parser_error") == 1


def test_advance():
    b = builder()
    bits = op("*", field("b", "v"), value(8))
    skip = {"op": "advance", "parameters": [bits]}
    b.states = [state("start", [extract("b"), skip, extract("a")])]
    with Driver(b.json()) as d:
        # What was skipped is gone, as in BMv2.
        assert d.run(bytes.fromhex("0002ffff112233ee")).hex() == "1122330002ee"
        assert d.run(bytes.fromhex("0009ffff112233ee")).hex() == "0009ffff112233ee"
        assert d.get("std.parser_error") == 1
    b.states = [state("start", [extract("b"), {"op": "advance", "parameters": [field("b", "v")]}])]
    with Driver(b.json()) as d:
        d.run(bytes.fromhex("0009ffffff"))
        assert d.get("std.parser_error") == 6  # not a multiple of 8


def test_verify():
    b = builder()
    check = {"op": "verify", "parameters": [op("<", field("b", "v"), value(10)), value(7)]}
    b.states = [state("start", [extract("b"), check, extract("a")])]
    with Driver(b.json()) as d:
        d.ingress(bytes.fromhex("0009112233"))
        assert d.get("std.parser_error") == 0
        d.ingress(bytes.fromhex("000a112233"))
        assert d.get("std.parser_error") == 7


def test_parser_that_would_loop_without_end_ends():
    b = builder()
    b.states = [state("start", [], "start")]
    with Driver(b.json()) as d:
        assert d.run(b"abc") == b"abc"
        assert d.get("std.parser_error") == 5


# ---- stacks ----


def stack_builder() -> Builder:
    b = builder()
    for i in range(3):
        b.header(f"s[{i}]", [["label", 7], ["bottom", 1]], type_name="s_t")
    ids = [h["id"] for h in b.headers if h["name"].startswith("s[")]
    b.extra["header_stacks"] = [
        {"name": "s", "id": 0, "header_type": "s_t", "size": 3, "header_ids": ids}
    ]
    push = {"op": "extract", "parameters": [{"type": "stack", "value": "s"}]}
    last = {"type": "stack_field", "value": ["s", "bottom"]}
    b.states = [state("start", [push], "start", key=[last], cases=[case(1, None)])]
    b.order = ["a", "s[0]", "s[1]", "s[2]"]
    return b


STACK = {"type": "header_stack", "value": "s"}


def test_stack_extraction():
    with Driver(stack_builder().json()) as d:
        assert d.run(bytes([2, 4, 7, 9])) == bytes([2, 4, 7, 9])
        assert d.get("std.parser_error") == 0
        assert d.run(bytes([2, 4, 6, 8])) == bytes([2, 4, 6, 8])
        assert d.get("std.parser_error") == 3
        d.run(b"")
        assert d.get("std.parser_error") == 1


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [("pop", 1, "0409"), ("pop", 2, "09"), ("pop", 5, ""), ("push", 1, "0204"), ("push", 2, "02"),
    ((
        "push"
    ), 9, ""),
     ("pop", 0, "020409"), ("push", 0, "020409")],
)  # fmt: skip
def test_push_and_pop(name, count, expected):
    """Elements that move in are invalid; those that move out are lost."""
    b = stack_builder().run([primitive(name, STACK, value(count))])
    with Driver(b.json()) as d:
        assert d.run(bytes([2, 4, 9])).hex() == expected


def test_stack_access_by_index():
    """Out of range, a read gives something and a write hits nothing that leaves the switch."""
    b = stack_builder()

    def element(index: Json) -> Json:
        return op("access_field", op("dereference_header_stack", STACK, index), 0)

    b.run([assign(element({"type": "stack_field", "value": ["s", "label"]}), value(0x55))])
    b.run([assign(field("meta", "seen"), op("last_stack_index", None, STACK))])
    b.run([assign(field("standard_metadata", "egress_spec"), field("meta", "seen"))])
    with Driver(b.json()) as d:
        assert d.run(bytes([2, 1 | 0 << 1])) == bytes([0xAA, 1])
        assert d.get("std.egress_spec") == 1
        assert d.run(bytes([2, 1 | 100 << 1])) == bytes([2, 1 | 100 << 1])


# ---- unions ----


def union_builder() -> Builder:
    b = builder()
    b.header("u.one", [["n", 8]], type_name="one_t").header("u.two", [["n", 16]], type_name="two_t")
    ids = [h["id"] for h in b.headers[-2:]]
    b.extra["header_union_types"] = [
        {"name": "u_t", "id": 0, "headers": [["one", "one_t"], ["two", "two_t"]]}
    ]
    b.extra["header_unions"] = [{"name": "u", "id": 0, "union_type": "u_t", "header_ids": ids}]
    b.order = ["b", "u.one", "u.two"]
    b.states = [state("start", [extract("b")], key=[field("b", "v")], cases=[case(1, "one"), case(2,
    (
        "two"
    ))]),
                state("one", [extract("u.one")]), state("two", [extract("u.two")])]  # fmt: skip
    return b


def test_at_most_one_member_of_a_union_is_valid():
    b = union_builder()
    valid = op("valid_union", None, {"type": "header_union", "value": "u"})
    b.run(
        [
            assign(field("meta", "seen"), op("b2d", None, valid)),
            primitive("add_header", header("u.one")),
        ]
    )
    b.run([assign(field("b", "v"), field("meta", "seen"))])
    with Driver(b.json()) as d:
        assert d.run(bytes.fromhex("0001aabbcc")).hex() == "0001aabbcc"
        # a new u.one takes u.two's place
        assert d.run(bytes.fromhex("0002aabbcc")).hex() == "000100cc"
        assert d.run(bytes.fromhex("0003aabbcc")).hex() == "000000aabbcc"


UNION = {"type": "header_union", "value": "u"}


@pytest.mark.parametrize("member", ["u.one", "u.two"])
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("how", ["setInvalid", "assignment"])
def test_invalid_member_leaves_no_member_of_a_union_valid(how, kind, member):
    """P4_16: setInvalid() of a member, and the assignment of an invalid header, whichever member
    was valid before."""
    b = union_builder()
    b.header("none", [], type_name=f"{member[2:]}_t")
    b.order.remove("none")
    removal = primitive("remove_header", header(member))
    b.run(
        [
            removal
            if how == "setInvalid"
            else primitive("assign_header", header(member), header("none"))
        ]
    )
    b.run([assign(field("b", "v"), op("b2d", None, op("valid_union", None, UNION)))])
    with Driver(b.json()) as d:
        size = {1: 1, 2: 2, 3: 0}[kind]  # of the member that was parsed, which is gone
        assert d.run(bytes([0, kind, *range(5)])) == bytes([0, 0, *range(size, 5)])
        assert d.get("length_register") == (7 - size if how == "setInvalid" else 7)


def union_copy(how: str) -> list[dict[str, Any]]:
    """Returns the primitives of `w = u`: BMv2's own, or, as p4c writes it, an assignment of each
    member."""
    if how == "whole":
        return [primitive("assign_union", UNION | {"value": "w"}, UNION)]
    order = ["two", "one"] if how == "members, reversed" else ["one", "two"]
    return [
        primitive("assign_header", header(f"w.{member}"), header(f"u.{member}")) for member in order
    ]


@pytest.mark.parametrize("how", ["whole", "members", "members, reversed"])
@pytest.mark.parametrize("place", ["action", "jump", "parser"])
@pytest.mark.parametrize("before", ["w.one", "w.two", None])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_assigned_union_has_the_valid_member_of_its_source(kind, before, place, how):
    """Of either member, and of none; the member that was valid before isn't any more."""
    b = union_builder()
    b.header("w.one", [], type_name="one_t").header("w.two", [], type_name="two_t")
    ids = [h["id"] for h in b.headers[-2:]]
    b.extra["header_unions"].append({"name": "w", "id": 1, "union_type": "u_t", "header_ids": ids})
    b.order = ["b", "w.one", "w.two"]
    operations = [*([primitive("add_header", header(before))] if before else []), *union_copy(how)]
    if place == "parser" and kind < 3:
        for parser_state in b.states[1:]:
            parser_state["parser_ops"] += [
                {"op": "primitive", "parameters": [operation]} for operation in operations
            ]
        operations = []
    b.run([primitive("_jump", value(1)), *operations] if place == "jump" else operations)
    with Driver(b.json()) as d:
        frame = bytes([0, kind, *range(5)])
        assert d.run(frame) == frame


# ---- varbits ----


def varbit_builder() -> Builder:
    b = builder()
    b.header("o", [["n", 8], ["data", "*"], ["end", 8]]).header("p", [], type_name="o_t")
    b.types[-1]["max_length"] = 6
    length = op("*", field("meta", "bits"), value(1))
    take = {"op": "extract_VL", "parameters": [{"type": "regular", "value": "o"}, length]}
    b.states = [state("start", [setting(field("meta", "bits"), lookahead(0, 8)), take])]
    b.order = ["p", "o"]
    return b


def test_varbit():
    copy = [primitive("assign_header", header("p"), header("o"))]
    with Driver(varbit_builder().run(copy).json()) as d:
        for size in range(5):
            frame = bytes([8 * size, *range(size), 0xEE])
            assert d.run(frame + b"rest") == frame * 2 + b"rest"
            assert d.get("length_register") == len(frame) + 4
        for bits, error in [(4, 6), (40, 4), (48, 1)]:
            d.run(bytes([bits, 1, 2, 3, 4, 5, 6]))
            assert d.get("std.parser_error") == error
