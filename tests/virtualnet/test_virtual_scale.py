"""Time has no scale: at twice the rates, with half of all times, all takes half as long."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from pcn.hosts.algorithms import Configured, find_scheme
from pcn.hosts.algorithms.parameters import describe
from pcn.lab.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.topologies.star import star

TICK_S, FLOWS, HOSTS = 1e-6, 24, 8


def faster(name: str, factor: float) -> Configured:
    """Returns a scheme with its defaults in a network that is faster by this factor."""
    scheme = find_scheme(name)
    usual, by_kind = scheme.configure().parameters, {"time": 1 / factor, "rate": factor}
    fields = (
        (parameter.field, by_kind.get(parameter.kind, 1))
        for parameter in describe(scheme.parameters)
    )
    return scheme.configure({field: getattr(usual, field) * by for field, by in fields})


def completion_times(name: str, factor: float) -> list[float]:
    """Returns how long each flow takes, times the factor: in-casts of flows of up to 400 KB, with
    PAUSE."""
    topology = star(HOSTS)
    links = (
        replace(link, rate_bps=link.rate_bps * factor, delay_s=link.delay_s / factor)
        for link in topology.links
    )
    rng = random.Random(3)
    specs = []
    for number in range(FLOWS):
        src, dst = rng.sample(range(HOSTS), 2)
        end = f"h{dst}" if number % 3 else "r0"
        specs.append(
            FlowSpec(
                number, f"h{src}", end, rng.random() * 200e-6 / factor, rng.randint(1000, 400_000)
            )
        )
    network = VirtualNetwork(
        replace(topology, links=tuple(links)),
        faster(name, factor),
        seed=3,
        switch_tick_s=TICK_S / factor,
    )
    with network:
        network.add_flows([(spec, None, None) for spec in specs])
        assert network.run(until_s=1, finish=True)
        completions = [network.flows[spec.id].stats().complete_s for spec in specs]
    return [
        (complete_s or 0) * factor - spec.start_s * factor
        for complete_s, spec in zip(completions, specs, strict=True)
    ]


@pytest.mark.parametrize(
    "name", ["hpcc", "qcn-os-sojourn", "qcn", "dcqcn", "tcd-time", "dctcp", "timely", "rccc"]
)
def test_twice_the_rates_take_half_the_time(name: str) -> None:
    """The switches' clock ticks twice as often there: by it HPCC measures, and QCN chooses by
    sojourn times."""
    assert completion_times(name, 2) == pytest.approx(completion_times(name, 1), rel=1e-3)
