"""The command that runs one of our modules in a separate Python process."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_RUN = (
    "import gc, sys; gc.set_threshold(50_000, 20, 50); sys.path[:] = [*filter(None, sys.path), {root!r}]; "
    "import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
)


def python_command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Runs `module` as `python -m` does, but imports nothing from the current folder, which may have any user's
    `signal.py`: `-m` would look there first. (Python's `-P` exists from 3.11.) Our modules are found even if not
    installed."""
    return [python, "-c", _RUN.format(root=str(ROOT), module=module), *arguments]
