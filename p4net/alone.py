"""A program without a network: one switch and its hosts, or a topology by name, all of whose
switches run it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pcn.base import packed
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Host, P4Network, P4Switch
from pcn.p4net.programs import Programs
from pcn.p4net.tutorials import RATE_BPS, read_exercise
from pcn.topologies import naming
from pcn.topologies.formats import FormatError, Source
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

HOSTS = 2
"""At the one switch, where no number is given."""
MOST_HOSTS = 254
_MOST_BYTES = 64 * 2**20


def network_at(
    place: Path,
    program: Path | None = None,
    rate_bps: float = RATE_BPS,
    *,
    topology: str | None = None,
    hosts: int | None = None,
) -> P4Network:
    """Returns the network of an exercise's folder or of a file, as `read_exercise`; of a program,
    x.p4 or the x.json that p4c made, one that runs it: one switch, s1, with h1 at port 1 and so on
    (`hosts`, 2 of them), or a `topology` by its reference. Hosts are in 10.0.0.0/16, and have
    entries for each other's MACs. `rate_bps`: of links of the one switch in virtual time. Raises
    LabError."""
    if not _is_program(place):
        if topology is not None or hosts is not None:
            raise P4NetError(
                f"{place}: it has a network: --topology and --hosts are for a program alone"
            )
        return read_exercise(place, program, rate_bps)
    if program is not None:
        raise P4NetError(f"{place} is a program: --program is for a network's file or folder")
    if topology is not None and hosts is not None:
        raise P4NetError("--hosts is for the one switch: --topology has its hosts")
    model = (
        _star(place.stem, HOSTS if hosts is None else hosts, rate_bps)
        if topology is None
        else _named(topology)
    )
    ran = P4Switch(Programs(place.absolute().parent, place).of_default())
    return P4Network(
        model,
        {switch.name: ran for switch in model.switches},
        _hosts(model)
        if len(model.hosts) <= MOST_HOSTS
        else {host.name: P4Host(16) for host in model.hosts},
        frozenset(model.links) if topology is None else frozenset(),
    )


def _is_program(place: Path) -> bool:
    if place.is_dir() or place.suffix not in (".p4", ".json"):
        return False
    if place.suffix == ".p4" or (not place.exists() and packed.is_file(place)):
        return True  # nothing but programs is packed
    try:
        return {"header_types", "parsers", "pipelines"} <= set(Source.of(place, _MOST_BYTES).keys)
    except FormatError:
        return False


def _star(name: str, hosts: int, rate_bps: float) -> Topology:
    if not 1 <= hosts <= MOST_HOSTS:
        raise P4NetError(f"{hosts} hosts: from 1 to {MOST_HOSTS} are possible at one switch")
    names = [f"h{number}" for number in range(1, hosts + 1)]
    links = [
        Link(Endpoint(host, 0), Endpoint("s1", port), rate_bps, 0.0)
        for port, host in enumerate(names, start=1)
    ]
    return Topology(naming.network_name(name), make_hosts(names), (Switch("s1", 0),), tuple(links))


def _named(reference: str) -> Topology:
    from pcn.topologies.lookup import find_topology  # late: it reads what installed packages have

    topology = find_topology(reference).build()
    return replace(
        topology,
        switches=tuple(
            replace(switch, device_id=number) for number, switch in enumerate(topology.switches)
        ),
    )


def _hosts(topology: Topology) -> dict[str, P4Host]:
    """Returns hosts with an entry for each other: few programs forward ARP's broadcasts."""
    return {
        host.name: P4Host(
            16,
            tuple(
                f"arp -s {peer.ip} {peer.mac}" for peer in topology.hosts if peer.name != host.name
            ),
        )
        for host in topology.hosts
    }
