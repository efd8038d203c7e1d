"""The short form of grammar.py: with a clone of p4lang/behavioral-model all of it, without one what
the two accounts of our commands have in common."""

import os
import sys
from pathlib import Path

import needs
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from grammar import (
    LEFT_OUT,
    OURS,
    Bmv2Command,
    commands,
    differences,
    parser,
    texts,
    value_difference,
)

from pcn.p4net.commands.file import COMMANDS

CLONE = "BMV2_SOURCE"
"""In the environment: the folder of a clone."""
SOURCE = needs.Need(
    f"no clone of p4lang/behavioral-model in ${CLONE}; with one",
    f"make unit ARGS=judges/commands {CLONE}=DIR",
    optional=True,
)


@pytest.fixture(scope="module")
def clone() -> Path:
    folder = os.environ.get(CLONE)
    if folder is None:
        needs.missing(SOURCE)
    return Path(folder)


def same_as_ours() -> list[Bmv2Command]:
    commands = [
        Bmv2Command(name, "[MORE]", command.least, command.most)
        for name, command in COMMANDS.items()
        if name not in OURS
    ]
    return [*commands, *(Bmv2Command(name, "", None, None) for name in LEFT_OUT)]


def test_judge_names_each_kind_of_difference():
    known = same_as_ours()
    assert not list(differences(known))
    changed = [
        Bmv2Command("table_add", "", 4, None),
        Bmv2Command("table_clear", "[MORE]", 1, 2),
        Bmv2Command("table_new", "Try: table_new", 0, 0),
        *(
            command
            for command in known
            if command.name not in ("table_add", "table_clear", "shell")
        ),
    ]
    assert list(differences(changed)) == [
        "table_add: 4 arguments at least, here 3",
        "table_clear: 2 arguments at most, here 1",
        "table_new: missing here (Try: table_new)",
        "shell: left out here, and gone there",
    ]
    without = [command for command in known if command.name != "table_dump"]
    assert list(differences(without)) == ["table_dump: BMv2 has none such"]


def test_judge_finds_another_value():
    assert (
        value_difference(lambda _text, _width: 7, "8", 8)
        == "'8' of 8 bits: BMv2 has 7, here it is 8"
    )
    assert not value_difference(lambda _text, _width: 0, "-1", 8)  # explained


def test_commands_are_those_of_simple_switch_cli(clone: Path):
    known = commands(clone)
    assert len(known) > 80
    assert not list(differences(known))


def test_values_are_read_as_by_runtime_cli(clone: Path):
    read = parser(clone)
    assert read("10.0.0.1", 32) == 0x0A000001
    assert not list(
        filter(None, (value_difference(read, text, width) for text, width in texts(2, 20_000)))
    )
