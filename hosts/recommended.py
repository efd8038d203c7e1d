"""What a scheme's paper recommends for a network."""

from __future__ import annotations

from topologies.model import Topology

from .algorithms import NetworkFacts, Scheme


def recommended(topology: Topology, scheme: Scheme) -> dict[str, float]:
    """Returns the parameters that the scheme's paper recommends for such a network; its defaults hold for the rest."""
    return dict(scheme.recommended(NetworkFacts(topology.contending_flows(), topology.max_rtt_s())))
