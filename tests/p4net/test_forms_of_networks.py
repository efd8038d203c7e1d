"""Networks of p4-utils and p4app, and of the tutorials before 2019: what `pcn p4 run` makes of them
as they lie."""

import json
import shutil
from pathlib import Path

import pytest
from exercise import EXAMPLE, two_links

from pcn.cli import run
from pcn.p4net.commands import Commands
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Network
from pcn.p4net.packets import udp
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.topologies.formats import FormatError

FILES = Path(__file__).resolve().parents[1] / "topologies/files"


def folder_of(place: Path, *names: str) -> Path:
    """A folder with the router compiled, as p4-utils leaves it, and these networks."""
    place.mkdir()
    shutil.copy(EXAMPLE / "router.json", place / "router.json")
    for name in names:
        shutil.copy(FILES / name, place)
    return place


def addresses(network: P4Network) -> dict[str, tuple[str, int, str]]:
    return {
        host.name: (host.ip, network.host(host.name).prefix, host.mac)
        for host in network.topology.hosts
    }


def entries(network: P4Network, switch: str) -> list[str]:
    """The commands of a switch, as they stand."""
    commands: list[str] = []
    for source in network.switches[switch].entries:
        assert isinstance(source, Commands)
        commands += (
            [line for _, line in source.inline]
            if source.inline is not None
            else [f"< {source.path.name}"]
        )
    return commands


def test_exercise_of_2018_has_derived_addresses(tmp_path):
    folder = folder_of(tmp_path / "old")
    network = json.loads((FILES / "exercise-2018.json").read_text())
    del network["switches"]["s1"]["runtime_json"]
    network["switches"]["s1"]["cli_input"] = "s1.txt"
    (folder / "topology.json").write_text(json.dumps(network))
    (folder / "s1.txt").write_text("")
    (folder / "build").mkdir()
    (folder / "router.json").rename(folder / "build/router.json")
    exercise = read_exercise(folder)
    assert addresses(exercise) == {
        "h1": ("10.0.1.1", 24, "00:00:00:00:01:01"),
        "h2": ("10.0.1.2", 24, "00:00:00:00:01:02"),
        "h3": ("10.0.2.3", 24, "00:00:00:00:02:03"),
    }
    assert exercise.host("h3").commands == (
        "route add default gw 10.0.3.254 dev eth0",
        "arp -i eth0 -s 10.0.3.254 00:00:00:00:02:03",
    )
    assert entries(exercise, "s1") == ["< s1.txt"]


def test_host_with_two_links_sends_by_the_first_and_takes_of_both(tmp_path):
    with VirtualP4(two_links(tmp_path / "two")) as network:
        for src, dst in (("h1", "h2"), ("h2", "h1")):
            network.send(src, 0.0, udp(network.value, src, dst, b"hello"))
        network.run(until_s=1.0)
        assert [network.arrivals(host).frames for host in ("h1", "h2")] == [1, 1]
        assert network.totals().traversals == 3  # s1 and s2; s2
        assert network.link_stats("s2", 1).packets == 1


@pytest.mark.parametrize(
    ("old", "port1", "ports"),
    [
        (False, None, {1: "h2", 2: "h10", 3: "s1"}),
        (False, 1, {1: "s1", 2: "h2", 3: "h10"}),
        (True, None, {1: "s1", 2: "h10", 3: "h2"}),
    ],
)
def test_ports_of_p4_utils_follow_the_names_of_links(tmp_path, old, port1, ports):
    """As the topology.json has them that p4-utils writes; before 2021 they followed the file."""
    folder = folder_of(tmp_path / "ports")
    between = ["s2", "s1"] if port1 else ["s1", "s2"]
    links = [["h1", "s1"], [*between, *([{"port1": port1}] if port1 else [])]]
    links += [["h10", "s2"], ["h2", "s2"]]
    document = {
        "p4_src": "router.p4",
        "topology": {
            "hosts": {"h1": {}, "h2": {}, "h10": {}},
            "switches": {"s1": {}, "s2": {}},
            "links": links,
        },
    }
    if old:
        document["topo_module"] = {"object_name": "AppTopo"}
    (folder / "p4app.json").write_text(json.dumps(document))
    topology = read_exercise(folder).topology
    assert {port: topology.peer("s2", port).node for port in topology.ports("s2")} == ports


def test_exercise_of_2018_has_hosts_that_only_links_name(tmp_path):
    """run_exercise.py made hosts of links, whatever the list had."""
    folder = folder_of(tmp_path / "old")
    (folder / "topology.json").write_text(
        json.dumps({"hosts": ["h1"], "switches": {"s1": {}}, "links": [["h1", "s1"], ["s1", "h3"]]})
    )
    network = read_exercise(folder, folder / "router.json")
    assert addresses(network) == {
        "h1": ("10.0.1.1", 24, "00:00:00:00:01:01"),
        "h3": ("10.0.1.3", 24, "00:00:00:00:01:03"),
    }
    assert network.topology.ports("s1") == (1, 2)


