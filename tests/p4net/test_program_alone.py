"""A program without a network: `pcn p4 run x.p4` and `x.json`."""

import json

import pytest
from exercise import EXAMPLE, write_exercise
from p4net_switches import PROGRAMS

from pcn.cli import run
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.p4net.alone import network_at
from pcn.p4net.errors import P4NetError
from pcn.p4net.packets import udp
from pcn.p4net.virtual import VirtualP4

ROUTER, BENCH = EXAMPLE / "router.json", PROGRAMS / "bench.json"


def test_program_runs_at_one_switch_whose_hosts_need_no_arp():
    with VirtualP4(network_at(BENCH, hosts=4)) as network:
        assert [host.ip for host in network.topology.hosts] == [
            f"10.0.0.{number}" for number in range(1, 5)
        ]
        target = network.topology.host("h4")
        key = TableMatch(dst_addr=int(target.mac.replace(":", ""), 16))
        network.switches["s1"].insert(
            [TableEntry("l2", match=key, action=TableAction("forward", port=4))]
        )
        network.send("h1", 0.0, udp(network.value, "h1", "h4"))
        network.run(until_s=1.0)
        (frame,) = network.arrived("h4")
        assert frame.start[:6] == bytes.fromhex(target.mac.replace(":", ""))
        assert list(network.arp.unanswered()) == []


def test_program_runs_at_all_switches_of_a_topology():
    network = network_at(ROUTER, topology="dumbbell")
    assert [switch.device_id for switch in network.topology.switches] == list(
        range(len(network.switches))
    )
    assert {switch.program.name for switch in network.switches.values()} == {"router"}
    assert not network.unlimited


def test_command_runs_a_program_alone(capsys):
    words = ["p4", "run", str(ROUTER), "--clock", "virtual", "--json"]
    assert run([*words, "--hosts", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [host["sent_frames"] for host in report["hosts"]] == [2, 2, 2]
    assert run(words) == 0
    assert len(json.loads(capsys.readouterr().out)["hosts"]) == 2
    assert run(["p4", "trace", str(ROUTER), "--send", "h1,h2"]) == 0
    assert "packets: 1" in capsys.readouterr().out


def test_command_runs_a_packed_program_by_its_plain_name(capsys):
    assert not BENCH.exists()
    assert run(["p4", "run", str(BENCH), "--clock", "virtual", "--hosts", "2"]) == 0
    assert "digest" in capsys.readouterr().out
    assert run(["p4", "run", f"{BENCH}x.json", "--clock", "virtual"]) == 2
    assert "bench.jsonx.json' does not exist" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"topology": "dumbbell", "hosts": 3}, "--hosts is for the one switch"),
        ({"program": ROUTER}, "router.json is a program: --program is for a network's file"),
        ({"hosts": 999}, "from 1 to 254 are possible"),
        ({"hosts": 0}, "0 hosts: from 1 to 254 are possible"),
    ],
)
def test_options_of_a_program_alone_exclude_each_other(options, why):
    with pytest.raises(P4NetError, match=why):
        network_at(ROUTER, **options)


def test_network_takes_no_options_of_a_program_alone(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    for place in (folder, folder / "topology.json"):
        with pytest.raises(
            P4NetError, match="it has a network: --topology and --hosts are for a program alone"
        ):
            network_at(place, hosts=3)
        assert len(network_at(place).topology.hosts) == 3
