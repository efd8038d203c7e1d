"""The neighbours that a host's kernel would have: to which MAC a frame for an address goes.

`commands` of a topology.json configure it live: `arp -s`, `ip neigh`, `route add`, `ip route add`.
`mac_of` takes the MAC of a static entry, or of the host with this address, so that frames can be
made without a network that runs; hosts that send in virtual time request it by ARP instead
(p4net/arp.py).
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network

from pcn.p4net.errors import NoRouteError, P4NetError
from pcn.p4net.network import P4Network

_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}\Z")
_LIMITED_BROADCAST = IPv4Address("255.255.255.255")
_DEFAULT = IPv4Network("0.0.0.0/0")


_parsed = lru_cache(2**16)(IPv4Address)
"""A host's address is parsed once, and not once a frame."""


def address_of(network: P4Network, target: str) -> IPv4Address:
    """Returns the address of a host, or the IPv4 address that stands there. Raises LabError."""
    if target[:1].isdigit():
        with suppress(ValueError):
            return _parsed(target)
    return _parsed(network.topology.host(target).ip)


def group_mac(address: IPv4Address) -> str | None:
    """Returns the MAC of a multicast group (RFC 1112) or of all hosts; None: the address is a
    host's."""
    if address == _LIMITED_BROADCAST:
        return "ff:ff:ff:ff:ff:ff"
    if not address.is_multicast:
        return None
    low = int(address) & 0x7FFFFF
    return f"01:00:5e:{low >> 16:02x}:{low >> 8 & 0xFF:02x}:{low & 0xFF:02x}"


@dataclass
class Neighbours:
    """Of one host: its own prefix, routes by prefix (None: on the link), MACs by address."""

    host: str
    subnet: IPv4Network
    routes: dict[IPv4Network, IPv4Address | None] = field(default_factory=dict)
    macs: dict[IPv4Address, str] = field(default_factory=dict)

    def next_hop(self, address: IPv4Address) -> IPv4Address:
        """Returns the address whose MAC a frame needs: by the longest prefix, or a group's. Raises
        NoRouteError without a route."""
        if group_mac(address) is not None:
            return address
        routes = [
            (prefix.prefixlen, hop) for prefix, hop in self.routes.items() if address in prefix
        ]
        if address in self.subnet:
            routes.append((self.subnet.prefixlen, None))
        if not routes:
            raise NoRouteError(
                f"{self.host} has no route to {address}: its commands lack a default route"
            )
        hop = max(routes, key=lambda route: route[0])[1]
        return address if hop is None else hop


def neighbours(network: P4Network, host: str) -> Neighbours:
    """Returns a host's, from its address and commands; other commands have no effect on them.
    Raises P4NetError for one of the four that can't be read."""
    topology_host, settings = network.topology.host(host), network.host(host)
    known = Neighbours(host, IPv4Network(f"{topology_host.ip}/{settings.prefix}", strict=False))
    for command in settings.commands:
        try:
            _read(known, shlex.split(command))
        except (ValueError, IndexError, StopIteration) as error:
            raise P4NetError(
                f"{host}: command {command!r} isn't understood ({error or 'a word is missing'})"
            ) from None
    return known


def mac_of(network: P4Network, host: str, address: str) -> str:
    """Returns the MAC that a frame of a host for an IPv4 address goes to. Raises P4NetError."""
    known = neighbours(network, host)
    hop = known.next_hop(IPv4Address(address))
    if (group := group_mac(hop)) is not None:
        return group
    if hop in known.macs:
        return known.macs[hop]
    for neighbour in network.topology.hosts:
        if neighbour.ip == str(hop):
            return neighbour.mac
    raise P4NetError(
        f"{host} has no MAC of {hop}, its next hop to {address}: add `arp -s {hop} MAC` to its "
        "commands"
    )


def _read(known: Neighbours, words: Sequence[str]) -> None:
    match [word for word in words if word != "sudo"]:
        case ["arp", *rest] if "-s" in rest:
            at = rest.index("-s")
            _neighbour(known, rest[at + 1], rest[at + 2])
        case [
            "ip",
            "neigh" | "neighbor" | "neighbour" | "n",
            "add" | "replace" | "change",
            address,
            *rest,
        ]:
            _neighbour(known, address, rest[rest.index("lladdr") + 1])
        case ["route", "add", *rest]:
            _route(known, rest)
        case ["ip", "route" | "r", "add" | "replace" | "change", prefix, *rest]:
            _add(known, prefix, rest[rest.index("via") + 1] if "via" in rest else None)


def _route(known: Neighbours, rest: list[str]) -> None:
    """route add default gw HOP | -net PREFIX [netmask MASK] gw HOP | -host ADDRESS gw HOP."""
    target = next(word for word in rest if not word.startswith("-"))
    if "netmask" in rest:
        target = f"{target}/{rest[rest.index('netmask') + 1]}"
    gateway = next((rest[rest.index(word) + 1] for word in ("gw", "via") if word in rest), None)
    _add(known, target, gateway)


def _add(known: Neighbours, prefix: str, gateway: str | None) -> None:
    where = _DEFAULT if prefix == "default" else IPv4Network(prefix, strict=False)
    known.routes[where] = None if gateway is None else ipaddress.IPv4Address(gateway)


def _neighbour(known: Neighbours, address: str, mac: str) -> None:
    if not _MAC.match(mac):
        raise ValueError(f"{mac!r} is no MAC")
    known.macs[IPv4Address(address)] = mac.lower()
