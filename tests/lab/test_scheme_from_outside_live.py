"""A scheme in a file of somebody's own, with its program and its marking point, on a network that is up."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest
from waiting import wait_until

from controller import settings
from controller.constants import index
from lab import flows
from lab.attach import attach
from lab.lab import Lab
from topologies.dumbbell import dumbbell

AIMD = f"{Path(__file__).resolve().parents[2]}/examples/aimd/aimd.py:AIMD"


@pytest.mark.root
def test_its_agents_run_its_switches_mark_and_its_settings_change(tmp_path: Path) -> None:
    """Two hosts at line rate into one link: above K packets are marked, and rates fall."""
    name = f"o{os.getpid()}-{uuid.uuid4().hex[:8]}"
    topology = dumbbell(pairs=2)
    with Lab(topology, log_dir=tmp_path, name=name, dilation=1000, scheme=AIMD) as lab:
        assert lab.record.scheme == AIMD
        with attach(name) as attached:
            assert settings.read(attached.switches["s0"])[1]["k"] == 100e3
            with pytest.raises(settings.SettingError, match=r"s0: k=-1: it must be from 0 to 4\.29497e\+09"):
                settings.change(attached.primary("s0"), {"k": -1})
            settings.change(attached.primary("s0"), {"k": 5e3})
            assert {port["k"] for port in settings.read(lab.switches["s0"]).values()} == {5e3}
        begun = [flows.start(topology, lab.agents, f"h{i}", f"r{i}")[0] for i in (0, 1)]
        wait_until(lambda: lab.switches["s0"].read_counter("marked", index(3)).packets > 0, "a marked packet")
        wait_until(lambda: any(flow.rate_bps < 10e9 for flow in lab.agents["h0"].stats().sent), "a CNP's effect")
        flows.stop(lab.agents, begun)
        assert {stats.scheme for stats in (agent.stats() for agent in lab.agents.values())} == {"aimd"}
