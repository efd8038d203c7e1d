"""What is in p4src/compiled, by its manifest: which compiler made it, and from which sources.

A source is known by its text without line comments: who edits one compiles nothing anew. Its line
stays, since what is compiled names lines.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pcn.base import packed

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "p4src/compiled"
PARTS = "p4src/v1model"
"""On the include path of examples' programs."""

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# What isn't a line comment, though it may look like one, and what is, with the blanks before it.
_LINE_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*"|/\*.*?\*/)|[ \t]*//[^\n]*', re.DOTALL)


def manifest(folder: Path | None = None) -> Mapping[str, Any]:
    """Returns what p4src/build.py wrote, or what a folder has: the compiler, the hashes of all
    sources, and the programs by name, each with its top source."""
    path = (folder or ROOT / FOLDER) / "manifest.json"
    document: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def stale(*programs: str) -> str | None:
    """Returns one line that names the sources that changed after these programs (default: all) were
    compiled, and the way out; None: none did. A program that isn't in the manifest, or whose output
    is missing, doesn't count: a wheel has no examples."""
    document = manifest()
    entries, digests = document["programs"], document["sources"]
    old: list[str] = []
    changed: dict[str, None] = {}
    for name in programs or entries:
        if name not in entries or not packed.is_file(
            ROOT / (output := next(iter(entries[name]["outputs"])))
        ):
            continue
        modified = [
            path
            for path in sources_of(entries[name]["source"], ROOT)
            if not (ROOT / path).is_file()
            or path not in digests
            or not source_digest(ROOT / path).startswith(digests[path])
        ]
        if modified:
            old.append(output)
            changed |= dict.fromkeys(modified)
    if not old:
        return None
    return (
        f"{_some(list(changed))} {'was' if len(changed) == 1 else 'were'} changed after "
        f"{_some(old)} {'was' if len(old) == 1 else 'were'} made: make p4"
    )


def is_example(top: str) -> bool:
    return top.startswith("examples/")


def sources_of(top: str, root: Path) -> Iterator[str]:
    """Yields a program's top file and all that it includes, in any variant, relative to the
    checkout. One that can't be read includes nothing."""
    seen: set[str] = set()
    pending = [top]
    while pending:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        yield path
        try:
            text = (root / path).read_text(encoding="utf-8")
        except OSError:
            continue
        for name in _INCLUDE.findall(text):
            included = posixpath.normpath(f"{posixpath.dirname(path)}/{name}")
            of_parts = is_example(top) and not (root / included).exists()
            pending.append(f"{PARTS}/{name}" if of_parts else included)


def source_digest(source: Path) -> str:
    """Returns a P4 source's hash in a manifest: SHA-256 of its text without line comments, in
    hex."""
    code = _LINE_COMMENT.sub(lambda match: match[1] or "", source.read_text(encoding="utf-8"))
    return hashlib.sha256(code.encode()).hexdigest()


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
