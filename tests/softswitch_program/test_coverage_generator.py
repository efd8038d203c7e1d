"""Covered programs: their counts are those of the steps that traced programs report, and they do
with packets what uncovered ones do."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from program_json import Builder, case, extract, field, op, primitive, state, value

from pcn.base import packed
from pcn.softswitch.codegen.build import build_program, build_runtime
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.coverage import counts
from pcn.softswitch.coverage.counts import Counts, Covered, merged
from pcn.softswitch.native import NativeError, NativeSwitch, load_library
from pcn.softswitch.program.errors import ProgramError
from pcn.softswitch.program.load import load_program
from pcn.softswitch.program.model import Program
from pcn.softswitch.program.statements import Jump
from pcn.softswitch.trace.decoder import Step
from pcn.softswitch.trace.tracer import Tracer

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = (
    ROOT / "examples/router/router.json",
    ROOT / "p4src/compiled/pcn.json",
    ROOT / "p4src/compiled/tcd.json",
    ROOT / "tests/p4runtime/programs/valuesets.json",
)
TEXTS = {path.stem: packed.read_text(path) for path in PROGRAMS}


def jumping_program() -> str:
    """Returns a program with a verify, a lookahead as key, entries in its source and a jump
    back."""
    b = Builder().header("h", [["a", 8], ["b", 8]]).header("meta", [["m", 32]], metadata=True)
    wrong = op("!=", field("h", "a"), value(9))
    verify = {"op": "verify", "parameters": [wrong, value(1)]}
    key = {"type": "lookahead", "value": [0, 8]}
    b.states = [
        state("start", [extract("h"), verify], key=[key], cases=[case(1, "again"), case(4, None)]),
        state("again", [extract("h")], "start"),
    ]
    b.run(
        [
            primitive(
                "_jump_if_zero", op("b2d", None, op("!=", field("h", "b"), value(0))), value(4)
            ),
            primitive("assign", field("h", "b"), op("-", field("h", "b"), value(1)), line=8),
            primitive("assign", field("meta", "m"), value(1), line=9),
            primitive("_jump", value(0), line=10),
            primitive("assign", field("h", "a"), value(0), line=11),
        ]
    )
    entries = [
        {
            "source_info": {
                "filename": "test.p4", "line": 20 + a, "column": 1, "source_fragment": "e",
            },
            "match_key": [{"match_type": "exact", "key": hex(a)}],
            "action_entry": {"action_id": 1, "action_data": []},
            "priority": 1,
        }
        for a in (0, 1, 2)
    ]  # fmt: skip
    b.action("other", [primitive("assign", field("h", "b"), value(7), line=30)])
    exact = {"match_type": "exact", "name": "h.b", "target": ["h", "b"], "mask": None}
    b.table("chosen", "egress", key=[exact], actions=[1, 0], default=0, entries=entries)
    return json.dumps(b.json())


TEXTS["made"] = jumping_program()
IPV4 = "ffffffffffff00000000000108004500002e000040004011254f0a0001010a000303001012"
HEADERS = st.sampled_from(
    [
        b"",
        bytes.fromhex("ffffffffffff0000000000010800"),
        bytes.fromhex(IPV4 + "00"),
        bytes.fromhex(IPV4[:-4] + "13880010"),
        bytes.fromhex(IPV4[:-4] + "12b70020"),
        bytes.fromhex("0180c200000100000000000188080101000100ff"),
    ]
)
FRAMES = st.lists(
    st.builds(bytes.__add__, HEADERS, st.binary(max_size=120)), min_size=1, max_size=4
)


@contextmanager
def switch(
    text: str, counts: Counts | None, taken: list[Step] | None = None
) -> Iterator[NativeSwitch]:
    """A switch that runs the program, covered if there are counts, traced if `taken` takes
    steps."""
    with NativeSwitch(load_library(build_runtime()), manual=True) as native:
        for port in (1, 2, 3):
            native.port_add(port, None)
        reader = None
        if taken is not None:
            reader = Tracer(native, [taken.append], inside=True)
            reader.loading(text)
        built = build_program(text, traced=taken is not None, covered=counts is not None)
        native.load(built, counts.of(text) if counts is not None else None)
        yield native
        if reader is not None:
            reader.read()


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("inplace", [False, True])
def test_uncovered_program_has_nothing_of_coverage(name, inplace):
    program = load_program(TEXTS[name])
    assert "coverage" not in generate(program, inplace=inplace)
    covered = generate(program, inplace=inplace, covered=True)
    assert "s->coverage[" in covered
    assert ".inplace" not in covered


@pytest.mark.parametrize("name", TEXTS)
def test_counts_are_those_of_the_steps(name):
    """Of states, transitions, tables, conditions, checksums, actions and each of their
    statements."""
    text = TEXTS[name]
    program = load_program(text)

    @given(frames=FRAMES)
    def same(frames: list[bytes]):
        steps: list[Step] = []
        counts = Counts()
        with switch(text, None) as native:
            plain = outputs(native, frames)
        with switch(text, counts, steps) as native:
            assert outputs(native, frames) == plain
        (covered,) = counts.covered()
        assert of_points(program, covered) == of_steps(program, steps)

    same()


def test_entries_of_the_source_and_sides_of_a_verify_are_counted():
    counts = Counts()
    with switch(TEXTS["made"], counts) as native:
        native.inject(1, bytes.fromhex("0500"))  # b counts down to 0: the entry 0x0
        native.inject(1, bytes.fromhex("0503"))
        native.inject(1, bytes.fromhex("0900"))  # what the verify refuses
        native.inject(1, bytes.fromhex("05"))  # too short
        native.advance(10**9)
    (covered,) = counts.covered()
    packets_by_point = {(p.kind, p.name, p.text): p.packets for p in covered.points}
    assert packets_by_point["state", "start", ""] == 4
    assert packets_by_point["statement", "start", "extract h"] == 4
    assert packets_by_point["statement", "start", "verify"] == 3
    assert (
        packets_by_point["true", "start", "verify"],
        packets_by_point["false", "start", "verify"],
    ) == (2, 1)
    assert [p.packets for p in covered.points if p.kind == "entry"] == [4, 0, 0]
    assert packets_by_point["table", "chosen", ""] == packets_by_point["hit", "chosen", ""] == 4
    lines = {p.line: p.packets for p in covered.points if p.kind == "statement" and p.file}
    assert lines == {7: 7, 8: 3, 9: 3, 11: 4, 30: 4}


def test_entry_of_a_client_beside_those_of_the_source_is_a_hit_alone():
    """A table may have initial entries that aren't constant: a client adds others."""
    switch_counts, names = Counts(), [table.name for table in load_program(TEXTS["made"]).tables]
    chosen = names.index("chosen")
    with switch(TEXTS["made"], switch_counts) as native:
        native.table_delete(chosen, 0)  # the source's entry of the key 0
        handles = [
            native.table_add(chosen, bytes([key]), None, 0, 0, 1, [])
            for key in (*range(100, 130), 0)
        ]
        native.inject(1, bytes.fromhex("0500"))  # hits the last
        native.advance(10**9)
    assert max(handles) > 10
    (covered,) = switch_counts.covered()
    packets = Counter[str]()
    for point in covered.points:
        packets[point.kind] += point.packets * (point.name == "chosen")
    assert (packets["hit"], packets["miss"], packets["entry"]) == (1, 0, 0)


