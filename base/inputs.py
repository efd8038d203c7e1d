"""Files to read that others may have made: none of them holds up who reads it.

A name may be a pipe's that no one writes, or a device's without an end. Pipes that a shell opens
(<(command), a pipe to /dev/stdin) are read to their end.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 64 << 10
"""At a time: read(n) takes n bytes of memory, however few the file has. Less than what glibc maps:
once it has given back a mapped megabyte, a process keeps two of what it frees."""


def opened(path: Path, links: bool = True) -> BinaryIO:
    """Opens a file to read its bytes; without `links` none that is a symbolic link. Raises OSError,
    for a named pipe or a device, too."""
    handle = os.open(
        path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    )
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        pipe = stat.S_ISFIFO(mode) and str(Path(f"/proc/self/fd/{handle}").readlink()).startswith(
            "pipe:["
        )
        if not (stat.S_ISREG(mode) or pipe):
            raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")  # which closes it from here on, also after Ctrl-C


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Returns a file's content. Raises OSError, EFBIG for one of more than `most` bytes."""
    with opened(path) as file:
        if most is None:
            return file.read()
        content = bytearray()
        while piece := file.read(min(_PIECE_BYTES, most + 1 - len(content))):
            content += piece
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return bytes(content)


def read_text(path: Path, errors: str = "strict", most: int | None = None) -> str:
    """Returns a file's text, with lines' ends as \\n, and without the byte order mark that
    spreadsheets put before it. Raises OSError as `read_bytes`, and UnicodeDecodeError."""
    text = read_bytes(path, most).decode("utf-8-sig", errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")
