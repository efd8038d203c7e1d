"""What a result was made with."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from pcn.base import packed
from pcn.hosts.algorithms import Scheme
from pcn.hosts.algorithms.base import c_file
from pcn.p4src.manifest import ROOT, manifest
from pcn.softswitch.cache.objects import BuildError, made_by
from pcn.topologies import extras, python_file

RELEASED = Path(__file__).resolve().with_name("commit.txt")
"""Written by release/dist.py alone."""
_NAMED = 3
"""Changed files that are named."""
_BEFORE_PATH = {"1": 8, "2": 9, "u": 10, "?": 1}
"""Fields before the path in a line of git's status, by the line's kind."""


def versions(scheme: Scheme) -> dict[str, str]:
    """Returns versions by name: of PCN Lab, Python, the kernel, Mininet and p4c, and short hashes
    of the P4 program's top file and of the scheme's files from outside the project."""
    by_name = {
        extras.PROJECT: extras.version(),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }
    with contextlib.suppress(metadata.PackageNotFoundError):  # an extra
        by_name["mininet"] = metadata.version("mininet")
    compiled, program = manifest(), scheme.program
    if program in compiled["programs"]:
        entry = compiled["programs"][program]
        by_name["p4c"] = compiled["compiler"]["version"]
        by_name[f"{program}.p4"] = compiled["sources"][entry["source"]][:12]
    return by_name | outside(scheme)


def outside(scheme: Scheme) -> dict[str, str]:
    """Returns short hashes of a scheme's files from outside the project (`outside_files`), by
    name."""
    hashes: dict[str, str] = {}
    for file, folder in outside_files(scheme).items():
        name = str(file.relative_to(folder) if file.is_relative_to(folder) else file)
        hashes[str(file) if name in hashes else name] = _hash(file)
    return hashes


def digests(files: Iterable[Path]) -> dict[str, str]:
    """Returns short hashes of files by their absolute paths; of a file that is missing, or can't be
    read, an empty text."""
    return {str(file.absolute()): _hash_of_others(file) for file in files}


def _hash_of_others(file: Path) -> str:
    try:
        return hashlib.sha256(packed.read_bytes(file)).hexdigest()[:12]
    except (OSError, ValueError):  # a name with a byte 0
        return ""


def _hash(file: Path) -> str:
    return hashlib.sha256(packed.read_bytes(file)).hexdigest()[:12]


def outside_files(scheme: Scheme) -> dict[Path, Path]:
    """Returns a scheme's files from outside the project, each with the folder of the one that names
    it: its own, its program, its marking points, its RP and NP in C, and what Python files
    import."""
    source = inspect.getsourcefile(scheme.parameters) or ""
    ends = (scheme.reaction_point, scheme.notification_point)
    in_c = (c_file(end) for end in ends if isinstance(end, type))
    files: dict[Path, Path] = {}
    for text in (
        source,
        *in_c,
        scheme.program,
        *scheme.marking,
        *re.split(r":\w+|@", scheme.reference),
    ):
        path = Path(text or "")
        if path.is_absolute() and packed.is_file(path) and python_file.is_outside(path):
            imported = python_file.sources(path) if path.suffix == ".py" else [path]
            files |= {file: path.parent for file in imported if file not in files}
    return files


def provenance() -> dict[str, str]:
    """Returns where a result comes from: git's commit, whether the tree is as committed, the C
    compiler, the command line. "unknown" where there is no git, or no repository."""
    try:
        compiler = made_by()
    except BuildError:
        compiler = "unknown"
    return {
        **checkout(),
        "compiler": compiler,
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }


def checkout() -> dict[str, str]:
    """Returns git's commit, and whether the tree is as committed; "unknown" likewise. A release has
    a file for it."""
    if RELEASED.is_file():
        return {"commit": RELEASED.read_text(encoding="utf-8").strip(), "tree": "clean"}
    status = _git("status", "--porcelain=v2", "--branch", "--", ".")
    if status is None:
        return {"commit": "unknown", "tree": "unknown"}
    lines = status.splitlines()
    (commit,) = (line.rpartition(" ")[2] for line in lines if line.startswith("# branch.oid "))
    changed = [_path(line) for line in lines if not line.startswith("#")]
    return {"commit": "unknown" if commit == "(initial)" else commit, "tree": _tree(changed)}


def _path(line: str) -> str:
    """Returns the path in a line of git's status, version 2; where it was renamed, with the one
    before."""
    path, _, before = line.split(" ", _BEFORE_PATH[line[0]])[-1].partition("\t")
    return f"{before} -> {path}" if before else path


def _tree(changed: list[str]) -> str:
    if not changed:
        return "clean"
    more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    return f"changed: {', '.join(changed[:_NAMED])}{more}"


def _git(*arguments: str) -> str | None:
    """Returns git's output; None where it fails. The checkout may be another user's than root's. An
    installation lies in no repository of ours, but perhaps in another one."""
    if not (ROOT / ".git").exists():
        return None
    command = [
        "git",
        "--no-optional-locks",
        "-c",
        f"safe.directory={ROOT}",
        "-C",
        str(ROOT),
        *arguments,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError:
        return None
    return done.stdout.rstrip() if done.returncode == 0 else None
