"""The tests that p4testgen made of our programs, and that judge and reader of STF notice what is
wrong."""

import os
import sys
from functools import partial
from pathlib import Path

import needs
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from judge import JudgedError, judge
from own import COMPILED, SOURCES, kept_tests, load
from reached import lines_reached
from stf import Entry, Expect, Mirror, Packet, Step, StfError, parse, table_entry
from switches import TARGETS, Start, SwitchError, bmv2, embedded

from pcn.base import packed
from pcn.softswitch.coverage.counts import Counts

# p4testgen was not at hand when these were added
WITHOUT_TESTS = {"dctcp", "hpcc", "nscc", "plain"}
PROGRAMS = sorted(
    {path.stem for path in (SOURCES / "v1model" / "programs").glob("*.p4")} - WITHOUT_TESTS
)
TESTS = kept_tests()


@pytest.fixture(params=["softswitch", pytest.param("bmv2", marks=pytest.mark.root)])
def start(request) -> Start:
    return TARGETS[needs.target(request.param)]


def steps_of(program: str) -> dict[str, list[Step]]:
    return {name: parse(text) for name, text in TESTS[program].items()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_switch_does_what_p4testgen_expects(start: Start, program):
    tests = steps_of(program)
    assert tests
    wrong = {}
    for file, steps in tests.items():
        try:
            judge(start, *load(program), steps)
        except JudgedError as error:
            wrong[file] = str(error)
    assert not wrong


def test_switch_counts_the_lines_that_tests_reach():
    """None without a packet; more by all tests of a program than by one."""
    tests, counts, shares = list(steps_of("qcn").values()), Counts(), []
    for played in ([[]], tests[:1], tests[1:]):
        for steps in played:
            judge(partial(embedded, counts), *load("qcn"), steps)
        shares.append(lines_reached(counts, SOURCES))
    (none, lines), (some, _), (more, same) = shares
    assert lines == same
    assert 0 == none < some < more < lines


def forwarded(program: str) -> list[Step]:
    """A test of one packet that leaves, byte for byte."""
    return next(
        steps
        for steps in steps_of(program).values()
        if [step for step in steps if isinstance(step, Expect) and len(step.pattern) > 28]
        and sum(isinstance(step, Expect) for step in steps) == 1
    )


def test_a_frame_that_differs_by_a_digit_is_noticed(start: Start):
    steps = [
        step._replace(pattern=("1" if step.pattern[0] == "0" else "0") + step.pattern[1:])
        if isinstance(step, Expect)
        else step
        for step in forwarded("pcn")
    ]
    with pytest.raises(JudgedError, match="expected, got"):
        judge(start, *load("pcn"), steps)


def test_a_frame_too_many_is_noticed(start: Start):
    steps = [step for step in forwarded("pcn") if not isinstance(step, Expect)]
    with pytest.raises(JudgedError, match="0 frames expected, got 1"):
        judge(start, *load("pcn"), steps)


def test_a_frame_that_is_missing_is_noticed(start: Start):
    steps = [step for step in forwarded("pcn") if not isinstance(step, Entry)]
    with pytest.raises(JudgedError, match="1 frames expected, got 0"):
        judge(start, *load("pcn"), steps)


def test_a_frame_below_an_ethernet_header_comes_as_it_is(start: Start):
    judge(start, *load("pcn"), [Packet(1, bytes(3))])


@pytest.mark.root
def test_a_bmv2_that_ends_is_named(tmp_path, monkeypatch):
    program = tmp_path / "simple_switch_grpc"
    program.write_text("#!/bin/sh\necho first\necho no such option\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with (
        pytest.raises(SwitchError, match=r"didn't start: it ended with code 3: no such option$"),
        bmv2(),
    ):
        pass


def test_statements():
    text = """
# a comment
add "In.t[0]#" 3 "h.a":0x1* "h.$valid$":0x1 "In.act"("x":0x2,"y":3)
setdefault In.u In.miss()
mirroring_add 1 7
packet 5 0A 0b
expect 6 A*$
expect 7
"""
    assert parse(text) == [
        Entry(
            "In.t[0]#",
            3,
            {"h.a": "0x1*", "h.$valid$": "0x1"},
            "In.act",
            {"x": "0x2", "y": "3"},
            False,
        ),
        Entry("In.u", 0, {}, "In.miss", {}, True),
        Mirror(1, 7),
        Packet(5, b"\x0a\x0b"),
        Expect(6, "a*", True),
        Expect(7, "", False),
    ]


@pytest.mark.parametrize(
    "line", ["wait", "packet x 00", "packet 1 0", "expect 1 zz", "add t", "mirroring_add 1"]
)
def test_what_is_no_statement_is_named(line):
    with pytest.raises(StfError, match=f"line 1 .*{line}"):
        parse(line)


def test_an_entry_without_its_table_is_named():
    info, _ = load("pcn")
    with pytest.raises(StfError, match=r"table In\.none isn't one of"):
        table_entry(Entry("In.none", 0, {}, "NoAction", {}, False), info)


def test_every_program_has_its_tests():
    assert sorted(TESTS) == PROGRAMS
    assert all(packed.is_file(COMPILED / f"{program}.json") for program in PROGRAMS)
