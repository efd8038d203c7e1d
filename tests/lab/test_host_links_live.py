"""Links in memory between agents and switches, and between switches of several processes."""

import os
import signal
import uuid
from pathlib import Path

import pytest
from waiting import wait_until

from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Topology

pytestmark = [pytest.mark.root, pytest.mark.long]


def up(topology: Topology, logs: Path, *, processes: bool) -> Lab:
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    return Lab(
        topology, log_dir=logs, name=name, dilation=1000, scheme="pfc", role="up",
        processes=processes,
    )  # fmt: skip


def test_killed_agent_stops_no_other_flow(tmp_path):
    """Its frames are lost at its interface: its switch neither waits for it nor holds up the
    others."""
    topology = dumbbell(pairs=2)
    with up(topology, tmp_path, processes=False) as lab:
        flows.start(topology, lab.agents, "h0", "r0", rate_bps=4e9)
        flows.start(topology, lab.agents, "h1", "r1", rate_bps=4e9)

        def arrived(host: str) -> int:
            return sum(flow.packets for flow in lab.agents[host].stats().received)

        wait_until(lambda: arrived("r0") > 100 and arrived("r1") > 100, "both flows")
        os.kill(lab.network.hosts["r0"].pid, signal.SIGKILL)
        log = tmp_path / "s1.log"
        wait_until(
            lambda: "the process at its other end has ended" in log.read_text(), "the switch's line"
        )
        # More than a link in memory has room for, on its way to nobody
        before = lab.agents["h0"].stats().sent[0].packets
        wait_until(
            lambda: lab.agents["h0"].stats().sent[0].packets > before + 1500,
            "h0's flow, which goes on",
        )
        before = arrived("r1")
        wait_until(lambda: arrived("r1") > before + 100, "the other flow")
        for host in ("h0", "h1"):
            lab.agents[host].stop(lab.agents[host].stats().sent[0].flow)
        wait_until(
            lambda: (
                not any(
                    sum(switch.read_registers("waiting_packets").values())
                    for switch in lab.switches.values()
                )
            ),
            "empty queues",
        )


@pytest.mark.parametrize("processes", [False, True])
def test_frames_have_exact_times_and_pass_no_interface(processes, tmp_path):
    """Exact at the end of their path, over two switches, however late processes are: links of two
    seconds, which no loaded machine is late by. At interfaces they pass only while a process
    listens at one: see tests of captures."""
    topology = dumbbell(pairs=1, rtt_s=12e-3)
    with up(topology, tmp_path, processes=processes) as lab:
        flows.start(topology, lab.agents, "h0", "r0", size_bytes=100_000)
        wait_until(
            lambda: sum(flow.packets for flow in lab.agents["r0"].stats().received) == 100,
            "the flow",
        )
        (sent,), (received,) = lab.agents["h0"].stats().sent, lab.agents["r0"].stats().received
        frame_s = 1058 * 8 / 10e9
        assert received.last_s - received.first_s == pytest.approx(99 * frame_s, abs=1e-9)
        assert received.first_s - sent.start_s == pytest.approx(6e-3 + 3 * frame_s, abs=1e-9)
        for switch, port in (("s0", 1), ("s0", 2), ("s1", 1), ("s1", 2)):
            pid = lab.network.node_pid(switch)
            statistics = Path(f"/proc/{pid}/net/dev").read_text()
            line = next(line for line in statistics.splitlines() if f"{switch}-eth{port}:" in line)
            assert int(line.split(":")[1].split()[1]) < 50, line


def test_switch_of_a_process_that_is_killed_stops_no_other(tmp_path):
    """What is for it is lost at its interface: its neighbour serves its own hosts."""
    topology = dumbbell(pairs=2)
    with up(topology, tmp_path, processes=True) as lab:
        flows.start(topology, lab.agents, "h0", "r0", rate_bps=4e9)
        flows.start(topology, lab.agents, "h0", "h1", rate_bps=4e9)

        def arrived(host: str) -> int:
            return sum(flow.packets for flow in lab.agents[host].stats().received)

        wait_until(lambda: arrived("r0") > 100 and arrived("h1") > 100, "both flows")
        os.kill(lab.network.switches["s1"].pid, signal.SIGKILL)
        log = tmp_path / "s0.log"
        wait_until(
            lambda: "port 3: the process at its other end has ended" in log.read_text(),
            "the switch's line",
        )
        # More than a link in memory has room for, on its way to nobody
        before = arrived("h1")
        wait_until(lambda: arrived("h1") > before + 1500, "the other flow")
        for flow in lab.agents["h0"].stats().sent:
            lab.agents["h0"].stop(flow.flow)
        wait_until(
            lambda: not any(lab.switches["s0"].read_registers("waiting_packets").values()),
            "empty queues of the other",
        )