ROUTES = """\
table_add routes forward 10.0.1.1/32 => 00:00:0a:00:01:01 1
table_add routes forward 10.0.1.2/32 => 00:00:0a:00:01:02 2
table_add routes forward 10.0.2.0/24 => 00:00:0a:00:02:03 {}
"""


def test_p4app_of_p4_utils_runs_as_it_lies(tmp_path, capsys):
    folder = folder_of(tmp_path / "app", "p4app.json")
    (folder / "s1-commands.txt").write_text(ROUTES.format(3))
    exercise = read_exercise(folder)
    assert addresses(exercise) == {
        "h1": ("10.0.1.1", 24, "00:00:0a:00:01:01"),
        "h2": ("10.0.1.2", 24, "00:00:0a:00:01:02"),
        "h3": ("10.0.2.3", 24, "00:00:0a:00:02:03"),
    }
    assert exercise.host("h1").commands == (
        "route add default gw 10.0.1.254 dev eth0",
        "arp -i eth0 -s 10.0.1.254 00:01:0a:00:01:01",
        "arp -i eth0 -s 10.0.1.2 00:00:0a:00:01:02",
    )
    assert exercise.switches["s2"].program.name == "router"
    assert run(["p4", "run", str(folder), "--clock", "virtual", "--json", "--send", "h1,h2"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [host["received_frames"] for host in report["hosts"]] == [0, 1, 0]


@pytest.mark.parametrize(
    ("strategy", "ip", "prefix", "gateway"),
    [
        ("l2", "10.0.0.3", 16, None),
        ("l3", "10.2.3.2", 24, "10.2.3.1"),
        ("mixed", "10.0.2.3", 24, "10.0.2.254"),
    ],
)
def test_strategy_of_p4_utils_gives_addresses(tmp_path, strategy, ip, prefix, gateway):
    folder = folder_of(tmp_path / "app")
    network = json.loads((FILES / "p4app.json").read_text())
    network["topology"]["assignment_strategy"] = strategy
    network["topology"]["switches"]["s1"] = {"cpu_port": True}
    (folder / "p4app.json").write_text(json.dumps(network))
    exercise = read_exercise(folder)
    mac = ":".join(["00", *(f"{int(part):02x}" for part in ["0", *ip.split(".")])])
    assert addresses(exercise)["h3"] == (ip, prefix, mac)
    routed = [command for command in exercise.host("h3").commands if command.startswith("route")]
    assert routed == ([f"route add default gw {gateway} dev eth0"] if gateway else [])
    assert len(
        [command for command in exercise.host("h3").commands if command.startswith("arp")]
    ) == (2 if strategy == "l2" else 1)
    assert (exercise.switches["s1"].cpu_port, exercise.switches["s2"].cpu_port) == (4, 0)


def test_host_keeps_the_addresses_of_its_file(tmp_path):
    folder = folder_of(tmp_path / "app")
    network = json.loads((FILES / "p4app.json").read_text())
    network["topology"]["hosts"]["h3"] = {
        "ip": "10.0.9.7/20",
        "mac": "02:00:00:00:00:07",
        "gw": "10.0.9.1",
    }
    (folder / "p4app.json").write_text(json.dumps(network))
    exercise = read_exercise(folder)
    assert addresses(exercise)["h3"] == ("10.0.9.7", 20, "02:00:00:00:00:07")
    assert exercise.host("h3").commands[0] == "route add default gw 10.0.9.1 dev eth0"


def test_topology_that_p4_utils_wrote_runs_alone_and_behind_its_p4app(tmp_path):
    folder = folder_of(tmp_path / "written")
    shutil.copy(FILES / "p4-utils-written.json", folder / "topology.json")
    (folder / "s1-commands.txt").write_text("")
    exercise = read_exercise(folder)
    assert addresses(exercise) == {
        "h1": ("10.0.1.1", 24, "00:00:0a:00:01:01"),
        "h2": ("10.0.2.2", 24, "00:00:0a:00:02:02"),
    }
    assert exercise.host("h2").commands == (
        "route add default gw 10.0.2.254 dev eth0",
        "arp -i eth0 -s 10.0.2.254 00:01:0a:00:02:02",
    )
    assert entries(exercise, "s1") == ["< s1-commands.txt"]
    shutil.copy(FILES / "p4app.json", folder)
    assert len(read_exercise(folder).topology.hosts) == 3


def test_p4app_fills_tables_by_itself(tmp_path):
    """Its automatic entries, by the rule that they are made by; a list of entries stands before
    them."""
    folder = folder_of(tmp_path / "p4app")
    network = json.loads((FILES / "multiswitch.json").read_text())
    network["targets"]["multiswitch"]["switches"] = {
        "s2": {"entries": ["table_set_default routes drop"]}
    }
    (folder / "p4app.json").write_text(json.dumps(network))
    exercise = read_exercise(folder)
    assert addresses(exercise) == {
        "h1": ("10.0.1.10", 24, "00:04:00:00:00:01"),
        "h2": ("10.0.2.10", 24, "00:04:00:00:00:02"),
    }
    assert exercise.host("h2").commands[1] == "arp -i eth0 -s 10.0.2.1 00:aa:00:02:00:02"
    defaults = [f"table_set_default {name} _drop" for name in ("send_frame", "forward", "ipv4_lpm")]
    assert entries(exercise, "s1") == [
        *defaults,
        "table_add send_frame rewrite_mac 1 => 00:aa:00:01:00:01",
        "table_add forward set_dmac 10.0.1.10 => 00:04:00:00:00:01",
        "table_add ipv4_lpm set_nhop 10.0.1.10/32 => 10.0.1.10 1",
        "table_add send_frame rewrite_mac 2 => 00:aa:00:01:02:00",
        "table_add forward set_dmac 10.0.2.10 => 00:aa:00:02:01:00",
        "table_add ipv4_lpm set_nhop 10.0.2.10/32 => 10.0.2.10 2",
    ]
    assert entries(exercise, "s2")[0] == "table_set_default routes drop"


def test_p4app_of_one_switch_has_its_number_of_hosts(tmp_path):
    folder = folder_of(tmp_path / "p4app")
    target = {"num-hosts": 3, "switch-config": "router.config"}
    (folder / "p4app.json").write_text(
        json.dumps({"program": "router.p4", "targets": {"mininet": target}})
    )
    (folder / "router.config").write_text(
        "table_add routes forward 10.0.2.10/32 => 00:04:00:00:00:02 3\n"
    )
    with VirtualP4(read_exercise(folder)) as network:
        assert addresses(network.value)["h3"] == ("10.0.2.10", 24, "00:04:00:00:00:02")
        network.send("h1", 0.0, udp(network.value, "h1", "h3"))
        network.run(until_s=1.0)
        assert len(network.arrived("h3")) == 1


SMALLEST = {"switches": {"s1": {}}, "hosts": {"h1": {}}, "links": [["h1", "s1"]]}
REFUSED = [
    (
        {"targets": {"custom": {"program": "topo.py"}}},
        r"no target has `links` or `num-hosts`: topo.py makes it",
    ),
    ({"targets": {"mininet": {"num-hosts": 999}}}, r"from 1 to 254 hosts"),
    ({"targets": {"m": {"links": [["h1", "s1", 1, 2, 3]]}}}, r"a link is \[\"h1\", \"s1\"\]"),
    ({"topology": {"switches": {}, "hosts": {}}}, r"no 'links'"),
    (
        {"topology": {**SMALLEST, "assignment_strategy": "x"}},
        r"assignment_strategy 'x': choose from l2, mixed, l3, manual",
    ),
    ({"topology": {**SMALLEST, "hosts": {"h1": {"ip": "x"}}}}, r"'x'"),
    ({"topology": {**SMALLEST, "assignment_strategy": "manual"}}, r"h1 has no `ip`"),
    ({"topology": {**SMALLEST, "links": [["h1", "s1", {"port2": "z"}]]}}, r"is no port"),
    ({**SMALLEST, "hosts": ["h1", "h999"]}, r"hosts are h1 to h254"),
]


@pytest.mark.parametrize(("network", "why"), REFUSED, ids=[why[:20] for _, why in REFUSED])
def test_network_is_refused_with_file_line_and_reason(tmp_path, network, why):
    folder = folder_of(tmp_path / "app")
    (folder / "p4app.json").write_text(json.dumps(network))
    with pytest.raises((FormatError, P4NetError), match=rf"p4app.json:1: .*{why}"):
        read_exercise(folder)


def test_folder_with_two_networks_names_both(tmp_path):
    folder = folder_of(tmp_path / "app")
    for name in ("a", "b"):
        shutil.copy(FILES / "p4app.json", folder / f"{name}.json")
    with pytest.raises(P4NetError, match=r"a.json, b.json are networks"):
        read_exercise(folder)
    (folder / "b.json").unlink()
    assert len(read_exercise(folder).topology.hosts) == 3


@pytest.mark.parametrize("name", ["topology.json", "p4app.json"])
def test_network_with_a_fault_goes_before_others_of_its_folder(tmp_path, name):
    folder = folder_of(tmp_path / "app")
    shutil.copy(FILES / "p4app.json", folder / "old.json")
    (folder / name).write_text('{"hosts": {')
    with pytest.raises((FormatError, P4NetError), match=rf"{name}:1: "):
        read_exercise(folder)
