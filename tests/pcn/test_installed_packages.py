"""What an installed package brings by entry points, kind by kind: found by its name wherever ours
are, and one that can't be loaded breaks its own name alone. (Schemes: tests/hosts/
test_discovery.py; topologies: tests/topologies/test_lookup.py.)"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pcn import cli
from pcn.controller import marking
from pcn.controller.errors import UnknownNameError
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.papers import Catalog, described
from pcn.experiments.traffic.flow_files.reading import read_flows
from pcn.topologies import entry_points, switch
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.formats import FormatError
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import TopologyError
from pcn.virtualnet import VirtualError
from pcn.virtualnet.ports import scheduler_parts

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path, monkeypatch) -> Install:
    """Installs a package as pip leaves it: the module `planted`, and metadata beside it."""

    def write(text: str, *entry_points: str) -> Path:
        (tmp_path / "planted.py").write_text(text)
        info = tmp_path / "planted-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n")
        lines = ["[pcn]", *entry_points, ""]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "planted", raising=False)
        return tmp_path

    return write


COMMAND = """
import click

@click.command()
@click.argument("word")
def greet(word):
    "Greet a user."
    click.echo(f"hello {word}")
"""


def test_command_of_package_runs_and_is_listed(install: Install, capsys):
    install(COMMAND, "command.greet = planted:greet", "command.run = planted:greet")
    assert cli.run(["greet", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "Greet a user." in listed
    assert listed.count("\n  run ") == 1, "ours goes before a package's"
    assert cli.run(["great"]) == 2
    assert "no command 'great'; did you mean 'greet'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "nowhere:it",
            "command 'greet', nowhere:it: ModuleNotFoundError: No module named 'nowhere'",
        ),
        ("planted:WORD", "entry point command.greet = planted:WORD isn't a Command"),
    ],
)
def test_command_that_cannot_be_loaded_raises_why(install: Install, capsys, place, message):
    install("WORD = 1\n", f"command.greet = {place}")
    assert cli.run(["greet", "you", "--loudly"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"pcn: {message}")
    assert error.count("\n") == 1
    assert cli.run(["--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert "greet Can't be loaded: " in listed
    assert "doctor " in listed


EXPERIMENTS = """
from pcn.experiments.define.experiment import Paper
from pcn.experiments.papers.pcn.scenarios.dumbbell import Dumbbell

class Mine(Dumbbell):
    name = "mine"

class Second(Dumbbell):
    name = "second"

PAPER = Paper(100, "Mine", "planted", {}, {})
"""
PAPERS = """
from pcn.experiments.define.experiment import Paper

PAPER = Paper(100, "Mine", "planted_paper", {"mine": "first:Mine"}, {"figure1": "first:Second"})
"""


def test_scenario_of_package_is_found_by_name(install: Install):
    install(EXPERIMENTS, "scenario.mine = planted:Mine", "figure.second = planted:Second")
    scenarios, figures = Catalog("scenario", {}), Catalog("figure", {})
    assert list(scenarios) == ["mine"]
    assert scenarios["mine"].schemes
    assert scenarios["mine"] is scenarios["mine"]
    assert "second" not in scenarios
    assert figures["second"].name == "second"
    assert [name for name, _ in described(figures)] == ["second"]


def test_paper_of_package_brings_its_experiments(install: Install):
    folder = install(PAPERS, "paper.mine = planted:PAPER")
    (folder / "planted_paper").mkdir()
    (folder / "planted_paper/first.py").write_text(EXPERIMENTS.replace("second", "figure1"))
    scenarios = Catalog("scenario", {"ours": "nowhere:Ours"})
    assert list(scenarios) == ["ours", "mine"]
    assert scenarios["mine"].name == "mine"
    assert Catalog("figure", {})["figure1"].name == "figure1"


@pytest.mark.parametrize(
    ("entry", "name", "message"),
    [
        ("scenario.mine = nowhere:it", "mine", "scenario 'mine', nowhere:it: ModuleNotFoundError"),
        ("scenario.mine = planted:Second", "mine", "isn't the class of an Experiment of that name"),
        ("scenario.mine = planted:PAPER", "mine", "scenario.mine = planted:PAPER isn't a type"),
        ("paper.mine = nowhere:it", "mine", "scenario 'mine', nowhere:it: ModuleNotFoundError"),
    ],
)
def test_experiment_that_cannot_be_loaded_raises_why(install: Install, entry, name, message):
    install(EXPERIMENTS, entry)
    scenarios = Catalog("scenario", {})
    with pytest.raises(ExperimentError, match=message):
        scenarios[name]
    ((listed, text),) = described(scenarios)
    assert (listed, text.startswith("can't be loaded: ")) == ("mine", True)


TOPOLOGY_FORMAT = """
from pcn.topologies.formats import Format
from pcn.topologies.star import star

