"""Networks in p4lang/tutorials' form: what is read of them, and what they are refused for."""

import json
import shutil

import pytest
from exercise import EXAMPLE, exercise, write_exercise

from pcn.base.errors import LabError
from pcn.controller.programs import ProgramError
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Host, P4Network
from pcn.p4net.tutorials import RATE_BPS, read_exercise
from pcn.p4net.virtual import VirtualP4


def test_reader_takes_hosts_switches_and_links(tmp_path):
    network = exercise(
        tmp_path, cpu_port="510", priority_queues=2, queue_depth=100, queue_rate=1000
    )
    topology = network.topology
    assert topology.name == "exercise"
    assert [(switch.name, switch.device_id) for switch in topology.switches] == [
        ("s1", 0),
        ("s2", 1),
    ]
    assert network.host("h1") == P4Host(
        24,
        ("route add default gw 10.0.1.254 dev eth0", "arp -i eth0 -s 10.0.1.254 08:00:00:00:01:00"),
    )
    assert (topology.host("h3").ip, topology.host("h3").mac) == ("10.0.3.3", "08:00:00:00:03:11")
    middle = topology.link_at("s1", 3)
    assert (middle.rate_bps, middle.delay_s) == (100e6, 1e-6)
    assert network.unlimited == set(topology.links) - {middle}
    assert {(link.rate_bps, link.delay_s) for link in network.unlimited} == {(RATE_BPS, 0.0)}
    s1, s2 = network.switches["s1"], network.switches["s2"]
    assert (s1.cpu_port, s1.priority_queues, s1.queue_depth, s1.queue_rate) == (510, 2, 100, 1000)
    assert (s2.cpu_port, s2.priority_queues, s2.queue_depth, s2.queue_rate) == (0, 8, 64, 0)
    assert [len(entries.steps(s1.program.schema)) for entries in s1.entries] == [4]


def test_switches_have_separate_programs(tmp_path):
    """s1 by its own key, s2 by its runtime JSON; commands go before JSON, as the tutorials' script
    has it."""
    folder = write_exercise(
        tmp_path / "exercise", cli_input="s1-commands.txt", program="build/other.json"
    )
    (folder / "s1-commands.txt").write_text("table_add routes drop 10.9.0.0/16 =>")
    runtime = json.loads((folder / "s1-runtime.json").read_text())
    del runtime["bmv2_json"]
    (folder / "s1-runtime.json").write_text(json.dumps(runtime))
    for name in ("router.json", "router.p4.p4info.txtpb"):
        shutil.copy(folder / "build" / name, folder / "build" / name.replace("router", "other"))
    network = read_exercise(folder)
    assert {name: switch.program.name for name, switch in network.switches.items()} == {
        "s1": "other",
        "s2": "router",
    }
    assert [type(entry).__name__ for entry in network.switches["s1"].entries] == [
        "Commands",
        "RuntimeJson",
    ]


