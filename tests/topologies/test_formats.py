"""Files of networks, ours and other projects': what is read."""

import re
from itertools import combinations, product
from pathlib import Path

import pytest
from file_networks import FILES, astra, read
from hypothesis import given, strategies as st

from pcn.base.errors import LabError
from pcn.topologies.formats import FormatError, Source
from pcn.topologies.formats.known import FORMATS, format_of
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, Topology

ROOT = Path(__file__).parents[2]


def links(topology: Topology) -> list[str]:
    return [
        f"{link.a} {link.b} {link.rate_bps / 1e9:g} {link.delay_s * 1e6:g}"
        for link in topology.links
    ]


NETWORKS = """
topology.txt, hpcc: h0 h1 h2 h3; s4 s5
h0:0 s4:1 100 1, h1:0 s4:2 100 1, h2:0 s5:1 25 1, h3:0 s5:2 100 1, s4:3 s5:3 400 2

tors.txt, hpcc: h0 h1 h2 h3; s4 s5
h0:0 s4:1 25 1, h1:0 s4:2 25 1, h2:0 s5:1 25 1, h3:0 s5:2 25 1, s4:3 s5:3 100 5

topology.json, p4lang: h1 h2 h11; s1 s2
h1:0 s1:2 10 1, h11:0 s1:1 10 5, h2:0 s2:1 25 500, s1:3 s2:3 0.0005 0

exercise-2018.json, p4lang: h1 h2 h3; s1 s2
h1:0 s1:1 10 1, h2:0 s1:2 10 1, h3:0 s2:1 10 1000, s1:3 s2:2 0.01 5000

p4app.json, p4-utils: h1 h2 h3; s1 s2
h1:0 s1:1 0.01 1, h2:0 s1:2 10 1, s1:3 s2:1 0.01 5000, s2:4 h3:0 10 1

p4-utils-written.json, p4-utils: h1 h2; s1 s2
h1:0 s1:1 0.01 1, s2:1 h2:0 10 1, s1:3 s2:2 0.005 2000

multiswitch.json, p4app: h1 h2; s1 s2
h1:0 s1:1 10 1, s2:1 h2:0 10 50000, s1:2 s2:2 10 1

lab.clab.yml, containerlab: client1 client2; Leaf-1 Leaf-2 Superspine-of-pod-01 router
Leaf-1:1 Superspine-of-pod-01:1 10 1, Leaf-2:1 Superspine-of-pod-01:2 10 1,
client1:0 Leaf-1:2 10 1, client2:0 router:1 10 1, router:2 Leaf-2:2 10 1

racks.yaml, pcn: a0 a1 b0 b1; Tor-A Tor-B
a0:0 Tor-A:1 25 1, a1:0 Tor-A:2 25 1, b0:0 Tor-B:7 100 1, b1:0 Tor-B:1 25 1,
Tor-A:3 Tor-B:2 100 5, Tor-A:4 Tor-B:3 100 5

graph.json, node-link: 0 gpu-1 gpu-2; tor spine
0:0 tor:1 10 1, gpu-1:0 tor:2 25 2, tor:3 spine:1 100 5, spine:2 tor:4 100 5,
gpu-2:0 spine:3 50 0.5

graph.graphml, graphml: 0 2; n1
0:0 n1:1 100 1, 2:0 n1:2 10 1

network.yml, astra: h0 h1 h2 h3 h4 h5; n0 n1 n2 n3 n4 n5 d2s0 d2s1 d2s2
h0:0 n0:1 3865.47 0.1, h1:0 n1:1 3865.47 0.1, h2:0 n2:1 3865.47 0.1, h3:0 n3:1 3865.47 0.1,
h4:0 n4:1 3865.47 0.1, h5:0 n5:1 3865.47 0.1, n0:2 n1:2 1717.99 0.05, n1:3 n2:2 1717.99 0.05,
n2:3 n0:3 1717.99 0.05, n3:2 n4:2 1717.99 0.05, n4:3 n5:2 1717.99 0.05, n5:3 n3:3 1717.99 0.05,
n0:4 d2s0:1 429.497 1, n3:4 d2s0:2 429.497 1, n1:4 d2s1:1 429.497 1, n4:4 d2s1:2 429.497 1,
n2:4 d2s2:1 429.497 1, n5:4 d2s2:2 429.497 1
"""
"""Name and format of a file; its hosts; its switches; links with Gbit/s and us."""


