"""ARP in virtual time: hosts request and answer as the kernel does, through a switch that floods
broadcasts."""

import json
import subprocess
from pathlib import Path

import needs
import numpy as np
import pytest
from hypothesis import given, strategies as st
from p4net_switches import PROGRAMS
from waiting import LIMIT_S

from pcn.base import packed
from pcn.cli import run
from pcn.p4net import tcp
from pcn.p4net.arp import ARP, EVERY_S, MOST_WAITING, REQUESTS
from pcn.p4net.captures import capture_ports
from pcn.p4net.network import P4Network
from pcn.p4net.packets import NO_MAC, udp
from pcn.p4net.ping import ping
from pcn.p4net.traffic import capture
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4

MACS = {f"h{number}": f"08:00:00:00:00:0{number}" for number in (1, 2, 3)}
FLOOD = [
    "mc_mgrp_create 1",
    "mc_node_create 0 1 2 3",
    "mc_node_associate 1 0",
    "table_add l2 multicast ff:ff:ff:ff:ff:ff => 1",
]


def folder_of(folder: Path, flood: bool = True, commands: tuple[str, ...] = ()) -> Path:
    """Three hosts of one subnet at a switch that forwards by MAC. `commands`: of h1."""
    folder.mkdir(parents=True)
    for suffix in ("json", "p4info.txtpb"):
        (folder / f"bench.{suffix}").write_bytes(packed.read_bytes(PROGRAMS / f"bench.{suffix}"))
    hosts = {
        name: {"ip": f"10.0.0.{name[1]}/24", "mac": mac, "commands": []}
        for name, mac in MACS.items()
    }
    hosts["h1"]["commands"] = list(commands)
    topology = {
        "hosts": hosts,
        "switches": {"s1": {"program": "bench.json", "cli_input": "commands"}},
        "links": [[name, f"s1-p{name[1]}", "1ms"] for name in MACS],
    }
    (folder / "topology.json").write_text(json.dumps(topology))
    lines = [f"table_add l2 forward {mac} => {name[1]}" for name, mac in MACS.items()] + (
        FLOOD if flood else []
    )
    (folder / "commands").write_text("\n".join(lines))
    return folder


def network_of(folder: Path, flood: bool = True, commands: tuple[str, ...] = ()) -> VirtualP4:
    return VirtualP4(read_exercise(folder_of(folder / "exercise", flood, commands)))


def kinds(network: VirtualP4, host: str) -> list[bytes]:
    return [frame.start[12:14] for frame in network.arrived(host)]


def send_at(network: VirtualP4, times, dst: str = "h2"):
    network.arp.send_all(
        "h1", np.asarray(times, float), dst, udp(network.value, "h1", dst, b"x", mac=NO_MAC)
    )


def test_host_sends_one_request_and_the_answer_releases_what_waits(tmp_path):
    """Request and reply take 4 ms in all; the host that answers has the other one's MAC."""
    with network_of(tmp_path) as network:
        send_at(network, [0.0, 0.001, 0.002, 0.1])
        send_at(network, [0.05])
        echoes = ping(network, "h2", "h1", from_s=0.2)
        network.run(until_s=0.5)
        assert kinds(network, "h2") == [ARP] + [b"\x08\x00"] * 6
        assert [round(frame.time_s, 3) for frame in network.arrived("h2")[1:6]] == [0.006] * 3 + [
            0.052,
            0.102,
        ]
        assert echoes.round_trips_s[0] == pytest.approx(0.004, abs=1e-5), "h2 sends no request"
        assert kinds(network, "h3") == [ARP]
        assert list(network.arp.unanswered()) == []


def test_static_entry_and_functions_for_frames_need_no_arp(tmp_path):
    with network_of(tmp_path, commands=(f"arp -s 10.0.0.2 {MACS['h2']}",)) as network:
        send_at(network, [0.0])
        network.send("h3", 0.0, udp(network.value, "h3", "h2"))
        network.run(until_s=0.5)
        assert kinds(network, "h2") == [b"\x08\x00"] * 2


