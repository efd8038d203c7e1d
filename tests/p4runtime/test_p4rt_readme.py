"""softswitch/README.md: its commands start a switch as they stand there, and its options are those that there are."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
from p4rt_process import Process

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "softswitch/README.md").read_text()
COMMANDS = re.findall(r"^    (\w.*)$", TEXT, re.MULTILINE)
SETUP = [line for line in COMMANDS if line.startswith("ip ")]
STARTS = [line.partition(" ")[2] for line in COMMANDS if line.startswith("softswitch ")]


@pytest.mark.root
@pytest.mark.parametrize("arguments", STARTS)
def test_its_commands_start_a_switch(arguments: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a network namespace of its own, whose interfaces are those that the page makes."""
    monkeypatch.chdir(ROOT)
    script = " && ".join(["ip link set lo up", *SETUP, 'exec "$@"'])
    process = Process(*shlex.split(arguments), prefix=("unshare", "--net", "bash", "-c", script, "bash"))
    assert process.end() == 0
    assert not [line for line in process.lines if "listening" not in line]


def test_it_has_commands() -> None:
    assert len(STARTS) == 4
    assert len(SETUP) == 2


def test_its_options_are_those_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from softswitch.options import parse

    monkeypatch.setitem(os.environ, "COLUMNS", "200")
    with pytest.raises(SystemExit):
        parse(["--help"])
    known = set(re.findall(r"--\w[\w-]*", capsys.readouterr().out))
    section = TEXT[TEXT.index("## Options") : TEXT.index("## The manual clock")]
    assert set(re.findall(r"--\w[\w-]*", section)) <= known | {"--help"}
