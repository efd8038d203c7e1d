"""`pcn up --inside`: the commands of live networks on a network in one engine, by its record and
its sockets, and the session played again."""

import json
import os
import socket
import stat
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import forks
import pytest
from waiting import wait_until

from pcn.base import captures
from pcn.base.errors import LabError
from pcn.hosts.client import AgentClient
from pcn.lab import journal
from pcn.lab.attach import attach
from pcn.lab.inside.client import InsideError, request
from pcn.lab.observe import Observer
from pcn.lab.pace import Pacing

pytestmark = pytest.mark.root
K = "100"


def pcn(*words: str) -> str:
    """Returns what a command prints; it succeeds."""
    done = forks.run("pcn", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """A network with a flow from h0 to r0, number 1."""
    name = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"
    logs = tmp_path_factory.mktemp("inside") / "logs"
    pcn("up", "dumbbell", "--inside", "-k", K, "--network", name, "--logs", str(logs))
    try:
        pcn("flow", "start", "h0", "r0", "-n", name)
        yield SimpleNamespace(name=name, logs=logs)
    finally:
        pcn("down", name)
        assert not journal.directory(name).exists()
        assert not (journal.RUN_DIR / f"{name}.lock").exists()


def loads(*words: str):
    return json.loads(pcn(*words, "--json"))


def test_session_of_commands_has_the_digest_of_its_replay(tmp_path):
    name, logs = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}", tmp_path / "logs"
    pcn("up", "dumbbell", "--inside", "-k", K, "--network", name, "--logs", str(logs))
    try:
        pcn("flow", "start", "h0", "r0", "--count", "2", "-n", name)
        pcn("flow", "start", "h1", "r0", "-n", name)
        pcn("set", "s0", "xoff=20KB", "-n", name)
        pcn("link", "s0", "s1", "down", "-n", name)
        pcn("link", "s0", "s1", "up", "--reroute", "10us", "-n", name)
        pcn("pause", "s0", "4", "--for", "100us", "-n", name)
        pcn("flow", "stop", "1", "-n", name)
    finally:
        pcn("down", name)
    log = logs / "commands.jsonl"
    replayed = loads("run", "--replay", str(log))
    assert replayed["digest"] == replayed["expected"]["digest"]
    assert replayed["commands"] == 10
    assert [flow["state"] for flow in replayed["flows"]] == ["stopped", "sending", "sending"]
    assert "worst" in (logs / "supervisor.log").read_text()
    text = log.read_text().replace('"quanta": 0', '"quanta": 1')
    log.write_text(text)
    assert forks.run("pcn", "run", "--replay", str(log)).returncode == 3


def test_status_has_its_engine_and_addresses(network: SimpleNamespace):
    (status,) = loads("status", network.name)
    assert (status["state"], status["target"], status["dilation"]) == ("up", "inside", 100)
    assert {node["pid"] for node in status["nodes"]} == {status["pid"]}
    assert all(node["interfaces"] == [] and node["runs"] for node in status["nodes"])
    assert status["links_down"] == []


def test_sockets_are_this_user_s_alone(network: SimpleNamespace):
    """As a live network's: who opens one commands the network."""
    paths = [path for path in journal.directory(network.name).iterdir() if path.is_socket()]
    assert len(paths) == 2 + 6 + 1
    for path in (journal.RUN_DIR, journal.directory(network.name), *paths):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_flow_arrives_and_is_seen(network: SimpleNamespace):
    number = loads("flow", "start", "h1", "r1", "--size", "64KB", "-n", network.name)["started"][0]

    def flow() -> dict[str, Any]:
        listed = loads("flow", "stats", "-n", network.name)
        return next(flow for flow in listed if flow["id"] == number)

    wait_until(lambda: flow()["fct_s"] is not None)
    assert (flow()["received_packets"], flow()["state"], flow()["missing"]) == (64, "done", 0)


