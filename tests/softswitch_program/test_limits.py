"""Limits of a program: each is enforced, the error names the place in one line, and docs/switch.md
lists the limit."""

import itertools
import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from needs import Need, missing
from program_driver import Driver
from program_json import Builder, assign, case, extract, field, header, op, primitive, state, value

from pcn.softswitch.codegen import expressions
from pcn.softswitch.codegen.build import build_program, build_runtime
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.native import NativeError, NativeSwitch, load_library
from pcn.softswitch.program import limits
from pcn.softswitch.program.errors import ProgramError, UnsupportedProgram
from pcn.softswitch.program.load import load_program

Json = dict[str, Any]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "switch.md"


def base() -> Builder:
    builder = (
        Builder().header("h", [["a", 8], ["b", 16]]).header("meta", [["m", 64]], metadata=True)
    )
    builder.order = ["h"]
    return builder


def several(n: int, name: str, **parts) -> list[Json]:
    return [{"name": f"{name}{i}", "id": i + 1, **parts} for i in range(n)]


def headers(n: int, width: int, fields: int) -> Builder:
    builder = base()
    for i in range(n):
        builder.header(f"x{i}", [[f"f{j}", width] for j in range(fields)], type_name="x_t")
    builder.order = ["h"]
    return builder


def with_extra(key: str, rows: list[Json]) -> Json:
    builder = base()
    builder.extra[key] = rows
    return builder.json()


def repeated(*primitives: Json) -> Json:
    return base().run(list(primitives)).json()


def table(key: list[tuple[str, str]], **parts) -> Json:
    builder = headers(1, 4096, 1)
    rows = [
        {"match_type": "exact", "name": "k", "target": list(target), "mask": None} for target in key
    ]
    builder.table("t", actions=[builder.action("act", [])], key=rows, **parts)
    return builder.json()


def emitted(n: int) -> Json:
    builder = headers(1, 8, 20)
    builder.order = ["x0"] * n
    builder.states = [state("start", [extract("h")])]
    return builder.json()


def parameters(*widths: int) -> Json:
    builder = base()
    builder.action("act", [], [(f"p{i}", width) for i, width in enumerate(widths)])
    return builder.json()


def states(n: int, transitions: int) -> Json:
    builder = base()
    cases = [case(1, None)] * transitions
    builder.states = [state("start", [extract("h")], key=[field("h", "a")], cases=cases)]
    builder.states += [state(f"s{i}", []) for i in range(n)]
    return builder.json()


def entries(n: int) -> Json:
    entry = {
        "match_key": [{"match_type": "exact", "key": "0x1"}],
        "action_entry": {"action_id": 0, "action_data": []},
    }
    return table([("h", "a")], entries=[entry] * n)


def calculation(*inputs: Json) -> Json:
    builder = headers(1, 8, 4096)
    builder.extra["calculations"] = [{"name": "c", "id": 0, "algo": "crc32", "input": list(inputs)}]
    return builder.json()


def digest(n: int) -> Json:
    builder = headers(1, 8, 1024)
    elements = [field("x0", f"f{i % 1024}") for i in range(n)]
    builder.extra["learn_lists"] = [{"name": "d", "id": 1, "elements": elements}]
    return builder.json()


def sized(key: str, n: int, **parts) -> Json:
    builder = base()
    builder.extra[key] = [{"name": "x", "id": 0, "size": n, **parts}]
    return builder.json()


def deep(n: int) -> Json:
    expression = field("meta", "m")
    for _ in range(n):
        expression = op("&", expression, value(1))["value"]
        expression = {"type": "expression", "value": expression}
    return repeated(assign(field("meta", "m"), expression))


def twice() -> Json:
    builder = base()
    number = builder.action("act", [])
    builder.table("t", actions=[number, number])
    return builder.json()


