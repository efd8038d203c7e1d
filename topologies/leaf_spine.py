"""A leaf-spine: racks of hosts, each leaf with a link to each spine.

Leaves are l0, l1, ..., spines p0, p1, ..., hosts h0, h1, ... from left to right; a leaf's hosts are
a subnet. A switch's ports count its lower neighbours first, then its upper ones, from 1.
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import Endpoint, Link, Switch, Topology, TopologyError, make_racks


def leaf_spine(
    leaves: int = 4,
    spines: int = 2,
    hosts: int = 8,
    host_bps: float = 10e9,
    fabric_bps: float = 40e9,
    delay_s: float = 1e-6,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns a leaf-spine without flows; `hosts` are a leaf's, `delay_s` is each link's, one way.
    The defaults are 1:1."""
    if min(leaves, spines, hosts) < 1:
        raise TopologyError(
            f"leaf_spine: {leaves} leaves, {spines} spines, {hosts} hosts: at least 1 of each"
        )
    links = [
        Link(
            Endpoint(f"h{leaf * hosts + place}", 0),
            Endpoint(f"l{leaf}", place + 1),
            host_bps,
            delay_s,
        )
        for leaf in range(leaves)
        for place in range(hosts)
    ]
    links += [
        Link(
            Endpoint(f"l{leaf}", hosts + spine + 1),
            Endpoint(f"p{spine}", leaf + 1),
            fabric_bps,
            delay_s,
        )
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    names = [*(f"l{leaf}" for leaf in range(leaves)), *(f"p{spine}" for spine in range(spines))]
    return Topology(
        name="leaf-spine",
        hosts=make_racks(1, leaves, hosts),
        switches=tuple(Switch(name, i) for i, name in enumerate(names, start=1)),
        links=tuple(links),
        parameters={
            "leaves": leaves,
            "spines": spines,
            "hosts": hosts,
            "host_bps": host_bps,
            "fabric_bps": fabric_bps,
            "delay_s": delay_s,
            **lossless.parameters(**pfc),
        },
    )
