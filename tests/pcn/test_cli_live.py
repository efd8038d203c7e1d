"""The pcn command on a network that it brought up: each command once, in a user's order."""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import forks
import pytest
from waiting import LIMIT_S, wait_until

from pcn.controller.switch import SwitchClient
from pcn.lab import journal as records

pytestmark = pytest.mark.root


def pcn(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forks.run("pcn", *arguments)


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> Iterator[str]:
    name = f"c{os.getpid()}-{uuid.uuid4().hex[:8]}"
    logs = tmp_path_factory.mktemp("logs")
    done = pcn(
        "up", "dumbbell", "--set", "pairs=1", "-n", name, "--logs", str(logs), "-k", "500",
        "--param", "w_min=0.05",
    )  # fmt: skip
    try:
        assert done.returncode == 0, done.stderr
        assert f"{name} is up" in done.stdout
        assert "`pcn flow start h0 r0` sends" in done.stdout
        yield name
    finally:
        down = pcn("down", name)
    assert down.returncode == 0
    assert f"removed network {name} (4 nodes, softswitch)" in down.stdout
    again = pcn("down", name)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith(f"pcn: no network {name!r}; ")
    assert not records.directory(name).exists()


def ask(*arguments: str):
    done = pcn(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_status_shows_every_program(network: str):
    (status,) = [row for row in ask("status") if row["name"] == network]
    assert status["state"] == "up"
    assert {node["name"]: node["runs"] for node in status["nodes"]} == {
        "h0": True,
        "r0": True,
        "s0": True,
        "s1": True,
    }
    assert {node["name"]: node["device_id"] for node in status["nodes"]} == {
        "h0": None,
        "r0": None,
        "s0": 1,
        "s1": 2,
    }
    nodes = {node["name"]: node for node in status["nodes"]}
    address = nodes["s1"]["control"]
    assert address == f"unix:/run/pcn-lab/{network}/s1.grpc"
    with SwitchClient.connect("s1", address, nodes["s1"]["device_id"]) as client:
        assert "ipv4_lpm" in client.tables()
    shown = pcn("status", network).stdout.splitlines()
    (row,) = [line for line in shown if address in line]
    assert row.split()[:6] == ["s1", "switch", "runs", str(nodes["s1"]["pid"]), "2", address]
    # The folder of all logs stands once, above the table; rows have paths from there.
    assert shown[0].endswith(f"logs in {status['logs']}")
    assert Path(status["logs"], row.split()[6]) == Path(nodes["s1"]["log"])
    assert not any(status["logs"] in line for line in shown[1:])


def test_tables_show_what_was_programmed(network: str):
    tables = ask("tables", "s0", "-n", network)
    assert isinstance(tables, dict)
    routes = {
        entry["match"]["dst_addr"]: entry for entry in tables["ipv4_lpm"] if not entry["default"]
    }
    assert routes["10.0.0.1/32"]["parameters"] == {"dst_mac": "02:00:00:00:00:01", "port": 1}
    assert routes["10.0.0.2/32"]["parameters"]["port"] == 2
    assert {entry["parameters"].get("xoff_bytes") for entry in tables["pfc_config"]} == {
        512_000,
        None,
    }


def test_a_flow_arrives_and_is_counted(network: str):
    started = ask("flow", "start", "h0", "r0", "--size", "20KB", "--count", "2", "-n", network)
    assert isinstance(started, dict)
    numbers = started["started"]
    assert len(numbers) == 2
    flows = _until_done(network, numbers)
    assert [flow["received_packets"] for flow in flows] == [20, 20]
    assert all(flow["missing"] == 0 and flow["fct_s"] > 500e-6 / 2 for flow in flows)
    counted = ask("counters", "s0", "transmitted", "-n", network)
    assert isinstance(counted, list)
    (data,) = [cell for cell in counted if (cell["port"], cell["class"]) == (2, 3)]
    assert data["packets"] == 40
    assert data["bytes"] == 40 * 1058
    assert ask("registers", "s0", "waiting_packets", "-n", network) == []


def _until_done(network: str, numbers: list[int]) -> list[dict[str, float]]:
    mine: list[dict[str, float]] = []

    def done() -> bool:
        flows = ask("flow", "stats", "-n", network)
        assert isinstance(flows, list)
        mine[:] = [flow for flow in flows if flow["id"] in numbers]
        return all(flow["fct_s"] is not None for flow in mine)

    wait_until(done, f"the end of flows {numbers}")
    return mine


def test_a_flow_is_stopped(network: str):
    started = ask("flow", "start", "h0", "r0", "--rate", "1G", "-n", network)
    assert isinstance(started, dict)
    (number,) = started["started"]
    assert f"flow {number}" in pcn("flow", "stop", str(number), "-n", network).stdout
    (flow,) = [flow for flow in ask("flow", "list", "-n", network) if flow["id"] == number]
    assert flow["state"] == "stopped"
    assert pcn("flow", "stop", "--all", "-n", network).stdout == "nothing was sending\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables", "s9"], "no switch 's9'; choose from s0, s1"),
        (["tables", "s0", "ipv4_lmp"], "did you mean 'ipv4_lpm'?"),
        (["counters", "s0", "markd"], "did you mean 'marked'?"),
        (["registers", "s0", "waiting_byte"], "did you mean 'waiting_bytes'?"),
        (["flow", "start", "h0", "r9"], "no host 'r9'; choose from h0, r0"),
        (["flow", "start", "h0", "h0"], "from h0 to itself"),
        (
            ["flow", "start", "h0", "r0", "--rate", "500G"],
            "a rate of 500 Gbit/s: the link of h0 has 10 Gbit/s",
        ),
        (["flow", "stop", "999"], "no flow '999'; choose from"),
        (
            ["set", "s1", "xoff=1B"],
            "XON follows XOFF at 2116 bytes below, and can't at an XOFF of 1 bytes",
        ),
    ],
)
def test_wrong_names(network: str, arguments, message):
    done = pcn(*arguments, "-n", network)
    assert (done.returncode, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_pause_prints_its_real_time(network: str, tmp_path):
    done = pcn("pause", "h0", "--for", "100us", "-n", network)
    assert done.stderr == "h0:0 is paused for 100 us nominal, 50 ms real; Ctrl-C ends it\n"
    assert done.stdout.startswith("h0:0 class 3 was paused for ")
    file = tmp_path / "h0.pcapng"
    for options in ((), ("--overwrite",)):
        done = pcn("pcap", "h0", "--for", "100us", "--out", str(file), *options, "-n", network)
        assert done.returncode == 0
        assert done.stderr == "capturing at h0:0 for 100 us nominal, 50 ms real; Ctrl-C ends it\n"
    again = pcn("pcap", "h0", "--for", "100us", "--out", str(file), "-n", network)
    assert again.returncode == 1
    assert (
        f"{file} is there already: choose another file, or overwrite it (--overwrite"
        in again.stderr
    )
    started = pcn(
        "flow", "start", "h0", "r0", "--rate", "1G", "--duration", "1ms", "-n", network
    ).stdout
    assert started.endswith("from h0 to r0 for 1 ms nominal, 500 ms real\n")


def test_down_names_the_nearest(network: str):
    done = pcn("down", f"{network}x")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"did you mean {network!r}?" in done.stderr


def test_flow_tables_have_units(network: str):
    pcn("flow", "start", "h0", "r0", "--size", "1KB", "-n", network)
    for words in (("flow", "list"), ("flow", "stats")):
        assert "packets" in pcn(*words, "-n", network).stdout


def test_exec_runs_a_command_in_the_node(network: str):
    done = pcn("exec", "-n", network, "s1", "ip", "-br", "link")
    assert "s1-eth1" in done.stdout
    assert "h0-eth0" not in done.stdout
    assert pcn("exec", "-n", network, "h0", "sh", "-c", "exit 3").returncode == 3
    # SIGPIPE ends the first one, whose status pipefail reports: Python ignores it, a command must
    # not.
    assert (
        pcn("exec", "-n", network, "h0", "bash", "-c", "set -o pipefail; yes | head -1").returncode
        == 128 + 13
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [(("s9", "true"), "no node 's9'"), (("s1", "nosuch"), "no command 'nosuch' is on the PATH")],
)
def test_exec_refuses_in_one_line(network: str, words, message):
    done = pcn("exec", "-n", network, *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert message in done.stderr


def test_the_name_is_taken(network: str, tmp_path):
    done = pcn("up", "dumbbell", "-n", network, "--logs", str(tmp_path))
    assert done.returncode == 1
    assert f"a network named {network} is running already" in done.stderr
    assert f"`pcn down {network}` ends it" in done.stderr


def test_failed_up_prints_the_reason_and_leaves_nothing(tmp_path):
    name = f"f{os.getpid()}"
    done = pcn("up", "dumbbell", "-n", name, "--logs", str(tmp_path / "logs"), "--param", "w_mox=1")
    assert done.returncode == 1
    assert "w_mox" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not records.directory(name).exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "prefix", [[], ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]], ids=["default", "ignored"]
)
def test_an_interrupted_up_leaves_nothing(tmp_path, prefix):
    """Also where SIGINT was ignored, as in a script's background jobs."""
    name = f"i{os.getpid()}"
    command = [
        sys.executable, "-c", "from pcn.cli import main; main()", "up", "dumbbell", "-n", name,
    ]  # fmt: skip
    process = subprocess.Popen(
        [*prefix, *command, "--logs", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    first = process.stderr.readline()
    assert first.startswith("bringing"), process.communicate(timeout=LIMIT_S)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGINT, err
    assert err.splitlines()[-1] == "pcn: interrupted"
    assert not records.directory(name).exists()


@pytest.mark.parametrize(("options", "ended"), [((), {"s0", "s1"}), (("--processes",), {"s1"})])
def test_what_died_is_named_and_removed(options, ended, tmp_path):
    """The process of s1, which is s0's as well unless each has its own; then the network's
    supervisor."""
    name = f"d{os.getpid()}"
    up = pcn("up", "dumbbell", *options, "--set", "pairs=1", "-n", name, "--logs", str(tmp_path))
    assert up.returncode == 0
    try:
        record = records.load(name)
        switch = record.nodes["s1"].process
        os.kill(switch.pid, signal.SIGKILL)
        records.wait_gone([switch], LIMIT_S)
        (status,) = [row for row in ask("status") if row["name"] == name]
        assert {node["name"] for node in status["nodes"] if not node["runs"]} == ended
        assert "the program of s1 has ended" in pcn("tables", "s1", "-n", name).stderr

        os.kill(record.owner.pid, signal.SIGKILL)
        records.wait_gone([record.owner, *record.processes()], LIMIT_S)
        (status,) = [row for row in ask("status") if row["name"] == name]
        assert status["state"].startswith("dead")
        assert not any(node["runs"] for node in status["nodes"])
    finally:
        down = pcn("down", name)
    assert f"removed {records.directory(name)}" in down.stdout
    assert not records.directory(name).exists()
