"""Pictures of networks: all of a network is in them, nothing lies on something else, and flows
change nothing."""

import re
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import browser
import pytest
from file_networks import connected_topologies
from hypothesis import given, strategies as st
from PIL import Image

from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology, TopologyError
from pcn.topologies.picture import KINDS, drawn
from pcn.topologies.picture.load import colour
from pcn.topologies.picture.svg import svg
from pcn.topologies.picture.tiers import Tiers

SVG = "{http://www.w3.org/2000/svg}"


def check(topology: Topology):
    tiers = Tiers.of(topology)
    assert sorted(host for rack in tiers.racks for host in rack.hosts) == sorted(
        host.name for host in topology.hosts
    )
    assert sorted(name for row in tiers.switches for name in row) == sorted(
        switch.name for switch in topology.switches
    )
    inner = [
        link
        for link in topology.links
        if not (topology.is_host(link.a.node) or topology.is_host(link.b.node))
    ]
    assert sorted(str(link) for cable in tiers.cables for link in cable.links) == sorted(
        map(str, inner)
    )
    picture = ElementTree.fromstring(drawn(topology, ".svg"))
    boxes = {group.get("data-node"): group.find(f"{SVG}rect") for group in picture.iter(f"{SVG}g")}
    assert len(boxes) == len(tiers.racks) + len(topology.switches)
    width, height = (float(picture.get(name, "")) for name in ("width", "height"))
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in boxes.values():
        x, y, wide, high = (float(box.get(name, "")) for name in ("x", "y", "width", "height"))
        assert x >= 0
        assert x + wide <= width
        assert y >= 0
        assert y + high <= height
        rows.setdefault(box.get("y", ""), []).append((x, x + wide))
    for row in rows.values():
        assert all(first[1] < second[0] for first, second in pairwise(sorted(row)))
    paths = list(picture.iter(f"{SVG}path"))
    assert sum(path.find(f"{SVG}title") is not None for path in paths) == len(tiers.cables) + len(
        tiers.racks
    )
    text = drawn(topology, ".dot").decode()
    assert len(re.findall("^  .* -- ", text, re.M)) == len(tiers.cables) + len(tiers.racks)


@given(connected_topologies(), st.randoms(use_true_random=False))
def test_picture_has_the_colour_of_the_busiest_way(topology, random):
    load = {str(end): random.random() for link in topology.links for end in (link.a, link.b)}
    picture = ElementTree.fromstring(svg(topology, load))
    shown = {}
    for path in picture.iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None and title.text:
            shown[title.text.partition(":")[0]] = path.get("stroke")
    tiers = Tiers.of(topology)
    for cable in tiers.cables:
        most = max(load[str(end)] for link in cable.links for end in (link.a, link.b))
        if sum({cable.a, cable.b} == {parallel.a, parallel.b} for parallel in tiers.cables) == 1:
            assert shown[f"{cable.a} - {cable.b}"] == colour(most)
    for rack in tiers.racks:
        most = max(load[str(end)] for link in rack.links for end in (link.a, link.b))
        assert shown[f"{rack.label} - {rack.node}"] == colour(most)


@given(connected_topologies())
def test_picture_names_both_ports_of_every_link(topology):
    """Scripts find them; what a page that refuses inline styles can't apply isn't in the
    drawing."""
    picture = ElementTree.fromstring(svg(topology, styled=False))
    drawn = {
        frozenset(pair)
        for path in picture.iter(f"{SVG}path")
        for pair in zip(path.get("data-a", "").split(), path.get("data-b", "").split(), strict=True)
    }
    assert drawn == {frozenset((str(link.a), str(link.b))) for link in topology.links}
    assert not any(
        element.tag == f"{SVG}style" or element.get("style") for element in picture.iter()
    )


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("name", ["star", "dumbbell", "clos"])
def test_legend_lies_within_the_picture(name, loaded, tmp_path):
    """In Chromium, by the boxes that it draws: nothing sticks out, texts and samples don't touch
    each other."""
    topology = find_topology(name).build({})
    load = (
        {str(end): 0.5 for link in topology.links for end in (link.a, link.b)} if loaded else None
    )
    picture = tmp_path / "picture.html"
    style = "<style>.network { width: 100%; height: auto }</style>"
    picture.write_text(f"<!DOCTYPE html>{style}{svg(topology, load, 3)}")
    script = """(() => {
        const whole = $('svg').getBoundingClientRect();
        const boxes = $$('.legend, path[d$="h24"]').map(path => path.getBoundingClientRect());
        return [[whole.left, whole.right], ...boxes.map(box => [box.left, box.right])];
    })()"""
    with browser.page() as chromium:
        chromium.open(picture, 1280)
        (left, right), *boxes = chromium.ask(script)
    assert len(boxes) >= (10 if loaded else 2)
    assert left <= min(start for start, _ in boxes)
    assert max(end for _, end in boxes) <= right
    assert all(first[1] < second[0] for first, second in pairwise(sorted(boxes)))


