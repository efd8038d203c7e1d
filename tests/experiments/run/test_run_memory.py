"""The memory that a run states, beside what it takes; and a run that the machine hasn't the
memory for."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pcn.base import memory
from pcn.experiments import runner
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.memory import Memory
from pcn.topologies.clos import clos
from pcn.topologies.model import Endpoint, FlowSpec, Link, Switch, Topology, make_hosts

TAKES = """
import json, sys
from pathlib import Path
from pcn.base import memory
from pcn.experiments.run import memory as run_memory, virtual
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec

class Quiet:
    def stage(self, text): pass
    def advance(self, share, text): pass
    def note(self, text): pass

def plan(topology, values):
    return Traffic(TrafficSpec(topology=topology)).plan("pcn", 1, values)

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

virtual.run_virtual(plan("star", {"count": 20}), Quiet())  # what all runs load is there
plan = plan(sys.argv[1], json.loads(sys.argv[2]))
stated, before = memory.total(run_memory.of_run(plan)), resident("VmRSS")
recording = virtual.run_virtual(plan, Quiet())
print(stated, resident("VmHWM") - before)
"""


@pytest.mark.parametrize(
    ("topology", "values"),
    [
        ("clos", {"count": 2000}),
        ("fat-tree", {"k": 8, "count": 1000}),
        ("fat-tree", {"k": 12, "count": 2000}),
    ],
)
def test_run_takes_the_memory_that_it_states(topology, values):
    """Within a seventh, by the process's largest resident size; each has a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", TAKES, topology, json.dumps(values)],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    stated, taken = map(float, done.stdout.split())
    assert stated == pytest.approx(taken, rel=0.15)


def test_run_without_the_memory_is_refused_with_nothing_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2e6)
    with pytest.raises(
        memory.MemoryShortError,
        match=r"\d+ hosts, 1,000 flows: some \d+ MB of memory are needed \(switches 1 MB, links "
        r"1 MB, flows \d MB, packets 1 MB, series \d+ MB\), and 2 MB are there: take a smaller "
        r"network, fewer flows, or a machine with more",
    ):
        runner.run("traffic", settings=["count=1000"], out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_network_without_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e6)
    with pytest.raises(
        memory.MemoryShortError, match=r"512 hosts, 56 switches: some \d+ MB of memory are needed"
    ):
        VirtualNetwork(clos(), find_scheme("pcn").configure({}))


def test_part_needs_its_share_of_switches_and_packets():
    topology, flows = clos(), [FlowSpec(1, "h0", "h1", size_bytes=10**8)]
    whole, part = (
        {
            need.part: need.size
            for need in (*engine.network(topology), engine.packets(topology, flows, 1000))
        }
        for engine in (Memory(), Memory(parts=4))
    )
    shared = {name: size / 4 for name, size in whole.items() if name != "links"}
    assert part == {"links": whole["links"], **shared}


def test_packets_grow_with_what_hosts_send_up_to_a_round_trip():
    topology = clos(pods=2)
    flows = [[FlowSpec(1, "h0", "h1", size_bytes=size)] for size in (1000, 10_000, 10**8, 10**9)]
    few, more, most, still = (Memory().packets(topology, flow, 1000).size for flow in flows)
    assert few < more < most == still


def test_parts_of_a_network_that_no_link_joins_have_packets():
    names = ["h0", "h1", "h2", "h3"]
    ends = [(name, f"s{i // 2}", i % 2 + 1) for i, name in enumerate(names)]
    links = [Link(Endpoint(h, 0), Endpoint(s, port), 1e9, 1e-6) for h, s, port in ends]
    switches = (Switch("s0", 1), Switch("s1", 2))
    topology = Topology("apart", make_hosts(names), switches, tuple(links))
    assert Memory().packets(topology, [FlowSpec(1, "h0", "h1")], 1000).size > 0
