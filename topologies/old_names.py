"""Imports of users' files as they were: `hosts.algorithms` in place of `pcn.hosts.algorithms` until
0.1, `pcn.lab.virtual` in place of `pcn.hosts.virtual` since."""

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
_MOVED = {
    "lab.virtual": "hosts.virtual",
    "topologies.errors": "base.errors",
    "softswitch.inputs": "base.inputs",
    "softswitch.signals": "base.signals",
    "softswitch.units": "base.units",
}
"""Modules by their old names: those that users' files may import."""
_IMPORTING = Path(importlib.__file__).parent
"""What stands between a file and the error, where it calls `import_module`."""


def old_import(error: BaseException) -> str | None:
    """Returns the line that names file, line and the new name, where an import failed for its old
    one; else None. A user's own package of such a name is none of ours."""
    if (
        not isinstance(error, ModuleNotFoundError)
        or not error.name
        or error.name.removeprefix("pcn.").partition(".")[0] not in TOP
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
    new = f"pcn.{_moved(name.removeprefix('pcn.'))}"
    try:
        known = find_spec(new) is not None
    except ModuleNotFoundError:  # of what is above it
        known = False
    return f"{path}:{line}: import {new} in place of {name} (since 0.2.0)" if known else None


def _moved(name: str) -> str:
    """Returns the present name of a module of ours."""
    for old, new in _MOVED.items():
        if f"{name}.".startswith(f"{old}."):
            return new + name.removeprefix(old)
    return name


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