def test_observer_sees_the_ports_and_flows(network: SimpleNamespace):
    with attach(network.name) as lab:
        observer = Observer(lab)
        wait_until(lambda: observer.look().port("s0:4").rate_bps > 9e9)
        look = observer.look()
        assert look.port("s0:4").up
        assert look.port("s0:4").pauses_sent_total is not None
        assert {flow.id for flow in look.flows} >= {1}


def test_settings_are_read_and_written(network: SimpleNamespace):
    before = loads("set", "s1", "-n", network.name)
    after = loads("set", "s1", "2", "xoff=100KB", "-n", network.name)
    assert after["2"]["xoff"] == 100_000
    assert loads("set", "s1", "-n", network.name) == {**before, **after}
    counters = loads("counters", "s0", "transmitted", "-n", network.name)
    assert max(row["packets"] for row in counters) > 0


def test_program_is_kept(network: SimpleNamespace):
    from pcn.controller.programs import Program

    with (
        attach(network.name) as lab,
        pytest.raises(LabError, match="keeps the program that it began with"),
    ):
        lab.primary("s0").set_pipeline(Program.find("pcn", native=True))


def test_link_that_is_down_is_named(network: SimpleNamespace):
    pcn("link", "h2", "s0", "down", "-n", network.name)
    try:
        (status,) = loads("status", network.name)
        assert status["links_down"] == ["h2:0 - s0:3"]
        paused = forks.run("pcn", "pause", "h2", "--for", "10us", "-n", network.name)
        assert (paused.returncode, "its link is down" in paused.stderr) == (1, True)
    finally:
        pcn("link", "h2", "s0", "up", "-n", network.name)
    (status,) = loads("status", network.name)
    assert status["links_down"] == []


def test_resume_of_another_command_ends_a_pause(network: SimpleNamespace):
    with attach(network.name) as lab:
        before = dict(map(_by_port, request(lab.record, "resumes")))
        with forks.begin("pcn", "pause", "s1", "1", "--json", "-n", network.name) as pause:
            wait_until(lambda: lab.switches["s1"].read_counters("pause_received", [11])[11].packets)
            pcn("resume", "s1", "1", "-n", network.name)
            assert pause.wait() == 0
            output = pause.stdout.read()
        assert json.loads(output[output.index("{") :])["resumed"]
        after = dict(map(_by_port, request(lab.record, "resumes")))
        assert after["s1:1"] == before.get("s1:1", 0) + 2


def _by_port(row: list[Any]) -> tuple[str, int]:
    return row[0], row[2]


def test_capture_has_both_directions_in_simulated_time(network: SimpleNamespace, tmp_path):
    path = tmp_path / "h2.pcapng"
    pcn("flow", "start", "h2", "h1", "--rate", "5G", "-n", network.name)
    captured = loads("pcap", "h2", "--for", "100us", "--out", str(path), "-n", network.name)
    # 5 Gbit/s, of frames with 1,058 bytes: one leaves each 1.69 us
    assert captured["nominal_s"] == pytest.approx(100e-6)
    assert 58 <= captured["kinds"]["data"] <= 60
    with path.open("rb") as file:
        frames = list(captures.frames(file, whole=True))
    assert len(frames) == captured["frames"]
    times = [frame.time_ns for frame in frames]
    assert times == sorted(times)
    assert times[-1] - times[0] <= 100_000


def test_capture_ends_after_a_count_and_with_its_client(network: SimpleNamespace, tmp_path):
    with (
        forks.begin(
            "pcn", "pcap", "s1", "1", "--out", str(tmp_path / "a"), "-n", network.name
        ) as first,
        attach(network.name) as lab,
    ):
        wait_until(lambda: _is_captured(lab.record, "s1", 1))
        second = forks.run("pcn", "pcap", "r0", "--out", str(tmp_path / "b"), "-n", network.name)
        assert "another command captures at" in second.stderr
        os.kill(first.pid, 9)
        wait_until(lambda: not _is_captured(lab.record, "s1", 1))
    words = ("pcap", "s1", "1", "--count", "7", "--out", str(tmp_path / "c"))
    assert loads(*words, "-n", network.name)["frames"] == 7


