"""P4 networks on Mininet: kernel hosts, P4Runtime at TCP ports, rates and delays of switches;
nothing left behind."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import forks
import needs
import pytest
from exercise import EXAMPLE, IPS, write_exercise
from waiting import LIMIT_S

from pcn.controller.switch import SwitchClient
from pcn.lab import journal as records, links
from pcn.lab.network import STEPS
from pcn.lab.p4 import FIRST_THRIFT_PORT, P4Live
from pcn.lab.thrift import Bmv2Thrift
from pcn.p4net.packet_paths import read
from pcn.p4net.traffic import capture
from pcn.p4net.tutorials import read_exercise

pytestmark = pytest.mark.root
NAME = "p4-live-test"


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[P4Live]:
    """The router's network, with the usual host commands, and one that fails."""
    value = read_exercise(EXAMPLE)
    host = value.host("h2")
    value = replace(
        value, hosts={**value.hosts, "h2": replace(host, commands=(*host.commands, "false"))}
    )
    with P4Live(value, log_dir=tmp_path_factory.mktemp("live") / "logs", name=NAME) as network:
        yield network


def inside(live: P4Live, node: str, *command: str) -> str:
    words = ["nsenter", "-t", str(live.node_pid(node)), "-n", *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hosts_have_kernel_interfaces_by_their_commands(live: P4Live):
    text = inside(live, "h1", "ip", "-4", "address", "show", "eth0")
    assert "inet 10.0.1.1/24" in text
    assert "default via 10.0.1.254 dev eth0" in inside(live, "h1", "ip", "route")
    assert "10.0.1.254 lladdr 08:00:00:00:01:00" in inside(
        live, "h1", "ip", "neigh", "show", "dev", "eth0"
    )
    assert [note.partition(":")[0] for note in live.notes] == ["h2"]


def test_ping_crosses_the_links_with_their_delay(live: P4Live):
    """1 ms each way, at least, between the switches."""
    needs.program("ping", needs.PING)
    near = inside(live, "h1", "ping", "-c", "2", "-i", "0.2", IPS["h2"])
    far = inside(live, "h1", "ping", "-c", "2", "-i", "0.2", IPS["h3"])
    assert "2 received" in near
    assert "2 received" in far
    assert all(float(time) >= 2.0 for time in re.findall(r"time=([\d.]+) ms", far))
    assert "ttl=62" in far


def test_controller_finds_switches_at_tcp_ports_from_device_0_on(live: P4Live):
    """The role is free: a client becomes primary with the lowest election id."""
    for device_id, name in enumerate(("s1", "s2")):
        with SwitchClient.connect(name, f"127.0.0.1:{50051 + device_id}", device_id) as client:
            client.become_primary(1)
            assert len(client.read_table("routes")) == 4
            before = client.read_counter("forwarded", 1).packets
            inside(live, "h3", "ping", "-c", "1", IPS["h1"])
            assert client.read_counter("forwarded", 1).packets > before


def test_record_serves_other_commands(live: P4Live):
    record = records.load(NAME)
    assert (record.state, record.program, record.nodes["h1"].interfaces) == (
        "up",
        "router",
        ["eth0"],
    )
    done = forks.run("pcn", "p4", "exec", "-n", NAME, "h1", "ip", "-br", "link", "show", "eth0")
    assert (done.returncode, done.stdout.split()[0].partition("@")[0]) == (0, "eth0"), done.stderr


def test_commands_of_links_and_captures_find_a_hosts_interface(live: P4Live, tmp_path):
    """It has the kernel's name, and the one that all hosts of networks have."""
    for up in (False, True):
        assert [state.up for state in links.set_link(live, "h1", "s1", up=up)] == [up]
    assert "1 received" in inside(live, "h1", "ping", "-c", "1", IPS["h3"])
    line = "import sys; from pcn.cli import run; sys.exit(run(sys.argv[1:]))"
    words = [
        sys.executable, "-c", line, "pcap", "h1", "-n", NAME, "--count", "2", "--out",
        str(tmp_path / "h1.pcapng"),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1] / "src")}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as capturing:
        end = time.monotonic() + LIMIT_S
        while capturing.poll() is None and time.monotonic() < end:
            inside(live, "h1", "ping", "-c", "1", IPS["h3"])
            time.sleep(0.05)
        assert capturing.wait(LIMIT_S) == 0


