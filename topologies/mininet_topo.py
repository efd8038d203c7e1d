"""A `Topology` as Mininet's own `Topo`, port by port. Works with Debian's Mininet and with its
Python package."""

from __future__ import annotations

from typing import Any

from pcn.topologies.model import Topology
from pcn.topologies.serialise import to_dict


def mininet_topo(topology: Topology) -> Any:
    """Returns a `mininet.topo.Topo`; names, addresses and port numbers as in `topology`. Rates and
    delays are the switches'."""
    from mininet.topo import Topo

    topo = Topo()
    whole = to_dict(topology)  # for `pcn.lab.mininet_switch`; other switches ignore it
    for host in topology.hosts:
        topo.addHost(host.name, ip=f"{host.ip}/16", mac=host.mac)
    for switch in topology.switches:
        topo.addSwitch(switch.name, dpid=f"{switch.device_id:016x}", topology=whole)
    for link in topology.links:
        interfaces = {"intfName1": link.a.interface, "intfName2": link.b.interface}
        topo.addLink(link.a.node, link.b.node, port1=link.a.port, port2=link.b.port, **interfaces)
    return topo
