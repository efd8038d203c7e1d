"""Requests of programs to the switch, with values at the ends of their ranges: 0 is a value, not
the lack of one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import example, given, strategies as st
from program_json import Builder, assign, field, header, primitive, value

from pcn.softswitch.codegen.build import build_program, build_runtime
from pcn.softswitch.native import EVENT_NOTICE, NativeSwitch, Replica, load_library

Json = dict[str, Any]
STD = "standard_metadata"
LENGTH = 100


@contextmanager
def switch(program: Builder) -> Iterator[NativeSwitch]:
    """On the manual clock, with ports 1 and 2."""
    with NativeSwitch(load_library(build_runtime()), manual=True) as native:
        for port in (1, 2):
            native.port_add(port, None)
        native.load(build_program(json.dumps(program.json())))
        native.start()
        yield native


def sent(native: NativeSwitch, frame: bytes) -> list[tuple[int, bytes]]:
    """Ports and frames that leave of what comes in at port 1."""
    native.inject(1, frame)
    while not native.advance(native.now_ns + 1000):
        pass
    return [(left.port, left.data) for left in native.departed()]


def to_port_2() -> Builder:
    """Three fields of a byte; what comes in leaves by port 2."""
    builder = (
        Builder()
        .header("h", [["a", 8], ["b", 8], ["c", 8]])
        .header("meta", [["m", 8]], metadata=True)
    )
    return builder.run([assign(field(STD, "egress_spec"), value(2))])


def test_truncate_keeps_the_fewest_bytes_of_all_calls():
    """0 among them, in ingress and in egress, as simple_switch does."""
    builder = to_port_2()
    builder.run([primitive("truncate", field("h", name)) for name in "ab"])
    builder.run([primitive("truncate", field("h", "c"))], "egress")
    with switch(builder) as native:

        @given(
            st.lists(
                st.sampled_from([0, 1, 14, 60, LENGTH - 1, LENGTH, 255]), min_size=3, max_size=3
            )
        )
        @example([60, 0, 255])
        @example([0, 60, 255])
        @example([60, 80, 0])
        def check(lengths: list[int]):
            frame = bytes(lengths).ljust(LENGTH, b"x")
            assert sent(native, frame) == [(2, frame[: min(lengths)])]

        check()


def test_clone_preserves_the_field_list_with_id_0():
    """A list that the program has is a list; where it has none of that id, nothing is kept."""
    for lists, preserved in (
        ([{"name": "keep", "id": 0, "elements": [field("meta", "m")]}], 7),
        ([], 0),
    ):
        builder = to_port_2()
        builder.extra["field_lists"] = lists
        clone = primitive("clone_ingress_pkt_to_egress", value(0), value(0))
        builder.run([assign(field("meta", "m"), value(7)), clone])
        builder.run([assign(field("h", "a"), field("meta", "m"))], "egress")
        with switch(builder) as native:
            native.clone_session(0, [Replica(1, 0)])
            assert sorted(sent(native, bytes(20))) == [
                (1, bytes([preserved]) + bytes(19)),
                (2, b"\x07" + bytes(19)),
            ]


def test_failed_assert_is_a_warning_of_the_switch():
    builder = to_port_2().run([primitive("assert", {"type": "bool", "value": False}, line=12)])
    with switch(builder) as native:
        assert [len(sent(native, bytes(20))) for _ in range(3)] == [1, 1, 1]
        event = native.next_event(0)
        assert (event.kind, event.data) == (EVENT_NOTICE, b"assert failed at test.p4:12")
        assert native.next_event(0) is None


def test_hash_of_size_0_gives_the_base():
    """As in v1model.p4."""
    builder = to_port_2()
    builder.extra["calculations"] = [
        {"name": "c", "id": 0, "algo": "crc16", "input": [field("h", "b")]}
    ]
    named = {"type": "calculation", "value": "c"}
    builder.run(
        [
            primitive(
                "modify_field_with_hash_based_offset", field("h", "a"), value(9), named, value(0)
            )
        ]
    )
    builder.run([primitive("add_header", header("h"))])
    with switch(builder) as native:
        assert sent(native, bytes(20)) == [(2, b"\x09" + bytes(19))]
