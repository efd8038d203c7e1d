"""The k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts,
one link rate.

Edge switches are e0, e1, ... in order of their pods, aggregation switches a0, a1, ..., cores c0,
c1, ..., hosts h0, h1, ... from left to right; an edge switch's hosts are a subnet, and so are a
pod's. A switch's ports count its lower neighbours first, then its upper ones, from 1.
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import (
    EVEN,
    POLARISED,
    Endpoint,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_racks,
)


def fat_tree(
    k: int = 4,
    rate_bps: float = 40e9,
    delay_s: float = 5e-6,
    ecmp: str = EVEN,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns a fat-tree of k-port switches, without flows. `ecmp` "polarised": all switches choose
    by the same bits of a flow's hash, so that those above a switch don't spread what it chose."""
    if ecmp not in (EVEN, POLARISED):
        raise TopologyError(f"fat_tree: ecmp {ecmp!r}: choose from {EVEN!r} and {POLARISED!r}")
    if k < 2 or k % 2:
        raise TopologyError(f"fat_tree: k = {k} must be even, and at least 2")
    half = k // 2
    links: list[Link] = []

    def link(a: Endpoint, b: Endpoint) -> None:
        links.append(Link(a, b, rate_bps, delay_s))

    for edge in range(k * half):
        pod, place = divmod(edge, half)
        for i in range(half):
            link(Endpoint(f"h{edge * half + i}", 0), Endpoint(f"e{edge}", i + 1))
            link(Endpoint(f"e{edge}", half + i + 1), Endpoint(f"a{pod * half + i}", place + 1))
    for aggregation in range(k * half):
        pod, place = divmod(aggregation, half)
        for i in range(half):
            link(
                Endpoint(f"a{aggregation}", half + i + 1), Endpoint(f"c{place * half + i}", pod + 1)
            )
    tiers = {"e": k * half, "a": k * half, "c": half * half}
    names = [f"{tier}{i}" for tier, count in tiers.items() for i in range(count)]
    return Topology(
        name="fat-tree",
        hosts=make_racks(k, half, half),
        switches=tuple(Switch(name, i) for i, name in enumerate(names, start=1)),
        links=tuple(links),
        parameters={
            "k": k,
            "rate_bps": rate_bps,
            "delay_s": delay_s,
            "ecmp": ecmp,
            **lossless.parameters(**pfc),
        },
    )
