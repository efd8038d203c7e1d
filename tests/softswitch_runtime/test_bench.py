"""The bench's tools compile and measure something; what they measure is `make bench-switch`'s."""

from pathlib import Path

import pytest

from bench.switch.forwarders import copy_loop
from bench.switch.forwarding import Bench
from bench.switch.inside import EXACT, LPM, TERNARY, Core
from bench.switch.wires import build_blast, wires

PCN = Path(__file__).parents[2] / "p4src/compiled/pcn.json"


def test_without_interfaces(tmp_path):
    core = Core(tmp_path)
    assert core.pipeline(PCN, 1000) > 0
    assert all(core.lookup(kind, 1000) > 0 for kind in (EXACT, LPM, TERNARY))


@pytest.mark.root
def test_through_the_copy_loop(tmp_path):
    blast = build_blast(tmp_path)
    with wires() as through, copy_loop(blast, through):
        bench = Bench(blast, through, seconds=0.1, runs=1, lost_s=60)
        sent, arrived, _ = bench.offer(bytes(64), 1000)
        assert sent == arrived > 0
        latency = bench.latency(64, frames=20)
        assert 0 < latency.median <= latency.p99
