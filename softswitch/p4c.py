"""P4 programs to what targets load, by p4c's BMv2 backend (p4c-bm2-ss)."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from pcn.base import inputs
from pcn.softswitch.cache.objects import BuildError, cache_dir
from pcn.softswitch.old_p4 import changes

COMPILER = "p4c-bm2-ss"
SYMBOL = "NATIVE_PFC"
NATIVE_FLAGS = (f"-D{SYMBOL}",)
"""Of programs for targets that pause queues by themselves."""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"\n]+)"', re.MULTILINE)
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+(/[A-Za-z0-9_.+-]+)*")
_VERSION = re.compile(r"Version\s+(\S+)(?:\s+\(SHA:\s*(\w+))?")


class P4Error(Exception):
    """A program can't be compiled."""


def find_compiler() -> Path:
    """Returns $P4C, or p4c-bm2-ss on the PATH. Raises P4Error."""
    wanted = os.environ.get("P4C", COMPILER)
    path = shutil.which(wanted)
    if path is None:
        raise P4Error(
            f"{wanted} was not found. It is only needed to change or add P4 programs: the "
            "project's own are committed in their compiled form. Install p4c (package p4lang-p4c), "
            "or set P4C to its p4c-bm2-ss"
        )
    return Path(path)


def compiler_version(compiler: Path) -> str:
    """Returns p4c's version, as `1.2.5.16 (34b86e9bac)`. Raises P4Error."""
    output = subprocess.run(
        [compiler, "--version"], capture_output=True, text=True, errors="replace", check=False
    )
    match = _VERSION.search(output.stdout + output.stderr)
    if match is None:
        raise P4Error(
            f"{compiler} --version prints nothing that looks like p4c: {output.stdout.strip()!r}"
        )
    version, sha = match.groups()
    return f"{version} ({sha})" if sha else version


def run(
    compiler: Path, source: str, flags: Sequence[str], folder: Path, json: Path, p4info: Path
) -> str:
    """Compiles `source`, seen from `folder`, into these two files. Returns p4c's warnings; raises
    P4Error with its errors, and for a name that would be more than a name in the command line that
    p4c gives a shell."""
    if _PLAIN.fullmatch(source) is None:
        raise P4Error(
            f"{source!r}: p4c puts a file's name into a shell's command line: rename it to "
            "letters, digits and . _ - +"
        )
    command = [str(compiler), "--std", "p4-16", "--Wdisable=unused", *flags]
    command += ["--p4runtime-files", str(p4info), "-o", str(json), f"./{source}"]
    result = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
    )
    if result.returncode != 0 or not json.exists():
        known = "".join(f"\nfor an older p4c: {change}" for change in changes(result.stderr))
        raise P4Error(f"p4c refused {source}:\n{result.stderr.strip()}{known}")
    return result.stderr.strip()


def compiled(top: Path, flags: Sequence[str], parts: Path) -> tuple[Path, Path]:
    """Returns JSON and p4info of a top program somewhere, made once for each text of its sources,
    and kept in the cache. Files of `parts` are found as if they stood beside it. Raises P4Error."""
    compiler = find_compiler()
    flags = (*flags, f"-I{parts}")
    digest = hashlib.sha256("\0".join((compiler_version(compiler), *flags)).encode())
    try:
        for path in _sources(top, parts):
            digest.update(inputs.read_bytes(path))
    except OSError as error:
        raise P4Error(f"{str(error.filename or top)[:200]}: {error.strerror}") from None
    try:
        folder = cache_dir("p4") / f"{top.stem}-{digest.hexdigest()[:16]}"
        json, p4info = folder / f"{top.stem}.json", folder / f"{top.stem}.p4info.txtpb"
        if not (json.is_file() and p4info.is_file()):
            with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                outputs = Path(scratch) / "made"
                outputs.mkdir()
                run(
                    compiler,
                    top.name,
                    flags,
                    top.parent,
                    outputs / json.name,
                    outputs / p4info.name,
                )
                if not folder.exists():
                    outputs.rename(folder)
    except (OSError, BuildError) as error:
        raise P4Error(f"{top}: what it compiles to can't be kept: {error}") from None
    return json, p4info


def _sources(top: Path, parts: Path) -> Iterable[Path]:
    """Yields the top and all that it includes by "name", each once. Raises OSError."""
    seen: dict[Path, None] = {}
    pending = [top]
    while pending:
        path = pending.pop(0).resolve()
        if path in seen:
            continue
        seen[path] = None
        for name in _INCLUDE.findall(inputs.read_text(path, "replace")):
            places = [folder / name for folder in (path.parent, parts)]
            pending += [place for place in places if _is_file(place)][:1]
    return seen


def _is_file(place: Path) -> bool:
    """Returns whether a file is there. Raises OSError, as for a name that is too long, which
    `Path.is_file` takes for a missing file from Python 3.14 on."""
    try:
        return stat.S_ISREG(place.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
