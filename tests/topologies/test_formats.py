"""Files of networks, ours and other projects': what is read, what is refused, and that writers give
it back."""

import re
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest
from file_networks import connected_topologies
from hypothesis import given, strategies as st

from pcn.base.errors import LabError
from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.formats import FormatError, Source
from pcn.topologies.formats.known import FORMATS, format_of, writer
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, OutputBuffer, Switch, Topology

FILES = Path(__file__).parent / "files"
ROOT = Path(__file__).parents[2]


def read(name: str, text: str, **options: float) -> Topology:
    source = Source(Path(name), text)
    return format_of(source).read(source, **options)


def links(topology: Topology) -> list[str]:
    return [
        f"{link.a} {link.b} {link.rate_bps / 1e9:g} {link.delay_s * 1e6:g}"
        for link in topology.links
    ]


@pytest.mark.parametrize(
    ("name", "form", "hosts", "switches", "wiring"),
    [
        (
            "topology.txt",
            "hpcc",
            "h0 h1 h2 h3",
            "s4 s5",
            [
                "h0:0 s4:1 100 1",
                "h1:0 s4:2 100 1",
                "h2:0 s5:1 25 1",
                "h3:0 s5:2 100 1",
                "s4:3 s5:3 400 2",
            ],
        ),
        (
            "tors.txt",
            "hpcc",
            "h0 h1 h2 h3",
            "s4 s5",
            [
                "h0:0 s4:1 25 1",
                "h1:0 s4:2 25 1",
                "h2:0 s5:1 25 1",
                "h3:0 s5:2 25 1",
                "s4:3 s5:3 100 5",
            ],
        ),
        (
            "topology.json",
            "p4lang",
            "h1 h2 h11",
            "s1 s2",
            ["h1:0 s1:2 10 1", "h11:0 s1:1 10 5", "h2:0 s2:1 25 500", "s1:3 s2:3 0.0005 0"],
        ),
        (
            "exercise-2018.json",
            "p4lang",
            "h1 h2 h3",
            "s1 s2",
            ["h1:0 s1:1 10 1", "h2:0 s1:2 10 1", "h3:0 s2:1 10 1000", "s1:3 s2:2 0.01 5000"],
        ),
        (
            "p4app.json",
            "p4-utils",
            "h1 h2 h3",
            "s1 s2",
            ["h1:0 s1:1 0.01 1", "h2:0 s1:2 10 1", "s1:3 s2:1 0.01 5000", "s2:4 h3:0 10 1"],
        ),
        (
            "p4-utils-written.json",
            "p4-utils",
            "h1 h2",
            "s1 s2",
            ["h1:0 s1:1 0.01 1", "s2:1 h2:0 10 1", "s1:3 s2:2 0.005 2000"],
        ),
        (
            "multiswitch.json",
            "p4app",
            "h1 h2",
            "s1 s2",
            ["h1:0 s1:1 10 1", "s2:1 h2:0 10 50000", "s1:2 s2:2 10 1"],
        ),
        (
            "lab.clab.yml",
            "containerlab",
            "client1 client2",
            "Leaf-1 Leaf-2 Superspine-of-pod-01 router",
            [
                "Leaf-1:1 Superspine-of-pod-01:1 10 1",
                "Leaf-2:1 Superspine-of-pod-01:2 10 1",
                "client1:0 Leaf-1:2 10 1",
                "client2:0 router:1 10 1",
                "router:2 Leaf-2:2 10 1",
            ],
        ),
        (
            "racks.yaml",
            "pcn",
            "a0 a1 b0 b1",
            "Tor-A Tor-B",
            [
                "a0:0 Tor-A:1 25 1",
                "a1:0 Tor-A:2 25 1",
                "b0:0 Tor-B:7 100 1",
                "b1:0 Tor-B:1 25 1",
                "Tor-A:3 Tor-B:2 100 5",
                "Tor-A:4 Tor-B:3 100 5",
            ],
        ),
        (
            "graph.json",
            "node-link",
            "0 gpu-1 gpu-2",
            "tor spine",
            [
                "0:0 tor:1 10 1",
                "gpu-1:0 tor:2 25 2",
                "tor:3 spine:1 100 5",
                "spine:2 tor:4 100 5",
                "gpu-2:0 spine:3 50 0.5",
            ],
        ),
        ("graph.graphml", "graphml", "0 2", "n1", ["0:0 n1:1 100 1", "2:0 n1:2 10 1"]),
        (
            "network.yml",
            "astra",
            "h0 h1 h2 h3 h4 h5",
            "n0 n1 n2 n3 n4 n5 d2s0 d2s1 d2s2",
            [
                *(f"h{npu}:0 n{npu}:1 3865.47 0.1" for npu in range(6)),
                *("n0:2 n1:2 1717.99 0.05", "n1:3 n2:2 1717.99 0.05", "n2:3 n0:3 1717.99 0.05"),
                *("n3:2 n4:2 1717.99 0.05", "n4:3 n5:2 1717.99 0.05", "n5:3 n3:3 1717.99 0.05"),
                *("n0:4 d2s0:1 429.497 1", "n3:4 d2s0:2 429.497 1", "n1:4 d2s1:1 429.497 1"),
                *("n4:4 d2s1:2 429.497 1", "n2:4 d2s2:1 429.497 1", "n5:4 d2s2:2 429.497 1"),
            ],
        ),
    ],
)
def test_reader_makes_network_of_file(name, form, hosts, switches, wiring):
    assert format_of(Source.of(FILES / name)).name == form
    topology = find_topology(str(FILES / name)).build()
    assert [host.name for host in topology.hosts] == hosts.split()
    assert [switch.name for switch in topology.switches] == switches.split()
    assert links(topology) == wiring
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
    topology = read("network.yml", _astra(*(f"[{text}]" for text in values)))
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
        _astra("[Ring]", "[3]", "[1]", "[500]"),
        _astra("[Switch]", "[3]", "[1]", "[500]"),
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