@pytest.mark.parametrize("network", NETWORKS.split("\n\n"), ids=lambda text: text.split(",")[0])
def test_reader_makes_network_of_file(network):
    head, _, wiring = network.strip().partition("\n")
    name, form, hosts, switches = re.split("[,:;] ", head)
    assert format_of(Source.of(FILES / name)).name == form
    topology = find_topology(str(FILES / name)).build()
    assert [host.name for host in topology.hosts] == hosts.split()
    assert [switch.name for switch in topology.switches] == switches.split()
    assert links(topology) == re.split(",\\s", wiring)
    assert find_topology(f"{form}:{FILES / name}").build() == topology


def test_reader_of_htsim_wires_as_htsim_does():
    """By htsim's formulas: ToR h // 4; both ToRs of a pod to its two aggregation switches, by
    bundles of two links; the aggregation switch a to the cores a % 2 + 2 * place."""
    topology = find_topology(str(FILES / "small.topo")).build()
    assert (len(topology.hosts), [switch.name for switch in topology.switches]) == (
        16,
        ["t0", "t1", "t2", "t3", "a0", "a1", "a2", "a3", "c0", "c1", "c2", "c3"],
    )
    assert all(topology.peer(f"h{host}", 0).node == f"t{host // 4}" for host in range(16))
    for tor in range(4):
        pod = tor // 2
        up = [topology.peer(f"t{tor}", port).node for port in topology.ports(f"t{tor}")[4:]]
        assert up == [f"a{2 * pod}", f"a{2 * pod}", f"a{2 * pod + 1}", f"a{2 * pod + 1}"]
    for agg in range(4):
        up = [topology.peer(f"a{agg}", port).node for port in topology.ports(f"a{agg}")[4:]]
        assert up == [f"c{agg % 2}", f"c{agg % 2 + 2}"]
    kinds = {
        (link.a.node[0] + link.b.node[0], link.rate_bps / 1e9, link.delay_s)
        for link in topology.links
    }
    assert kinds == {("ht", 100, 1e-6), ("ta", 200, 0.5e-6), ("ac", 400, 1e-6)}


@given(
    st.lists(
        st.tuples(st.sampled_from(["Ring", "FullyConnected", "Switch"]), st.integers(2, 4)),
        max_size=3,
        min_size=1,
    )
)
def test_reader_of_astra_links_npus_that_differ_in_one_dimension(dimensions):
    """By NPUs' places: neighbours of a ring, any two of a mesh, those at one switch; rates name the
    dimension."""
    kinds, sizes = zip(*dimensions, strict=True)
    ones = [str(10 + place) for place in range(len(sizes))]
    values = (", ".join(part) for part in (kinds, map(str, sizes), ones, ones))
    topology = read("network.yml", astra(*(f"[{text}]" for text in values)))
    places = [tuple(reversed(place)) for place in product(*map(range, reversed(sizes)))]
    assert [host.name for host in topology.hosts] == [f"h{npu}" for npu in range(len(places))]
    inside = [link for link in topology.links if link.a.node[0] == "h" and link.b.node[0] == "n"]
    assert len(inside) == (0 if kinds == ("Switch",) else len(places))
    at_switch: dict[str, set[int]] = {}
    for link in topology.links:
        a, b = link.a.node, link.b.node
        if a[0] == "h" and b[0] == "n":
            assert a[1:] == b[1:]
            continue
        dimension = round(link.rate_bps / (8 * 2**30)) - 10
        assert link.delay_s == pytest.approx((10 + dimension) * 1e-9)
        if b[0] == "d":
            at_switch.setdefault(b, set()).add(int(a[1:]))
            continue
        at_switch[f"{a} {b}"] = {int(a[1:]), int(b[1:])}
    expected = set()
    for (npu, first), (peer, second) in combinations(enumerate(places), 2):
        unlike = [place for place, (x, y) in enumerate(zip(first, second, strict=True)) if x != y]
        if len(unlike) != 1:
            continue
        (dimension,) = unlike
        apart = abs(first[dimension] - second[dimension])
        if kinds[dimension] != "Ring" or apart in (1, sizes[dimension] - 1):
            expected.add((npu, peer))
    linked = {pair for members in at_switch.values() for pair in combinations(sorted(members), 2)}
    assert linked == expected


