"""Options of files: none is taken that changes nothing, and what stands in the file is named."""

import json
import re
from pathlib import Path

import pytest

from pcn import cli
from pcn.base.errors import TopologyError
from pcn.topologies.formats import Source
from pcn.topologies.formats.known import EXERCISES, FORMATS, format_of
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology

FILES = Path(__file__).parent / "files"
CLAB = (
    "topology:\n  nodes:\n    s: {kind: srl}\n    h0: {kind: linux}\n    h1: {kind: linux}\n  "
    "links:\n"
)
TEXTS = {
    "htsim": (FILES / "small.topo")
    .read_text()
    .replace("Tier 2\n", "Tier 2\nDownlink_Latency_ns 300\n"),
    "p4lang": '{"hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}, '
    '"links": [["h1", "s1-p1", "5us", 10], ["h2", "s1-p2", "5us", 10]]}',
    "p4-utils": '{"topology": {"hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}, "default": '
    '{"delay": "5us"}, '
    '"links": [["h1", "s1", {"bw": 10}], ["h2", "s1", {"bw": 10}]]}}',
    "node-link": '{"nodes": [{"id": "a"}, {"id": "s"}, {"id": "b"}], "edges": ['
    '{"source": "a", "target": "s", "rate": "1G", "delay": "1us"}, '
    '{"source": "b", "target": "s", "rate": "1G", "delay": "1us"}]}',
    "graphml": '<graphml><key id="r" for="edge" attr.name="rate"/><key id="d" for="edge" '
    'attr.name="delay"/>'
    '<graph edgedefault="undirected"><node id="a"/><node id="s"/><node id="b"/>'
    '<edge source="a" target="s"><data key="r">1G</data><data key="d">1us</data></edge>'
    '<edge source="b" target="s"><data key="r">1G</data><data '
    'key="d">1us</data></edge></graph></graphml>',
    "hpcc": (FILES / "topology.txt").read_text(),
    "simai": "4 1 0 2 3 A100\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n",
    "astra": "topology: [Switch]\nnpus_count: [3]\nbandwidth: [10]\nlatency: [500]\n",
    "pcn-json": '{"hosts": ["a", "b"], "switches": ["s"], "links": ['
    '{"a": "a", "b": "s", "rate": "1G", "delay": "1us"}, {"a": "b", "b": "s", "rate": "1G", '
    '"delay": "1us"}]}',
}
"""By format, files that have all that a file of it can have."""


def read(name: str, text: str, **options: float | str) -> Topology:
    return FORMATS[name].read(Source(Path("net"), text), **options)


def test_files_are_of_each_format_that_has_rates():
    assert set(TEXTS) == set(FORMATS) - {"pcn", "containerlab", "p4app"}, (
        "files of the latter two have no rates"
    )
    for name, text in TEXTS.items():
        assert format_of(Source(Path({"pcn-json": "net.json"}.get(name, "net")), text)).name == name
        assert read(name, text).hosts


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("option", ["rate_bps=7G", "delay_s=7us", "split_hosts=1", "nvlink=0"])
def test_option_without_effect_is_refused(name, option, tmp_path):
    path = tmp_path / ("net.json" if name.endswith("json") or name in EXERCISES else "net")
    path.write_text(TEXTS[name])
    topology = find_topology(f"{name}:{path}")
    key, _, value = option.partition("=")
    with pytest.raises(TopologyError, match=rf"leave out {key}|no option '{key}'") as caught:
        topology.build({key: value})
    if key.endswith("_s") or key.endswith("_bps"):
        assert re.search(r"(gives|has) each (link|tier)", str(caught.value))


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("htsim", {"delay_s": "7us"}, (FILES / "small.topo").read_text()),
        ("p4lang", {"delay_s": "7us"}, TEXTS["p4lang"].replace(', "5us", 10', "", 1)),
        ("p4lang", {"rate_bps": "7G"}, TEXTS["p4lang"].replace(', "5us", 10', "", 1)),
        ("node-link", {"rate_bps": "7G"}, TEXTS["node-link"].replace('"rate": "1G", ', "", 1)),
        ("graphml", {"delay_s": "7us"}, TEXTS["graphml"].replace((
            '<data key="d">1us</data>'
        ), "", 1)),
        (
            "containerlab", {"rate_bps": "7G", "delay_s": "7us"},
            f'{CLAB}    - endpoints: ["h0:e", "s:e1"]\n    - endpoints: ["h1:e", "s:e2"]\n',
        ),
    ],
)  # fmt: skip
def test_option_fills_what_a_file_leaves_out(name, options, text, tmp_path):
    path = tmp_path / (
        "net.json" if name in EXERCISES else "net.yaml" if name == "containerlab" else "net"
    )
    path.write_text(text)
    links = find_topology(f"{name}:{path}").build(options).links
    for option, value in (("rate_bps", 7e9), ("delay_s", 7e-6)):
        assert (value in {getattr(link, option) for link in links}) is (option in options)


@pytest.mark.parametrize(
    ("link", "notes"),
    [
        ("100Gbps 1us", []),
        (
            "100Gbps 1000",
            [
                (
                    "round trip is 4000 s, and link h0:0 - s2:1 has a delay of 1000 s: a unit may "
                    "be missing"
                )
            ],
        ),
        (
            "100 1us",
            ["link h0:0 - s2:1 has a rate of 100 bit/s: a unit may be missing, as in 100Gbps"],
        ),
    ],
)
def test_check_notes_units_that_may_be_missing(link, notes, tmp_path, capsys):
    path = tmp_path / "net.txt"
    path.write_text(f"3 1 2\n2\n0 2 {link} 0\n1 2 {link} 0\n")
    assert cli.run(["topology", "check", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["hosts"] == 2
    assert len(printed.err.splitlines()) == len(notes)
    assert all(note in printed.err for note in notes)
