"""Generated actions: headers, state, requests to the switch, jumps, messages."""

import json
from typing import Any

import pytest
from program_driver import Driver
from program_json import STANDARD_METADATA, Builder, assign, field, header, op, primitive, value

from pcn.softswitch.program.errors import ProgramError
from pcn.softswitch.program.load import load_program

Json = dict[str, Any]
STD = {"type": "header", "value": "standard_metadata"}


def named(kind: str, name: str) -> Json:
    return {"type": kind, "value": name}


def builder() -> Builder:
    b = Builder().header("meta", [["m", 32], ["n", 200], ["i", 8, True]], metadata=True)
    b.header("h", [["a", 8], ["b", 16], ["c", 40]], type_name="h_t").header(
        "g", [], type_name="h_t"
    )
    b.states = [{"name": "start", "id": 0, "parser_ops": [{"op": "extract", "parameters": [
        {"type": "regular", "value": "h"}]}], "transitions": [], "transition_key": []}]  # fmt: skip
    b.extra["register_arrays"] = [
        {"name": f"r{w}", "id": w, "size": 4, "bitwidth": w} for w in (1, 12, 32, 64, 100, 128, 200)
    ]
    b.extra["counter_arrays"] = [{"name": "c", "id": 0, "size": 4, "is_direct": False}]
    return b


FRAME = bytes.fromhex("0102030405060708")


def test_valid_and_invalid_headers():
    """setValid clears the fields and counts the bytes; on a valid header it does nothing."""
    b = builder().run([primitive("add_header", header("g")), primitive("add_header", header("h"))])
    b.run([assign(field("g", "a"), value(0xFF)), primitive("remove_header", header("h"))], "egress")
    with Driver(b.json()) as d:
        d.ingress(FRAME + b"x")
        assert d.get("length_register") == 17
        assert d.get("std.packet_length") == 9
        out = d.egress().deparse()
        assert out == b"\xff" + bytes(7) + b"x"
        assert d.get("length_register") == 9
        assert d.get("ingress_length") == 9


def test_copy_of_an_invalid_header_keeps_fields():
    b = builder().run([primitive("assign_header", header("h"), header("g"))])
    b.run([assign(field("meta", "m"), field("h", "a")), primitive("add_header", header("g"))])
    b.run([assign(field("g", "a"), field("meta", "m"))])
    with Driver(b.json()) as d:
        assert d.run(FRAME) == b"\x01" + bytes(7)


def test_metadata_is_copied_whole():
    """Standard metadata too, as p4c does for log_msg; another type's isn't."""
    b = builder().header("copy", [], type_name="standard_metadata_t", metadata=True)
    b.run([
        assign(field("standard_metadata", "mcast_grp"), value(0x1234)),
        primitive("assign_header", header("copy"), STD),
        assign(field("standard_metadata", "mcast_grp"), value(0)),
        assign(field("h", "b"), field("copy", "mcast_grp")),
        assign(field("h", "c"), field("copy", "packet_length")),
    ])  # fmt: skip
    with Driver(b.json()) as d:
        assert d.run(FRAME) == bytes.fromhex("0112340000000008")
    b = builder().run([primitive("assign_header", header("meta"), STD)])
    with pytest.raises(ProgramError, match="the two structs are of different types"):
        load_program(json.dumps(b.json()))


def test_header_comparison():
    equal = op("b2d", None, op("==", header("h"), header("g")))
    b = builder().run(
        [assign(field("meta", "m"), equal), primitive("assign_header", header("g"), header("h"))]
    )
    b.run([assign(field("g", "b"), op("+", op("*", field("meta", "m"), value(16)), equal))])
    with Driver(b.json()) as d:
        assert d.run(FRAME)[8:].hex() == "0100010405060708"


def test_mark_to_drop():
    b = builder().run(
        [assign(field("standard_metadata", "mcast_grp"), value(7)), primitive("mark_to_drop", STD)]
    )
    with Driver(b.json()) as d:
        d.ingress(FRAME)
        assert d.get("std.egress_spec") == 511
        assert d.get("std.mcast_grp") == 0


def copied(name: str, fields: list[str], *, back: bool) -> list[Json]:
    pair = ("standard_metadata", name) if back else (name, "standard_metadata")
    return [assign(field(pair[0], f), field(pair[1], f)) for f in fields]


