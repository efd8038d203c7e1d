"""Units of time: a network of twice the rates and half the delays, run by parameters of twice the
rates and half the times, does the same in half the time. Where a scheme has a constant, or a unit
on the wire, the test takes it away, and the scheme scales; so that is all there is."""

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest

from pcn.hosts.algorithms import Scheme, find_scheme, nscc, pcn, pcn_x, schemes
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star

TELEMETRY = "hpcc"
"""Its records name the rate of a link, of which the Clos network's 80 Gbit/s isn't."""
NETWORKS = {
    "star": lambda: star(8),
    "clos": lambda: clos(pods=2, tors=2, hosts=4, leaves=2, strands=1),
}
TICKS_S = {"hpcc": 2e-9, "qcn-os-sojourn": 1e-6}
"""Of the switches' clocks, for schemes that read it; half of it in the faster network."""
SETTINGS = {"swift": {"min_cwnd": 1}}
"""Swift paces a window below one frame, by gaps of whole picoseconds: half of an odd one is
rounded, and whether a delay is above the target turns on a picosecond somewhere."""
UNITS_OF_TIME = {
    (nscc, "_REFERENCE_RTT_S"): 1 / 2,
    (nscc, "_EMPTY_S"): 1 / 2,
    (pcn, "REC_RATE_UNIT_BPS"): 2,
    (pcn_x, "REC_RATE_UNIT_BPS"): 2,
}
"""What they are in the faster network: NSCC's increase is in proportion to a round trip of 12 us,
and a queue is empty below 1 us (uet-htsim's both); RecRate has whole Mbit/s on the wire."""
PYTHON = ("nscc", "pcn", "pcn-time", "pcn-w", "pcn-x")
"""Schemes that have one of them, in their Python text."""


def twice_as_fast(topology: Topology) -> Topology:
    links = (
        replace(link, rate_bps=2 * link.rate_bps, delay_s=link.delay_s / 2)
        for link in topology.links
    )
    return replace(topology, links=tuple(links))


def scaled(scheme: Scheme, settings: Mapping[str, float], factor: int) -> dict[str, float]:
    """Returns the scheme's parameters, in units of time that are `factor` times shorter."""
    parameters = scheme.configure(settings).parameters
    power = {"time": 1 / factor, "rate": factor}
    return {
        field.field: getattr(parameters, field.field) * power.get(field.kind, 1)
        for field in describe(scheme.parameters)
    }


def flows_of(topology: Topology, factor: int) -> list[FlowSpec]:
    random = Random(3)
    names = [host.name for host in topology.hosts]
    flows = []
    for number in range(24):
        src, dst = random.sample(names, 2)
        if number % 3 == 0 and src != names[-1]:
            dst = names[-1]
        # a start is whole picoseconds at both factors
        start_s = round(random.random() * 1e5) * 2e-9 / factor
        flows.append(FlowSpec(number, src, dst, start_s, random.randint(1000, 400000)))
    return flows


def times(name: str, network: str, factor: int) -> list[float]:
    """Returns the flows' completion times, s, in units that are `factor` times shorter."""
    topology = NETWORKS[network]()
    if factor == 2:
        topology = twice_as_fast(topology)
    scheme = find_scheme(name)
    with VirtualNetwork(
        topology,
        scheme.configure(scaled(scheme, SETTINGS.get(name, {}), factor)),
        seed=3,
        in_c=name not in PYTHON,
        switch_tick_s=TICKS_S[name] / factor if name in TICKS_S else None,
    ) as net:
        flows = flows_of(topology, factor)
        net.add_flows((flow, None, None) for flow in flows)
        net.run(until_s=1, finish=True)
        done = [net.flows[flow.id].stats().complete_s or math.nan for flow in flows]
    return [factor * (at - flow.start_s) for at, flow in zip(done, flows, strict=True)]


@pytest.mark.parametrize(
    ("name", "network"),
    [
        (name, network)
        for name in sorted(schemes)
        for network in NETWORKS
        if (name, network) != (TELEMETRY, "clos")  # telemetry has no links of 80 Gbit/s
    ],
)
def test_scheme_does_the_same_in_half_the_time(name, network, monkeypatch):
    usual = times(name, network, 1)
    for (module, constant), power in UNITS_OF_TIME.items():
        monkeypatch.setattr(module, constant, power * getattr(module, constant))
    assert times(name, network, 2) == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("name", ["nscc", "pcn"])
def test_unit_of_time_of_a_scheme_keeps_it_from_scaling(name):
    assert times(name, "star", 2) != pytest.approx(times(name, "star", 1), rel=1e-3)
