"""C sources to shared objects, cached by content.

A cached object's name holds a hash of the sources, the flags, the compiler's version and the
processor's name (a home may be shared by machines of two kinds), so it is never stale. Objects are
written beside their place and renamed, so two processes that build the same one do no harm; the
next build removes the files of a build that was killed. Their last bytes are a checksum: a damaged
object is built again. The cache is `$XDG_CACHE_HOME/pcn-lab`, else `~/.cache/pcn-lab`; it may be
deleted at any time. What stands there runs in this process: so the cache, and each object in it, is
this user's own (`pcn.base.owner_only`). A wheel may have objects in `shipped/`; the names of
these don't depend on a compiler. With `$CC` they aren't used.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import shlex
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pcn.base import owner_only
from pcn.softswitch.cache import compiler_process
from pcn.softswitch.cache.compiler_process import BuildError as BuildError

COMMON_FLAGS = (
    "-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wall", "-Wextra",
    "-Werror=implicit-function-declaration",
    # fused operations round otherwise: with them each processor would have results of its own
    "-ffp-contract=off",
    # words written one by one and read at once would wait for all to reach the cache
    "-fno-tree-slp-vectorize",
)  # fmt: skip
CHECKSUM_BYTES = 4
SCRATCH = ".build-"
SHIPPED = Path(__file__).resolve().parent / "shipped"
"""Objects of an installation, made by release/dist.py; `COMPILER` in there has their compiler's
version."""
COMPILER = "compiler.txt"
log = logging.getLogger(__name__)
_folder: Path | None = None
_ROOT = f"{SHIPPED.parents[2]}/"


def compiler() -> list[str]:
    """Returns the C compiler's command: `$CC`, or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def cache_dir(inner: str = "") -> Path:
    """Returns where built objects are kept, or a folder `inner` in there; made if missing. Raises
    BuildError."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        raise BuildError("no home directory for the cache; set XDG_CACHE_HOME") from None
    path = root / "pcn-lab"
    with writing(path):
        try:
            folder = owner_only.folder(path)
            return owner_only.folder(folder / inner) if inner else folder
        except owner_only.NotPrivateError as error:
            raise BuildError(
                f"no cache there: {error.line('set XDG_CACHE_HOME to a folder of your own')}"
            ) from None


def load(
    path: Path, kind: type[ctypes.CDLL] = ctypes.CDLL, mode: int = ctypes.DEFAULT_MODE
) -> ctypes.CDLL:
    """Loads a built object into this process. Raises BuildError."""
    try:
        return kind(str(path), mode=mode)
    except OSError as error:
        raise BuildError(
            f"cannot load {error}; is it mounted noexec? Set XDG_CACHE_HOME to another folder"
        ) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises what prevents the block from writing into the cache as BuildError, with the way
    out."""
    try:
        yield
    except OSError as error:
        raise BuildError(
            f"cannot write the cache directory {path}: {error.strerror}; set XDG_CACHE_HOME"
        ) from error


def build_folder(name: str, folder: Path, flags: Sequence[str]) -> Path:
    """Returns the shared object of all C files of a folder."""
    sources = _sources(folder)
    return build(name, sources, _digest_of_folder(sources, folder), flags, folder)


def find_folder(name: str, folder: Path, flags: Sequence[str]) -> Path | None:
    """Returns what `build_folder` would, if nothing is to be compiled for it."""
    return find_object(name, _digest_of_folder(_sources(folder), folder), flags)


def _sources(folder: Path) -> list[Path]:
    sources = sorted(folder.glob("*.c"))
    if not sources:
        raise BuildError(f"no C sources in {folder}; the installation is incomplete")
    return sources


def _digest_of_folder(sources: Sequence[Path], folder: Path) -> str:
    return digest([*sources, *sorted(folder.glob("*.h"))])


def digest(paths: Sequence[Path]) -> str:
    """Returns a hash of the files' names and contents."""
    result: Any
    try:
        # SHA-256 without OpenSSL, as in a switch, takes four times as long
        result = hashlib.blake2b(digest_size=32)
    except (
        AttributeError,
        TypeError,
        ValueError,
    ):  # systems in FIPS mode refuse it, each in its way
        result = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        result.update(f"{path.name} {len(content)}\n".encode())
        result.update(content)
    return str(result.hexdigest())


