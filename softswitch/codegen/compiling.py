"""C sources to shared objects, cached by content.

A cached object's name holds a hash of the sources, the flags and the compiler's version, so it is never stale.
Objects are written beside their place and renamed, so two processes that build the same one do no harm. Their last
bytes are a checksum: what a crash, or somebody, left of one is built again.
The cache is `$XDG_CACHE_HOME/pcn-lab`, else `~/.cache/pcn-lab`; it may be deleted at any time. What stands there runs
in this process: so the cache, and each object in it, is this user's own (`softswitch.private`).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from softswitch import private

COMMON_FLAGS = (
    "-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wall", "-Wextra",
    "-Werror=implicit-function-declaration",
    "-fno-tree-slp-vectorize",  # words written one by one and read at once would wait for all to reach the cache
)  # fmt: skip
CHECKSUM_BYTES = 4


class BuildError(Exception):
    """The compiler is missing or refused, with what it said; or the cache can't be written."""


def compiler() -> list[str]:
    """The C compiler's command: `$CC`, or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def cache_dir(inner: str = "") -> Path:
    """Where built objects are kept, or a folder `inner` in there; made if missing. Raises BuildError."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise BuildError("no home directory for the cache; set XDG_CACHE_HOME") from None
    path = root / "pcn-lab"
    with writing(path):
        try:
            found = private.folder(path)
            return private.folder(found / inner) if inner else found
        except private.NotPrivateError as error:
            raise BuildError(f"no cache there: {error.line('set XDG_CACHE_HOME to a folder of your own')}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """For a block that writes into the cache: BuildError, with the way out, where that can't be done."""
    try:
        yield
    except OSError as error:
        raise BuildError(f"cannot write the cache directory {path}: {error.strerror}; set XDG_CACHE_HOME") from error


def build_folder(name: str, folder: Path, flags: Sequence[str]) -> Path:
    """The shared object of all C files of a folder."""
    sources = sorted(folder.glob("*.c"))
    if not sources:
        raise BuildError(f"no C sources in {folder}; the installation is incomplete")
    return build(name, sources, digest([*sources, *sorted(folder.glob("*.h"))]), flags, folder)


def digest(paths: Sequence[Path]) -> str:
    """A hash of the files' names and contents."""
    result = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        result.update(f"{path.name} {len(content)}\n".encode())
        result.update(content)
    return result.hexdigest()


def build(name: str, sources: Sequence[Path], digest: str, flags: Sequence[str], headers: Path) -> Path:
    """The shared object of sources that `digest` identifies, with the headers that they include."""
    target = entry(name, digest, flags)
    if intact(target):
        return target
    import tempfile

    libraries = [flag for flag in flags if flag.startswith("-l")]
    options = [flag for flag in flags if not flag.startswith("-l")]
    with writing(target.parent):
        descriptor, scratch = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    try:
        _run([*compiler(), *options, f"-I{headers}", "-o", scratch, *map(str, sources), *libraries])
        checksum = zlib.crc32(Path(scratch).read_bytes())
        with Path(scratch).open("ab") as file:  # behind what the ELF header tells of, where nothing reads it
            file.write(checksum.to_bytes(CHECKSUM_BYTES, "little"))
        Path(scratch).chmod(0o755)
        Path(scratch).replace(target)
    finally:
        Path(scratch).unlink(missing_ok=True)
    return target


def entry(name: str, digest: str, flags: Sequence[str]) -> Path:
    """Where the cache has what the compiler makes, with these flags, of what `digest` identifies."""
    identity = "\n".join([digest, *flags, *compiler(), compiler_version()])
    return cache_dir() / f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:32]}.so"


def intact(target: Path) -> bool:
    """Whether an object is there, by this user, and as it was written. To load part of one would end the process
    (SIGBUS)."""
    try:
        content = memoryview(private.read(target.resolve()))
    except (OSError, private.NotPrivateError):
        return False
    body, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return len(body) > 0 and zlib.crc32(body) == int.from_bytes(checksum, "little")


def link(name: Path, target: Path) -> None:
    """A second name in the cache for an object. Where the cache can't be written there is none."""
    import tempfile

    with suppress(OSError), tempfile.TemporaryDirectory(prefix=f".{name.name}.", dir=name.parent) as scratch:
        new = Path(scratch) / name.name
        new.symlink_to(target.name)
        new.replace(name)


def compiler_version() -> str:
    """What the C compiler says of itself. Raises BuildError where there is none."""
    return _compiler_version(tuple(compiler()))


@lru_cache(maxsize=8)
def _compiler_version(command: tuple[str, ...]) -> str:
    return _run([*command, "--version"])


def _run(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise BuildError(
            f"cannot run the C compiler {command[0]!r}: {error.strerror}; install gcc or clang, or set CC"
        ) from error
    if done.returncode != 0:
        raise BuildError(f"{command[0]} failed with exit code {done.returncode}:\n{done.stderr.strip()}")
    return done.stdout
