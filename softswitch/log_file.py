"""The log's file, or stderr: what a full disk refuses is lost and counted, and the switch goes
on."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

STEPS: Final = "steps"
"""Of a switch's log: the logger of its packets' steps."""
_NAME: Final = "pcn.softswitch"


def say(line: str) -> None:
    """Prints to stderr; ignores write errors, such as of a full disk."""
    with suppress(OSError):
        print(f"softswitch: {line}", file=sys.stderr, flush=True)


class LogFile(logging.Handler):
    """Writes lines to a descriptor. The disk may be full, and a switch must not end for it: lines
    without room are lost and counted, and the next line that fits states their number. A line that
    was begun is finished first."""

    def __init__(self, handle: int, path: Path | None) -> None:
        """`path`: of a log file, whose losses stderr reports as well."""
        super().__init__()
        self._handle, self._path = handle, path
        self._lost, self._why, self._left = 0, "", b""

    def emit(self, record: logging.LogRecord) -> None:
        """Called by `logging`, with its lock held."""
        self._note()
        if self._lost or not self._begin(record):
            if self._path and not self._lost:
                say(
                    f"cannot write to {self._path}: {self._why}; the switch goes on, lines of the "
                    "log are lost"
                )
            self._lost += 1

    def close(self) -> None:
        """Called by `logging` at the end of the process."""
        self._finish()
        self._note()
        super().close()

    def _note(self) -> None:
        text = f"lines lost here: {self._lost}: {self._why}"
        if self._lost and self._begin(
            logging.LogRecord(_NAME, logging.WARNING, "", 0, text, None, None)
        ):
            self._lost = 0

    def _begin(self, record: logging.LogRecord) -> bool:
        """Returns whether some of the line is written: its rest is kept, if the file doesn't take
        it now."""
        if not self._finish():
            return False
        self._left = line = f"{self.format(record)}\n".encode(errors="backslashreplace")
        if not self._finish() and len(self._left) == len(line):
            self._left = b""
            return False
        return True

    def _finish(self) -> bool:
        try:
            while self._left:
                self._left = self._left[os.write(self._handle, self._left) :]
        except OSError as error:
            self._why = str(error)
            return False
        return True


class Format(logging.Formatter):
    """Lines of steps are whole."""

    def format(self, record: logging.LogRecord) -> str:
        return record.getMessage() if record.name.endswith(STEPS) else super().format(record)


def stderr() -> int:
    """Returns its descriptor; one that takes everything where there is none."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
