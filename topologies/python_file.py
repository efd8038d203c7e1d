"""Python files of users: schemes, marking points."""

from __future__ import annotations

import importlib.util
import sys
import traceback
import zlib
from pathlib import Path
from types import ModuleType

from pcn.topologies import extras
from pcn.topologies.errors import LabError


class PythonFileError(LabError):
    """A file is missing, or fails: names its line."""


def load(path: Path) -> ModuleType:
    """Executes a file and returns its module. Raises PythonFileError."""
    if not path.is_file():
        raise PythonFileError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(f"{path.stem}_{zlib.crc32(str(path).encode()):08x}", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        # Not by the loader: it takes the bytecode of an older content of equal length and second for this one's.
        exec(compile(path.read_bytes(), path, "exec"), module.__dict__)
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        place = f"{path}:{lines[-1]}" if lines else str(path)
        extra = extras.of_import(error) if isinstance(error, ImportError) else None
        text = str(extras.MissingExtraError(extra)) if extra else f"{type(error).__name__}: {error}"
        raise PythonFileError(f"{place}: {text}") from error
    return module