@pytest.mark.parametrize("control", ["ingress", "egress"])
def test_mark_to_drop_marks_the_copy_it_is_given(control):
    """What p4c makes of `action my_drop(inout standard_metadata_t s) { mark_to_drop(s); }`: copy
    in, mark, copy out."""
    fields = [name for name, _ in STANDARD_METADATA]
    b = builder().header("s", [], metadata=True, type_name="standard_metadata_t")
    b.run([assign(field("standard_metadata", "egress_spec"), value(3)),
           assign(field("standard_metadata", "mcast_grp"), value(7))])  # fmt: skip
    mark = primitive("mark_to_drop", header("s"))
    b.run([*copied("s", fields, back=False), mark, *copied("s", fields, back=True)], control)
    with Driver(b.json()) as d:
        d.ingress(FRAME)
        if control == "egress":
            assert (d.get("std.egress_spec"), d.get("std.mcast_grp")) == (3, 7)
            d.egress()
        assert (d.get("std.egress_spec"), d.get("std.mcast_grp")) == (511, 0)


def test_mark_to_drop_leaves_standard_metadata_alone_where_a_copy_stays_one():
    """An `in` parameter that an action marks for itself: nothing is copied back, the packet goes
    on."""
    b = builder().header("s", [], metadata=True, type_name="standard_metadata_t")
    b.run(
        [
            assign(field("standard_metadata", "egress_spec"), value(3)),
            primitive("mark_to_drop", header("s")),
        ]
    )
    b.run([assign(field("h", "b"), field("s", "egress_spec"))])
    with Driver(b.json()) as d:
        assert d.run(FRAME)[1:3] == (511).to_bytes(2, "big")
        assert d.get("std.egress_spec") == 3


def test_drop_of_p4_14_takes_no_parameter():
    b = builder().run(
        [assign(field("standard_metadata", "mcast_grp"), value(7)), primitive("drop")]
    )
    with Driver(b.json()) as d:
        d.ingress(FRAME)
        assert (d.get("std.egress_spec"), d.get("std.mcast_grp")) == (511, 0)


@pytest.mark.parametrize(
    "parameters", [[], [STD, STD], [header("h")], [header("meta")], [field("h", "a")]]
)
def test_mark_to_drop_of_something_else_is_refused(parameters):
    with pytest.raises(ProgramError):
        load_program(json.dumps(builder().run([primitive("mark_to_drop", *parameters)]).json()))


@pytest.mark.parametrize("width", [1, 12, 32, 64, 100, 128, 200])
def test_registers(width):
    """Read, add in the register's own width, write; indices out of range do nothing."""
    array = named("register_array", f"r{width}")
    index = op("&", field("h", "a"), value(255))
    b = builder().run([
        assign(field("meta", "n"), value(5)),
        primitive("register_read", field("meta", "n"), array, index),
        primitive("register_write", array, index, op("+", field("meta", "n"),
        value((1 << width) - 1))),
        assign(field("h", "c"), field("meta", "n")),
    ])  # fmt: skip
    with Driver(b.json()) as d:
        top = (1 << width) - 1
        d.register(f"r{width}", 1, top)
        assert int.from_bytes(d.run(FRAME)[3:], "big") == top & (2**40 - 1)
        assert d.register(f"r{width}", 1) == top - 1
        assert int.from_bytes(d.run(b"\x04" + FRAME[1:])[3:], "big") == 5
        assert [d.register(f"r{width}", i) for i in (0, 2, 3)] == [0, 0, 0]


def test_signed_values_from_registers_are_not_negative_in_bmv2():
    """A register cell is unsigned, and a signed field keeps up to 2^width - 1 of what is stored in
    it."""
    b = builder().run([
        primitive("register_read", field("meta", "i"), named("register_array", "r32"), value(0)),
        assign(field("h", "a"), op("b2d", None, op("<", field("meta", "i"), value(0)))),
        assign(field("h", "b"), field("meta", "i")),
    ])  # fmt: skip
    with Driver(b.json()) as d:
        d.register("r32", 0, 200)
        assert d.run(FRAME)[:3].hex() == "0000c8"
        d.register("r32", 0, 300)
        assert d.run(FRAME)[:3].hex() == "00002c"


def test_counters():
    b = builder().run([primitive("count", named("counter_array", "c"), field("h", "a"))])
    with Driver(b.json()) as d:
        d.ingress(FRAME + bytes(92))
        d.ingress(FRAME)
        d.ingress(b"\xff" + FRAME)
        assert d.counter("c", 1) == (2, 108)


