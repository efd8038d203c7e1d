"""Whether Python finds our packages under their names, which others have too (docs/choices.md, "An installation").

It imports none of them, so it can report why an import fails.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

PROJECT = "pcn-lab"
HOME = Path(__file__).resolve().parent.parent
PACKAGES = ("controller", "experiments", "hosts", "lab", "p4net", "softswitch", "topologies", "virtualnet")


def clashes() -> Iterator[str]:
    """Yields a line for each name under which Python finds another project's package, or whose folder two projects
    installed."""
    owners = metadata.packages_distributions()
    for name in PACKAGES:
        place = _place(name)
        if place != HOME / name:
            yield f"`import {name}` finds {place or 'nothing'}, not {HOME / name}"
        elif others := sorted(set(owners.get(name, ())) - {PROJECT}):
            yield f"{place} is also of {', '.join(others)}"


def _place(name: str) -> Path | None:
    """Returns the package's folder, or the module's file."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # it was made by hand
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        return Path(spec.origin or name)
    return next((Path(folder).resolve() for folder in spec.submodule_search_locations), None)
