"""Every example of `pcn p4 import` in the documentation and in its help, as another user than
root."""

import os
import shlex
import shutil

import pytest
from others import NOBODY, shared_folder

from examples import IMPORT, LINES, ROOT
from pcn.cli import run

EXAMPLES = sorted({line for _, lines in LINES for line in lines if IMPORT.match(line)})


@pytest.mark.parametrize("line", EXAMPLES)
def test_example_writes_a_network(line, monkeypatch):
    if os.geteuid() == 0:
        monkeypatch.setenv("SUDO_UID", str(NOBODY))
        monkeypatch.setenv("SUDO_GID", str(NOBODY))
    with shared_folder() as folder:
        shutil.copytree(ROOT / "examples/router", folder / "examples/router")
        monkeypatch.chdir(folder)
        _, *words = shlex.split(line)
        assert run(words) == 0
        assert [path.suffix for path in folder.iterdir() if path.is_file()] == [".json"]


def test_examples_are_there():
    assert len(EXAMPLES) >= 2