ARRAYS = limits.ARRAYS + 1
LISTS = limits.LISTS + 1
RATES = {"type": "bytes", "rate_count": 2, "is_direct": False}
ALGORITHM = {"algo": "crc16", "input": []}
CASES = [
    ("name: 1 to 1,024", lambda: base().header("x" * (limits.NAME + 1), [["a", 8]]).json()),
    (
        "header_types[3].fields[0][1]: 32769 is outside",
        lambda: headers(1, limits.FIELD_BITS + 1, 1).json(),
    ),
    (
        "header_types[3]: 65,556 fields of header types so far",
        lambda: (
            base().header("m", [[f"f{i}", 1] for i in range(limits.FIELDS)], metadata=True).json()
        ),
    ),
    ("headers: 4,099 headers", lambda: headers(limits.HEADERS, 8, 1).json()),
    (
        "headers[3]: 9,217 bytes of header 'x0'",
        lambda: headers(1, 8, limits.HEADER_BYTES + 1).json(),
    ),
    ("bytes of headers and metadata up to 'x30'", lambda: headers(40, 4096, 17).json()),
    # more than 4 GiB in all
    ("headers[3]: 4,194,304 bytes", lambda: headers(1025, 32768, 1024).json()),
    ("parse_states: 1,001 parser states", lambda: states(limits.STATES, 0)),
    ("parse_states[0]: 1,001 transitions so far", lambda: states(0, limits.TRANSITIONS)),
    ("deparsers[0].order: 4,097 emitted headers", lambda: emitted(limits.EMITS + 1)),
    ("deparsers[0].order[3276]: 65,540 bytes of emitted headers up to 'x0'", lambda: emitted(3277)),
    (
        "is outside",
        lambda: base_parser({"type": "lookahead", "value": [0, limits.LOOKAHEAD_BITS + 1]}),
    ),
    (
        "actions[0].runtime_data: 1,025 runtime data",
        lambda: parameters(*[1] * (limits.PARAMETERS + 1)),
    ),
    ("actions[0]: 69,632 bytes of an action's parameters", lambda: parameters(*[32768] * 17)),
    ("1,001 statements so far", lambda: repeated(*[primitive("no_op")] * (limits.STATEMENTS + 1))),
    ("nested more than 150 deep", lambda: deep(limits.DEPTH + 1)),
    ("65537 is outside [0, 65536]", lambda: pushed(limits.STACK_MOVE + 1)),
    ("tables[0].key: 513 bytes of a key", lambda: table([("x0", "f0"), ("h", "a")])),
    ("max_size: 2147483648 is outside", lambda: table([("h", "a")], max_size=limits.ENTRIES + 1)),
    ("entries: 1,001 entries of the source so far", lambda: entries(limits.CONST_ENTRIES + 1)),
    (
        "size: 2147483648 is outside",
        lambda: sized("register_arrays", limits.ENTRIES + 1, bitwidth=8),
    ),
    ("bitwidth: 32769 is outside", lambda: sized("register_arrays", 1, bitwidth=32769)),
    ("size: 4294967296 is outside", lambda: sized("counter_arrays", 2**32, is_direct=False)),
    ("is outside", lambda: sized("meter_arrays", 2**32 + 1, **RATES)),
    (
        "16,385 register",
        lambda: with_extra("register_arrays", several(ARRAYS, "r", size=1, bitwidth=1)),
    ),
    ("16,385 counter arrays", lambda: with_extra("counter_arrays", several(ARRAYS, "c", size=1))),
    (
        "16,385 meter arrays",
        lambda: with_extra("meter_arrays", several(ARRAYS, "m", size=1, **RATES)),
    ),
    ("4,097 calculations", lambda: with_extra("calculations", several(LISTS, "c", **ALGORITHM))),
    ("4,097 field lists", lambda: with_extra("field_lists", several(LISTS, "f", elements=[]))),
    ("4,097 learn lists", lambda: with_extra("learn_lists", several(LISTS, "f", elements=[]))),
    (
        "1,025 parse vsets",
        lambda: with_extra("parse_vsets", several(1025, "v", compressed_bitwidth=1)),
    ),
    (
        "calculations[0]: 20,480 bytes of a calculation's input",
        lambda: calculation(*[header("x0")] * 5),
    ),
    ("learn_lists[0]: 4,097 bytes of a digest", lambda: digest(limits.DIGEST_BYTES + 1)),
    ("action_ids: an action stands twice", twice),
    (
        "a second list has id 1",
        lambda: with_extra("field_lists", [{"name": "f", "id": 1, "elements": []}] * 2),
    ),
]


def base_parser(key: Json) -> Json:
    builder = base()
    builder.states = [state("start", [], key=[key], cases=[case(1, None)])]
    return builder.json()


def pushed(n: int) -> Json:
    builder = base().header("s[0]", [["k", 8]], type_name="s_t")
    builder.order = ["h"]
    ids = [builder.headers[-1]["id"]]
    builder.extra["header_stacks"] = [
        {"name": "s", "id": 0, "header_type": "s_t", "size": 1, "header_ids": ids}
    ]
    return builder.run([primitive("push", {"type": "header_stack", "value": "s"}, value(n))]).json()