def test_address_that_no_host_has_gets_three_requests(tmp_path, capsys):
    """The gateway is missing: three requests, a second apart, and for the next frame again."""
    folder = folder_of(tmp_path / "exercise", commands=("route add -host 10.0.0.2 gw 10.0.0.254",))
    with VirtualP4(read_exercise(folder)) as network:
        send_at(network, [0.0, 1.0, 10.0])
        network.run(until_s=20.0)
        requested = [frame.time_s for frame in network.arrived("h2")]
        assert requested == pytest.approx(
            [start + n * EVERY_S + 0.002 for start in (0, 10) for n in range(REQUESTS)], abs=1e-5
        )
        assert list(network.arp.unanswered()) == [("h1", "10.0.0.254")]
    assert (
        run(["p4", "run", str(folder), "--clock", "virtual", "--for", "5s", "--send", "h1,h2"]) == 0
    )
    assert "h1 got no answer to ARP for 10.0.0.254" in capsys.readouterr().out


@pytest.fixture(scope="module")
def flooding(tmp_path_factory) -> P4Network:
    return read_exercise(folder_of(tmp_path_factory.mktemp("flooding") / "exercise"))


@given(st.lists(st.integers(0, 12), min_size=1, max_size=300))
def test_waiting_frames_are_the_latest(flooding: P4Network, steps):
    """All frames until the answer wait, 101 at most; every later one leaves at its time."""
    times = np.cumsum(np.array(steps)) * 1e-4
    answered = times[0] + 0.004
    waiting = times <= answered
    with VirtualP4(flooding) as network:
        send_at(network, times)
        network.run(until_s=2.0)
        assert network.arrivals("h2").frames - 1 == min(int(waiting.sum()), MOST_WAITING) + int(
            (~waiting).sum()
        )
        late = [frame.time_s for frame in network.arrived("h2")][
            1 + min(int(waiting.sum()), MOST_WAITING) :
        ]
        assert late == pytest.approx(list(times[~waiting] + 0.002), abs=1e-4)


@given(st.binary(min_size=0, max_size=64), st.integers(0, 64))
def test_hosts_take_any_frame(flooding: P4Network, data, at):
    """Damaged messages of ARP, and other frames, are no answer and end nothing."""
    with VirtualP4(flooding) as network:
        network.arp.answer()
        whole = bytes.fromhex("080000000002080000000001" + "0806" + "0001080006040001") + bytes(20)
        network.send("h1", 0.0, whole[:at] + data + whole[at + len(data) :] or b"\0")
        send_at(network, [0.1])
        network.run(until_s=1.0)
        assert kinds(network, "h2")[-1] == b"\x08\x00"


def test_tcp_waits_for_the_answer(tmp_path):
    with network_of(tmp_path) as network:
        connection = tcp.connect(network, "h1", "h2", size=100_000)
        network.run(until_s=5.0)
        assert connection.summary()["acknowledged_bytes"] == 100_000
        assert connection.summary()["retransmitted_segments"] == 0


def test_requests_of_a_capture_are_answered(tmp_path):
    folder = tmp_path / "captures"
    folder.mkdir()
    with network_of(tmp_path) as network:
        capture_ports(network, folder)
        send_at(network, [0.0])
        network.run(until_s=0.5)
    exercise = folder_of(tmp_path / "again")
    words = [
        "p4", "run", str(exercise), "--clock", "virtual", "--send",
        f"h1,pcap={folder}/s1-eth1_in.pcap",
    ]  # fmt: skip
    assert run([*words, "--pcap", str(tmp_path / "second")]) == 0
    assert (
        capture(tmp_path / "second/s1-eth2_in.pcap").frames
        == capture(folder / "s1-eth2_in.pcap").frames
    )


@pytest.mark.root
def test_messages_are_the_kernels(tmp_path):
    from pcn.lab.p4 import P4Live

    needs.program("ping", needs.PING)
    folder, live, virtual = (
        folder_of(tmp_path / "exercise"),
        tmp_path / "live",
        tmp_path / "virtual",
    )
    for captures in (live, virtual):
        captures.mkdir()
    with P4Live(
        read_exercise(folder), log_dir=tmp_path / "logs", name="arp-test", pcap=live
    ) as network:
        words = ["nsenter", "-t", str(network.node_pid("h1")), "-n", "ping", "-c", "1", "10.0.0.2"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert "1 received" in done.stdout, done.stdout + done.stderr
    with VirtualP4(read_exercise(folder)) as simulated:
        capture_ports(simulated, virtual)
        ping(simulated, "h1", "h2")
        simulated.run(until_s=1.0)
    for port in (1, 2):
        first = [capture(side / f"s1-eth{port}_in.pcap").frames[0] for side in (live, virtual)]
        assert first[0] == first[1]
        assert first[0][12:14] == ARP
