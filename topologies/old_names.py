"""Imports of users' files as they were until 0.1: `hosts.algorithms` in place of
`pcn.hosts.algorithms`."""

from __future__ import annotations

import ast
import importlib
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

TOP = (
    "controller",
    "experiments",
    "hosts",
    "lab",
    "p4net",
    "p4src",
    "softswitch",
    "topologies",
    "virtualnet",
)
"""Packages that were at the top of site-packages."""
_IMPORTING = Path(importlib.__file__).parent
"""What stands between a file and the error, where it calls `import_module`."""


def old_import(error: BaseException) -> str | None:
    """Returns the line that names file, line and the new name, where an import failed for its old
    one; else None. A user's own package of such a name is none of ours."""
    if (
        not isinstance(error, ModuleNotFoundError)
        or not error.name
        or error.name.partition(".")[0] not in TOP
    ):
        return None
    calls = traceback.extract_tb(error.__traceback__)
    frames = [
        call
        for call in calls
        if Path(call.filename).is_file() and Path(call.filename).parent != _IMPORTING
    ]
    if not frames or not frames[-1].lineno:
        return None
    path, line = Path(frames[-1].filename), frames[-1].lineno
    name = next(
        (name for name in _imports(path, line) if f"{name}.".startswith(f"{error.name}.")),
        error.name,
    )
    try:
        known = find_spec(f"pcn.{name}") is not None
    except ModuleNotFoundError:  # of what is above it
        known = False
    return f"{path}:{line}: import pcn.{name} in place of {name} (since 0.2.0)" if known else None


def _imports(path: Path, line: int) -> Iterator[str]:
    """Yields the modules that a line of a file imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import | ast.ImportFrom) and node.lineno <= line <= (
            node.end_lineno or line
        ):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif node.module:
                yield node.module
