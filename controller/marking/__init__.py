"""The controller's side of marking points: one module for each P4 file with a table.

`Scheme.marking` names those of a scheme: a module here, a `PortTable`, a user's file, or an entry
point `marking.NAME` of an installed package. There is no list to update. NP-ECN by the counter of
paused packets (np_ecn.p4) has no table, and so no module.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast

from pcn.base.errors import LabError
from pcn.controller.errors import UnknownNameError
from pcn.controller.marking_contract import PortTable
from pcn.softswitch.tick import TICK_NS
from pcn.topologies import entry_points, python_file
from pcn.topologies.python_file import PythonFileError

_NEEDED = ("TABLE", "CLONE_SESSIONS", "configure")
_from_files: dict[str, PortTable] = {}
_from_packages: dict[str, PortTable] = {}
KIND = "marking"
"""Of entry points of installed packages, each a module as `PortTable` has it."""


class MarkingError(LabError):
    """A file that a scheme names as its marking point isn't one."""


@cache
def names() -> tuple[str, ...]:
    """Returns the names of the modules here, in order."""
    # pkgutil hides errors
    modules = (path.stem for path in Path(__file__).parent.iterdir() if path.suffix == ".py")
    return tuple(sorted(name for name in modules if not name.startswith("_")))


def known() -> list[PortTable]:
    """Returns all marking points: the modules here, and those from outside found so far."""
    return [*map(find, names()), *_from_files.values(), *_from_packages.values()]


def find(name: str) -> PortTable:
    """Returns a module here by name, a file, or an installed package's. Raises UnknownNameError or
    MarkingError."""
    if name.endswith(".py"):
        if name not in _from_files:
            _from_files[name] = _loaded(Path(name))
        return _from_files[name]
    if name in names():
        return cast(PortTable, importlib.import_module(f"{__name__}.{name}"))
    if name not in _from_packages:
        if (point := entry_points.find(KIND, name)) is None:
            raise UnknownNameError("marking point", name, names())
        value = entry_points.load(KIND, point, MarkingError)
        _from_packages[name] = _checked(value, f"entry point {KIND}.{name} = {point.value}")
    return _from_packages[name]


def tick_s(names: Sequence[str]) -> float:
    """Returns the tick of the clock that these marking points need, in nominal time: the shortest
    `TICK_S`, v1model's where none has one. Raises as `find`."""
    usual = TICK_NS / 1e9
    return min((getattr(find(name), "TICK_S", usual) for name in names), default=usual)


def _loaded(path: Path) -> PortTable:
    try:
        module = python_file.load(path)
    except PythonFileError as error:
        raise MarkingError(f"marking point: {error}") from error
    return _checked(module, str(path))


def _checked(module: object, place: str) -> PortTable:
    missing = [name for name in _NEEDED if not hasattr(module, name)]
    if missing:
        raise MarkingError(
            f"{place} has no {' and no '.join(missing)}: see controller/marking_contract.py, "
            "PortTable"
        )
    return cast(PortTable, module)
