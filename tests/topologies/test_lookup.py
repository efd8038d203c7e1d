"""Topologies by reference: names, Python files, entry points; in this process and in others."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pcn.base.errors import LabError
from pcn.topologies import lookup
from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.entry_points import GROUP
from pcn.topologies.lookup import find_topology, names
from pcn.topologies.model import TopologyError
from pcn.topologies.star import star

SOURCE = '''
from pcn.topologies.star import star
from pcn.topologies.model import TopologyError

def mine(leaves: int = 4, rate_bps=40e9, colour: str = "red", more: "list[int] | None" = None):
    """A star of mine.

    More.
    """
    if leaves > 9:
        raise TopologyError("mine: too many")
    return star(leaves, rate_bps=rate_bps)

def fails(leaves: int = 1 ):
    return star(leaves // 0)

def nothing():
    return 5

def needs(links: list):
    return star()

def unknown(links: "Nowhere" = 1):
    return star()

MADE = star(3)
NUMBER = 5
'''


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_find_topology_reads_function_of_python_file(file: Path):
    mine = find_topology(f"{file}:mine")
    assert mine.build() == star(4, rate_bps=40e9)
    assert mine.build({"leaves": "5", "rate_bps": "25G"}) == star(5, rate_bps=25e9)
    assert list(mine.options)[:3] == ["leaves", "rate_bps", "colour"]
    assert mine.summary == "A star of mine."
    assert (mine.reference, mine.file) == (f"{file}:mine", file)


@pytest.mark.parametrize("name", sorted(TOPOLOGIES))
def test_summary_of_a_topology_is_whole_sentences(name):
    summary = find_topology(name).summary
    assert summary.endswith(".")
    assert "\n" not in summary


def test_find_topology_gives_flow_control_to_function_without_it(file: Path):
    for name in ("mine", "MADE"):
        topology = find_topology(f"{file}:{name}").build(
            {"xoff_bytes": "100KB", "lossless_classes": "3,4"}
        )
        assert (topology.number("xoff_bytes"), topology.lossless_classes) == (100e3, (3, 4))


def test_find_topology_reads_relative_path_from_any_folder(file: Path, monkeypatch):
    monkeypatch.chdir(file.parent)
    reference = find_topology("mine.py:MADE").reference
    monkeypatch.chdir("/")
    assert find_topology(reference).build() == star(3)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mnie", "has no 'mnie'; did you mean 'mine'"),
        ("NUMBER", "NUMBER is neither a function that makes a Topology nor a Topology"),
        ("nothing", "nothing returns no Topology, but 5"),
        ("fails", r"fails: ZeroDivisionError: .* \(mine.py, line 15\)"),
        ("needs", "needs: links needs a default, or the type int, float or str"),
        ("unknown", "the type of links: NameError"),
    ],
)
def test_find_topology_refuses_what_is_no_topology(file: Path, name, message):
    with pytest.raises(TopologyError, match=message):
        find_topology(f"{file}:{name}").build()


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("dumbell", "no topology 'dumbell'; did you mean 'dumbbell'"),
        ("star.py", "write the file and the function in it, as in star.py:star"),
        ("/nowhere/star.py:star", "no file /nowhere/star.py"),
    ],
)
def test_find_topology_refuses_reference_with_way_out(reference, message):
    with pytest.raises(TopologyError, match=message):
        find_topology(reference)


def test_find_topology_refuses_unknown_option_with_nearest(file: Path):
    with pytest.raises(TopologyError, match="has no option 'leafs'; did you mean 'leaves'"):
        find_topology(f"{file}:mine").build({"leafs": 3})
    with pytest.raises(TopologyError, match="has no option 'more'"):
        find_topology(f"{file}:mine").build({"more": 3})


def test_find_topology_names_line_of_file_that_fails(file: Path):
    file.write_text("\n\nimport nowhere\n")
    with pytest.raises(TopologyError, match=r"mine\.py:3: ModuleNotFoundError"):
        find_topology(f"{file}:mine")


def test_find_topology_reads_entry_point_in_another_process(file: Path):
    """A package as pip leaves it: a module, and metadata beside it; one of its two entries
    fails."""
    info = file.parent / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[pcn]\ntopology.my-star = mine:mine\ntopology.broken = nowhere:it\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(file.parent)}
    script = "from pcn.cli import run; import sys; sys.exit(run(sys.argv[1:]))"
    listed = [sys.executable, "-c", script, "topology"]
    done = subprocess.run(
        [*listed, "list"], env=environment, capture_output=True, text=True, check=True
    )
    assert "my-star" in done.stdout
    assert "can't be loaded: topology 'broken', nowhere:it: ModuleNotFoundError" in done.stdout
    assert all(name in done.stdout for name in TOPOLOGIES)
    subprocess.run(
        [*listed, "check", "my-star", "--set", "leaves=3"],
        env=environment,
        check=True,
        capture_output=True,
    )


def test_python_file_is_executed_once_for_each_content(file: Path):
    count = file.parent / "count"
    file.write_text(SOURCE + f"open({str(count)!r}, 'a').write('x')\n")
    for _ in range(3):
        find_topology(f"{file}:mine").build()
    assert count.read_text() == "x"
    file.write_text(file.read_text().replace("MADE = star(3)", "MADE = star(4)"))
    assert len(find_topology(f"{file}:MADE").build().hosts) == 5
    assert count.read_text() == "xx"


def test_entry_point_may_have_a_name_like_a_file_s(monkeypatch):
    point = importlib.metadata.EntryPoint("my/star.v2", "pcn.topologies.star:star", GROUP)
    monkeypatch.setattr(lookup, "_installed", lambda: [point])
    assert find_topology("my/star.v2").build() == star()


def test_entry_point_does_not_replace_ours(monkeypatch):
    point = importlib.metadata.EntryPoint("star", "os:sep", GROUP)
    monkeypatch.setattr(lookup, "_installed", lambda: [point])
    assert find_topology("star").build() == star()
    assert names().count("star") == 1


def test_python_file_names_the_extra_that_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mininet", None)
    path = tmp_path / "mine.py"
    path.write_text("\nimport mininet\n")
    with pytest.raises(
        LabError,
        match=r"mine\.py:2: mininet is missing: pip install 'pcn-lab\[live\]' installs it$",
    ):
        find_topology(f"{path}:star")
