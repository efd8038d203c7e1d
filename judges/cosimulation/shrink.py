"""A smaller network that still fails."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from cosimulation.network import Arrival, Network, Port


def shrunk(network: Network, fails: Callable[[Network], bool]) -> Network:
    """Returns the network without the steps and settings that its failure doesn't need."""
    while True:
        before = network
        for smaller in _fewer_steps(network, fails):
            network = smaller
        for simpler in _simpler(network):
            if simpler != network and fails(simpler):
                network = simpler
        if network == before:
            return network


def _fewer_steps(network: Network, fails: Callable[[Network], bool]) -> Iterator[Network]:
    """Yields it with ever fewer steps: halves, quarters and so on are left out."""
    span = len(network.steps) // 2
    while span > 0:
        at = 0
        while at < len(network.steps):
            smaller = replace(network, steps=network.steps[:at] + network.steps[at + span :])
            if fails(smaller):
                network = smaller
                yield network
            else:
                at += span
        span //= 2


def _simpler(network: Network) -> Iterator[Network]:
    """Yields it with less of what it needn't have."""
    queues = network.queues
    yield replace(network, queues=replace(queues, trimming=()))
    yield replace(network, queues=replace(queues, tail_percent=0))
    yield replace(network, queues=replace(queues, reentry_ns=0))
    undelayed = tuple(tuple(Port(port.rate_bps, 0) for port in ports) for ports in network.ports)
    yield replace(network, ports=undelayed)
    if network.steps:
        last_ns = max(step.at_ns for step in network.steps)
        for beyond_ns in (0, 100_000, 1_000_000):
            if last_ns + beyond_ns < network.until_ns:
                yield replace(network, until_ns=last_ns + beyond_ns)
    for number, step in enumerate(network.steps):
        if isinstance(step, Arrival) and step.at_ns > 0 and number == 0:
            yield replace(network, steps=(step._replace(at_ns=0), *network.steps[1:]))
