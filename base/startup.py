"""The start of a command: called before all else is imported, so it imports next to nothing
itself."""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from types import FrameType
from typing import TextIO

_ASCII = "ascii-as-it-is"


def begin() -> None:
    """Makes the standard streams fit for any text, and Ctrl-C end the process at once, with status
    130 and no output: until `begun`, there is nothing to undo. A second call changes nothing."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        _replace_unknown(stream)


def begun() -> None:
    """Makes Ctrl-C raise KeyboardInterrupt, as usual."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def deleted_folder(error: OSError) -> str | None:
    """Returns the line to report where a file is missing as the current folder was deleted; None:
    that isn't why."""
    if not isinstance(error, FileNotFoundError):
        return None
    try:
        os.getcwd()  # noqa: PTH109  # a string will do
    except FileNotFoundError:
        return "the current folder was deleted: change to another one"
    return None


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(128 + signal.SIGINT)


def _open_streams() -> None:
    """Opens /dev/null where the shell closed a stream (`>&-`): Python has None there, and the next
    file that is opened would get its number, and what our programs print."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            # the lowest number that is free: this one
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  # as long as the process


def _replace_unknown(stream: TextIO) -> None:
    """Replaces characters that the terminal's encoding lacks, where Python would raise
    UnicodeEncodeError. Errors that the user has chosen stay
    (PYTHONIOENCODING=ascii:backslashreplace)."""
    if not isinstance(stream, io.TextIOWrapper):
        return
    encoding, errors = codecs.lookup(stream.encoding).name, stream.errors
    if errors == "strict" or (errors == "surrogateescape" and encoding != "utf-8"):
        errors = "replace"
    if encoding == "ascii":
        codecs.register(_ascii_as_it_is)
        encoding = _ASCII
    stream.reconfigure(encoding=encoding, errors=errors)


def _ascii_as_it_is(name: str) -> codecs.CodecInfo | None:
    """Returns ASCII by another name: to a stream whose encoding has ASCII's own, click writes
    UTF-8."""
    if name.replace("_", "-") != _ASCII:
        return None
    known = codecs.lookup("ascii")
    return codecs.CodecInfo(
        known.encode,
        known.decode,
        known.streamreader,
        known.streamwriter,
        known.incrementalencoder,
        known.incrementaldecoder,
        name=_ASCII,
    )
