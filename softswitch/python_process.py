"""The command that runs a module of ours in a Python process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_RUN = (
    "import sys; sys.path[:] = [*filter(None, sys.path), {root!r}]; "
    "import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
)


def python_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Runs `module` as `python -m` does, but imports nothing from the current folder, where anybody's `signal.py` may
    lie: `-m` would look there first. (Python's own `-P` exists from 3.11.) Ours are found even if not installed."""
    return [python, "-c", _RUN.format(root=str(ROOT), module=module), *arguments]
