"""Settings and PFC frames on a network that runs: written values are read back, and take effect."""

import json
import threading
import time
from collections.abc import Callable

import forks
import pytest
from held import held
from waiting import LIMIT_S, wait_until

from pcn.base.errors import LabError
from pcn.controller import settings
from pcn.controller.constants import index
from pcn.controller.errors import UnknownNameError
from pcn.hosts.stats import Pauses
from pcn.lab import flows
from pcn.lab.attach import attach
from pcn.lab.lab import Lab
from pcn.lab.pause import Pause, PauseError, pause, resume

pytestmark = pytest.mark.root
StartFlow = Callable[[float], int]


def counted(lab: Lab, switch: str, counter: str, port: int) -> int:
    return lab.switches[switch].read_counter(counter, index(port)).packets


def test_what_is_set_is_read_back_from_the_switch(dcqcn_lab: Lab):
    client = dcqcn_lab.primary("s0")
    before = settings.read(client)
    assert before[1] == {"xoff": 512e3, "xon": 512e3 - 2 * 1058, "quanta": 65535, "k_min": 5e3, (
        "k_max"
    ): 200e3,
                         "p_max": pytest.approx(0.01, abs=1e-9)}  # fmt: skip
    assert settings.change(client, {"xoff": 256e3})[2]["xon"] == 256e3 - 2 * 1058
    assert {row["xoff"] for row in settings.read(client).values()} == {256e3}
    changed = settings.change(
        client, {"xoff": 128e3, "xon": 64e3, "quanta": 1000, "k_min": 0, "p_max": 0.5}, [2]
    )
    assert list(changed) == [2]
    (entry,) = [
        entry
        for entry in client.read_table("pfc_config")
        if entry.match and entry.match["port"] == 2
    ]
    assert (
        entry.action.args["refresh_us"] == 1000 * entry.action.args["quantum_q16_us"] // 65536 // 2
    )
    now = settings.read(client)[2]
    assert (now["xoff"], now["xon"], now["quanta"], now["k_min"], now["k_max"]) == (
        128e3, 64e3, 1000, 0, 200e3,
    )  # fmt: skip
    assert now["p_max"] == pytest.approx(0.5, abs=1e-9)
    assert settings.read(client)[1]["xoff"] == 256e3
    for port, values in before.items():
        settings.change(client, values, [port])
    assert settings.read(client) == before


def test_nothing_is_written_unless_all_of_it_can_be(dcqcn_lab: Lab):
    client = dcqcn_lab.primary("s0")
    before = settings.read(client)
    settings.change(client, {"xon": 100e3}, [1])
    try:
        # Port 1 could take it, port 2 has a larger XON.
        with pytest.raises(settings.SettingError, match=r"s0:2: K_min 300000"):
            settings.change(client, {"xoff": 200e3, "k_min": 300e3, "k_max": 250e3}, [2])
        with pytest.raises(settings.SettingError, match=r"s0:\d: XON"):
            settings.change(client, {"xoff": 1e3})
        with pytest.raises(UnknownNameError, match="did you mean 'xoff'"):
            settings.change(client, {"xof": 1})
        with pytest.raises(UnknownNameError, match="no port '9'; choose from 1, 2"):
            settings.change(client, {"xoff": 256e3}, [9])
        assert settings.read(client)[2] == before[2]
        assert settings.read(client)[1] == {**before[1], "xon": 100e3}
    finally:
        settings.change(client, {"xon": before[1]["xon"]}, [1])


def test_another_process_s_network_is_set_too(dcqcn_lab: Lab):
    """Twice: who leaves, leaves the next one in."""
    for xoff in (300e3, 512e3):
        with attach(dcqcn_lab.network.name) as lab:
            settings.change(lab.primary("s1"), {"xoff": xoff})
        assert {row["xoff"] for row in settings.read(dcqcn_lab.switches["s1"]).values()} == {xoff}


