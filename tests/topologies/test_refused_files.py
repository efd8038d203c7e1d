"""Files of networks that are refused: each in one line, with the place and the way out."""

import re
from collections.abc import Iterator

import pytest
from file_networks import FILES, astra, read

from pcn.topologies.formats import FormatError

REFUSED = [
    ("t.txt", "", "is in no format that is recognised"),
    (
        "t.topo",
        "Nodes 33\nTiers 2\nPodsize 32\nTier 0\nRadix_Down 8\nRadix_Up 2\nOversubscribed "
        "4\nTier 1\nRadix_Down 4\n",
        "t.topo:1: Nodes 33, but the radixes make 32 hosts: Radix_Down 8 of tier 0 x 4 of tier 1",
    ),
    (
        "t.topo",
        (FILES / "small.topo").read_text().replace("Podsize 8", "Podsize 16"),
        "t.topo:4: Podsize 16, but the radixes make 8 hosts: Radix_Down 4 of "
        "tier 0 x 4 of tier 1 / Bundle 2",
    ),
    (
        "t.json",
        '{"directed": true, "nodes": [{"id": 1}, {"id": 2}],\n"edges": [{"source": 1, "target": '
        '2},\n{"source": 2, "target": 1}]}',
        "t.json:2: an edge from 1 to 2, and line 3 has one back",
    ),
]
"""Names, texts and messages."""
IN_LINES = r"""
t.txt 3 1\n => is in no format that is recognised: write which, as hpcc:t.txt
t.txt 2 1 1\n1\n0 1 100Gbps 1us\n => :3: 4 words: a link is SRC DST RATE DELAY ERROR_RATE
t.txt 2 1 1\n1\n0 1 100Gbps 1us 0.01\n => :3: error rate 0.01: links here lose nothing; write 0
t.txt 2 1 1\n1\n0 1 100Gbps 1us nan\n => :3: error rate nan
t.txt 2 1 1\n1\n0 1 100G 1us 0\n => :3: '100G' is no rate: write it like 100Gbps
t.txt 2 1 1\n1\n0 1 0Gbps 1us 0\n => :3: rate 0Gbps: must be above 0
t.txt 2 1 1\n1\n0 1 1Gbps 1 us 0\n => :3: 6 words
t.txt 2 1 1\n1\n0 2 1Gbps 1us 0\n => :3: no node '2': nodes are numbered 0 to 1
t.txt 2 1 2\n1\n0 1 1Gbps 1us 0\n => :3: 1 links: the first line counts 2
t.txt 2 1 1\n1 0\n0 1 1Gbps 1us 0\n => :2: 2 switches' numbers: the first line counts 1
t.txt 5 3 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n => :2: 2 switches' numbers: the first
t.txt 3 2 1\n1 1\n0 1 1Gbps 1us 0\n => :2: switch 1 stands in line 2 already
t.txt 999999999 1 1\n1\n => :1: 999999999 nodes: 262,144 hosts and 65,536 switches are possible
t.topo Nodes 16\nTiers 4\nPodsize 16\n => :2: Tiers 4: 2 or 3 are possible
t.topo Nodes 16\nTears 2\n => :2: no attribute 'Tears' here; did you mean 'Tiers'
t.topo Nodes 16\nTiers 2\nPodsize 16\nTier 0\nDownlink_speed_Gbps 400Gbps\n
    => :5: 'Downlink_speed_Gbps 400Gbps': write a name and a whole number
t.topo Nodes x\n => :1: 'Nodes x': write a name and a whole number
t.topo Nodes 16\nNodes 16\n => :2: Nodes stands in line 1 already
t.topo Nodes 16\nTiers 2\nPodsize 16\nTier 0\nRadix_Down 4\nRadix_Up 4\nTier 1\nRadix_Down 8\n
    => :1: Nodes 16, but the radixes make 32 hosts: Radix_Down 4 of tier 0 x 8 of tier 1
t.topo Nodes 16\nTiers 2\nPodsize 16\nTier 0\nRadix_Down 4\nRadix_Up 4\nTier 1\nRadix_Down 4\n
    => :4: tier 0 has no Downlink_speed_Gbps
t.json {"hosts": {"h1": {}}, "switches": {}, "links": [["h1"]]} => :1: links[0]: a link is
t.json {"hosts": {"h1": {}}, "switches": {}, "links": [["h1", "s1-p1"]]} => :1: no node 's1'
t.json {"hosts": {"h 1": {}}, "switches": {}, "links": []} => :1: node name 'h 1': up to 48 letters
t.json {"hosts": {"h1": {}} => :1: this is no JSON: it ends where a comma is wanted
t.json {"hosts": [\n"h1",], "links": []} => :2: this is no JSON: ']' where a value is wanted
t.json {"a": "\x"} => :1: this is no JSON
t.clab.yml topology:\n  nodes:\n    {{- range x}}\n => :3: this is no YAML
t.clab.yml topology:\n  nodes: {a: }\n => : no link between nodes
t.clab.yml topology:\n nodes: {a: }\n links: [{endpoints: [a, 'b:1']}]\n => :3: topology.links[0]
t.yaml hosts: [h0]\nlinks: [{a: h0, b: s0, rat: 1G}]\n
    => :2: links[0].rat: no such field; did you mean
t.yaml hosts: [h0]\nlinks:\n- {a: h0, b: h0, rate: 1G}\n
    => :3: links[0]: no delay: give the link one
t.yaml hosts: [h0]\nlinks:\n- {a: h0, b: h0, rate: 1, delay: 0}\n
    => :3: links[0].rate: '1' has no unit
t.yaml hosts: [h0, h0]\nlinks: [{a: h0, b: h0, rate: 1G, delay: 0}]\n
    => :1: node h0 stands in line 1
t.yaml hosts: [h0]\nhosts: [h0]\nlinks: []\n => :2: hosts: stands in line 1 already
t.yaml hosts: [h0]\nlinks: []\n---\n => :3: a second document begins here
t.yaml hosts: [*x]\nlinks: []\n => :1: this is no YAML: found undefined alias 'x'
t.yml [ring]; [4]; [1]; [1] => :1: topology[0]: no building block 'ring'; did you mean
t.yml [Ring]; [1]; [1]; [1] => :2: npus_count[0]: '1': a number of NPUs, from 2
t.yml [Ring]; [4]; [0]; [1] => :3: bandwidth[0]: '0': GB/s, above 0
t.yml [Ring]; [4]; [1]; [tbd] => :4: latency[0]: 'tbd': a number, in ns
t.yml [Ring]; [4]; [1]; [-1] => :4: latency[0]: '-1': ns, 0 or above
t.yml [Ring]; [4]; [1e300]; [1] => :3: bandwidth[0]: '1e300': GB/s, above 0 and finite
t.yml [Ring]; [4]; [inf]; [1] => :3: bandwidth[0]: 'inf': a finite number
t.yml [Ring, Ring]; [4]; [1, 1]; [1, 1] => :2: npus_count: 1 values: topology has 2
t.yml [Ring]; [4]; 4; [1] => :3: bandwidth: a list is wanted here
t.yml [Ring]; [999999]; [1]; [1] => :1: 999,999 NPUs: 262,144 hosts are possible
t.yml [FullyConnected]; [999]; [1]; [1] => :1: 998 links of an NPU: a switch has 507
t.yml [Switch]; [508]; [1]; [1] => :1: npus_count: a switch has 507 ports
t.graphml <graphml>\n<graph><node/></graph></graphml> => :2: id: missing
t.graphml <graphml>\n<graph><node id='a'></graph></graphml> => :2: this is no XML: mismatched tag
t.graphml <graphml><graph><hyperedge/></graph></graphml> => :1: a hyperedge: links have two ends
t.graphml <graphml/> => : no node: GraphML has <graph>
t.json {"nodes": [{"id": 1}], "edges": [{"source": 1}]} => :1: edges[0]: target: missing
t.json {"nodes": [{"id": 1}, {"id": 2}],\n"edges": [{"source": 1, "target": 2, "bandwidth": 10}]}
    => :2: bandwidth of 1 - 2: '10' has no unit: write 10G, 10M or 10k, or rate_bps
"""
"""A name and a text, of ASTRA-sim's four values; a message, behind the name where it begins with a
colon."""


def in_lines() -> Iterator[tuple[str, str, str]]:
    for name, text, message in re.findall(r"^(\S+) (.+)\s+=> (.+)", IN_LINES, re.M):
        if name == "t.yml":
            text = astra(*text.split("; "))
        yield name, text.replace(r"\n", "\n"), name * message.startswith(":") + message


@pytest.mark.parametrize(("name", "text", "message"), [*REFUSED, *in_lines()])
def test_reader_refuses_with_file_line_and_way_out(name, text, message):
    with pytest.raises(FormatError) as caught:
        read(name, text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
