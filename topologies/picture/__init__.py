"""A network drawn by its tiers, whatever flows: SVG, PNG, a page, or Graphviz' DOT."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pcn.base.errors import nearest
from pcn.topologies.model import Topology, TopologyError
from pcn.topologies.picture.dot import dot
from pcn.topologies.picture.png import png
from pcn.topologies.picture.svg import page, svg

KINDS: Mapping[str, Callable[[Topology], bytes]] = {
    ".svg": lambda topology: svg(topology).encode(),
    ".png": png,
    ".html": lambda topology: page(topology).encode(),
    ".dot": lambda topology: dot(topology).encode(),
}
"""By the suffix of the file."""


def drawn(topology: Topology, suffix: str) -> bytes:
    """Returns the content of a file with this suffix. Raises TopologyError; MissingExtraError for
    PNG."""
    if suffix not in KINDS:
        raise TopologyError(
            f"no picture is drawn to {suffix or 'a file without suffix'}; {nearest(suffix, KINDS)}"
        )
    return KINDS[suffix](topology)
