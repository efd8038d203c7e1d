"""The loader: what it accepts, and that it refuses everything else by name, place and line."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from program_driver import Driver
from program_json import Builder, assign, case, extract, field, op, primitive, state, value

from pcn.base import packed
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.program.errors import ProgramError, UnsupportedProgram
from pcn.softswitch.program.load import load_program
from pcn.softswitch.program.model import Match

Json = dict[str, Any]
PCN = Path(__file__).resolve().parents[2] / "p4src" / "compiled" / "pcn.json"


def small() -> Builder:
    builder = Builder().header("h", [["a", 8], ["b", 16]])
    builder.action("set", [assign(field("h", "a"), value(1))], [("x", 8)])
    key = [{"match_type": "exact", "name": "h.a", "target": ["h", "a"], "mask": None}]
    builder.table("t", actions=[0], data=["0x1"], key=key)
    return builder


def refused(program: Json, error: type[ProgramError] = ProgramError) -> str:
    with pytest.raises(error) as caught:
        generate(load_program(json.dumps(program)))
    return str(caught.value)


def test_pcn_program():
    """The names that the controller and the P4Runtime server look up."""
    program = load_program(packed.read_text(PCN))
    tables = {t.name.split(".")[-1]: t for t in program.tables}
    assert tables["ipv4_lpm"].kind is Match.LPM
    assert [(f.name, f.width) for f in tables["ipv4_lpm"].key] == [("dst_addr", 32)]
    assert tables["pfc_config"].kind is Match.EXACT
    assert {r.name.split(".")[-1] for r in program.registers} >= {
        "waiting_packets",
        "held_bytes",
        "tx_paused",
        "pn",
    }
    assert {c.size for c in program.counters} == {4096}
    assert program.errors["PacketTooShort"] == 1


def test_order_is_that_of_the_specs():
    program = load_program(json.dumps(small().json()))
    assert [t.name for t in program.tables] == ["t"]
    assert [(a.name, a.parameters[0].width) for a in program.actions] == [("set", 8)]
    assert program.std_fields  # standard metadata lives in the packet, not in the PHV


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "expected an object, found an array"),
        ('{"a": 1.5}', "1.5 is not an integer"),
        ('{"a": NaN}', "NaN is not an integer"),
        ('{"a": 1, "a": 2}', "the same member twice"),
        ("[" * 100_000, "nested too deeply"),
        ("{}", "pipelines"),
        ('{"__meta__": {"version": [3, 0]}}', "version 3"),
    ],
)
def test_not_a_program(text, message):
    with pytest.raises(ProgramError, match=message):
        load_program(text)


def test_truncated_anywhere():
    """No prefix of a program is a program, and none of them surprises the loader."""
    text = json.dumps(small().json())
    for length in range(0, len(text) - 1, 97):
        with pytest.raises(ProgramError):
            load_program(text[:length])


def _places(value, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] * bool(path) + [
        p for key, child in children for p in _places(child, (*path, key))
    ]


@settings(max_examples=120)
@given(data=st.data())
def test_any_damage_is_refused_or_harmless(data):
    """One value replaced, anywhere: either a program, or a ProgramError; and then C, or
    UnsupportedProgram."""
    program = (
        small()
        .run([primitive("mark_to_drop", {"type": "header", "value": "standard_metadata"})])
        .json()
    )
    path = data.draw(st.sampled_from(_places(program)))
    parent = program
    for key in path[:-1]:
        parent = parent[key]
    junk = st.sampled_from(
        [None, True, -1, 0, 2**70, "", "x", '"; int main', "0x", "-0xff", [], {}, [[]], {"op": 1}]
    )
    parent[path[-1]] = data.draw(junk)
    with contextlib.suppress(ProgramError):
        generate(load_program(json.dumps(program)))


def test_errors_name_place_and_line():
    builder = small().run([primitive("frobnicate", value(1), line=42)])
    message = refused(builder.json(), UnsupportedProgram)
    assert message == "test.p4:42, actions[1].primitives[0]: primitive 'frobnicate'"


def test_indirect_tables_that_cannot_run():
    program = small().json()
    ingress = program["pipelines"][0]
    table = ingress["tables"][0]
    table["type"] = "magic"
    assert "table 't' is implemented by 'magic'" in refused(program, UnsupportedProgram)
    table |= {"type": "indirect_ws", "action_profile": "ap"}
    assert "no action profile named 'ap'" in refused(program)
    ingress["action_profiles"] = [{"name": "ap", "selector": {"algo": "random", "input": []}}]
    assert "hash algorithm 'random'" in refused(program, UnsupportedProgram)
    ingress["action_profiles"] = [{"name": "ap"}]
    load_program(json.dumps(program))
    table["entries"] = []
    assert "entries of a table with an action profile" in refused(program, UnsupportedProgram)


def test_dangling_names():
    builder = small().run([assign(field("h", "zz"), value(1))])
    assert "header type 'h_t' has no field 'zz'" in refused(builder.json())
    builder = small().run([assign(field("nowhere", "a"), value(1))])
    assert "no header named 'nowhere'" in refused(builder.json())


def test_conditions_are_not_values():
    builder = small().run(
        [assign(field("h", "a"), op("+", op("==", value(1), value(1)), value(1)))]
    )
    assert "expected a value, found a condition" in refused(builder.json())


def test_deep_expressions():
    deep = value(1)
    for _ in range(200):
        deep = op("+", deep, value(1))
    assert "nested more than" in refused(
        small().run([assign(field("h", "a"), deep)]).json(), UnsupportedProgram
    )


def test_wide_intermediate_results():
    shift = op("==", op("<<", value(1), field("h", "b")), value(0))
    message = refused(
        small().run([assign(field("h", "a"), op("b2d", None, shift))]).json(), UnsupportedProgram
    )
    assert "16,384 bits" in message
    assert "test.p4:7" in message


def test_fields_of_12000_bits_are_computed():
    """A network coding program XORs them; today's p4c stops at 2,048 bits."""
    builder = Builder().header("w", [["x", 12_000], ["y", 12_000]], metadata=True)
    builder.header("h", [["a", 8]])
    both = op("^", field("w", "x"), op("+", field("w", "y"), value(1)))
    text = generate(load_program(json.dumps(builder.run([assign(field("w", "x"), both)]).json())))
    assert "#define SW_LIMBS 189" in text