def _astra(*values: str) -> str:
    return "".join(
        f"{name}: {value}\n"
        for name, value in zip(
            ("topology", "npus_count", "bandwidth", "latency"), values, strict=True
        )
    )


REFUSED = [
    ("t.txt", "", "is in no format that is recognised"),
    ("t.txt", "3 1\n", "is in no format that is recognised: write which, as hpcc:t.txt"),
    (
        "t.txt",
        "2 1 1\n1\n0 1 100Gbps 1us\n",
        "t.txt:3: 4 words: a link is SRC DST RATE DELAY ERROR_RATE",
    ),
    (
        "t.txt",
        "2 1 1\n1\n0 1 100Gbps 1us 0.01\n",
        "t.txt:3: error rate 0.01: links here lose nothing; write 0",
    ),
    ("t.txt", "2 1 1\n1\n0 1 100Gbps 1us nan\n", "t.txt:3: error rate nan"),
    ("t.txt", "2 1 1\n1\n0 1 100G 1us 0\n", "t.txt:3: '100G' is no rate: write it like 100Gbps"),
    ("t.txt", "2 1 1\n1\n0 1 0Gbps 1us 0\n", "t.txt:3: rate 0Gbps: must be above 0"),
    ("t.txt", "2 1 1\n1\n0 1 1Gbps 1 us 0\n", "t.txt:3: 6 words"),
    ("t.txt", "2 1 1\n1\n0 2 1Gbps 1us 0\n", "t.txt:3: no node '2': nodes are numbered 0 to 1"),
    ("t.txt", "2 1 2\n1\n0 1 1Gbps 1us 0\n", "t.txt:3: 1 links: the first line counts 2"),
    (
        "t.txt",
        "2 1 1\n1 0\n0 1 1Gbps 1us 0\n",
        "t.txt:2: 2 switches' numbers: the first line counts 1",
    ),
    (
        "t.txt",
        "5 3 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n",
        "t.txt:2: 2 switches' numbers: the first",
    ),
    ("t.txt", "3 2 1\n1 1\n0 1 1Gbps 1us 0\n", "t.txt:2: switch 1 stands in line 2 already"),
    (
        "t.txt",
        "999999999 1 1\n1\n",
        "t.txt:1: 999999999 nodes: 262,144 hosts and 65,536 switches are possible",
    ),
    ("t.topo", "Nodes 16\nTiers 4\nPodsize 16\n", "t.topo:2: Tiers 4: 2 or 3 are possible"),
    ("t.topo", "Nodes 16\nTears 2\n", "t.topo:2: no attribute 'Tears' here; did you mean 'Tiers'"),
    (
        "t.topo",
        (
            "Nodes 33\nTiers 2\nPodsize 32\nTier 0\nRadix_Down 8\nRadix_Up 2\nOversubscribed "
            "4\nTier 1\nRadix_Down 4\n"
        ),
        "t.topo:1: Nodes 33, but the radixes make 32 hosts: Radix_Down 8 of tier 0 x 4 of tier 1",
    ),
    (
        "t.topo",
        (FILES / "small.topo").read_text().replace("Podsize 8", "Podsize 16"),
        (
            "t.topo:4: Podsize 16, but the radixes make 8 hosts: Radix_Down 4 of tier 0 x 4 of "
            "tier 1 / Bundle 2"
        ),
    ),
    (
        "t.topo",
        "Nodes 16\nTiers 2\nPodsize 16\nTier 0\nDownlink_speed_Gbps 400Gbps\n",
        (
            "t.topo:5: 'Downlink_speed_Gbps 400Gbps': write a name and a whole number, as "
            "Downlink_speed_Gbps 400, without"
        ),
    ),
    ("t.topo", "Nodes x\n", "t.topo:1: 'Nodes x': write a name and a whole number"),
    ("t.topo", "Nodes 16\nNodes 16\n", "t.topo:2: Nodes stands in line 1 already"),
    (
        "t.topo",
        "Nodes 16\nTiers 2\nPodsize 16\nTier 0\nRadix_Down 4\nRadix_Up 4\nTier 1\nRadix_Down 8\n",
        "t.topo:1: Nodes 16, but the radixes make 32 hosts: Radix_Down 4 of tier 0 x 8 of tier 1",
    ),
    (
        "t.topo",
        "Nodes 16\nTiers 2\nPodsize 16\nTier 0\nRadix_Down 4\nRadix_Up 4\nTier 1\nRadix_Down 4\n",
        "t.topo:4: tier 0 has no Downlink_speed_Gbps",
    ),
    (
        "t.json",
        '{"hosts": {"h1": {}}, "switches": {}, "links": [["h1"]]}',
        "t.json:1: links[0]: a link is",
    ),
    (
        "t.json",
        '{"hosts": {"h1": {}}, "switches": {}, "links": [["h1", "s1-p1"]]}',
        "t.json:1: no node 's1'",
    ),
    (
        "t.json",
        '{"hosts": {"h 1": {}}, "switches": {}, "links": []}',
        "t.json:1: node name 'h 1': up to 48 letters",
    ),
    (
        "t.json",
        '{"hosts": {"h1": {}}',
        "t.json:1: this is no JSON: it ends where a comma is wanted",
    ),
    (
        "t.json",
        '{"hosts": [\n"h1",], "links": []}',
        "t.json:2: this is no JSON: ']' where a value is wanted",
    ),
    ("t.json", '{"a": "\\x"}', "t.json:1: this is no JSON"),
    ("t.clab.yml", "topology:\n  nodes:\n    {{- range x}}\n", "t.clab.yml:3: this is no YAML"),
    ("t.clab.yml", "topology:\n  nodes: {a: }\n", "t.clab.yml: no link between nodes"),
    (
        "t.clab.yml",
        "topology:\n nodes: {a: }\n links: [{endpoints: [a, 'b:1']}]\n",
        "t.clab.yml:3: topology.links[0]",
    ),
    (
        "t.yaml",
        "hosts: [h0]\nlinks: [{a: h0, b: s0, rat: 1G}]\n",
        "t.yaml:2: links[0].rat: no such field; did you mean",
    ),
    (
        "t.yaml",
        "hosts: [h0]\nlinks:\n- {a: h0, b: h0, rate: 1G}\n",
        "t.yaml:3: links[0]: no delay: give the link one",
    ),
    (
        "t.yaml",
        "hosts: [h0]\nlinks:\n- {a: h0, b: h0, rate: 1, delay: 0}\n",
        "t.yaml:3: links[0].rate: '1' has no unit",
    ),
    (
        "t.yaml",
        "hosts: [h0, h0]\nlinks: [{a: h0, b: h0, rate: 1G, delay: 0}]\n",
        "t.yaml:1: node h0 stands in line 1",
    ),
    (
        "t.yaml",
        "hosts: [h0]\nhosts: [h0]\nlinks: []\n",
        "t.yaml:2: hosts: stands in line 1 already",
    ),
    ("t.yaml", "hosts: [h0]\nlinks: []\n---\n", "t.yaml:3: a second document begins here"),
    ("t.yaml", "hosts: [*x]\nlinks: []\n", "t.yaml:1: this is no YAML: found undefined alias 'x'"),
    (
        "t.yml",
        _astra("[ring]", "[4]", "[1]", "[1]"),
        "t.yml:1: topology[0]: no building block 'ring'; did you mean",
    ),
    (
        "t.yml",
        _astra("[Ring]", "[1]", "[1]", "[1]"),
        "t.yml:2: npus_count[0]: '1': a number of NPUs, from 2",
    ),
    ("t.yml", _astra("[Ring]", "[4]", "[0]", "[1]"), "t.yml:3: bandwidth[0]: '0': GB/s, above 0"),
    (
        "t.yml",
        _astra("[Ring]", "[4]", "[1]", "[tbd]"),
        "t.yml:4: latency[0]: 'tbd': a number, in ns",
    ),
    ("t.yml", _astra("[Ring]", "[4]", "[1]", "[-1]"), "t.yml:4: latency[0]: '-1': ns, 0 or above"),
    (
        "t.yml",
        _astra("[Ring]", "[4]", "[1e300]", "[1]"),
        "t.yml:3: bandwidth[0]: '1e300': GB/s, above 0 and finite",
    ),
    (
        "t.yml",
        _astra("[Ring]", "[4]", "[inf]", "[1]"),
        "t.yml:3: bandwidth[0]: 'inf': a finite number",
    ),
    (
        "t.yml",
        _astra("[Ring, Ring]", "[4]", "[1, 1]", "[1, 1]"),
        "t.yml:2: npus_count: 1 values: topology has 2",
    ),
    ("t.yml", _astra("[Ring]", "[4]", "4", "[1]"), "t.yml:3: bandwidth: a list is wanted here"),
    (
        "t.yml",
        _astra("[Ring]", "[999999]", "[1]", "[1]"),
        "t.yml:1: 999,999 NPUs: 262,144 hosts are possible",
    ),
    (
        "t.yml",
        _astra("[FullyConnected]", "[999]", "[1]", "[1]"),
        "t.yml:1: 998 links of an NPU: a switch has 507",
    ),
    (
        "t.yml",
        _astra("[Switch]", "[508]", "[1]", "[1]"),
        "t.yml:1: npus_count: a switch has 507 ports",
    ),
    ("t.graphml", "<graphml>\n<graph><node/></graph></graphml>", "t.graphml:2: id: missing"),
    (
        "t.graphml",
        "<graphml>\n<graph><node id='a'></graph></graphml>",
        "t.graphml:2: this is no XML: mismatched tag",
    ),
    (
        "t.graphml",
        "<graphml><graph><hyperedge/></graph></graphml>",
        "t.graphml:1: a hyperedge: links have two ends",
    ),
    ("t.graphml", "<graphml/>", "t.graphml: no node: GraphML has <graph>"),
    (
        "t.json",
        '{"nodes": [{"id": 1}], "edges": [{"source": 1}]}',
        "t.json:1: edges[0]: target: missing",
    ),
    (
        "t.json",
        (
            '{"nodes": [{"id": 1}, {"id": 2}],\n"edges": [{"source": 1, "target": 2, "bandwidth": '
            "10}]}"
        ),
        "t.json:2: bandwidth of 1 - 2: '10' has no unit: write 10G, 10M or 10k, or rate_bps",
    ),
    (
        "t.json",
        '{"directed": true, "nodes": [{"id": 1}, {"id": 2}],\n"edges": [{"source": 1, "target": '
        "2},\n"
        '{"source": 2, "target": 1}]}',
        "t.json:2: an edge from 1 to 2, and line 3 has one back",
    ),
]


