"""What stands in p4src/compiled, by its manifest: which compiler made it, and from which sources."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "p4src/compiled"


def manifest() -> Mapping[str, Any]:
    """As p4src/build.py wrote it: the compiler, and the programs by name with the hashes of their sources."""
    found: Mapping[str, Any] = json.loads((ROOT / FOLDER / "manifest.json").read_text())
    return found


def stale(*programs: str) -> str | None:
    """One line that names the sources which these programs (all unless given) weren't compiled from as they are now,
    and the way out. None where all fit, and of a program that the manifest doesn't know or that isn't here: a wheel has
    no examples."""
    entries = manifest()["programs"]
    old: list[str] = []
    changed: dict[str, None] = {}
    for name in programs or entries:
        if name not in entries or not (ROOT / (output := next(iter(entries[name]["outputs"])))).is_file():
            continue
        found = [path for path, digest in entries[name]["sources"].items() if _digest(ROOT / path) != digest]
        if found:
            old.append(output)
            changed |= dict.fromkeys(found)
    if not old:
        return None
    return (
        f"{_some(list(changed))} {'was' if len(changed) == 1 else 'were'} changed after {_some(old)} "
        f"{'was' if len(old) == 1 else 'were'} made: make p4"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "none"


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
