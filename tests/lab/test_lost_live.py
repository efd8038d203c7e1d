"""Control frames that are lost on the way, and packets of flows that have ended: they are counted,
and named."""

import json
import os
import re
import subprocess
import threading
import uuid
from collections.abc import Iterator

import forks
import pytest
from waiting import wait_until

from pcn.controller.constants import index
from pcn.lab import control_frames, flows
from pcn.lab.lab import Lab
from pcn.lab.links import set_link
from pcn.lab.pause import pause, resume
from pcn.topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Iterator[Lab]:
    """h0, h1 - s0 - s1 - r0, r1, with PCN: s0:3 and s1:3 are the link between."""
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        dumbbell(pairs=2), log_dir=tmp_path_factory.mktemp("logs"), name=name, dilation=500
    ) as lab:
        yield lab


def stats(lab: Lab, *options: str) -> subprocess.CompletedProcess[str]:
    done = forks.run("pcn", "flow", "stats", *options, "-n", lab.network.name)
    assert done.returncode == 0, done.stderr
    return done


def test_nothing_is_lost_of_flows_and_their_cnps(lab: Lab):
    numbers = start(lab, 2, size_bytes=200_000)
    wait_until(lambda: all(flow.fct_s is not None for flow in seen(lab, numbers)))
    assert [flow.missing for flow in seen(lab, numbers)] == [0, 0]
    assert all(flow.cnps_sent > 0 for flow in seen(lab, numbers))
    assert control_frames.lost(lab) == []
    done = stats(lab, "--json")
    assert done.stderr == ""
    assert {flow["missing"] for flow in json.loads(done.stdout) if flow["id"] in numbers} == {0}


def test_what_a_link_swallows_is_named(lab: Lab):
    """Of two flows that end while the link is down: their packets, the CNPs that were under way,
    and a RESUME."""
    switch = lab.switches["s1"]
    paused = threading.Thread(target=pause, args=(lab, "s1", 1), daemon=True)
    numbers = start(lab, 2)
    wait_until(lambda: all(flow.cnps_sent > 0 for flow in seen(lab, numbers)))
    paused.start()
    # r0's port holds what comes, until s1 pauses s0, which hears it.
    wait_until(lambda: lab.switches["s0"].read_counter("pause_received", index(3)).packets > 0)
    set_link(lab, "s0", "s1", up=False)
    flows.stop(lab.agents, numbers)
    before = switch.read_counter("resume_sent", index(3)).packets
    resume(lab, "s1", 1)
    paused.join()
    wait_until(lambda: switch.read_counter("resume_sent", index(3)).packets > before)
    wait_until(
        lambda: (
            sum(
                sum(switch.read_registers("waiting_packets").values())
                for switch in lab.switches.values()
            )
            == 0
        )
    )
    lost = {(loss.kind, loss.where): loss.lost for loss in control_frames.lost(lab)}
    # more, where the pause's own process was too late to repeat it
    assert lost["RESUME", "on s1->s0"] >= 1
    cnps = {where: number for (kind, where), number in lost.items() if kind == "CNP"}
    now = {flow.id: flow for flow in seen(lab, numbers)}
    assert cnps == {
        f"of flow {flow.id} from r0": flow.cnps_sent - flow.cnps
        for flow in now.values()
        if flow.cnps_sent > flow.cnps
    }
    assert cnps
    for flow in now.values():
        assert flow.missing == flow.sent_packets - flow.received_packets > 0
    set_link(lab, "s0", "s1", up=True)
    output = stats(lab).stdout
    assert re.search(r"\d+ of \d+ RESUMEs on s1->s0 (was|were) lost", output)
    for where in cnps:
        assert f"CNPs {where} w" in output


def start(lab: Lab, count: int, size_bytes: int | None = None) -> list[int]:
    """From h0 and h1 to r0, which congest s0:3."""
    started = [
        flows.start(lab.topology, lab.agents, f"h{n}", "r0", size_bytes=size_bytes)
        for n in range(count)
    ]
    return [number for numbers in started for number in numbers]


def seen(lab: Lab, numbers: list[int]) -> list[flows.Flow]:
    return [flow for flow in flows.flows(lab.topology, flows.ask(lab.agents)) if flow.id in numbers]
