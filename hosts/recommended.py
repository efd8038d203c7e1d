"""What a scheme's paper recommends for a network."""

from __future__ import annotations

from pcn.topologies.model import Topology

from .algorithms import NetworkFacts, Scheme

_FRAME_BYTES = 1500  # of topologies that state no MTU


def recommended(topology: Topology, scheme: Scheme) -> dict[str, float]:
    """Returns the parameters that the scheme's paper recommends for such a network; its defaults hold for the rest."""
    frame_bytes = topology.number("mtu_bytes") if "mtu_bytes" in topology.parameters else _FRAME_BYTES
    ends = [topology.link_at(host.name, port) for host in topology.hosts for port in topology.ports(host.name)]
    facts = NetworkFacts(
        topology.contending_flows(),
        topology.max_rtt_s(),
        topology.max_rtt_s(frame_bytes),
        max((link.rate_bps for link in ends), default=0.0),
    )
    return dict(scheme.recommended(facts))