def test_counts_of_switches_and_runs_add_up():
    frame = bytes.fromhex(IPV4 + "00") + bytes(30)
    runs = []
    for n in (1, 3):
        counts = Counts()
        with switch(TEXTS["router"], counts) as native:
            for _ in range(n):
                native.inject(1, frame)
            native.load(build_program(TEXTS["router"], covered=True), counts.of(TEXTS["router"]))
            native.inject(1, frame)  # the same counts, by the program loaded anew
        runs += counts.covered()
    (both,) = merged(runs)
    assert both.points[0][:2] == ("state", "start")
    assert both.points[0].packets == 6
    with pytest.raises(ValueError, match="other points"):
        merged([both, Covered(both.program, both.digest, both.points[1:])])


def test_counts_of_another_program_are_refused():
    with (
        switch(TEXTS["router"], None) as native,
        pytest.raises(NativeError, match="counts of its coverage"),
    ):
        native.load(build_program(TEXTS["pcn"], covered=True), Counts().of(TEXTS["router"]))


def outputs(native: NativeSwitch, frames: list[bytes]):
    for frame in frames:
        native.inject(1, frame)
    native.advance(10**9)
    return native.departed()


def of_steps(program: Program, steps: list[Step]) -> Counter[tuple[str, ...]]:
    counted: Counter[tuple[str, ...]] = Counter()
    tables, actions = hidden(program)
    unique = {place for place, numbers in places(program).items() if len(numbers) == 1}
    for step in steps:
        fields = step.fields
        match step.kind:
            case "state":
                counted["state", fields["state"]] += 1
            case "key":
                counted["transition", fields["state"]] += 1
            case "entry":
                if fields["table"] not in tables:
                    counted["hit" if fields["hit"] else "miss", fields["table"]] += 1
            case "action":
                if fields["action"] not in actions:
                    counted["action", fields["action"]] += 1
            case "primitive":
                place = fields["action"], fields["source"], fields["text"]
                if place in unique:
                    counted[("statement", *place)] += 1
            case "condition":
                text = fields["text"] or fields["condition"]
                counted[str(fields["result"]).lower(), text] += 1
            case "checksum":
                result = {
                    "passed": "verified", "failed": "wrong", "not verified": "unverified",
                    "invalid": "unverified",
                }.get(fields["result"], fields["result"])  # fmt: skip
                counted[result, fields["checksum"]] += 1
    return +counted


