"""What a result was made with."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

_MANIFEST = Path(__file__).resolve().parent.parent / "p4src" / "compiled" / "manifest.json"


def versions(program: str) -> dict[str, str]:
    """By name: the project, Python, the kernel, what compiled the P4 program and a short hash of what it wrote."""
    found = {
        "pcn-lab": metadata.version("pcn-lab"),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "mininet": metadata.version("mininet"),
    }
    manifest = json.loads(_MANIFEST.read_text())
    found["p4c"] = manifest["compiler"]["version"]
    found[f"{program}.p4"] = manifest["programs"][program]["sources"][f"p4src/v1model/{program}.p4"][:12]
    return found
