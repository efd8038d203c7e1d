"""What `pcn.run` returns."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pcn.experiments.results.atomic_folder import COMPARISON, SUMMARY


@dataclass(frozen=True)
class ResultFolder:
    """A folder of results, absolute, and what its JSON file has. `folder / "series.parquet"` is one
    of its files, and what takes a path takes this."""

    folder: Path
    summary: Mapping[str, Any] = field(repr=False, hash=False)
    """The content of `summary.json`, or of `comparison.json` where several runs are in the folder:
    SI units, nominal time."""

    def __fspath__(self) -> str:
        return os.fspath(self.folder)

    def __truediv__(self, name: str | os.PathLike[str]) -> Path:
        return self.folder / name

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Answers as the path that `pcn.run` returned until 0.1."""
            if name.startswith("_") or not hasattr(Path, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            text = f"pcn.run returns a {type(self).__name__}: write .folder.{name}"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return getattr(self.folder, name)


@dataclass(frozen=True)
class RunResult(ResultFolder):
    """What `pcn.run` wrote. The numbers are this call's, whatever becomes of the folder later."""

    runs: Mapping[tuple[str, str], ResultFolder] = field(repr=False, hash=False)
    """Each run, by scheme and clock, as ("pcn", "virtual"): its folder and its `summary.json`."""


def numbers(folder: Path) -> dict[str, Any]:
    """Returns what the JSON file of a result's folder has; nothing where it couldn't be written."""
    path = next((path for name in (SUMMARY, COMPARISON) if (path := folder / name).is_file()), None)
    return json.loads(path.read_text(encoding="utf-8")) if path else {}