def of_points(program: Program, covered: Covered) -> Counter[tuple[str, ...]]:
    counted: Counter[tuple[str, ...]] = Counter()
    unique = {place for place, numbers in places(program).items() if len(numbers) == 1}
    for point in covered.points:
        if point.kind in ("state", "transition", "hit", "miss", "action"):
            counted[point.kind, point.name] += point.packets
        elif point.kind == "statement":
            place = point.name, f"{point.file}({point.line})", point.text
            if place in unique:
                counted[("statement", *place)] += point.packets
        elif point.kind in ("true", "false") and point.name in ("ingress", "egress"):
            counted[point.kind, point.text] += point.packets
        elif point.kind in ("verified", "wrong", "unverified", "updated", "not updated"):
            counted[point.kind, point.name] += point.packets
    return +counted


def places(program: Program) -> dict[tuple[str, str, str], set[int]]:
    """By action, source and text: the statements there. p4c may make several of one, which are one
    point."""
    statements = defaultdict(set)
    for action in program.actions:
        for number, statement in enumerate(action.statements):
            if (source := statement.source) is not None and not isinstance(
                statement.operation, Jump
            ):
                statements[action.name, f"{source.file}({source.line})", source.fragment].add(
                    number
                )
    return statements


def hidden(program: Program) -> tuple[set[str], set[str]]:
    """The tables that p4c makes of statements in no action, and their actions."""
    tables = {table.name for table in program.tables if table.name.startswith("tbl_")}
    return tables, {
        program.actions[action].name
        for table in program.tables
        if table.name in tables
        for action in table.actions
    }


def test_programs_beyond_the_most_are_refused(monkeypatch):
    """A client may load any number, each with its text."""
    monkeypatch.setattr(counts, "MOST_PROGRAMS", 1)
    program_text, *further = TEXTS.values()
    covered = Counts()
    assert covered.of(program_text) is covered.of(program_text)
    with pytest.raises(ProgramError, match="counts 1 programs: start it anew"):
        covered.of(further[0])
