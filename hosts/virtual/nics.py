"""NICs of hosts in virtual time: each port of a host is one, and a flow's frames leave by one of
them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcn.hosts import wire
from pcn.hosts.ports import choose
from pcn.topologies.flow_columns import NOWHERE, FlowColumns
from pcn.topologies.model import Endpoint, Topology
from pcn.topologies.routing import Routing
from pcn.virtualnet.errors import VirtualError


class Nic(NamedTuple):
    """What a flow needs of a host's port: where its link starts in the engine, the host's
    addresses, line rate."""

    end: Endpoint
    link: int
    mac: bytes
    ip: bytes
    rate_bps: float


class NicColumns(NamedTuple):
    """All NICs by columns, addresses as numbers, MACs a row of 6 bytes each."""

    port: NDArray[np.int32]
    link: NDArray[np.uint32]
    mac: NDArray[np.uint8]
    ip: NDArray[np.int64]
    rate_bps: NDArray[np.float64]


class Nics:
    """`links`: the engine's numbers."""

    def __init__(self, topology: Topology, links: Mapping[Endpoint, int]) -> None:
        self._topology = topology
        self._routing = topology.routing
        self._nics: dict[str, dict[int, Nic]] = {}
        for host in topology.hosts:
            mac, ip = wire.parse_mac(host.mac), wire.parse_ip(host.ip)
            ends = [Endpoint(host.name, port) for port in topology.ports(host.name)]
            self._nics[host.name] = {
                end.port: Nic(
                    end, links[end], mac, ip, topology.link_at(end.node, end.port).rate_bps
                )
                for end in ends
            }
        self._single = {
            name: next(iter(nics.values())) for name, nics in self._nics.items() if len(nics) == 1
        }
        every = [nic for nics in self._nics.values() for nic in nics.values()]
        self._places = {nic.link: place for place, nic in enumerate(every)}
        self._only = np.array(
            [
                self._places[self._single[name].link] if name in self._single else NOWHERE
                for name in self._nics
            ],
            np.int32,
        )
        """By host: the place of its NIC in `columns`, if it has one alone."""
        self.columns = NicColumns(
            np.array([nic.end.port for nic in every], np.int32),
            np.array([nic.link for nic in every], np.uint32),
            np.frombuffer(b"".join(nic.mac for nic in every), np.uint8).reshape(-1, 6),
            np.array([int.from_bytes(nic.ip, "big") for nic in every], np.int64),
            np.array([nic.rate_bps for nic in every], np.float64),
        )

    def between(self, src: str, dst: str, flow: int) -> tuple[Nic, Nic]:
        """Returns the NICs by which a flow's data leaves one host, and CNPs and ACKs the other: of
        those on a shortest path one by the flow, and where that one's link is known to be down, one
        of the others. Raises LabError."""
        leaving, back = self._single.get(src), self._single.get(dst)
        if leaving is not None and back is not None:
            return leaving, back
        return self._leaving(src, dst, flow), self._leaving(dst, src, flow)

    def of_flows(self, flows: FlowColumns) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Returns what `between` does of each flow, by places in `columns`. Raises LabError."""
        leaving, back = self._only[flows.src], self._only[flows.dst]
        several = (flows.src == NOWHERE) | (flows.dst == NOWHERE) | (leaving < 0) | (back < 0)
        for at in np.flatnonzero(several).tolist():
            spec = flows.specs[at]
            pair = self.between(spec.src, spec.dst, spec.id)
            leaving[at], back[at] = (self._places[nic.link] for nic in pair)
        return leaving, back

    def route(self, routing: Routing) -> None:
        """Hosts go by this routing from now on."""
        self._routing = routing

    def has_several(self, host: str) -> bool:
        return len(self._nics[host]) > 1

    def _leaving(self, host: str, peer: str, flow: int) -> Nic:
        for name in (host, peer):
            self._topology.host(name)  # raises
        nics = self._nics[host]
        if len(nics) == 1:
            return next(iter(nics.values()))
        usual, now = (
            routing.next_hops(host, peer) for routing in (self._topology.routing, self._routing)
        )
        if not usual:
            raise VirtualError(f"flow {flow}: no way from {host} to {peer}")
        nic, far = nics[usual[0]], next(iter(self._nics[peer].values()))
        by = partial(choose, src_ip=nic.ip, dst_ip=far.ip, udp_port=wire.source_port(flow))
        port = by(usual)
        return nics[port if port in now or not now else by(now)]
