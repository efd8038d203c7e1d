"""The command that runs one of our modules in a separate Python process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher") / "run_module.py"


def python_command(
    module: str, *arguments: str, python: str = sys.executable, options: Sequence[str] = ()
) -> list[str]:
    """Returns the command that runs `module` as `python -m` does, but imports nothing from the
    current folder. `options` are Python's."""
    return [python, *options, str(_LAUNCHER), module, *arguments]
