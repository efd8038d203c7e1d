"""A network drawn by its tiers, whatever flows: SVG, a page, or Graphviz' DOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from topologies.errors import nearest
from topologies.model import Topology, TopologyError
from topologies.picture.dot import dot
from topologies.picture.svg import page, svg

KINDS: Mapping[str, Callable[[Topology], str]] = {".svg": svg, ".html": page, ".dot": dot}
"""By the suffix of the file."""


def drawn(topology: Topology, suffix: str) -> str:
    """Returns the text of a file with this suffix. Raises TopologyError."""
    if suffix not in KINDS:
        raise TopologyError(f"no picture is drawn to {suffix or 'a file without suffix'}; {nearest(suffix, KINDS)}")
    return KINDS[suffix](topology)
