"""Python files of users: schemes, topologies, marking points."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
import sysconfig
import traceback
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from pcn.base import inputs
from pcn.base.errors import LabError
from pcn.topologies import extras
from pcn.topologies.old_names import old_import


class PythonFileError(LabError):
    """A file is missing, or fails: names its line."""


_ROOT = Path(__file__).resolve().parents[1]


_REFUSAL: ContextVar[str] = ContextVar("_REFUSAL", default="")


@contextmanager
def refused(reason: str) -> Iterator[None]:
    """Refuses files of code, for what a file of others names. Raises PythonFileError with the
    reason for each."""
    token = _REFUSAL.set(reason)
    try:
        yield
    finally:
        _REFUSAL.reset(token)


def require_allowed(path: Path) -> None:
    """Raises PythonFileError while files of code are refused."""
    if reason := _REFUSAL.get():
        raise PythonFileError(f"{path}: {reason}")


def load(path: Path) -> ModuleType:
    """Executes a file and returns its module. While it loads, its folder is the first to be
    searched for modules, as it is for a script. Raises PythonFileError."""
    require_allowed(path)
    if not path.is_file():
        raise PythonFileError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(
        f"{path.stem}_{zlib.crc32(os.fsencode(path)):08x}", path
    )
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        # Not by the loader: it takes the bytecode of an older content of equal length and second
        # for this one's.
        with _searched(path.absolute().parent):
            exec(compile(inputs.read_bytes(path), path, "exec"), module.__dict__)
    except Exception as error:
        if (line := old_import(error)) is not None:
            raise PythonFileError(line) from error
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(path)
        ]
        place = f"{path}:{lines[-1]}" if lines else str(path)
        extra = extras.of_import(error) if isinstance(error, ImportError) else None
        text = str(extras.MissingExtraError(extra)) if extra else f"{type(error).__name__}: {error}"
        raise PythonFileError(f"{place}: {text}") from error
    return module


@contextmanager
def _searched(folder: Path) -> Iterator[None]:
    """Puts the folder first on the path. A module that a file in another folder has loaded doesn't
    stand for the one of its name that this folder has."""
    others = [
        name
        for name, module in list(sys.modules.items())  # a copy: a look at a lazy module imports it
        if "." not in name
        and (place := getattr(module, "__file__", None))
        and ((folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file())
        and not Path(place).is_relative_to(folder)
        and is_outside(Path(place))
    ]
    for name in list(sys.modules):
        if name.partition(".")[0] in others:
            del sys.modules[name]
    importlib.invalidate_caches()  # a file may be newer than the last look at its folder
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def sources(path: Path) -> list[Path]:
    """Returns a file and those that it imports, and these in turn, as far as neither the package
    nor the environment has them: what may change while both stay as they are. Modules that are
    named by more than a constant text, and files of data, aren't among them."""
    files, left = {path.absolute(): None}, [path.absolute()]
    while left:
        file = left.pop()
        for imported in _imports(file, path.absolute().parent):
            if imported not in files and is_outside(imported):
                files[imported] = None
                left.append(imported)
    return list(files)


def is_outside(path: Path) -> bool:
    """Returns whether neither the package nor the environment has a file."""
    place = path.resolve()
    if any(place.is_relative_to(folder) for folder in _environment()):
        return False
    if not place.is_relative_to(_ROOT):
        return True
    first = place.relative_to(_ROOT).parts[0]
    return first != "pcn" and not (_ROOT / "pcn" / first).exists()


@cache
def _environment() -> list[Path]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    installed = [
        entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")
    ]
    return [Path(folder).resolve() for folder in (*named, *installed)]


def _imports(file: Path, folder: Path) -> Iterator[Path]:
    """Yields the files of the modules that a file imports. `folder`: where a search begins."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # it may be compiled
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(alias.name.split("."), [str(folder)])
        elif isinstance(node, ast.ImportFrom):
            near = (
                [str(file.parents[node.level - 1])]
                if 0 < node.level <= len(file.parents)
                else [str(folder)]
            )
            parts = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _files_of([*parts, alias.name], near)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and _name_of(node.func) in ("import_module", "__import__")
        ):
            first = node.args[0]
            if (
                isinstance(first, ast.Constant)
                and isinstance(first.value, str)
                and not first.value.startswith(".")
            ):
                yield from _files_of(first.value.split("."), [str(folder)])


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _files_of(parts: Sequence[str], near: list[str]) -> Iterator[Path]:
    """Yields the files of a module and of the packages that it is in, as far as there are such;
    none is executed."""
    places = near
    for number, part in enumerate(parts):
        spec = PathFinder.find_spec(part, places)
        if spec is None and number == 0:
            spec = _elsewhere(part)
        if spec is None:
            return
        if spec.origin and spec.has_location:
            yield Path(spec.origin).absolute()
            if not is_outside(Path(spec.origin)):
                return
        if spec.submodule_search_locations is None:
            return
        places = list(spec.submodule_search_locations)


def _elsewhere(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):  # a module without a spec
        return None