def test_command_holds_the_network_until_it_is_interrupted(tmp_path, live: P4Live):
    """While another one has its ports, it names that in an error; a network of the same name,
    too."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLE.parents[1] / "src")}
    line = "import sys; from pcn.cli import run; sys.exit(run(sys.argv[1:]))"
    command = [
        sys.executable, "-c", line, "p4", "run", str(EXAMPLE), "--logs", str(tmp_path / "logs"),
    ]  # fmt: skip
    for name, message in (
        (NAME, NAME),
        (f"{NAME}-3", "127.0.0.1:50051: Address already in use: end the network"),
    ):
        done = forks.run(
            *("pcn", "p4", "run", str(EXAMPLE), "--pcap", str(tmp_path / "captures"), "-n", name),
            cwd=tmp_path,
        )
        assert done.returncode == 1
        assert message in done.stderr
        assert not [path for path in tmp_path.rglob("*") if name in path.name]
        assert not (tmp_path / "captures").exists()
    assert "1 received" in inside(live, "h1", "ping", "-c", "1", IPS["h3"])
    live.stop()
    with subprocess.Popen(
        [*command, "-n", f"{NAME}-2"], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == 128 + signal.SIGINT
    assert lines[0] == "s1: router, P4Runtime 127.0.0.1:50051, device 0\n"
    assert "pcn p4 exec h1 ping 10.0.3.3" in lines[2]
    assert f"{NAME}-2" not in records.names()


def test_queues_have_depths_and_rates_of_command_files(tmp_path):
    """Towards h1 a packet leaves s1 each second, and one waits: most of 20 answers find no room."""
    needs.program("ping", needs.PING)
    folder = write_exercise(tmp_path / "exercise", cli_input="commands")
    (folder / "commands").write_text(
        "set_queue_depth 64\nset_queue_depth 1 1\nset_queue_rate 1 1\nset_queue_rate 5 1 7"
    )
    with P4Live(read_exercise(folder), log_dir=tmp_path / "logs", name=NAME + "-queues") as network:
        words = [
            "nsenter", "-t", str(network.node_pid("h1")), "-n", "ping", "-c", "20", "-i", "0.01",
            IPS["h3"],
        ]  # fmt: skip
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        received = int(re.findall(r"(\d+) received", done.stdout)[0])
        assert 1 <= received < 20
        assert "20 received" in inside(network, "h2", "ping", "-c", "20", "-i", "0.01", IPS["h3"])


def test_live_network_writes_steps_and_captures(tmp_path):
    """A ping's ways through both switches, there and back, and its frames at all ports. BMv2's
    tools reach the switches meanwhile."""
    needs.program("ping", needs.PING)
    value = read_exercise(EXAMPLE)
    captures = tmp_path / "captures"
    captures.mkdir()
    with P4Live(
        value,
        log_dir=tmp_path / "logs",
        name=NAME + "-trace",
        trace=True,
        pcap=captures,
        thrift=True,
    ) as network:
        for number, switch in enumerate(value.topology.switches):
            with Bmv2Thrift.connect(os.getpid(), FIRST_THRIFT_PORT + number) as client:
                assert client.ports() == set(value.topology.ports(switch.name))
        inside(network, "h1", "ping", "-c", "1", IPS["h3"])
    names = {str(switch.device_id): switch.name for switch in value.topology.switches}
    ways = read([tmp_path / "logs" / f"{name}.{STEPS}" for name in names.values()], names).all(
        value.topology
    )
    echoes = [way for way in ways if ("ipv4.protocol", "0x1") in way.fields()]
    assert [[f"{hop.switch}:{hop.port}" for hop in way.later()] for way in echoes] == [
        ["s1:1", "s2:1"],
        ["s2:2", "s1:3"],
    ]
    there = [hop.received.time_ns for hop in echoes[0].later()]
    assert there[1] - there[0] > 1_000_000, "the link between them has 1 ms"
    frames = {path.name: capture(path).frames for path in captures.iterdir()}
    assert len(frames) == 10
    assert frames["s1-eth3_out.pcap"] == frames["s2-eth1_in.pcap"]
    assert [len(frames[f"s1-eth{port}_in.pcap"]) for port in (1, 2, 3)] == [1, 0, 1]
