"""What a topology has that is possible, and more often a unit that was left out."""

from __future__ import annotations

from collections.abc import Iterator

from pcn.base.units import quantity_text
from pcn.topologies.model import Topology

LONGEST_S, LEAST_BPS = 1.0, 1e6
"""A round trip above, a link's rate below are no network of today's."""


def unusual(topology: Topology) -> Iterator[str]:
    """Yields remarks, each a line."""
    rtt_s = topology.max_rtt_s()
    if rtt_s > LONGEST_S:
        longest = max(topology.links, key=lambda link: link.delay_s)
        yield (
            f"the longest round trip is {quantity_text('time', rtt_s)}, and link {longest.a} - "
            f"{longest.b} has a delay of {quantity_text('time', longest.delay_s)}: a unit may be "
            "missing, as in 1000ns"
        )
    slowest = min(topology.links, key=lambda link: link.rate_bps)
    if slowest.rate_bps < LEAST_BPS:
        yield (
            f"link {slowest.a} - {slowest.b} has a rate of "
            f"{quantity_text('rate', slowest.rate_bps)}: a unit may be missing, as in 100Gbps"
        )