MINE = Format(
    "mine", "counts of leaves", lambda source: star(int(source.text.split()[1])),
    lambda source: source.text.startswith("leaves "), {}, lambda topology: "leaves 2", ".mine",
)
"""


def test_topology_format_of_package_is_read_and_written(install: Install, capsys):
    folder = install(TOPOLOGY_FORMAT, "topology-format.mine = planted:MINE")
    (folder / "net.mine").write_text("leaves 3")
    for reference in (f"{folder}/net.mine", f"mine:{folder}/net.mine"):
        assert len(find_topology(reference).build().hosts) == 4
    assert cli.run(["topology", "formats"]) == 0
    assert "counts of leaves" in capsys.readouterr().out
    assert cli.run(["topology", "convert", "star", f"{folder}/out.mine"]) == 0
    assert (folder / "out.mine").read_text() == "leaves 2"


def test_topology_format_that_cannot_be_loaded_leaves_others(install: Install):
    folder = install("", "topology-format.mine = nowhere:it")
    (folder / "net.txt").write_text("3 1 2\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n")
    assert len(find_topology(f"{folder}/net.txt").build().hosts) == 2
    (folder / "net.mine").write_text("leaves 3")
    with pytest.raises(FormatError, match="topology-format 'mine', nowhere:it: ModuleNotFound"):
        find_topology(f"{folder}/net.mine").build()


FLOW_FORMAT = """
from pcn.experiments.traffic.flow_files import FlowFormat
from pcn.topologies.model import FlowSpec

MINE = FlowFormat(
    "mine", lambda file: file.path.suffix == ".mine",
    lambda file: iter([FlowSpec(0, "h0", "h1", start_s=0.0, size_bytes=1000)]), {},
)
"""


def test_flow_format_of_package_is_read(install: Install):
    folder = install(FLOW_FORMAT, "flow-format.mine = planted:MINE")
    (folder / "flows.mine").write_text("anything")
    ((flow),) = read_flows(folder / "flows.mine")
    assert (flow.src, flow.dst, flow.size_bytes) == ("h0", "h1", 1000)
    (folder / "flows.csv").write_text("src,dst,start,size\nh0,h1,0,1KB\n")
    assert len(read_flows(folder / "flows.csv")) == 1


def test_flow_format_that_cannot_be_loaded_raises_why(install: Install):
    folder = install("", "flow-format.mine = planted:MINE")
    (folder / "flows.mine").write_text("anything")
    with pytest.raises(ExperimentError, match="flow-format 'mine', planted:MINE: AttributeError"):
        read_flows(folder / "flows.mine")


def test_marking_point_of_package_is_found(install: Install):
    install(
        "from pcn.controller.marking.red_ecn import *\n",
        "marking.mine = planted",
        "marking.no = os",
    )
    assert marking.find("mine").TABLE == marking.find("red_ecn").TABLE
    assert marking.find("mine") in marking.known()
    with pytest.raises(marking.MarkingError, match=r"entry point marking\.no = os has no TABLE"):
        marking.find("no")
    with pytest.raises(UnknownNameError, match="mine2"):
        marking.find("mine2")


SCHEDULER = """
from pathlib import Path
from pcn.virtualnet.native import Part

LIFO = Part(Path(__file__).with_name("lifo.c"), schedulers=("lifo",))
"""


def test_scheduler_of_package_is_an_arbitration(install: Install):
    """What such a part does: tests/virtualnet/test_own_kinds.py."""
    folder = install(SCHEDULER, "scheduler.lifo = planted:LIFO", "scheduler.fifo2 = planted:LIFO")
    topology = find_topology("star").build({"arbitration": "lifo"})
    (part,) = scheduler_parts([topology.switches[0].arbitration])
    assert part.source == folder / "lifo.c"
    assert cli.run(["topology", "convert", "star", f"{folder}/net.yaml"]) == 0
    text = (folder / "net.yaml").read_text()
    (folder / "net.yaml").write_text(text.replace("name: s0", "name: s0, arbitration: lifo"))
    (switch,) = find_topology(f"{folder}/net.yaml").build().switches
    assert switch.arbitration == "lifo"
    with pytest.raises(VirtualError, match=r"scheduler 'fifo2', planted:LIFO: the Part has no"):
        scheduler_parts(["fifo2"])
    with pytest.raises(TopologyError, match="'sjf': choose from 'fifo' and 'round robin'"):
        find_topology("star").build({"arbitration": "sjf"})


def test_scheduler_of_package_is_looked_for_once_for_all_switches(install: Install, monkeypatch):
    install(SCHEDULER, "scheduler.lifo20 = planted:LIFO")
    listed: list[str] = []
    find = entry_points.find
    monkeypatch.setattr(switch, "find", lambda kind, name: listed.append(name) or find(kind, name))
    topology = fat_tree(4)
    replace(topology, switches=tuple(replace(of, arbitration="lifo20") for of in topology.switches))
    assert listed == ["lifo20"]
