"""Files of compiled programs, plain or packed: x.json.gz holds both x.json and x_native.json, and
x.p4info.txtpb.gz their p4infos, which are nine tenths the same text.

Who names x.json reads x.json, or what x.json.gz holds of it. The packed text has a piece of the
file on each line, and a form feed for an end of line; pieces of one of the two alone stand between
lines of C's preprocessor, as `diff -D NATIVE_PFC` writes them. p4src/build.py packs.
"""

from __future__ import annotations

import errno
import zlib
from pathlib import Path

from pcn.base import inputs

NATIVE = "_native"
"""Ends the names of programs for targets that pause queues by themselves."""
SYMBOL = "NATIVE_PFC"
PACKED = ".gz"
_MOST_BYTES = 64 << 20
"""Of a packed file's text: any user may have written one in a shared folder."""
_WORDS = (b"ifdef", b"ifndef", b"else", b"endif")
NEWLINE = b"\f"
"""Stands in no JSON, and in no text of protobuf."""


def is_file(path: Path) -> bool:
    """Returns whether a program's file is there, plain or packed."""
    return path.is_file() or archive_of(path).is_file()


def read_bytes(path: Path) -> bytes:
    """Returns the content of a program's file. Raises OSError, also for a packed one that is
    damaged."""
    try:
        return inputs.read_bytes(path)
    except FileNotFoundError:
        archive = archive_of(path)
        if not archive.is_file():
            raise
    return unpack(inputs.read_bytes(archive, _MOST_BYTES), archive, path.name != archive.stem)


def read_text(path: Path) -> str:
    """Returns the text of a program's file, with lines' ends as \\n. Raises OSError,
    UnicodeDecodeError."""
    return read_bytes(path).decode().replace("\r\n", "\n").replace("\r", "\n")


def files(folder: Path, end: str = ".json") -> list[Path]:
    """Returns a folder's files with this end, plain or packed, in order of their names."""
    plain = [path.with_suffix("") for path in folder.glob(f"*{end}{PACKED}")]
    return sorted({*folder.glob(f"*{end}"), *plain, *map(native_of, plain)})


def native_of(path: Path) -> Path:
    """Returns x_native.json of x.json, likewise of a p4info."""
    stem, dot, end = path.name.partition(".")
    return path.with_name(f"{stem}{NATIVE}{dot}{end}")


def archive_of(path: Path) -> Path:
    """Returns where a program's file is packed."""
    stem, dot, end = path.name.partition(".")
    return path.with_name(f"{stem.removesuffix(NATIVE)}{dot}{end}{PACKED}")


def unpack(content: bytes, archive: Path, native: bool) -> bytes:
    """Returns one of the two files that are packed. Raises OSError, which names the archive."""
    stream = zlib.decompressobj(wbits=31)  # gzip's header
    try:
        text = b"\n" + stream.decompress(content, _MOST_BYTES)
    except zlib.error as error:
        raise OSError(errno.EINVAL, f"{archive.name} is damaged ({error})", str(archive)) from None
    if not stream.eof:
        raise OSError(errno.EFBIG, f"{archive.name} is cut, or of more than 64 MB", str(archive))
    wanted, sections = True, []
    first, *rest = text.split(b"\n#")
    for part in rest:
        line, _, pieces = part.partition(b"\n")
        word = line.partition(b" ")[0]
        if word not in _WORDS:  # a comment of a p4info
            pieces = b"#" + part
        else:
            wanted = {b"ifdef": native, b"ifndef": not native, b"else": not wanted}.get(word, True)
        if wanted:
            sections.append(pieces)
    return b"".join([first, *sections]).translate(None, b"\n").replace(NEWLINE, b"\n")
