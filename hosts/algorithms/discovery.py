"""Schemes by name, and those from outside.

    pcn                        one of ours, or of an installed package (pcn.topologies.entry_points)
    path/to/file.py:NAME       a `Scheme` in a Python file
    path/to/file.c             a scheme in C alone, called file (hosts/c_scheme.py)
    pcn@path/to/x.json         one of these with another program in the switches: called pcn@x, as
                               it is another scheme

A scheme that was found has a name, which results, tables and pictures use. Other processes get
`Scheme.reference`, and find the same scheme by it.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from pcn.base import packed
from pcn.base.errors import nearest
from pcn.topologies import python_file
from pcn.topologies.entry_points import installed, load
from pcn.topologies.python_file import PythonFileError

from .scheme import Scheme, SchemeError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    schemes: dict[str, Scheme]
    """Ours, and those from outside that were found so far."""

_MACHINERY = ("base", "check", "check_events", "discovery", "parameters", "scheme")


def __getattr__(name: str) -> dict[str, Scheme]:
    """Returns `schemes`: it loads them all, where an agent needs one."""
    if name == "schemes":
        return _schemes()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _schemes() -> dict[str, Scheme]:
    return {scheme.name: scheme for name in _files() for scheme in _in_file(name)}


@cache
def _files() -> list[str]:
    """Returns the files of this folder that have schemes: all except _MACHINERY."""
    names = (path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return sorted(name for name in names if name not in _MACHINERY)


def _in_file(name: str) -> Iterator[Scheme]:
    module = importlib.import_module(f".{name}", __package__)
    yield from (value for value in vars(module).values() if isinstance(value, Scheme))


def find_scheme(text: str) -> Scheme:
    """Finds a scheme by name or file, or with another program. Raises SchemeError, which lists the
    existing schemes."""
    if known := known_scheme(text):
        return known
    base, at, program = text.partition("@")
    if at:
        return _register(_with_program(find_scheme(base), program))
    path, colon, name = text.rpartition(":")
    if colon and path.endswith(".py"):
        return _register(_from_file(Path(path).absolute(), name))
    if text.endswith(".c"):
        from ..c_scheme import scheme_in  # makes a Scheme, and needs this module's package

        file = Path(text).absolute()
        return _register(_located(scheme_in(file), file.parent, str(file)))
    if path or text.endswith(".py"):
        raise SchemeError(f"{text!r}: write the file and the scheme in it, as in aimd.py:AIMD")
    for point in _installed():
        if point.name == text:
            return _register(_from_entry_point(point))
    raise SchemeError(f"no scheme {text!r}; {nearest(text, names(), 'pcn scheme list')}")


def known_scheme(name: str) -> Scheme | None:
    """Returns ours of this name, without loading the others, or one from outside that was found
    before; None: there is none."""
    if (stem := name.replace("-", "_")) in _files():
        for scheme in _in_file(stem):
            if scheme.name == name:
                return scheme
    return _schemes().get(name)


def names() -> list[str]:
    """Returns the names of all schemes: the project's, those found so far, and those of installed
    packages."""
    known = _schemes()
    return [*known, *(point.name for point in _installed() if point.name not in known)]


def _installed() -> Iterable[EntryPoint]:
    return installed("scheme")


def _register(scheme: Scheme) -> Scheme:
    known = _schemes().setdefault(scheme.name, scheme)
    if known.reference != scheme.reference:
        raise SchemeError(
            f"{scheme.reference} is called {scheme.name!r}, as {known.reference} is already: give "
            "it another name"
        )
    return known


def _with_program(scheme: Scheme, program: str) -> Scheme:
    path = Path(program).absolute()
    if path.suffix not in (".p4", ".json"):
        raise SchemeError(
            f"{program!r}: a program is a .p4 file, or the .json that p4c made of one"
        )
    if not packed.is_file(path):
        raise SchemeError(f"no program {program}")
    return dataclasses.replace(
        scheme,
        name=f"{scheme.name}@{path.stem}",
        summary=f"{scheme.summary}, with {path.name} in the switches",
        program=str(path),
        reference=f"{scheme.reference}@{path}",
    )


def _from_file(path: Path, name: str) -> Scheme:
    reference = f"{path}:{name}"
    for scheme in _schemes().values():
        if scheme.reference == reference:
            return scheme
    known = {key: value for key, value in vars(_module(path)).items() if isinstance(value, Scheme)}
    if name not in known:
        raise SchemeError(f"{path} has no scheme {name!r}; {nearest(name, known)}")
    return _located(known[name], path.parent, reference)


def _module(path: Path) -> ModuleType:
    try:
        return python_file.load(path)
    except PythonFileError as error:
        raise SchemeError(str(error)) from error.__cause__  # the same text once


def _from_entry_point(point: EntryPoint) -> Scheme:
    scheme = load("scheme", point, SchemeError)
    if not isinstance(scheme, Scheme) or scheme.name != point.name:
        raise SchemeError(f"entry point {point.name} = {point.value} isn't a Scheme of that name")
    file = sys.modules[point.module].__file__
    return _located(scheme, Path(file or ".").parent, scheme.name)


def _located(scheme: Scheme, folder: Path, reference: str) -> Scheme:
    """Returns the scheme with absolute paths of its files, found from `folder`."""

    def located(name: str, *suffixes: str) -> str:
        return str((folder / name).absolute()) if name.endswith(suffixes) else name

    return dataclasses.replace(
        scheme,
        program=located(scheme.program, ".p4", ".json"),
        marking=tuple(located(point, ".py") for point in scheme.marking),
        reference=reference,
    )
