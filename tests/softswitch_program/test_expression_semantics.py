"""Generated arithmetic against BMv2's rules, on random expressions, widths and packets."""

from typing import Any

from bmv2_reference import Field, evaluate
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st
from program_driver import SANITIZED, Driver
from program_json import Builder, assign, field, op, value

Json = dict[str, Any]
# A compilation an example: shrinking would take minutes.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SETTINGS = settings(max_examples=10, phases=PHASES, suppress_health_check=list(HealthCheck))

# Operands of every size class: bytes, odd widths, a word and its neighbours, two words, more.
OPERANDS = [
    ("u1", 1, False), ("u5", 5, False), ("u8", 8, False), ("u13", 13, False), ("u31", 31, False),
    ("u32", 32, False), ("u48", 48, False), ("u63", 63, False), ("u64", 64, False), ("u65", 65,
    False),
    ("u127", 127, False), ("u128", 128, False), ("u129", 129, False), ("u200", 200, False),
    ("i2", 2, True), ("i8", 8, True), ("i15", 15, True), ("i32", 32, True), ("i63", 63, True), ((
        "i64"
    ), 64, True),
    ("i65", 65, True), ("i127", 127, True), ("i128", 128, True), ("i150", 150, True),
]  # fmt: skip
TOTAL = sum(width for _, width, _ in OPERANDS)
PADDING = -TOTAL % 8
WIDTHS = st.sampled_from(
    [1, 2, 7, 8, 9, 16, 31, 32, 33, 48, 63, 64, 65, 100, 127, 128, 129, 192, 256]
)


def constants() -> st.SearchStrategy[Json]:
    edges = st.sampled_from(
        [0, 1, 2, 127, 128, 255, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 2**64, 2**128 - 1]
    )
    return st.one_of(edges, st.integers(0, 2**70), edges.map(lambda n: -n)).map(value)


def leaves() -> st.SearchStrategy[Json]:
    return st.one_of(constants(), st.sampled_from([field("in", name) for name, *_ in OPERANDS]))


def conditions(data: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    compare = st.builds(op, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), data, data)
    simple = st.one_of(compare, st.builds(op, st.just("d2b"), st.none(), data))
    both = st.builds(op, st.sampled_from(["and", "or"]), simple, simple)
    return st.one_of(simple, both, st.builds(op, st.just("not"), st.none(), simple))


def compound(data: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    counts = st.one_of(
        st.integers(0, 140).map(value), st.sampled_from([field("in", "u5"), field("in", "u8")])
    )
    return st.one_of(
        st.builds(op, st.sampled_from(["+", "-", "*", "&", "|", "^", "/", "%"]), data, data),
        st.builds(op, st.sampled_from(["<<", ">>"]), data, counts),
        st.builds(op, st.sampled_from(["-", "~"]), st.none(), data),
        st.builds(
            op, st.sampled_from(["two_comp_mod", "usat_cast", "sat_cast"]), data, WIDTHS.map(value)
        ),
        st.builds(
            lambda e, w: op("&", e, value((1 << w) - 1)), data, WIDTHS
        ),  # what p4c writes for a cast
        st.builds(lambda c, a, b: op("?", a, b, c), conditions(data), data, data),
        st.builds(op, st.just("b2d"), st.none(), conditions(data)),
    )


EXPRESSIONS = st.recursive(leaves(), compound, max_leaves=8)

U1_TOP63, U1_TOP127 = (op("<<", field("in", "u1"), value(n)) for n in (63, 127))
U8_IS_0 = op("==", field("in", "u8"), value(0))
# Results that fit into a C type that an operand doesn't fit into. Not constant: compilers compute
# constants themselves.
NARROWER = [
    ("t0", 129, True, op("-", None, U1_TOP63)),
    ("t1", 129, True, op("-", None, U1_TOP127)),
    ("t2", 129, True, op("-", field("in", "u32"), value(2**63))),
    ("t3", 129, True, op("-", field("in", "u65"), value(2**127))),
    ("t4", 129, True, op("*", value(-1), U1_TOP63)),
    (
        "t5",
        129,
        True,
        op(
            "+",
            value(2**63),
            op("?", op("~", None, field("in", "u1")), value(-(2**63) - 1), U8_IS_0),
        ),
    ),
]


@st.composite
def targets(draw: st.DrawFn) -> list[tuple[str, int, bool, Json]]:
    """Fields to assign to, one after another: name, width, signed, value. The last ones pad to
    whole bytes."""
    rows = []
    for i in range(12):
        width, signed = draw(WIDTHS), draw(st.booleans())
        rows.append((f"t{i}", width, signed and width > 1, draw(EXPRESSIONS)))
    return rows


@SETTINGS
@example(rows=NARROWER, packets=[0, 2**TOTAL - 1])
@given(rows=targets(), packets=st.lists(st.integers(0, 2**TOTAL - 1), min_size=3, max_size=6))
def test_assignments(rows, packets):
    """Every target, and comparisons of targets (which see what a signed field really holds), packet
    by packet."""
    builder = Builder()
    fields = [[n, w, s] for n, w, s in OPERANDS] + ([["pad", PADDING]] if PADDING else [])
    builder.header("in", fields)
    out_bits = sum(w for _, w, *_ in rows) + len(rows)
    out_fields = [[n, w, s] for n, w, s, _ in rows] + [[f"{n}_low", 1] for n, *_ in rows]
    if out_bits % 8:
        out_fields.append(["pad", -out_bits % 8])
    builder.header("out", out_fields)
    steps = [assign(field("out", n), e) for n, _, _, e in rows]
    tests = [(n, op("<", field("out", n), field("in", "u8"))) for n, *_ in rows]
    steps += [assign(field("out", f"{n}_low"), op("b2d", None, test)) for n, test in tests]
    builder.run(steps)
    # random comparisons are often decided, which gcc remarks on: no -Werror
    flags = (*SANITIZED, "-O1")
    with Driver(builder.json(), flags) as driver:
        for packet in packets:
            state = {("in", n): Field(w, s) for n, w, s in OPERANDS}
            left = TOTAL
            for name, width, _ in OPERANDS:
                left -= width
                state["in", name].extract(packet >> left & ((1 << width) - 1))
            state |= {("out", n): Field(w, s) for n, w, s, _ in rows}
            state |= {("out", f"{n}_low"): Field(1) for n, *_ in rows}
            for n, _, _, e in rows:
                state["out", n].set(evaluate(e, state))
            for n, test in tests:
                state["out", f"{n}_low"].set(int(evaluate(test, state)))
            expected = 0
            for f in out_fields:
                width = f[1]
                expected = expected << width | (state["out", f[0]].bits if f[0] != "pad" else 0)
            head = (packet << PADDING).to_bytes((TOTAL + PADDING) // 8, "big")
            out = driver.run(head + bytes((out_bits + 7) // 8) + b"rest")
            assert out[: len(head)] == head
            assert out[len(head) : -4].hex() == expected.to_bytes((out_bits + 7) // 8, "big").hex()
            assert out[-4:] == b"rest"
