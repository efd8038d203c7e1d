"""Generated tables and controls: keys, entries, defaults, and where control goes after them."""

from typing import Any

import pytest
from program_driver import Driver
from program_json import Builder, assign, field, op, parameter, primitive, value

Json = dict[str, Any]


def key(name: str, match: str, mask: int | None = None) -> Json:
    return {
        "match_type": match,
        "name": f"k_{name}",
        "target": ["h", name],
        "mask": None if mask is None else hex(mask),
    }


def builder() -> Builder:
    b = Builder().header("h", [["out", 8], ["x", 4], ["y", 12], ["w", 128], ["v", 200]])
    b.action("hit", [assign(field("h", "out"), parameter(0))], [("n", 8)])
    b.action("miss", [assign(field("h", "out"), value(0xEE))])
    b.action("big", [assign(field("h", "v"), parameter(1)), assign(field("h", "w"), parameter(0))],
             [("w", 128), ("v", 200)])  # fmt: skip
    return b


def frame(out: int = 0, x: int = 0, y: int = 0, w: int = 0, v: int = 0) -> bytes:
    return (
        bytes([out])
        + (x << 12 | y).to_bytes(2, "big")
        + w.to_bytes(16, "big")
        + v.to_bytes(25, "big")
    )


def entry(match_key: list[Json], n: int, priority: int = 1) -> Json:
    call = {"action_id": 0, "action_data": [hex(n)]}
    return {"match_key": match_key, "action_entry": call, "priority": priority}


def test_keys_of_every_width():
    """Big endian, whole bytes each, in order."""
    keys = [key(n, "exact") for n in ("x", "y", "w", "v")]
    b = builder()
    b.table("t", actions=[0, 1], default=1, key=keys)
    with Driver(b.json()) as d:
        w, v = 0x0123456789ABCDEF << 64 | 5, 3 << 190 | 7
        data = bytes([0xA]) + b"\x0b\xcd" + w.to_bytes(16, "big") + v.to_bytes(25, "big")
        d.add("t", data, "hit", [0x42])
        assert d.run(frame(0, 0xA, 0xBCD, w, v))[0] == 0x42
        assert d.run(frame(0, 0xA, 0xBCD, w, v + 1))[0] == 0xEE


def test_key_with_a_constant_mask():
    b = builder()
    b.table(
        "t",
        actions=[0, 1],
        default=1,
        key=[key("y", "exact", 0x0F0), key("w", "exact", 0xFF << 100)],
    )
    with Driver(b.json()) as d:
        d.add("t", b"\x00\x50" + (0xAB << 100).to_bytes(16, "big"), "hit", [1])
        assert d.run(frame(y=0xF5F, w=0xAB << 100 | 77))[0] == 1
        assert d.run(frame(y=0xF6F, w=0xAB << 100))[0] == 0xEE


def test_wide_parameters():
    b = builder()
    b.table("t", actions=[2], default=None, key=[key("x", "exact")])
    with Driver(b.json()) as d:
        d.add("t", b"\x01", "big", [2**127 + 9, 2**199 + 3])
        assert d.run(frame(x=1)) == frame(x=1, w=2**127 + 9, v=2**199 + 3)
        assert d.run(frame(x=2)) == frame(x=2)  # no default action: nothing happens


CONST = {
    "exact": [entry([{"match_type": "exact", "key": "0x0abc"}], 1)],
    "lpm": [
        entry([{"match_type": "lpm", "key": "0x0a00", "prefix_length": 4}], 2),
        entry([{"match_type": "lpm", "key": "0x0abc", "prefix_length": 12}], 1),
    ],
    "ternary": [
        entry([{"match_type": "ternary", "key": "0x0a00", "mask": "0x0f00"}], 2, 5),
        entry([{"match_type": "ternary", "key": "0x000c", "mask": "0x000f"}], 1, 2),
    ],
    "range": [
        entry([{"match_type": "range", "start": "0x0a00", "end": "0x0aff"}], 2, 5),
        entry([{"match_type": "range", "start": "0x0abc", "end": "0x0abc"}], 1, 2),
    ],
    "optional": [
        entry([{"match_type": "optional", "key": "0x0abc", "mask": "0x0fff"}], 1, 1),
        entry([{"match_type": "optional", "key": "0x0000", "mask": "0x0000"}], 2, 9),
    ],
}


@pytest.mark.parametrize("match", sorted(CONST))
def test_const_entries(match):
    """The lower priority wins; outputs are the entry's number."""
    b = builder()
    b.table("t", actions=[0, 1], default=1, key=[key("y", match)], entries=CONST[match])
    outputs = {"exact": [1, 0xEE, 0xEE], "optional": [1, 2, 2]}.get(match, [1, 2, 0xEE])
    with Driver(b.json()) as d:
        assert [d.run(frame(y=y))[0] for y in (0xABC, 0xA11, 0x111)] == outputs


def branching(next_tables: Json) -> Builder:
    b = builder()
    for name, n in (("one", 0x10), ("two", 0x20)):
        b.action(name, [assign(field("h", "out"), op("+", field("h", "out"), value(n)))])
    t = b.table("t", actions=[0, 1], default=1, key=[key("x", "exact")])
    t["next_tables"] = next_tables
    b.table("one", actions=[3], next_table=None)
    b.table("two", actions=[4], next_table="one")
    b.tables["ingress"][0]["next_tables"] = next_tables
    b.tables["ingress"][0]["base_default_next"] = None
    return b


def test_after_hit_or_miss():
    with Driver(branching({"__HIT__": "two", "__MISS__": "one"}).json()) as d:
        d.add("t", b"\x01", "hit", [1])
        assert d.run(frame(x=1))[0] == 0x31
        assert d.run(frame(x=2))[0] == (0xEE + 0x10) & 0xFF


def test_after_an_action():
    """The default action decides as an entry's would."""
    with Driver(branching({"hit": "two", "miss": None}).json()) as d:
        d.add("t", b"\x01", "hit", [1])
        d.add("t", b"\x03", "miss")
        assert [d.run(frame(x=x))[0] for x in (1, 2, 3)] == [0x31, 0xEE, 0xEE]


def test_conditions():
    b = builder()
    b.action("set", [assign(field("h", "out"), value(1))])
    b.table("t", actions=[3])
    test = op("or", op("==", field("h", "x"), value(3)), op(">", field("h", "w"), value(2**127)))
    b.conditionals["ingress"] = [
        {"name": "c", "id": 0, "expression": test, "true_next": "t", "false_next": None}
    ]
    with Driver(b.json()) as d:
        outputs = [d.run(frame(x=x, w=w))[0] for x, w in ((3, 0), (2, 2**127), (2, 2**127 + 1))]
        assert outputs == [1, 0, 1]


def test_direct_counter_counts_hits():
    b = builder()
    b.table(
        "t", actions=[0, 1], default=1, key=[key("x", "exact")], with_counters=True,
        support_timeout=True,
    )  # fmt: skip
    with Driver(b.json()) as d:
        handle = d.add("t", b"\x01", "hit", [1])
        for x in (1, 2, 1):
            d.run(frame(x=x))
        entry = d.entry("t", handle)
        assert (entry.packets, entry.bytes) == (2, 2 * len(frame()))


def test_exit_from_a_table():
    b = builder()
    leave = b.action("leave", [primitive("exit")])
    b.table("t", actions=[leave, 1], default=1, key=[key("x", "exact")])
    b.run([assign(field("h", "out"), value(9))])
    with Driver(b.json()) as d:
        d.add("t", b"\x01", "leave")
        assert [d.run(frame(x=x))[0] for x in (1, 2)] == [0, 9]
