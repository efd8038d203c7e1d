"""Files of flows' paths: lines FLOW,SWITCH,NEXT below that heading. SWITCH may be a sender with
several ports; NEXT is a node, or NODE:PORT of a parallel link."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from pcn.base.errors import nearest
from pcn.topologies.model import Endpoint, Topology
from pcn.virtualnet.errors import VirtualError

HEADING = ("flow", "switch", "next")
FlowPaths = Mapping[int, tuple[Endpoint, ...]]
"""By flow: the ports by which its data leaves switches, and its sender, where that has several."""


def write_paths(file: Path, topology: Topology, paths: FlowPaths) -> None:
    file.write_text(path_lines(topology, paths), encoding="utf-8")


def path_lines(topology: Topology, paths: FlowPaths) -> str:
    """Returns a file's text; names need no quotes."""
    rows = [
        HEADING,
        *(
            (str(flow), end.node, _next(topology, end))
            for flow, ends in paths.items()
            for end in ends
        ),
    ]
    return "".join(f"{','.join(row)}\n" for row in rows)


def read_paths(file: Path, topology: Topology) -> dict[int, tuple[Endpoint, ...]]:
    """Raises VirtualError with the line."""
    paths: dict[int, tuple[Endpoint, ...]] = {}
    nodes = [switch.name for switch in topology.switches]
    nodes += [host.name for host in topology.hosts if len(topology.ports(host.name)) > 1]
    ports = {node: _ports(topology, node) for node in nodes}
    for line, (flow, switch, next_hop) in _rows(file):
        if not (flow.isascii() and flow.isdigit() and len(flow) < 10):
            raise VirtualError(f"{file}:{line}: {flow!r} is no flow's number")
        if switch not in ports:
            raise VirtualError(
                f"{file}:{line}: no switch {switch!r}; {nearest(switch, list(ports))}"
            )
        port = ports[switch].get(next_hop)
        if port is None:
            raise VirtualError(
                f"{file}:{line}: {switch} has no link to {next_hop!r}; "
                f"{nearest(next_hop, list(ports[switch]))}"
            )
        if any(end.node == switch for end in paths.get(int(flow), ())):
            raise VirtualError(f"{file}:{line}: flow {flow} leaves {switch} twice")
        paths[int(flow)] = (*paths.get(int(flow), ()), Endpoint(switch, port))
    return paths


def _rows(file: Path) -> Iterable[tuple[int, tuple[str, str, str]]]:
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            reader = csv.reader(opened)
            if tuple(next(reader, ())) != HEADING:
                raise VirtualError(f"{file}: its first line is {','.join(HEADING)}")
            for row in reader:
                if len(row) != len(HEADING):
                    raise VirtualError(
                        f"{file}:{reader.line_num}: {len(row)} columns: a line is "
                        f"{','.join(HEADING)}"
                    )
                yield reader.line_num, (row[0], row[1], row[2])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise VirtualError(f"{file}: {error}") from None


def _ports(topology: Topology, switch: str) -> dict[str, int]:
    """Returns a switch's ports by the neighbour's name as `_next` writes it."""
    return {_next(topology, Endpoint(switch, port)): port for port in topology.ports(switch)}


def _next(topology: Topology, end: Endpoint) -> str:
    return topology.link_name(end.node, end.port).partition("->")[2]