def test_picture_has_no_more_cables_than_it_may():
    topology = find_topology("clos").build()
    inner = [
        link
        for link in topology.links
        if not topology.is_host(link.a.node) and not topology.is_host(link.b.node)
    ]
    busy = {str(link.a): 0.95 for link in inner[:3]}
    drawn_lines = re.findall("<path .*<title>", svg(topology, busy, 10))
    assert len(drawn_lines) == 10 + 32
    assert sum(colour(0.95) in line for line in drawn_lines) == len(
        {(link.a.node, link.b.node) for link in inner[:3]}
    )
    assert "182 lines of the least load are left out" in svg(topology, busy, 10)


@given(connected_topologies())
def test_picture_has_all_of_a_network(topology):
    check(topology)


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_picture_depends_on_no_flow(name):
    topology = find_topology(name).build()
    check(topology)
    # a .png's places are those of the .svg
    for suffix in KINDS if name == "dumbbell" else (".svg", ".dot"):
        assert drawn(topology, suffix) == drawn(replace(topology, flows=()), suffix)


def test_tiers_are_distances_to_hosts_and_racks_are_folded():
    tiers = Tiers.of(find_topology("clos").build())
    assert [(row[0], row[-1], len(row)) for row in tiers.switches] == [
        ("t0", "t31", 32),
        ("l0", "l15", 16),
        ("p0", "p7", 8),
    ]
    assert [len(rack.hosts) for rack in tiers.racks] == [16] * 32
    assert tiers.racks[1].label == "h16 ... h31"
    assert {
        len(cable.links) for cable in tiers.cables if cable.a[0] == "l" and cable.b[0] == "t"
    } == {2}


def test_picture_takes_names_and_links_of_any_kind():
    for name in ("lab.clab.yml", "topology.json", "graph.graphml"):
        check(find_topology(str(Path(__file__).parent / "files" / name)).build())


def test_picture_of_unknown_suffix_is_refused():
    with pytest.raises(TopologyError, match=r"no picture is drawn to \.pgn; did you mean '\.png'"):
        drawn(find_topology("star").build(), ".pgn")


@pytest.mark.parametrize("name", ["fat-tree", "dumbbell"])
def test_png_has_boxes_and_lines_of_svg(name):
    """By pixels: a box is filled and framed, and a line is there between its ends."""
    topology = find_topology(name).build()
    picture = ElementTree.fromstring(svg(topology))
    width, height = (float(picture.get(side, "")) for side in ("width", "height"))
    pixels = Image.open(BytesIO(drawn(topology, ".png"))).convert("RGB")
    scale = pixels.width / width
    assert abs(pixels.height - height * scale) <= 1

    def at(x: float, y: float) -> tuple[int, int, int]:
        pixel = pixels.getpixel((round(x * scale), round(y * scale)))
        assert isinstance(pixel, tuple)
        return pixel

    fills = {"host": (234, 242, 236), "switch": (244, 246, 248)}
    for box in picture.iter(f"{SVG}rect"):
        x, y, wide = (float(box.get(of, "")) for of in ("x", "y", "width"))
        assert at(x + wide / 2, y + 4) == fills[box.get("class", "")]
        frame = min(sum(at(x + wide / 2, y + aside)) for aside in (-0.5, 0, 0.5))
        assert frame < sum(fills["host"]) - 100
    for path in picture.iter(f"{SVG}path"):
        ends = re.fullmatch(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", path.get("d", ""))
        if ends:
            x1, y1, x2, y2 = map(float, ends.groups())
            assert at((x1 + x2) / 2, (y1 + y2) / 2) != (255, 255, 255)


LABELS = "[...svg.querySelectorAll('text.port')]"


@pytest.mark.parametrize("name", ["parking-lot", "compact", "fat-tree", "dumbbell", "two-pods"])
def test_drawing_has_each_ports_name_and_rates_and_none_touches(name, tmp_path):
    topology = find_topology(name).build({})
    picture = tmp_path / "picture.svg"
    picture.write_bytes(drawn(topology, ".svg"))
    script = f"""(svg => [{LABELS}.map(element => element.textContent), {LABELS}.map(element => {{
        const box = element.getBBox(); return [box.x, box.y, box.x + box.width, box.y + box.height];
    }})])(document.documentElement)"""
    with browser.page() as chromium:
        chromium.open(picture, 1280)
        texts, boxes = chromium.ask(script)
    ports = {
        str(end)
        for link in topology.links
        for end in (link.a, link.b)
        if not topology.is_host(end.node)
    }
    assert set(texts) >= ports
    assert any(text.endswith("Gbit/s") for text in texts)
    for number, (left, top, right, bottom) in enumerate(boxes):
        for earlier in boxes[:number]:
            apart = right <= earlier[0] or earlier[2] <= left or bottom - 4 <= earlier[1]
            assert apart or earlier[3] - 4 <= top


def test_chain_is_drawn_in_its_order():
    for bottlenecks in (2, 3, 7):
        topology = find_topology("parking-lot").build({"bottlenecks": bottlenecks})
        (row,) = Tiers.of(topology).switches
        assert row == tuple(f"s{number}" for number in range(bottlenecks + 1))


def test_large_network_has_no_labels():
    assert 'class="port"' not in svg(find_topology("clos").build())
