"""Hosts, and addresses for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pcn.base.errors import TopologyError

MOST_HOSTS = 2**24 - 2
"""Those that have addresses in 10.0.0.0/8 beside the network's own and that of broadcast."""


@dataclass(frozen=True)
class Host:
    name: str
    ip: str
    mac: str


def host_addresses(number: int) -> tuple[str, str]:
    """Returns IPv4 address and MAC of a host: 10.0.0.0 plus its number, from 1, and a MAC that ends
    in it: 10.0.x.y up to number 65,535. Raises TopologyError."""
    if not 1 <= number <= MOST_HOSTS:
        raise TopologyError(
            f"host number {number} is out of range: from 1 to {MOST_HOSTS} they have addresses"
        )
    high, middle, low = number.to_bytes(3, "big")
    return f"10.{high}.{middle}.{low}", f"02:00:00:{high:02x}:{middle:02x}:{low:02x}"


def make_hosts(names: Sequence[str]) -> tuple[Host, ...]:
    """Returns the hosts with addresses by their order."""
    return tuple(Host(name, *host_addresses(number)) for number, name in enumerate(names, start=1))


def make_racks(pods: int, racks: int, hosts: int) -> tuple[Host, ...]:
    """Returns the hosts h0, h1, ... from left to right: `hosts` of each of a pod's `racks`.

    A rack is the smallest subnet that has room for its hosts, and a pod the smallest that has room
    for its racks: so each has its own prefix. A rack's first address is the subnet's, and its last
    one stays free, for broadcast; hosts have the next ones after the first.
    """
    rack_bits = (hosts + 1).bit_length()
    pod_bits = rack_bits + (racks - 1).bit_length()
    numbers = (
        (pod << pod_bits) + (rack << rack_bits) + host
        for pod in range(pods)
        for rack in range(racks)
        for host in range(1, hosts + 1)
    )
    return tuple(Host(f"h{i}", *host_addresses(number)) for i, number in enumerate(numbers))
