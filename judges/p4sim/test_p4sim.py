"""The judge's own parts: a network of a topo.txt, and its rate, with the router of examples/."""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from p4sim import frames_of, rate, read, topology, virtual

ROUTER = Path(__file__).resolve().parents[2] / "examples/router"
TOPO = """2 2 3
2 h 0 s 1000Mbps 0.1ms
3 h 1 s 1Gbps 0.1ms
0 s 1 s 10Gbps 0.5ms
0 BASIC
1 BASIC
"""
ROUTES = """table_add routes forward 10.1.1.1/32 => 00:00:00:00:00:01 {0}
table_add routes forward 10.1.1.2/32 => 00:00:00:00:00:03 {1}
table_add routes no_such_action 10.1.1.3/32 =>
"""


def folder(root: Path) -> Path:
    """An example of p4sim's form: h2 and h3, each at port 0 of a switch."""
    shutil.copy(ROUTER / "router.json", root)
    (root / "topo.txt").write_text(TOPO)
    (root / "flowtable_0.txt").write_text(ROUTES.format(0, 1))
    (root / "flowtable_1").write_text(ROUTES.format(1, 0))
    return root


def test_ports_count_from_0_in_the_order_of_links():
    parsed = topology(TOPO)
    assert [(str(link.a), str(link.b)) for link in parsed.links] == [
        ("h2:0", "s0:0"),
        ("h3:0", "s1:0"),
        ("s0:1", "s1:1"),
    ]
    assert [link.rate_bps for link in parsed.links] == [1e9, 1e9, 10e9]
    assert [(host.ip, host.mac) for host in parsed.hosts] == [
        ("10.1.1.1", "00:00:00:00:00:01"),
        ("10.1.1.2", "00:00:00:00:00:03"),
    ]


def test_refused_lines_are_left_out(tmp_path):
    example = read(folder(tmp_path), tmp_path)
    line = "table_add routes no_such_action 10.1.1.3/32 =>"
    assert example.refused == (f"s0: {line}", f"s1: {line}")
    assert json.loads(example.program.read_text())["parsers"]


def test_datagrams_arrive_by_ports_0(tmp_path):
    example = read(folder(tmp_path), tmp_path)
    frames = frames_of(example)[:2]
    arrivals = virtual(example, frames)
    assert [[arrival.split()[0] for arrival in arrived] for arrived in arrivals] == [["h3"], ["h2"]]
    assert rate(example, 1000).startswith("1000 of 1000 arrive")