def _is_captured(record: journal.Record, node: str, port: int) -> bool:
    try:
        request(record, "captured", node=node, port=port)
    except InsideError:
        return False
    return True


def test_capture_into_what_could_hold_the_engine_up_is_refused(network: SimpleNamespace):
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "wb"), attach(network.name) as lab:
        for descriptor, message in ((writing, "not a file"), (10**6, "No such file")):
            with pytest.raises(InsideError, match=message):
                request(
                    lab.record, "capture", node="s0", port=1, pid=os.getpid(), out=descriptor,
                    into=descriptor,
                )  # fmt: skip
        assert not _is_captured(lab.record, "s0", 1)


def test_command_that_needs_an_interface_is_refused(network: SimpleNamespace):
    done = forks.run("pcn", "exec", "-n", network.name, "h0", "true")
    assert done.returncode == 1
    assert "is inside the engine of network" in done.stderr
    assert "`pcn up` without --inside" in done.stderr


def test_client_that_writes_anything_leaves_the_network_up(network: SimpleNamespace):
    directory = journal.directory(network.name)
    for name in ("engine", "h0.sock"):
        for line in (
            b"\xff\n",
            b"[]\n",
            b'{"cmd": []}\n',
            b"{" * 100_000 + b"\n",
            b'{"cmd":"link"}\n',
        ):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.connect(str(directory / name))
                client.sendall(line)
                assert json.loads(client.recv(1 << 20))["ok"] is False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(directory / name))
            client.sendall(b'{"cmd": "half')  # and goes
    with attach(network.name) as lab:
        for arguments in ({"switch": "s9"}, {"switch": None}):
            with pytest.raises(InsideError, match=r"s9|None"):
                request(lab.record, "ports", **arguments)
        with pytest.raises(InsideError, match="no reroute"):
            request(lab.record, "rerouted", number=-1)
    with AgentClient(directory / "h0.sock") as agent:
        assert agent.stats().name == "h0"


def test_lateness_is_reported_and_changes_no_number(network: SimpleNamespace):
    with attach(network.name) as lab:
        state = request(lab.record, "state")
        assert state["now_s"] > 0
        assert state["log_lost"] == ""
        pacing = Pacing(lab.record)
        assert pacing.behind_since_last() == frozenset()
        board = pacing._board
        now_ns = board.read()[0].updated_ns
        board.write(0, behind_since_ns=now_ns - 10**9, worst_ns=2 * 10**8, updated_ns=now_ns)
        late = pacing.overload(now_ns)
        assert late is not None
        assert str(late) == (
            "LATE: the network has been behind real time for 1.0 s, last by 200 ms, which changes "
            "no number; -k 160 would do"
        )


def test_up_refuses_what_an_engine_has_not():
    done = forks.run("pcn", "up", "dumbbell", "--inside", "--processes")
    assert (done.returncode, "not beside --inside" in done.stderr) == (2, True)


def test_name_that_is_taken_is_refused(network: SimpleNamespace):
    done = forks.run("pcn", "up", "dumbbell", "--inside", "--network", network.name)
    assert done.returncode == 1
    assert "is running already" in done.stderr


def test_killed_network_leaves_a_log_that_can_be_played(tmp_path):
    name, logs = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}", tmp_path / "logs"
    pcn("up", "dumbbell", "--inside", "-k", K, "--network", name, "--logs", str(logs))
    pcn("flow", "start", "h0", "r0", "-n", name)
    record = journal.load(name)
    os.kill(record.owner.pid, 9)
    journal.wait_gone([record.owner], 10)
    pcn("down", name)
    assert not journal.directory(name).exists()
    replayed = loads("run", "--replay", str(logs / "commands.jsonl"))
    assert (replayed["commands"], replayed["expected"]) == (1, None)