def build(
    name: str, sources: Sequence[Path | str], digest: str, flags: Sequence[str], headers: Path
) -> Path:
    """Returns the shared object of sources, files or texts, that `digest` identifies, with the
    headers that they include."""
    if known := find_object(name, digest, flags):
        return known
    target = entry(name, digest, flags)
    libraries = [flag for flag in flags if flag.startswith("-l")]
    options = [flag for flag in flags if not flag.startswith("-l")]
    with writing(target.parent), _scratch(target.parent) as scratch:
        files = []
        for i, source in enumerate(sources):
            files.append(scratch / f"{name}{i or ''}.c" if isinstance(source, str) else source)
            if isinstance(source, str):
                files[-1].write_text(source, encoding="utf-8")
        shared_object = scratch / target.name
        log.info("compiling %s into %s", name, target)
        command = [*compiler(), *options, f"-I{headers}"]
        if len(files) > 1:  # beside one another: the runtime takes longest of a first start
            parts = {str(file): str(scratch / f"{i}.o") for i, file in enumerate(files)}
            compiler_process.run(
                [[*command, "-c", "-o", part, file] for file, part in parts.items()], scratch
            )
            files = [Path(part) for part in parts.values()]
        output = ["-o", str(shared_object), *map(str, files), *libraries]
        compiler_process.run([[*command, *output]], scratch)
        checksum = zlib.crc32(shared_object.read_bytes())
        with shared_object.open(
            "ab"
        ) as file:  # behind what the ELF header tells of, where nothing reads it
            file.write(checksum.to_bytes(CHECKSUM_BYTES, "little"))
        shared_object.chmod(0o755)
        shared_object.replace(target)
    return target


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yields a folder in the cache for one build, locked while it lasts. Folders without a lock are
    removed."""
    import shutil
    import tempfile

    for old in folder.glob(f"{SCRATCH}*"):
        with suppress(OSError):
            handle = owner_only.lock(old)
            shutil.rmtree(old, ignore_errors=True)
            os.close(handle)
    while True:
        path = Path(tempfile.mkdtemp(prefix=SCRATCH, dir=folder))
        with suppress(FileNotFoundError, BlockingIOError):
            handle = owner_only.lock(path)
            if path.exists():  # another process may have removed it before it was locked
                break
            os.close(handle)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def entry(name: str, digest: str, flags: Sequence[str]) -> Path:
    """Returns where the cache has what the compiler makes, with these flags, of what `digest`
    identifies."""
    return (
        _folder / shipped_name(name, digest, flags)
        if _folder
        else cache_dir()
        / _file_name(name, digest, *flags, *compiler(), compiler_version(), os.uname().machine)
    )


def find_object(name: str, digest: str, flags: Sequence[str]) -> Path | None:
    """Returns the object that `build` would make, where the installation or the cache has it; else
    None."""
    if uses_shipped() and whole(shipped := SHIPPED / shipped_name(name, digest, flags)):
        return shipped
    return target.resolve() if intact(target := entry(name, digest, flags)) else None


def keep_in(folder: Path) -> None:
    """Makes this folder the cache of this process, with the names of `SHIPPED`."""
    global _folder
    _folder = folder


def shipped_name(name: str, digest: str, flags: Sequence[str]) -> str:
    """Returns an object's name in `SHIPPED`: that of what it is made of, by whichever compiler."""
    return _file_name(name, digest, *flags)


def _file_name(name: str, *identity: str) -> str:
    """Paths of the installation count from its folder: another one with these sources has these
    objects."""
    text = "\n".join(identity).replace(_ROOT, "")
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.so"


def intact(target: Path) -> bool:
    """Returns whether an object is there, by this user, and as it was written."""
    return read_intact(target) is not None


def whole(target: Path) -> bool:
    """Returns whether an object is as it was written. To load part of one would end the process
    (SIGBUS)."""
    return _body(target, Path.read_bytes) is not None


def read_intact(target: Path) -> memoryview | None:
    """Returns the content, without its checksum, of a file that is `intact`; else None."""
    return _body(target, owner_only.read)


def _body(target: Path, read: Callable[[Path], bytes]) -> memoryview | None:
    try:
        content = memoryview(read(target.resolve()))
    except (OSError, owner_only.NotPrivateError):
        return None
    body, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return (
        body if len(body) > 0 and zlib.crc32(body) == int.from_bytes(checksum, "little") else None
    )


def link(name: Path, target: Path) -> None:
    """A second name in the cache for an object. Where the cache can't be written there is none."""
    with suppress(OSError), _scratch(name.parent) as scratch:
        new = scratch / name.name
        new.symlink_to(target.name)
        new.replace(name)


def keep(place: Path, content: bytes) -> None:
    """Puts a file into the cache, with a checksum, for `read_intact`. Where the cache can't be
    written there is none."""
    with suppress(OSError), _scratch(place.parent) as scratch:
        new = scratch / place.name
        new.write_bytes(content + zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "little"))
        new.chmod(0o644)  # whatever the umask is: `read_intact` refuses what others may write
        new.replace(place)


def uses_shipped() -> bool:
    """Returns whether the installation has compiled objects, and `$CC` doesn't name another
    compiler for them."""
    return not os.environ.get("CC") and SHIPPED.is_dir()


def made_by() -> str:
    """Returns the version, in one line, of the compiler of what runs. Raises BuildError if there is
    none."""
    text = (
        (SHIPPED / COMPILER).read_text(encoding="utf-8") if uses_shipped() else compiler_version()
    )
    return text.partition("\n")[0]


def compiler_version() -> str:
    """Returns the C compiler's version text. Raises BuildError if there is none."""
    return _compiler_version(tuple(compiler()))


@lru_cache(maxsize=8)
def _compiler_version(command: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise compiler_process.missing(command[0], error.strerror) from error
    if done.returncode != 0:
        raise BuildError(
            f"{command[0]} failed with exit code {done.returncode}:\n{done.stderr.strip()}"
        )
    return done.stdout
