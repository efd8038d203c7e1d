"""The folder that a network's programs log into, opened once.

Folders above it may be another user's, as where root works in a user's clone: he can put links
there, and another folder into its place. So files are opened in the folder that was checked, not by
its name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from pcn.base import owner_only
from pcn.base.errors import LabError

_T = TypeVar("_T")


class LogFolderError(LabError):
    """The folder, or a file in it, can't be written, or may be another user's work."""


class LogFolder:
    """A context manager. Makes the folder if it is missing. Raises LogFolderError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = _attempt(path, lambda: owner_only.open_folder(path))

    def __enter__(self) -> LogFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)

    def open(self, name: str, append: bool = False) -> IO[bytes]:
        """Opens a file to write. Raises LogFolderError."""

        def opener(file: str, flags: int) -> int:
            return owner_only.open_file(file, flags, self._handle)

        return _attempt(
            self.path / name,
            lambda: open(name, "ab" if append else "wb", buffering=0, opener=opener),
        )

    def remove(self, name: str) -> None:
        """Removes a file that was read, and the folder if nothing else is in it."""
        os.unlink(name, dir_fd=self._handle)
        remove_empty(self.path)


def new(path: Path) -> Path:
    """Makes a folder that wasn't there: `path`, or the first free one of NAME.2, NAME.3, ... Raises
    LogFolderError."""
    return _attempt(path, lambda: owner_only.new_folder(path))


def remove_empty(path: Path) -> None:
    """Removes a folder if nothing is in it."""
    with (
        contextlib.suppress(OSError, owner_only.NotPrivateError),
        owner_only.held(path.parent) as above,
    ):
        (above / path.name).rmdir()


def _attempt(path: Path, make: Callable[[], _T]) -> _T:
    try:
        return make()
    except owner_only.NotPrivateError as error:
        raise LogFolderError(error.line("name another folder for the logs")) from None
    except OSError as error:
        raise LogFolderError(
            f"can't write {path}: {error.strerror}; name another folder for the logs"
        ) from None
