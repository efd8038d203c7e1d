"""Pictures of networks: all of a network is in them, nothing lies on something else, and flows change nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from file_networks import connected_topologies
from hypothesis import given

from topologies.catalog import TOPOLOGIES
from topologies.found import find_topology
from topologies.model import Topology, TopologyError
from topologies.picture import KINDS, drawn
from topologies.picture.tiers import Tiers

SVG = "{http://www.w3.org/2000/svg}"


def check(topology: Topology) -> None:
    tiers = Tiers.of(topology)
    assert sorted(host for rack in tiers.racks for host in rack.hosts) == sorted(one.name for one in topology.hosts)
    assert sorted(name for row in tiers.switches for name in row) == sorted(one.name for one in topology.switches)
    inner = [link for link in topology.links if not (topology.is_host(link.a.node) or topology.is_host(link.b.node))]
    assert sorted(str(link) for cable in tiers.cables for link in cable.links) == sorted(map(str, inner))
    picture = ElementTree.fromstring(drawn(topology, ".svg"))
    boxes = {group.get("data-node"): group.find(f"{SVG}rect") for group in picture.iter(f"{SVG}g")}
    assert len(boxes) == len(tiers.racks) + len(topology.switches)
    width, height = (float(picture.get(name, "")) for name in ("width", "height"))
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in boxes.values():
        assert box is not None
        x, y, wide, high = (float(box.get(name, "")) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + wide <= width
        assert y >= 0
        assert y + high <= height
        rows.setdefault(box.get("y", ""), []).append((x, x + wide))
    for row in rows.values():
        assert all(first[1] < second[0] for first, second in pairwise(sorted(row)))
    paths = list(picture.iter(f"{SVG}path"))
    assert sum(path.find(f"{SVG}title") is not None for path in paths) == len(tiers.cables) + len(tiers.racks)
    text = drawn(topology, ".dot")
    assert len(re.findall("^  .* -- ", text, re.M)) == len(tiers.cables) + len(tiers.racks)


@given(connected_topologies())
def test_picture_has_all_of_a_network(topology: Topology) -> None:
    check(topology)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_picture_depends_on_no_flow(name: str) -> None:
    topology = find_topology(name).build()
    check(topology)
    for suffix in KINDS:
        assert drawn(topology, suffix) == drawn(replace(topology, flows=()), suffix)


def test_tiers_are_distances_to_hosts_and_racks_are_folded() -> None:
    tiers = Tiers.of(find_topology("clos").build())
    assert [(row[0], row[-1], len(row)) for row in tiers.switches] == [
        ("t0", "t31", 32),
        ("l0", "l15", 16),
        ("p0", "p7", 8),
    ]
    assert [len(rack.hosts) for rack in tiers.racks] == [16] * 32
    assert tiers.racks[1].label == "h16 ... h31"
    assert {len(cable.links) for cable in tiers.cables if cable.a[0] == "l" and cable.b[0] == "t"} == {2}


def test_picture_takes_names_and_links_of_any_kind() -> None:
    for name in ("lab.clab.yml", "topology.json", "graph.graphml"):
        check(find_topology(str(Path(__file__).parent / "files" / name)).build())


def test_picture_of_unknown_suffix_is_refused() -> None:
    with pytest.raises(TopologyError, match=r"no picture is drawn to \.pgn; there are"):
        drawn(find_topology("star").build(), ".pgn")
