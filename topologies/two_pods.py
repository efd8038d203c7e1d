"""DCQCN's testbed (SIGCOMM'15, Fig. 2): two pods of two ToRs and two leaves, joined by two spines.

ToRs are t1 to t4, leaves l1 to l4, spines s1 and s2; hosts have the names of the paper's figures.
The drawings aren't in the text at hand. A host's ToR follows from its name and the text (h11 to h14
and the victim's sender vs under t1, h31 and h32 under t3, the receiver r under t4), except the
victim's receiver: vr is under t2 here, so that its path shares no link with theirs.
"""

from __future__ import annotations

from collections import Counter

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

HOSTS = {
    "t1": ("h1", "h11", "h12", "h13", "h14", "vs"),
    "t2": ("h2", "vr"),
    "t3": ("h3", "h31", "h32"),
    "t4": ("h4", "r"),
}


def two_pods(
    rate_bps: float = 40e9,
    delay_s: float = 1e-6,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns two pods. `delay_s` is each link's, one way; the paper names none. No flows."""
    ports = Counter[str]()
    links: list[Link] = []

    def link(lower: str, upper: str) -> None:
        ends = []
        for node in (lower, upper):
            is_host = node[0] not in "tls"
            ports[node] += 1
            ends.append(Endpoint(node, 0 if is_host else ports[node]))
        links.append(Link(ends[0], ends[1], rate_bps, delay_s))

    for name, hosts in HOSTS.items():
        for host in hosts:
            link(host, name)
    for pod in (1, 3):
        for tor in (pod, pod + 1):
            for leaf in (pod, pod + 1):
                link(f"t{tor}", f"l{leaf}")
        for leaf in (pod, pod + 1):
            for spine in (1, 2):
                link(f"l{leaf}", f"s{spine}")
    names = [*HOSTS, *(f"l{n}" for n in range(1, 5)), "s1", "s2"]
    return Topology(
        name="two-pods",
        hosts=make_hosts([host for hosts in HOSTS.values() for host in hosts]),
        switches=tuple(Switch(name, number) for number, name in enumerate(names, start=1)),
        links=tuple(links),
        parameters={
            "rate_bps": rate_bps,
            "delay_s": delay_s,
            **lossless.parameters(**pfc),
        },
    )
