"""C sources to shared objects, cached by content.

A cached object's name holds a hash of the sources, the flags and the compiler's version, so it is never stale.
Objects are written beside their place and renamed, so two processes that build the same one do no harm.
The cache is `$XDG_CACHE_HOME/pcn-lab`, else `~/.cache/pcn-lab`; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

COMMON_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wall", "-Wextra")


class BuildError(Exception):
    """The compiler is missing or refused; the message holds what it said."""


def compiler() -> list[str]:
    """The C compiler's command: `$CC`, or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def cache_dir() -> Path:
    """Where built objects are kept; made if missing."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    path = root / "pcn-lab"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(f"cannot make the cache directory {path}: {error.strerror}; set XDG_CACHE_HOME") from error
    return path


def build_folder(name: str, folder: Path, flags: Sequence[str]) -> Path:
    """The shared object of all C files of a folder."""
    sources = sorted(folder.glob("*.c"))
    if not sources:
        raise BuildError(f"no C sources in {folder}; the checkout is incomplete")
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
    command = compiler()
    identity = "\n".join([digest, *flags, *command, _compiler_version(tuple(command))])
    key = hashlib.sha256(identity.encode()).hexdigest()[:32]
    target = cache_dir() / f"{name}-{key}.so"
    if target.exists():
        return target
    libraries = [flag for flag in flags if flag.startswith("-l")]
    options = [flag for flag in flags if not flag.startswith("-l")]
    descriptor, scratch = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    try:
        _run([*command, *options, f"-I{headers}", "-o", scratch, *map(str, sources), *libraries])
        Path(scratch).chmod(0o755)
        Path(scratch).replace(target)
    finally:
        Path(scratch).unlink(missing_ok=True)
    return target


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