def test_refusal_without_source_names_the_action():
    """Programs that p4c did not write have no source_info."""
    condition = op("b2d", None, op("==", op("<<", value(1), field("h", "b")), value(0)))
    assignment = assign(field("h", "a"), condition)
    del assignment["source_info"]
    message = refused(small().run([assignment]).json(), UnsupportedProgram)
    assert (
        message
        == "action 'ingress_step1_action': an intermediate result can have more than 16,384 bits"
    )


def test_controls_that_run_in_a_circle():
    program = small().json()
    program["pipelines"][0]["tables"][0]["next_tables"] = {"set": "t"}
    assert "runs in a circle through 't'" in refused(program)


def test_parser_that_refers_to_nothing():
    builder = small()
    builder.states = [state("start", [extract("h")], "gone")]
    assert "no parse state named 'gone'" in refused(builder.json())
    builder.states = [
        state("start", [extract("h")], key=[field("h", "a")], cases=[case(0x1FF, None)])
    ]
    assert "expected 1 bytes" in refused(builder.json())


def test_strings_never_reach_the_source():
    """Names that would end a string, a comment or an identifier."""
    evil = 'x"; system("id"); /* */ //\\ ??/'
    builder = Builder().header("h", [[evil, 8]], type_name=f"type {evil}")
    builder.table(
        f"t {evil}", actions=[builder.action(f"a {evil}", [assign(field("h", evil), value(2))])]
    )
    log = primitive(
        "log_msg", {"type": "string", "value": evil}, {"type": "parameters_vector", "value": []}
    )
    builder.run([log])
    program = builder.json()
    program["program"] = evil
    text = generate(load_program(json.dumps(program)))
    assert 'system("' not in text
    assert "??" not in text
    with Driver(program) as driver:  # it compiles without a warning, and the message is the message
        driver.ingress(b"1")
        assert driver.log() == [evil]


def test_unprintable_names():
    builder = Builder().header("h\n", [["a", 8]])
    assert "printable" in refused(builder.json())
