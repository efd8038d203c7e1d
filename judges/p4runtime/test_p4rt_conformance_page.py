"""docs/p4runtime.md: the tests and rules that it names exist, every rule has its row, every row
shows something."""

import re
from pathlib import Path

import pytest
from oracle.rules import RULES

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEXT = (ROOT / "docs/p4runtime.md").read_text()
ROWS = [line.strip("| ").split(" | ") for line in TEXT.splitlines() if re.match(r"\| \d", line)]
RULE = re.compile(r"`oracle:([\w-]+)`")
TEST = re.compile(r"`(test_\w+\.py)::(test_\w+)`")


def test_there_are_rows():
    assert len(ROWS) > 100
    assert all(len(row) == 3 for row in ROWS)
    numbers = [row[0] for row in ROWS]
    assert len(set(numbers)) == len(numbers)
    places = [tuple(int(part) for part in re.split(r"[.-]", number)) for number in numbers]
    sections = [tuple(map(int, number.partition("-")[0].split("."))) for number in numbers]
    assert sections == sorted(sections), "in the order of the specification"
    for section in set(sections):
        within = [
            place[-1] for place, heading in zip(places, sections, strict=True) if heading == section
        ]
        assert within == list(range(1, len(within) + 1)), section


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_shows_something(row):
    shown = row[2]
    rules, tests = RULE.findall(shown), TEST.findall(shown)
    assert rules or tests or re.search(r"(refused|not tested): \w", shown)
    assert set(rules) <= RULES.keys()
    for file, name in tests:
        (path,) = (
            path for folder in (HERE, ROOT / "tests/p4runtime") if (path := folder / file).is_file()
        )
        assert f"\ndef {name}(" in path.read_text(), name


def test_every_rule_has_a_row():
    assert {name for row in ROWS for name in RULE.findall(row[2])} == RULES.keys()