@pytest.mark.parametrize(("name", "text", "message"), REFUSED)
def test_reader_refuses_with_file_line_and_way_out(name, text, message):
    with pytest.raises(FormatError) as caught:
        read(name, text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_own_format_gives_topology_back(form, name):
    topology = find_topology(name).build()
    write = FORMATS[form].write
    assert read(f"t{FORMATS[form].suffix}", write(topology)) == topology


def test_own_format_gives_all_back():
    topology = find_topology(str(FILES / "racks.yaml")).build({"xon_bytes": "100KB"})
    buffered = Switch("Tor-B", 9, "round robin", OutputBuffer(100e3, 1.7, 1 / 3e6, True))
    topology = replace(
        topology,
        switches=(topology.switches[0], buffered),
        flow_control="credits",
        flows=(
            *topology.flows,
            FlowSpec(7, "a0", "b1", -1 / 3e5, rate_bps=1e10 / 3),
            FlowSpec(8, "b1", "a0", 5e-6, 9, after=(1,)),
            FlowSpec(9, "b1", "a0", 5e-6, 9, after=(1, 8), after_s=(0.0, 1e-6), colour="red"),
            FlowSpec(10, "b1", "a0", 0.0, 9, after=(1, 8), acknowledged=(8,)),
        ),
    )
    quick = replace(topology.switches[0], latency_s=1 / 3e6, cut_through=True)
    cut = replace(topology, switches=(quick, topology.switches[1]), flow_control="pfc")
    for form, network in product(("pcn", "pcn-json"), (topology, cut)):
        write = FORMATS[form].write
        assert read(f"t{FORMATS[form].suffix}", write(network)) == network


@given(connected_topologies())
def test_writers_give_network_back(topology):
    """Names, addresses and ports where the format has them; HPCC's numbers its nodes, p4lang's has
    no device ids."""
    for form in FORMATS.values():
        if form.write is not None:
            again = read(f"random{form.suffix}", form.write(topology))
            if form.name == "hpcc":
                assert [len(again.hosts), links_by_place(again)] == [
                    len(topology.hosts),
                    links_by_place(topology),
                ]
                assert form.write(again) == form.write(topology)
                assert read("random.txt", form.write(again)) == again
            else:
                assert again == topology, form.name


def links_by_place(topology: Topology) -> list[tuple[int, int, int, int, float, float]]:
    names = [
        *(host.name for host in topology.hosts),
        *(switch.name for switch in topology.switches),
    ]
    return [
        (
            names.index(link.a.node), link.a.port, names.index(link.b.node), link.b.port,
            link.rate_bps, link.delay_s,
        )
        for link in topology.links
    ]  # fmt: skip


def test_writer_is_chosen_by_name_or_suffix():
    assert writer("a/topology.txt")[0].name == "hpcc"
    assert writer("hpcc:x.y") == (FORMATS["hpcc"], Path("x.y"))
    assert writer("net.graph.json")[0].name == "node-link"
    with pytest.raises(FormatError, match="write the format before the file, as hpcc:net"):
        writer("net.xyz")
    for name in (name for name, format_ in FORMATS.items() if not format_.write):
        with pytest.raises(
            FormatError, match=f"{name}:net.topo: {name} is only read; written are pcn,"
        ):
            writer(f"{name}:net.topo")


def test_writer_of_p4lang_refuses_names_that_exercises_read_otherwise():
    write = FORMATS["p4lang"].write
    with pytest.raises(FormatError, match="r0: hosts begin with h there, switches with s"):
        write(find_topology("dumbbell").build())


def test_writer_of_hpcc_notes_ports_that_a_reader_counts_otherwise():
    note = FORMATS["hpcc"].written_note
    assert note(find_topology("compact").build()).endswith(
        "in the order of links: s1:2 becomes s1:1"
    )
    assert "ports" not in note(find_topology("dumbbell").build())


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
