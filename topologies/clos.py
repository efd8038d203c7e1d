"""The Clos network of section 7.4: 8 pods of 2 leaves, 4 ToRs and 64 hosts each, joined by 8
spines; 1:1 everywhere.

16 hosts of 10 Gbit/s a ToR need 160 Gbit/s up, and there are 2 leaves and links of 40 Gbit/s: so
two links to each leaf. A leaf then has 8 x 40 Gbit/s down, and one link to each of the 8 spines
up. Both numbers can be given instead: a pod alone has no spines.

ToRs are t0, t1, ... in order of their pods, leaves l0, l1, ..., spines p0, p1, ..., hosts h0, h1,
... from left to right; a ToR's hosts are a subnet, and so are a pod's. A switch's ports count its
lower neighbours first, then its upper ones, from 1; parallel links are neighbours.
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import Endpoint, Link, Switch, Topology, TopologyError, make_racks


def clos(
    pods: int = 8,
    tors: int = 4,
    leaves: int = 2,
    hosts: int = 16,
    host_bps: float = 10e9,
    fabric_bps: float = 40e9,
    delay_s: float = 5e-6,
    strands: int | None = None,
    spines: int | None = None,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns a Clos network. `tors` and `leaves` are a pod's, `hosts` a ToR's. `strands`, links
    from a ToR to each leaf, and `spines` follow from 1:1 unless they are given. No flows.

    Raises TopologyError where 1:1 can't be had with whole links, and where nothing joins the pods.
    """
    if min(pods, tors, leaves, hosts) < 1:
        raise TopologyError(
            f"clos: {pods} pods, {tors} ToRs, {leaves} leaves, {hosts} hosts: at least 1 of each"
        )
    parallel = strands
    if parallel is None:
        parallel = _whole(hosts * host_bps / (leaves * fabric_bps), "links from a ToR to each leaf")
    if spines is None:
        # a leaf's links down are as many as its links up, one to each spine
        spines = tors * parallel
    if parallel < 1 or spines < 0 or (pods > 1 and spines == 0):
        raise TopologyError(
            f"clos: {parallel} links from a ToR to each leaf and {spines} spines join no {pods} "
            "pods"
        )
    links: list[Link] = []
    for tor in range(pods * tors):
        pod, place = divmod(tor, tors)
        for i in range(hosts):
            links.append(
                Link(
                    Endpoint(f"h{tor * hosts + i}", 0),
                    Endpoint(f"t{tor}", i + 1),
                    host_bps,
                    delay_s,
                )
            )
        for i in range(leaves * parallel):
            leaf, strand = divmod(i, parallel)
            upper = Endpoint(f"l{pod * leaves + leaf}", place * parallel + strand + 1)
            links.append(Link(Endpoint(f"t{tor}", hosts + i + 1), upper, fabric_bps, delay_s))
    for leaf in range(pods * leaves):
        for spine in range(spines):
            upper = Endpoint(f"p{spine}", leaf + 1)
            links.append(
                Link(Endpoint(f"l{leaf}", tors * parallel + spine + 1), upper, fabric_bps, delay_s)
            )
    tiers = {"t": pods * tors, "l": pods * leaves, "p": spines}
    names = [f"{tier}{i}" for tier, count in tiers.items() for i in range(count)]
    return Topology(
        name="clos",
        hosts=make_racks(pods, tors, hosts),
        switches=tuple(Switch(name, i) for i, name in enumerate(names, start=1)),
        links=tuple(links),
        parameters={
            "pods": pods,
            "tors": tors,
            "leaves": leaves,
            "hosts": hosts,
            "host_bps": host_bps,
            "fabric_bps": fabric_bps,
            "delay_s": delay_s,
            "strands": parallel,
            "spines": spines,
            **lossless.parameters(**pfc),
        },
    )


def _whole(value: float, unit: str) -> int:
    number = round(value)
    if number < 1 or abs(number - value) > 1e-9:
        raise TopologyError(f"clos: 1:1 would need {value:g} {unit}")
    return number