def test_requests():
    b = builder()
    b.extra["learn_lists"] = [
        {"name": "d", "id": 3, "elements": [field("h", "a"), field("h", "c"), field("meta", "n")]}
    ]
    elements = [field("meta", "m"), field("meta", "n"), field("standard_metadata", "ingress_port")]
    b.extra["field_lists"] = [{"name": "keep", "id": 2, "elements": elements}]
    b.run([
        assign(field("meta", "n"), value(2**199 + 1)), assign(field("meta", "m"), value(9)),
        assign(field("meta", "i"), value(-3)),
        primitive("clone_ingress_pkt_to_egress", value(100), value(2)), primitive("resubmit",
        value(2)),
        primitive("generate_digest", value(0), value(3)), primitive("truncate", value(60)),
        primitive("truncate", value(80)),
    ])  # fmt: skip
    b.run([primitive("recirculate", value(2))], "egress")
    b.run(
        [assign(field("h", "b"), field("meta", "m")), assign(field("h", "a"), field("meta", "i"))],
        "egress",
    )
    with Driver(b.json()) as d:
        assert d.ingress(FRAME).get("req.recirculate_list") == -1
        requests = ("clone_session", "clone_list", "resubmit_list", "digest_list", "truncate_to")
        assert [d.get(f"req.{name}") for name in requests] == [100, 2, 2, 3, 60]
        assert d.digest(3).hex() == "01" + "0405060708" + "80" + "00" * 23 + "01"
        assert d.digest(3, capacity=10) == b""
        assert d.digest(99) == b""
        d.preserve(2).egress()
        assert d.get("req.recirculate_list") == 2
        assert d.deparse()[:3].hex() == "000009"  # m was kept, i was not


def test_exit_ends_the_control_but_not_the_action():
    b = builder().run([primitive("exit"), assign(field("h", "a"), value(1))])
    b.run([assign(field("h", "b"), value(1))])
    b.run([assign(field("h", "c"), value(1))], "egress")
    with Driver(b.json()) as d:
        assert d.run(FRAME).hex() == "0102030000000001"


def test_jumps():
    """A loop: c counts while b goes down; and one that would never end."""
    not_zero = op("b2d", None, op("!=", field("h", "b"), value(0)))
    b = builder().run([
        primitive("_jump_if_zero", not_zero, value(4)),
        assign(field("h", "b"), op("-", field("h", "b"), value(1))),
        assign(field("h", "c"), op("+", field("h", "c"), value(1))),
        primitive("_jump", value(0)),
    ])  # fmt: skip
    with Driver(b.json()) as d:
        assert d.run(bytes.fromhex("0000030000000000")).hex() == "0000000000000003"
    with Driver(builder().run([primitive("no_op"), primitive("_jump", value(0))]).json()) as d:
        assert d.run(FRAME) == FRAME


def test_messages():
    vector = {
        "type": "parameters_vector",
        "value": [field("h", "a"), op("-", None, field("h", "c"))],
    }
    empty = {"type": "parameters_vector", "value": {}}
    b = builder().run([
        primitive("log_msg", {"type": "string", "value": 'a={} "\\{c\\}"={}!'}, vector),
        primitive("log_msg", {"type": "string", "value": "x" * 3000}, empty),
        primitive("assert", op("==", field("h", "a"), value(2)), line=31),
        primitive("assume", op("==", field("h", "a"), value(1))),
    ])  # fmt: skip
    with Driver(b.json()) as d:
        d.ingress(FRAME)
        assert d.log() == [
            f'a=1 "{{c}}"={-0x0405060708}!',
            "x" * 1023,
            "assert failed at test.p4:31",
        ]


def test_failed_assert_warns_once_a_second_and_counts_the_others():
    """Each assert by itself, the parser's as well; nothing while they hold."""
    b = builder().run([
        primitive("assert", op("==", field("h", "a"), value(2)), line=31),
        primitive("assume", op("==", field("h", "b"), value(2)), line=32),
    ])  # fmt: skip
    b.states[0]["parser_ops"].append(
        {
            "op": "primitive",
            "parameters": [primitive("assert", op("!=", field("h", "c"), value(0)), line=4)],
        }
    )
    both = ["assert failed at test.p4:31", "assume failed at test.p4:32"]
    with Driver(b.json()) as d:
        assert d.ingress(bytes.fromhex("0200020000000001")).log() == []
        assert d.ingress(bytes.fromhex("0200030000000001"), now=5).log() == both[1:]
        assert d.ingress(FRAME, now=6).log() == both[:1]
        assert [d.ingress(FRAME, now=now).log() for now in (7, 1_000_004)] == [[], []]
        again = f"{both[1]}, 4 times since the last line about it"
        assert d.ingress(FRAME, now=1_000_005).log() == [again]
        assert d.ingress(bytes(8), now=1_000_006).log() == [
            "assert failed at test.p4:4",
            f"{both[0]}, 4 times since the last line about it",
        ]


def test_random_stays_inside():
    b = builder().run([primitive("modify_field_rng_uniform", field("h", "a"), value(3), value(5)),
                       primitive("modify_field_rng_uniform", field("h", "b"), value(5),
                       value(3))])  # fmt: skip
    with Driver(b.json()) as d:
        assert {d.run(FRAME)[0] for _ in range(100)} == {3, 4, 5}
        assert d.run(FRAME)[1:3] == FRAME[1:3]