@pytest.mark.parametrize(("xoff", "pauses"), [(1e9, False), (100e3, True)])
def test_a_new_threshold_acts_at_once(dcqcn_lab: Lab, start_flow: StartFlow, xoff, pauses):
    """r0's port held up until more than one threshold waits there, and less than the other."""
    before, sent = (
        counted(dcqcn_lab, "s1", *counter) for counter in (("pause_sent", 2), ("transmitted", 1))
    )
    with attach(dcqcn_lab.network.name) as lab:
        settings.change(lab.primary("s1"), {"xoff": xoff, "xon": xoff / 2})
        start_flow(5e9)
        wait_until(lambda: counted(dcqcn_lab, "s1", "transmitted", 1) > sent)
        with held(dcqcn_lab, "s1", 1):
            if pauses:
                wait_until(
                    lambda: counted(dcqcn_lab, "s1", "pause_sent", 2) > before, "the PAUSE of s1"
                )
            else:
                wait_until(
                    lambda: (
                        dcqcn_lab.switches["s1"].read_register("waiting_bytes", index(1)) > 300e3
                    )
                )
                assert counted(dcqcn_lab, "s1", "pause_sent", 2) == before
        settings.change(lab.primary("s1"), {"xoff": 512e3, "xon": 512e3 - 2 * 1058})


def test_a_paused_port_holds_packets_and_then_sends_all(dcqcn_lab: Lab, start_flow: StartFlow):
    """A flow of half the link's rate waits nowhere else. That nothing leaves meanwhile is for tests
    with a test clock: the process that repeats the PAUSE may be late."""
    flow = start_flow(5e9)
    before = {
        name: counted(dcqcn_lab, "s1", name, 1) for name in ("pause_received", "resume_received")
    }
    with held(dcqcn_lab, "s1", 1) as pauses:
        wait_until(
            lambda: dcqcn_lab.switches["s1"].read_register("waiting_packets", index(1)) > 100
        )
        sent = counted(dcqcn_lab, "s1", "transmitted", 1)
    wait_until(lambda: counted(dcqcn_lab, "s1", "transmitted", 1) > sent + 100)
    # One RESUME of `resume`, and one of `pause`, which it ended.
    wait_until(
        lambda: counted(dcqcn_lab, "s1", "resume_received", 1) - before["resume_received"] == 2
    )
    assert (
        counted(dcqcn_lab, "s1", "pause_received", 1) - before["pause_received"]
        == pauses[0].frames - 1
    )
    flows.stop(dcqcn_lab.agents, [flow])

    def seen() -> flows.Flow:
        stats = {name: agent.stats() for name, agent in dcqcn_lab.agents.items()}
        return next(
            candidate
            for candidate in flows.flows(dcqcn_lab.topology, stats)
            if candidate.id == flow
        )

    wait_until(lambda: seen().received_packets == seen().sent_packets, "the last packet")
    assert seen().missing == 0


def test_pause_lasts_as_long_as_requested(dcqcn_lab: Lab):
    """65,535 quanta last 3.36 ms: sent again every 1.68 ms, and at the end the rest, then
    RESUME."""
    before = {
        name: counted(dcqcn_lab, "s1", name, 1) for name in ("pause_received", "resume_received")
    }
    began = time.monotonic()
    paused = pause(dcqcn_lab, "s1", 1, duration_s=4e-3)
    assert 4e-3 <= paused.paused_s <= (time.monotonic() - began) / dcqcn_lab.record.dilation
    assert 2 <= paused.frames <= 4e-3 / 1.68e-3 + 3
    wait_until(
        lambda: counted(dcqcn_lab, "s1", "resume_received", 1) - before["resume_received"] == 1
    )
    assert (
        counted(dcqcn_lab, "s1", "pause_received", 1) - before["pause_received"]
        == paused.frames - 1
    )


