"""Colours of links by how much of their rate was used; they show on light and on dark, and none is
the red of PAUSE."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pcn.topologies.model import Link

STEPS = (
    (0.1, "#9fb1c3"),
    (0.3, "#6db3e0"),
    (0.5, "#3f8fd0"),
    (0.7, "#5b6fd6"),
    (0.9, "#8a4fc9"),
    (1.0, "#c2379e"),
)
"""The share up to which a colour is for, the last one for all above as well."""

Load = Mapping[str, float]
"""Share of its rate that each direction of a link carried, by `Topology.link_name`'s ends, such as
`s0:4` for what leaves there."""


def colour(share: float) -> str:
    return next((shade for most, shade in STEPS if share < most), STEPS[-1][1])


def busiest(links: Iterable[Link], load: Load, node: str) -> tuple[float, float]:
    """Returns the largest shares of what leaves the links' ends: those at `node`, and those at the
    other nodes."""
    ends = [end for link in links for end in (link.a, link.b)]
    shares = {
        at_node: [load.get(str(end), 0.0) for end in ends if (end.node == node) == at_node]
        for at_node in (True, False)
    }
    return max(shares[True]), max(shares[False])
