"""Archives of files that are nine tenths the same text. Of compiled programs, whose files are plain
or packed, a folder's programs.tar.xz holds those of all.

Who names x.json reads x.json, or what programs.tar.xz of its folder holds of it; who names
chip/program/context.json where there are no such folders, what that of the nearest one above does.
`tar xf` unpacks.
"""

from __future__ import annotations

import errno
import io
import posixpath
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pcn.base import inputs

if TYPE_CHECKING:
    from lzma import LZMADecompressor

NATIVE = "_native"
"""Ends the names of programs for targets that pause queues by themselves."""
ARCHIVE = "programs.tar.xz"
_MOST_BYTES = 64 << 20
"""Of an archive, and of its dictionary: any user may have written one in a shared folder."""
_DEEPEST = 3  # parts of a name in an archive: chip, program, file
_DICTIONARY_BYTES = 8 << 20
"""Files of a name share their text within it; Tofino's have 2 MB at most."""
_BLOCK = 512
_FILES = (b"0", b"\0")  # tar's types of them


def is_file(path: Path) -> bool:
    """Returns whether a program's file is there, plain or packed, of any name. An archive that
    can't be read counts as one that has the file: its reader gets the reason."""
    try:
        if path.is_file():
            return True
    except (OSError, ValueError):  # a name that is too long, or has a byte 0
        return False
    try:
        return _packed(path) is not None
    except OSError:
        return True


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """Returns the content of a program's file. Raises OSError: for an archive that is damaged, and
    EFBIG for a plain file of more than `most` bytes."""
    try:
        return inputs.read_bytes(path, most)
    except FileNotFoundError:
        content = _packed(path)
        _find.cache_clear()  # else a switch would keep its program's text
        if content is None:
            raise
    return content


def read_text(path: Path) -> str:
    """Returns the text of a program's file, with lines' ends as \\n. Raises OSError,
    UnicodeDecodeError."""
    return read_bytes(path).decode().replace("\r\n", "\n").replace("\r", "\n")


def files(folder: Path, end: str = ".json") -> list[Path]:
    """Returns a folder's files with this end, plain or packed, in order of their names. Raises
    OSError."""
    plain = set(folder.glob(f"*{end}"))
    archive = folder / ARCHIVE
    if not archive.is_file():
        return sorted(plain)
    names = (name for name, _ in members(archive) if name.endswith(end))
    return sorted({*plain, *(folder / name for name in names)})


def _packed(path: Path) -> bytes | None:
    """Returns what an archive holds of a file; None: there is no archive that does."""
    # not above a folder that is there: /tmp's archive is anybody's
    folder = next((folder for folder in path.parents[:_DEEPEST] if folder.is_dir()), None)
    if folder is None or not (archive := folder / ARCHIVE).is_file():
        return None
    status = archive.stat()
    name = path.relative_to(folder).as_posix()
    return _find(archive, name, (status.st_mtime_ns, status.st_size))


@lru_cache(maxsize=1)  # who asks whether a file is there reads it next
def _find(archive: Path, name: str, _state: tuple[int, int]) -> bytes | None:
    return next((content for member, content in members(archive) if member == name), None)


def pack(contents: Mapping[str, bytes]) -> bytes:
    """Returns an archive of files by name, with no trace of a day or of a machine. The smallest
    come first, then PCN's own, which most starts read, and the variants that run here: an archive
    is read from its start. Folders' files of a name stand together, as they share most text."""

    import lzma  # late: a start reads, and some Pythons have no lzma
    import tarfile

    def place(name: str) -> tuple[bool, bool, bool, str, str]:
        json = name.endswith(".json")
        return json, name != "pcn.json", NATIVE not in name, posixpath.basename(name), name

    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(contents, key=place):
            member = tarfile.TarInfo(name)
            member.size = len(contents[name])
            tar.addfile(member, io.BytesIO(contents[name]))
    filters = [
        {
            "id": lzma.FILTER_LZMA2,
            "preset": 9 | lzma.PRESET_EXTREME,
            "dict_size": _DICTIONARY_BYTES,
            "lc": 2,
            "pb": 0,  # text has no multiples of four bytes
        }
    ]
    return lzma.compress(archive.getvalue(), filters=filters)


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yields names and contents of an archive's files. Raises OSError, which names it.

    Not by tarfile, which takes any size and any dictionary that an archive names.
    """
    try:
        import lzma
    except ImportError:
        raise OSError(
            errno.ENOSYS,
            f"{archive.name} can't be read, as this Python has no module lzma: take one built with "
            "liblzma, as Debian's is",
            str(archive),
        ) from None
    packed = inputs.read_bytes(archive, _MOST_BYTES)
    stream, left = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_BYTES), _MOST_BYTES
    try:
        while any(header := _take(stream, packed, _BLOCK)):
            packed = b""
            size = int(header[124:135], 8)
            left -= _BLOCK + size
            if size < 0 or left < 0:
                raise ValueError(f"it holds more than {_MOST_BYTES >> 20} MB")
            content = _take(stream, packed, -(-size // _BLOCK) * _BLOCK)
            if header[156:157] in _FILES:
                yield header[:100].rstrip(b"\0").decode(), content[:size]
    except (lzma.LZMAError, EOFError, ValueError) as error:
        raise OSError(errno.EINVAL, f"{archive.name} is damaged: {error}", str(archive)) from None


def _take(stream: LZMADecompressor, packed: bytes, size: int) -> bytes:
    """Returns the next `size` bytes. Raises LZMAError, EOFError."""
    content = stream.decompress(packed, size)
    while len(content) < size:
        if stream.eof or stream.needs_input:
            raise EOFError("it is cut")
        content += stream.decompress(b"", size - len(content))
    return content