def test_reader_of_astra_takes_delay_of_links_inside_npus_alone():
    ring, switch = (
        astra("[Ring]", "[3]", "[1]", "[500]"),
        astra("[Switch]", "[3]", "[1]", "[500]"),
    )
    assert {link.delay_s for link in read("a.yml", ring, delay_s=1e-9).links} == {1e-9, 500e-9}
    with pytest.raises(FormatError, match="gives each link its delay: leave out delay_s"):
        read("a.yml", switch, delay_s=1e-9)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf28", "utf-16", "iso-8859-1", "cp037", "hex", "x" * 100]
)
def test_reader_of_graphml_takes_text_whatever_encoding_it_declares(encoding):
    text = (FILES / "graph.graphml").read_text().partition("?>")[2]
    declared = f"<?xml version='1.0' encoding='{encoding}'?>{text}"
    assert read("graph.graphml", declared) == read("graph.graphml", text)


def test_reader_of_htsim_gives_switches_of_a_tier_their_latency():
    text = (
        (FILES / "small.topo").read_text().replace("Switch_Latency_ns 0", "Switch_Latency_ns 350")
    )
    assert {switch.latency_s for switch in read("t.topo", text).switches} == {0.0, 350e-9}


def test_reader_of_simai_gives_hosts_ports_or_leaves_nvswitches_out_or_splits_hosts():
    gpus = find_topology(str(FILES / "gpus"))
    whole = gpus.build()
    assert [str(whole.peer("h0", port)) for port in whole.ports("h0")] == ["s4:1", "s6:1"]
    assert (whole.next_hops("h0", "h1"), whole.next_hops("h0", "h2")) == ((0,), (1,))
    nics = gpus.build({"nvlink": 0})
    assert [host.name for host in nics.hosts] == ["h0", "h1", "h2", "h3"]
    assert [switch.name for switch in nics.switches] == ["s6", "s7", "s8"]
    assert len(nics.links) == 7
    both = gpus.build({"split_hosts": 1})
    assert [host.name for host in both.hosts][:3] == ["h0-0", "h0-1", "h1-0"]
    assert [both.peer(name, 0).node for name in ("h0-0", "h0-1")] == ["s4", "s6"]


def test_reader_takes_addresses_ports_and_flows_of_own_format():
    topology = find_topology(str(FILES / "racks.yaml")).build()
    assert [host.ip for host in topology.hosts] == ["10.0.0.1", "10.0.0.2", "10.1.0.1", "10.0.0.3"]
    assert topology.host("b0").mac == "02:00:00:00:01:00"
    assert [(switch.device_id, switch.arbitration) for switch in topology.switches] == [
        (1, "fifo"),
        (9, "round robin"),
    ]
    assert topology.flows == (
        FlowSpec(1, "a0", "b0", 0.0, 64_000),
        FlowSpec(2, "a1", "b0", 10e-6, None, 5e9, 1e-3, "slow", 4),
    )
    assert topology.lossless_classes == (3, 4)
    assert (
        topology.number("xoff_bytes"),
        topology.parameters["colour"],
        topology.parameters["weight"],
    ) == (256e3, "blue", 3)


def test_reference_that_begins_with_a_format_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("clos").write_text((FILES / "topology.txt").read_text())
    assert find_topology("hpcc:clos").build().name == "clos"
    assert find_topology("./clos").build().name == "clos"
    assert len(find_topology("clos").build().hosts) == 512
    with pytest.raises(LabError, match=r"nothing\.txt: No such file"):
        find_topology("nothing.txt")


def test_tables_of_formats_md_are_the_readers():
    text = (ROOT / "docs/formats.md").read_text().partition("## Files of flows")[0]
    sections = dict(re.findall(r"^### `([\w-]+)`.*?\n(.*?)(?=^##|\Z)", text, re.M | re.S))
    assert list(sections) == [name for name in FORMATS if name != "pcn-json"]
    for name, section in sections.items():
        rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", section, re.M))
        assert {
            key: value for key, value in rows.items() if key not in ("in the file", "---")
        } == FORMATS[name].fields
    assert FORMATS["pcn-json"].fields == FORMATS["pcn"].fields