@pytest.fixture(autouse=True)
def _lower(monkeypatch):
    """The limits that take longest to reach."""
    for name in ("STATES", "TRANSITIONS", "STATEMENTS", "CONST_ENTRIES"):
        monkeypatch.setattr(limits, name, 1000)


@pytest.mark.parametrize(("message", "make"), CASES)
def test_program_beyond_a_limit_is_refused_with_its_place(message, make):
    with pytest.raises(ProgramError) as caught:
        generate(load_program(json.dumps(make())))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_expressions_are_counted_in_all(monkeypatch):
    """However they are spread: here over the values of one message."""
    monkeypatch.setattr(limits, "EXPRESSIONS", 10_000)
    values = {"type": "parameters_vector", "value": [value(1)] * 10_001}
    with pytest.raises(UnsupportedProgram, match="10,001 values, operations and conditions so far"):
        load_program(
            json.dumps(repeated(primitive("log_msg", {"type": "string", "value": ""}, values)))
        )


def test_statements_that_become_many_lines_are_counted(monkeypatch):
    """setValid() of one of a union's n members is n lines; the error names the statement that was
    too much."""
    monkeypatch.setattr(expressions, "C_LINES", 10_000)
    builder = base()
    builder.extra["header_union_types"] = [
        {"name": "u", "id": 0, "headers": [[f"m{i}", "y_t"] for i in range(300)]}
    ]
    for i in range(300):
        builder.header(f"y{i}", [["k", 8]], type_name="y_t")
    builder.order = ["h"]
    ids = [h["id"] for h in builder.headers[-300:]]
    builder.extra["header_unions"] = [{"name": "u", "id": 0, "union_type": "u", "header_ids": ids}]
    builder.run([primitive("add_header", header(f"y{i}"), line=i) for i in range(300)])
    with pytest.raises(
        UnsupportedProgram, match=r"test.p4:\d+: the program's C has more than 10,000 lines"
    ):
        generate(load_program(json.dumps(builder.json())))


def test_program_at_the_limits_of_its_headers_runs():
    """Nearly the longest header, as much of them as there may be, and more emits and extracts than
    one function has."""
    builder = headers(29, 4096, 17)  # 8,704 bytes each
    builder.header("y", [["k", 8]])
    builder.order = ["h", "x0", "x1", *["y"] * 150]
    builder.states = [
        state("start", [extract("h")] * 250, "next"),
        state("next", [extract("y")] * 151),
    ]
    builder.run([primitive("add_header", header("x0"))])
    frame = bytes(range(256)) * 8
    with Driver(builder.json()) as d:
        assert d.run(frame) == frame[747:750] + bytes(8704) + frame[900:901] * 150 + frame[901:]


def test_long_parser_and_deparser_are_many_functions():
    """None of them much longer than that of any other program, so that a compiler's time is in
    proportion."""
    builder = headers(1, 8, 20)
    builder.order = ["x0"] * 1000
    extraction = extract("x0")
    builder.states = [state("start", [extraction] * 500, "s0")]
    builder.states += [
        state(f"s{i}", [extraction], f"s{i + 1}" if i < 399 else None) for i in range(400)
    ]
    text = generate(load_program(json.dumps(builder.json())))
    ends = [i for i, line in enumerate(text.splitlines()) if line == "}"]
    assert max(b - a for a, b in itertools.pairwise(ends)) < 7000
    assert text.count("\n") > 40_000


def test_program_whose_registers_no_machine_holds_is_refused():
    """When it is loaded, not when packets have filled them: 4 TB."""
    if Path("/proc/sys/vm/overcommit_memory").read_text() == "1\n":
        missing(Need("this kernel refuses no memory (vm.overcommit_memory)", "make unit", True))
    text = json.dumps(sized("register_arrays", limits.ENTRIES, bitwidth=2**14))
    program, library = build_program(text), load_library(build_runtime())
    with NativeSwitch(library, manual=True) as switch, pytest.raises(NativeError, match="memory"):
        switch.load(program)


def test_page_has_every_limit():
    """With its number."""
    text = PAGE.read_text(encoding="utf-8")
    known = runpy.run_path(limits.__file__)
    known = {name: number for name, number in known.items() if name.isupper()}
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| ([\d,]+) \|", text, flags=re.MULTILINE))
    assert {name: int(number.replace(",", "")) for name, number in rows.items()} == known
