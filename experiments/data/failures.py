"""Collects the parts of a result that failed; the rest is kept, failures are reported in one
line."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from pcn.base.errors import LabError
from pcn.experiments.data.errors import ExperimentError

_T = TypeVar("_T")
_ROOT = Path(__file__).resolve().parents[2]


class Failures:
    """Parts of a result, by their names, each with the reason why it is missing."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._prefix = ""

    def __bool__(self) -> bool:
        return bool(self._found)

    def below(self, folder: str) -> Failures:
        """Returns the same, for a folder of the result: its parts are named from there."""
        inner = Failures()
        inner._found, inner._prefix = (
            self._found,
            f"{self._prefix}{folder}/" if folder else self._prefix,
        )
        return inner

    def note(self, part: str, error: Exception) -> None:
        """Records each failure once, also if it fails again for another page."""
        self._found.setdefault(self._prefix + part, reason(error))

    def add(self, others: Failures) -> None:
        self._found |= others._found

    @contextlib.contextmanager
    def noting(self, part: str) -> Iterator[None]:
        """Notes an exception in the block, which goes no further."""
        try:
            yield
        except Exception as error:
            self.note(part, error)

    def attempt(self, part: str, make: Callable[[], _T]) -> _T | None:
        """Returns what `make` returns; None where it fails, which is noted."""
        with self.noting(part):
            return make()
        return None

    def lines(self) -> list[str]:
        """Returns those of this folder: `queue.png, report.html: No space left on device`; a line a
        reason."""
        parts: dict[str, list[str]] = {}
        for part, why in self._found.items():
            if part.startswith(self._prefix):
                parts.setdefault(why, []).append(part)
        return [f"{', '.join(names)}: {why}" for why, names in parts.items()]


class IncompleteError(ExperimentError):
    """A result without some of its parts."""

    def __init__(self, place: Path, failures: Failures) -> None:
        super().__init__(
            f"{place} is incomplete: without {'; '.join(failures.lines()).rstrip('.')}. The rest "
            "is there"
        )
        self.place = place


def reason(error: Exception) -> str:
    """Returns the reason in a few words; of a fault in the code with its place."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    if isinstance(error, LabError):
        return str(error)
    ours = [
        (Path(frame.filename).relative_to(_ROOT), frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(_ROOT) and "site-packages" not in frame.filename
    ]
    place = f" ({ours[-1][0]}, line {ours[-1][1]})" if ours else ""
    return " ".join(f"{type(error).__name__}: {error}".split()) + place
