"""What `make shell` starts. Its command on a network is in test_mastership_live.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pcn import shell

ROOT = Path(__file__).resolve().parent.parent.parent


def test_without_a_network(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pcn.shell", "python", "s1", "nosuch", ""]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: no network 'nosuch' is up")


def test_ipython_does_not_see_the_other_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An activated one, which it would warn about: the shell's own is what it runs in."""
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere/.venv")
    monkeypatch.setenv("TERM", "xterm")
    environment = shell.environment()
    assert "VIRTUAL_ENV" not in environment
    assert environment["TERM"] == "xterm"
