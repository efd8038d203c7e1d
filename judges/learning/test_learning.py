"""The judge's own parts; with BMv2 and its CLI, the router of examples/ beside BMv2."""

import json
from pathlib import Path

import needs
from hypothesis import given, strategies as st
from learning.compare import cases, groups_in_order, judge, settled, state_commands
from learning.frames import Frames, known_values

from pcn.softswitch import p4c

ROUTER = Path(__file__).resolve().parents[2] / "examples/router"
COMMANDS = """table_set_default routes drop
table_add routes forward 10.0.1.1/32 => 08:00:00:00:01:11 1
table_add routes forward 10.0.3.0/24 => 08:00:00:00:03:11 3
"""


def folder(root: Path) -> Path:
    """A course's folder with one switch."""
    (root / "s1-commands.txt").write_text(COMMANDS)
    (root / "router.p4").write_text((ROUTER / "router.p4").read_text())
    switches = {
        "s1": {"cli_input": "s1-commands.txt"},
        "s2": {},
        "s3": {"cli_input": "s1-commands.txt"},
    }
    app = {"p4_src": "router.p4", "topology": {"switches": switches}}
    (root / "p4app.json").write_text(json.dumps(app))
    return root


def test_cases_are_programs_with_other_commands(tmp_path):
    listed = cases(folder(tmp_path))
    assert [(case.name, case.commands) for case in listed] == [
        (". s1 router.p4", tmp_path / "s1-commands.txt"),
        (". s2 router.p4", None),
    ]


def test_values_are_read_by_width():
    by_width = known_values(COMMANDS + "table_add t a 0x0a010101&&&0xff 1:2:3:4:5:6 => 300")
    assert {1, 3, 300, 0x0A000101, 0x0A000300, 0x0A010101} <= set(by_width[32])
    assert by_width[48] == [0x010203040506, 0x080000000111, 0x080000000311]
    assert 300 in by_width[9]
    assert 300 not in by_width[8]


@given(st.integers(0, 2**32))
def test_whole_frames_pass_the_longest_way_of_the_parser(seed):
    """The router's: Ethernet, IPv4, UDP."""
    frame = Frames(ROUTER / "router.json", known_values(COMMANDS), seed, whole=True).frame()
    assert (frame[12:14], frame[14] & 15, frame[23]) == (b"\x08\x00", 5, 17)
    assert len(frame) > 42


@given(st.integers(0, 2**32))
def test_frames_are_the_same_from_the_same_seed(seed):
    first, second = (Frames(ROUTER / "router.json", {}, seed) for _ in range(2))
    frames = [first.frame() for _ in range(5)]
    assert frames == [second.frame() for _ in range(5)]
    assert all(len(frame) >= 15 for frame in frames)


def test_state_of_all_tables_and_arrays_is_read():
    document = json.loads((ROUTER / "router.json").read_text())
    commands = state_commands(document).splitlines()
    assert f"table_dump {document['pipelines'][0]['tables'][0]['name']}" in commands
    assert all(
        f"register_read {register['name']}" in commands for register in document["register_arrays"]
    )


def test_lines_that_bmv2_repeats_are_kept():
    assert settled(["a", "b 1", "c"], ["a", "b 2", "c"]) == (["a", "", "c"], ["b 1"])


def test_groups_are_compared_in_order():
    dump = [
        "==", "mgrp(2)", "  -> (L1h=1, rid=1)", "**", "mgrp(1)", "  -> (L1h=0, rid=0)",
        "  -> (L1h=2, rid=0)", "==",
    ]  # fmt: skip
    assert groups_in_order(dump) == [
        *(
            "==", "mgrp(1)", "  -> (L1h=0, rid=0)", "  -> (L1h=2, rid=0)", "**", "mgrp(2)",
            "  -> (L1h=1, rid=1)", "==",
        )
    ]  # fmt: skip


def test_router_is_equal_beside_bmv2(tmp_path):
    needs.target("bmv2")
    cli = needs.program("simple_switch_CLI", needs.BMV2)
    needs.program(p4c.COMPILER, needs.P4C)
    verdict = judge(cases(folder(tmp_path))[0], 30, 1, cli)
    assert verdict.different == []
