"""A scheme in a user's file, with its program and its marking point, on a network that is up."""

import json
import os
import uuid
from pathlib import Path

import pytest
from waiting import wait_until

from pcn.cli import run as pcn
from pcn.controller import settings
from pcn.controller.constants import index
from pcn.lab import flows
from pcn.lab.attach import attach
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AIMD = f"{EXAMPLES}/aimd/aimd.py:AIMD"
WINDOW = f"{EXAMPLES}/aimd_window/aimd_window.py:AIMD_WINDOW"


@pytest.mark.root
def test_its_agents_run_its_switches_mark_and_its_settings_change(tmp_path):
    """Two hosts at line rate into one link: above K packets are marked, and rates fall."""
    name = f"o{os.getpid()}-{uuid.uuid4().hex[:8]}"
    topology = dumbbell(pairs=2)
    with Lab(topology, log_dir=tmp_path, name=name, dilation=1000, scheme=AIMD) as lab:
        assert lab.record.scheme == AIMD
        with attach(name) as attached:
            assert settings.read(attached.switches["s0"])[1]["k"] == 100e3
            with pytest.raises(
                settings.SettingError, match=r"s0: k=-1: it must be from 0 to 4\.29497e\+09"
            ):
                settings.change(attached.primary("s0"), {"k": -1})
            settings.change(attached.primary("s0"), {"k": 5e3})
            assert {port["k"] for port in settings.read(lab.switches["s0"]).values()} == {5e3}
        begun = [flows.start(topology, lab.agents, f"h{i}", f"r{i}")[0] for i in (0, 1)]
        wait_until(
            lambda: lab.switches["s0"].read_counter("marked", index(3)).packets > 0,
            "a marked packet",
        )
        wait_until(
            lambda: any(flow.rate_bps < 10e9 for flow in lab.agents["h0"].stats().sent),
            "a CNP's effect",
        )
        flows.stop(lab.agents, begun)
        assert {stats.scheme for stats in (agent.stats() for agent in lab.agents.values())} == {
            "aimd"
        }


@pytest.mark.root
def test_live_flow_sends_no_more_than_a_window_a_round_trip(tmp_path):
    """40 packets take 40 / W round trips of the empty network at least: a busy machine makes them
    longer."""
    packets = 2
    name, topology, window = (
        f"o{os.getpid()}-{uuid.uuid4().hex[:8]}",
        dumbbell(pairs=1, rtt_s=500e-6),
        packets * 1058,
    )
    parameters = {"window_bytes": window}
    with Lab(
        topology, log_dir=tmp_path, name=name, dilation=200, scheme=WINDOW,
        scheme_parameters=parameters
    ) as lab:  # fmt: skip
        flows.start(topology, lab.agents, "h0", "r0", size_bytes=40_000)
        wait_until(
            lambda: [
                flow.complete_s for flow in lab.agents["r0"].stats().received if flow.packets == 40
            ],
            "40 packets",
        )
        (sent,), (received,) = lab.agents["h0"].stats().sent, lab.agents["r0"].stats().received
        assert (sent.state, sent.packets, sent.rp) == ("done", 40, {"window_bytes": window})
        assert received.complete_s is not None
        assert received.complete_s - sent.start_s >= 0.98 * (39 // packets) * 500e-6
        assert lab.agents["h0"].stats().unknown_cnps == 0


@pytest.mark.root
def test_flow_that_fails_is_named_by_list_and_stats(tmp_path, capsys):
    """One of two from the same host, and with its error; the other one sends."""
    scheme = tmp_path / "fragile.py"
    scheme.write_text(
        "from pcn import Parameters, ReactionPoint, Scheme\n"
        "class Rp(ReactionPoint):\n"
        "    made = 0\n"
        "    def __init__(self, line_rate_bps, parameters):\n"
        "        self.rate_bps = line_rate_bps\n"
        "        Rp.made += 1\n"
        "        self.timer_s = 1e-9 if Rp.made == 1 else None\n"
        "    def on_timer(self, now_s):\n"
        "        raise LookupError('own')\n"
        "FRAGILE = Scheme('fragile', 'fails at once, the first time', 'pcn', Parameters, Rp)\n"
    )
    name = f"o{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        dumbbell(pairs=1), log_dir=tmp_path, name=name, dilation=1000, scheme=f"{scheme}:FRAGILE"
    ) as lab:
        failed, sending = flows.start(lab.topology, lab.agents, "h0", "r0", count=2)
        wait_until(lambda: lab.agents["h0"].flows()[0].state == "failed", "the failure")
        wait_until(lambda: lab.agents["r0"].stats().received, "the other flow")
        error = "its RP raised LookupError: own (fragile.py, line 9)"
        for command in (["flow", "list"], ["flow", "stats"]):
            assert pcn([*command, "-n", name]) == 0
            output = capsys.readouterr().out
            states = [
                line.split()[3] for line in output.splitlines() if line.split()[1:3] == ["h0", "r0"]
            ]
            assert states == ["failed", "sending"]
            assert f"flow {failed} failed at h0: {error}\n" in output
            assert pcn([*command, "-n", name, "--json"]) == 0
            rows = json.loads(capsys.readouterr().out)
            assert {row["id"]: row["error"] for row in rows} == {failed: error, sending: None}
