"""What of a scheme's parameters follows from a network, by the rules of `Scheme.recommended`,
whichever command runs it."""

from __future__ import annotations

from collections.abc import Collection

from pcn.topologies.model import Topology

from . import wire
from .algorithms import NetworkFacts, Scheme
from .algorithms.parameters import describe
from .algorithms.scheme import no_rules

PAYLOAD_BYTES = 1000
"""Of data packets, unless a run has another."""
_DIGITS = 12
"""Of values: a product of decimal numbers is one, too, such as 200 KB."""


def round_trip_s(topology: Topology, payload_bytes: int = PAYLOAD_BYTES) -> float:
    """Returns the largest round trip in s between any two hosts of the empty network: delays, the
    time of a data frame on each link there, and of its ACK on each link back."""
    return topology.max_rtt_s(wire.data_bytes(payload_bytes), wire.ack_bytes())


def network_facts(
    topology: Topology, scheme: Scheme, payload_bytes: int = PAYLOAD_BYTES
) -> NetworkFacts:
    """Returns what the scheme's rules go by, with frames as it has them on the wire."""
    usual = scheme.configure()
    telemetry = usual.wants_telemetry
    frame_bytes = wire.data_bytes(payload_bytes, telemetry, usual.has_credit)
    ends = [
        topology.link_at(host.name, port)
        for host in topology.hosts
        for port in topology.ports(host.name)
    ]
    return NetworkFacts(
        topology.contending_flows(),
        topology.max_rtt_s(),
        topology.max_rtt_s(frame_bytes, wire.ack_bytes(telemetry)),
        max((link.rate_bps for link in ends), default=0.0),
        frame_bytes,
    )


def recommended(
    topology: Topology, scheme: Scheme, payload_bytes: int = PAYLOAD_BYTES
) -> dict[str, float]:
    """Returns the parameters that follow from such a network, by field; the scheme's defaults hold
    for the rest."""
    if scheme.recommended is no_rules:
        return {}
    return _within(scheme, network_facts(topology, scheme, payload_bytes))


def recommended_at_ports(
    topology: Topology,
    scheme: Scheme,
    payload_bytes: int = PAYLOAD_BYTES,
    fixed: Collection[str] = (),
) -> dict[float, dict[str, float]]:
    """Returns those that follow from a switch's port, by its rate in bit/s and field. Fields that
    are `fixed` have one value at every port."""
    by_port = [name for name, rule in scheme.rules.items() if rule.of_port and name not in fixed]
    if not by_port:
        return {}
    facts = network_facts(topology, scheme, payload_bytes)
    rates = {
        topology.link_at(switch.name, port).rate_bps
        for switch in topology.switches
        for port in topology.ports(switch.name)
    }
    at_rate = {rate: _within(scheme, facts._replace(rate_bps=rate)) for rate in sorted(rates)}
    return {rate: {name: values[name] for name in by_port} for rate, values in at_rate.items()}


def _within(scheme: Scheme, facts: NetworkFacts) -> dict[str, float]:
    """Returns what the rules come to, within the parameters' bounds, as decimal numbers."""
    bounds = {field.field: field for field in describe(scheme.parameters)}
    return {
        name: min(max(float(f"{value:.{_DIGITS}g}"), bounds[name].least), bounds[name].most)
        for name, value in scheme.recommended(facts).items()
    }