def test_a_host_is_paused_by_its_switch_s_side(dcqcn_lab: Lab):
    paused = pause(dcqcn_lab, "r0", duration_s=1e-3, traffic_class=5)
    assert (paused.port, paused.frames, paused.resumed) == ("r0:0", 2, False)

    def pauses() -> Pauses:
        return next(
            counts for counts in dcqcn_lab.agents["r0"].stats().pauses if counts.priority == 5
        )

    wait_until(lambda: pauses().resume, "the RESUME")
    assert pauses().pause == 1
    # The RESUME comes after 1 ms, when 19,532 quanta end it or have just ended it.
    assert 0.999e-3 <= pauses().paused_s <= 1.001e-3


def test_only_the_port_itself_is_paused(dcqcn_lab: Lab):
    """Not the one at the other end of the link, where the frames are put on it."""
    before = {switch: counted(dcqcn_lab, switch, "pause_received", 2) for switch in ("s0", "s1")}
    resumed = counted(dcqcn_lab, "s0", "resume_received", 2)
    pause(dcqcn_lab, "s0", 2, duration_s=0.5e-3)
    wait_until(lambda: counted(dcqcn_lab, "s0", "resume_received", 2) > resumed)
    assert counted(dcqcn_lab, "s0", "pause_received", 2) == before["s0"] + 1
    assert counted(dcqcn_lab, "s1", "pause_received", 2) == before["s1"]


def test_pfc_frames_are_counted_without_bytes(dcqcn_lab: Lab):
    """The program has them as packets: what a target counts beside them is of the packet that the
    frame was made of."""
    pause(dcqcn_lab, "s0", 2, duration_s=0.5e-3)
    cell = index(2)
    wait_until(lambda: counted(dcqcn_lab, "s0", "resume_received", 2) > 0)
    client = dcqcn_lab.switches["s0"]
    assert client.read_counter("pause_received", cell).packets > 0
    for name in ("pause_received", "pause_sent"):
        assert client.read_counter(name, cell).bytes is None
    assert client.read_counter("transmitted", cell).bytes is not None
    printed = forks.run("pcn", "counters", "s0", "--all", "--json", "-n", dcqcn_lab.record.name)
    rows = {
        row["counter"]: row["bytes"]
        for row in json.loads(printed.stdout)
        if (row["port"], row["class"]) == (2, 3)
    }
    assert (rows["pause_received"], rows["pause_sent"]) == (None, None)
    assert rows["transmitted"] >= 0


def test_resume_ends_a_pause_without_end(dcqcn_lab: Lab):
    pauses: list[Pause] = []
    thread = threading.Thread(target=lambda: pauses.append(pause(dcqcn_lab, "s0", 2)))
    thread.start()
    paused = index(2)
    wait_until(lambda: dcqcn_lab.switches["s0"].read_register("tx_paused", paused) == 1)
    with attach(dcqcn_lab.network.name) as lab:
        assert resume(lab, "s0", 2) == "s0:2"
    thread.join(LIMIT_S)
    assert pauses[0].resumed
    wait_until(lambda: dcqcn_lab.switches["s0"].read_register("tx_paused", paused) == 0)


def test_pauses_that_cannot_be(dcqcn_lab: Lab):
    with pytest.raises(UnknownNameError, match="no node 's2'; choose from s0, s1, h0, r0"):
        pause(dcqcn_lab, "s2", 1, duration_s=1e-3)
    with pytest.raises(LabError, match="s0 has no port 7; it has 1, 2"):
        pause(dcqcn_lab, "s0", 7, duration_s=1e-3)
    with pytest.raises(LabError, match="s0 has several ports: name one of 1, 2"):
        pause(dcqcn_lab, "s0", duration_s=1e-3)
    with pytest.raises(PauseError, match="class 8"):
        resume(dcqcn_lab, "s0", 1, traffic_class=8)
    with pytest.raises(PauseError, match="must be above 0"):
        pause(dcqcn_lab, "s0", 1, duration_s=0)