def test_makefile_names_topology_and_default_program(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    (folder / "pod-topo").mkdir()
    topology = json.loads((folder / "topology.json").read_text())
    topology["switches"] = {"s1": {}, "s2": {}}
    (folder / "pod-topo/topology.json").write_text(json.dumps(topology))
    (folder / "topology.json").unlink()
    for name in ("router.json", "router.p4.p4info.txtpb"):
        shutil.copy(folder / "build" / name, folder / "build" / name.replace("router", "second"))
    with pytest.raises(P4NetError, match=r"no topology.json: name the network's file"):
        read_exercise(folder)
    (folder / "Makefile").write_text(
        "TOPO = pod-topo/topology.json\ninclude ../../utils/Makefile\n"
    )
    with pytest.raises(P4NetError, match=r"--program FILE.p4 \(router, second are there\)"):
        read_exercise(folder)
    with (folder / "Makefile").open("a") as makefile:
        makefile.write("DEFAULT_PROG = second.p4\n")
    assert {switch.program.name for switch in read_exercise(folder).switches.values()} == {"second"}


@pytest.mark.parametrize("name", ["x" * 5000, "/nowhere/topology.json"])
def test_makefile_may_name_what_no_file_can_be(tmp_path, name):
    (tmp_path / "Makefile").write_text(f"TOPO = {name}\n")
    with pytest.raises(P4NetError, match=rf"no {name[:200]}: name the network's file") as caught:
        read_exercise(tmp_path)
    assert len(str(caught.value)) < 500


def test_given_program_goes_before_one_of_its_name(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    program = read_exercise(folder, EXAMPLE / "router.json").switches["s1"].program
    assert program.json == EXAMPLE / "router.json"
    assert read_exercise(folder).switches["s1"].program.json == folder / "build/router.json"


def test_reader_names_both_ways_out_without_a_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("P4C", raising=False)
    folder = write_exercise(tmp_path / "exercise")
    shutil.copy(EXAMPLE / "router.p4", folder / "router.p4")
    assert read_exercise(folder).switches["s1"].program.json == folder / "build/router.json"
    (folder / "build/router.json").unlink()
    with pytest.raises(
        P4NetError, match=r"router.p4 isn't compiled: install p4c \(package p4lang-p4c"
    ):
        read_exercise(folder)
    with pytest.raises(
        P4NetError, match=r"router.p4 isn't compiled: .* or name the .json that p4c made"
    ):
        read_exercise(folder, EXAMPLE / "router.p4")
    (folder / "router.p4").unlink()
    with pytest.raises(P4NetError, match=r"neither .*build/router.json nor .*router.p4 exists"):
        read_exercise(folder)


CHANGES = [
    (
        lambda net: net["switches"]["s1"].update(cpu_prt="1"),
        "switches.s1.cpu_prt: no such field; did you mean 'cpu_port'",
    ),
    (lambda net: net["switches"]["s1"].update(runtime_json="\0"), "embedded null "),
    (lambda net: net["switches"]["s1"].update(cpu_port=511), "a whole number from 0 to 510"),
    (
        lambda net: net["switches"]["s1"].update(cpu_port=3),
        "s1: port 3 is its CPU port, and has a link",
    ),
    (lambda net: net["switches"]["s1"].update(priority_queues=9), "a whole number from 1 to 8"),
    (lambda net: net["hosts"]["h1"].update(ip="10.0.1.1/33"), "a whole number from 0 to 32"),
    (lambda net: net["hosts"]["h1"].update(command=[]), "hosts.h1.command: no such field"),
    (lambda net: net["links"].append(["h9", "s1-p9"]), "no node 'h9'"),
    (lambda net: net["links"][0].append("5 parsecs"), "is no time"),
    (lambda net: net.pop("links"), "no 'links'"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[why[:30] for _, why in CHANGES])
def test_reader_names_what_is_wrong_with_a_network(tmp_path, change, why):
    folder = write_exercise(tmp_path / "exercise")
    topology = json.loads((folder / "topology.json").read_text())
    change(topology)
    (folder / "topology.json").write_text(json.dumps(topology))
    with pytest.raises(LabError) as caught:
        read_exercise(folder)
    assert why in str(caught.value)


def test_reader_notes_keys_that_are_like_none_of_ours(tmp_path):
    """run_exercise.py passes them: a repository has its controller there, for a script of its
    own."""
    folder = write_exercise(tmp_path / "exercise", controller="../controller.py")
    topology = json.loads((folder / "topology.json").read_text())
    topology["switches"]["s2"]["controller"] = "../controller.py"
    topology["hosts"]["h1"]["x" * 5000] = 1
    (folder / "topology.json").write_text(json.dumps(topology))
    of_switch, of_host = read_exercise(folder).notes
    left_out = "topology.json: left out: switches.s1.controller: no such field; choose from"
    assert left_out in of_switch
    assert "topology.json: left out: hosts.h1.xxx" in of_host
    assert len(of_host) < 1500


@pytest.mark.parametrize("depth", [1, 4])
def test_files_are_those_of_the_folder_above_that_has_them(tmp_path, depth):
    """A repository's Makefile runs at its top, and its networks have folders."""
    folder = write_exercise(tmp_path / "exercise")
    below = folder.joinpath(*"abcd"[:depth])
    below.mkdir(parents=True)
    (folder / "topology.json").rename(below / "topology.json")
    network = read_exercise(below)
    assert network.notes == (f"{below / 'topology.json'}: its files are those in {folder}",)
    assert {switch.program.json for switch in network.switches.values()} == {
        folder / "build/router.json"
    }
    s1 = network.switches["s1"]
    assert [len(entries.steps(s1.program.schema)) for entries in s1.entries] == [4]


def test_files_far_above_a_network_arent_searched(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    below = folder / "a/b/c/d/e"
    below.mkdir(parents=True)
    (folder / "topology.json").rename(below / "topology.json")
    with pytest.raises(LabError, match=r"s1-runtime\.json: No such file"):
        read_exercise(below)


def test_only_program_runs_in_place_of_a_missing_one(tmp_path):
    folder = write_exercise(tmp_path / "exercise")
    for name in ("router.json", "router.p4.p4info.txtpb"):
        (folder / "build" / name).rename(folder / "build" / name.replace("router", "renamed"))
    (folder / "headers.p4").write_text("header h_t { bit<8> x; }\n")
    with pytest.raises(P4NetError, match=r"neither .*router.json nor .*router.p4 exists: name"):
        read_exercise(folder)
    (folder / "renamed.p4").write_text("V1Switch(P(), V(), I(), E(), C(), D()) main;\n")
    network = read_exercise(folder)
    assert {switch.program.name for switch in network.switches.values()} == {"renamed"}
    (note,) = network.notes
    assert note.endswith("renamed.p4, the only program there, runs instead")
    (folder / "second.p4").write_text("V1Switch(P(), V(), I(), E(), C(), D()) main;\n")
    with pytest.raises(P4NetError, match="name the program with --program"):
        read_exercise(folder)
    network = read_exercise(folder, EXAMPLE / "router.json")  # which isn't missing: its name is
    assert not network.notes
    shutil.copy(EXAMPLE / "router.json", folder / "other.json")
    (note,) = read_exercise(folder, folder / "other.json").notes
    assert note.endswith("other.json runs instead")


def test_value_refuses_a_switch_without_a_program(tmp_path):
    network = exercise(tmp_path)
    with pytest.raises(P4NetError, match="switch s2 has no program"):
        P4Network(network.topology, {"s1": network.switches["s1"]})
    with pytest.raises(P4NetError, match=r"no switch 's3'; choose from s1, s2"):
        P4Network(network.topology, {**network.switches, "s3": network.switches["s1"]})


@pytest.mark.parametrize(
    ("words", "rate_bps", "delay_s", "unlimited"),
    [
        ((), 10e9, 0.0, True),
        (("1ms",), 10e9, 1e-3, True),
        ((None, 5), 5e6, 0.0, False),
        (("0", 5), 5e6, 0.0, False),
    ],
)
def test_links_are_read_alike_whatever_all_of_them_have(
    tmp_path, words, rate_bps, delay_s, unlimited
):
    ends = [["h1", "s1-p1"], ["h2", "s1-p2"], ["s1-p3", "s2-p1"], ["h3", "s2-p2"]]
    network = exercise(tmp_path, [[*pair, *words] for pair in ends])
    assert {
        (link.rate_bps, link.delay_s, link in network.unlimited) for link in network.topology.links
    } == {(rate_bps, delay_s, unlimited)}


@pytest.mark.parametrize(
    "text",
    [
        "tables {",
        "tables { action_refs { id: 9 } }",
        "tables { preamble { id: 9999999999 } }",
        "\xff",
    ],
)
def test_p4info_of_something_else_is_refused_in_a_line(tmp_path, text):
    network = exercise(tmp_path)
    (tmp_path / "exercise/build/router.p4.p4info.txtpb").write_bytes(text.encode("latin-1"))
    with (
        pytest.raises(ProgramError, match=r"router.p4.p4info.txtpb: ") as raised,
        VirtualP4(network),
    ):
        pass
    assert len(str(raised.value).splitlines()) == 1


def test_makefile_of_empty_lines_is_read_at_once(tmp_path):
    """Each line would look at all that follow: hours."""
    folder = write_exercise(tmp_path / "exercise")
    (folder / "Makefile").write_text(1_000_000 * "\n")
    assert read_exercise(folder).topology.hosts
