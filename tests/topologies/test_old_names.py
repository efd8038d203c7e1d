"""Users' files and packages that have the names of 0.1: a line with the new one, and what is read
all the same."""

import sys
from pathlib import Path

import pytest

from pcn.cli import run as pcn
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import TopologyError
from pcn.topologies.old_names import TOP, old_import

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _as_installed(monkeypatch):
    """Has Python find no folder of the checkout, whose names are the old ones."""
    folders = {ROOT, ROOT / "tests", ROOT / "judges"}
    monkeypatch.setattr(
        sys, "path", [entry for entry in sys.path if Path(entry or ".").resolve() not in folders]
    )
    for name in [module for module in sys.modules if module.partition(".")[0] in TOP]:
        monkeypatch.delitem(sys.modules, name)


STAR = """
from pcn.topologies.star import star


def mine():
    return star(2)
"""


def refusal(path: Path, text: str) -> str:
    path.write_text(text)
    with pytest.raises(TopologyError) as caught:
        find_topology(f"{path}:mine")
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("from topologies.model import Topology, Link", "topologies.model", "topologies.model"),
        ("from hosts.algorithms import ReactionPoint", "hosts.algorithms", "hosts.algorithms"),
        (
            "from controller.marking_contract import Setting",
            "controller.marking_contract",
            "controller.marking_contract",
        ),
        ("import lab.virtual", "lab.virtual", "hosts.virtual"),
        ("import pcn.lab.virtual.flows", "pcn.lab.virtual.flows", "hosts.virtual.flows"),
        ("from pcn.topologies.errors import LabError", "pcn.topologies.errors", "base.errors"),
        ("import os, virtualnet", "virtualnet", "virtualnet"),
        ("from p4net import (\n    virtual,\n)", "p4net", "p4net"),
        ("import softswitch.units as units", "softswitch.units", "base.units"),
        ("if True:\n    from experiments.runner import run", *["experiments.runner"] * 2),
        ("__import__('importlib').import_module('p4src.manifest')", "p4src", "p4src"),
    ],
)
def test_file_with_an_old_import_is_refused_with_the_new_name(tmp_path, line, old, new):
    path = tmp_path / "mine.py"
    message = refusal(path, f'"""A star."""\n\n{line}\n')
    number = 4 if line.startswith("if") else 3
    assert message == f"{path}:{number}: import pcn.{new} in place of {old} (since 0.2.0)"


def test_module_that_a_file_imports_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "helper_of_mine.py").write_text("import sys\nfrom topologies.star import star\n")
    message = refusal(tmp_path / "mine.py", "import helper_of_mine\n")
    helper = tmp_path / "helper_of_mine.py"
    assert (
        message
        == f"{helper}:2: import pcn.topologies.star in place of topologies.star (since 0.2.0)"
    )


def test_package_of_the_user_s_with_such_a_name_is_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts/__init__.py").write_text("COUNT = 3\n")
    path = tmp_path / "mine.py"
    path.write_text(f"from hosts import COUNT\n{STAR.replace('star(2)', 'star(COUNT)')}")
    assert len(find_topology(f"{path}:mine").build().hosts) == 4
    message = refusal(path, "from hosts.algorithms import Scheme\n")
    assert (
        message
        == f"{path}:1: import pcn.hosts.algorithms in place of hosts.algorithms (since 0.2.0)"
    )
    assert refusal(path, "from hosts.cellar import x\n").endswith("No module named 'hosts.cellar'")
    sys.modules.pop("hosts")


@pytest.mark.parametrize(
    "line", ["import hosts.nowhere", "import others_entirely", "from lab.nothing import it"]
)
def test_name_that_pcn_never_had_is_reported_as_it_is(tmp_path, line):
    assert "ModuleNotFoundError: No module named" in refusal(tmp_path / "mine.py", f"{line}\n")


def test_other_errors_have_no_new_name():
    assert old_import(ValueError("hosts")) is None
    # nobody's line
    assert old_import(ModuleNotFoundError("No module named 'hosts'", name="hosts")) is None


def package(folder: Path, entry_points: str):
    (folder / "star_of_mine.py").write_text(STAR)
    (folder / "old_of_mine.py").write_text("from topologies.star import star as mine\n")
    info = folder / "mine-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_old_group_of_entry_points_is_read_with_a_line(tmp_path, monkeypatch, capsys):
    package(
        tmp_path,
        "[pcn_lab.topologies]\nmy-star = star_of_mine:mine\nboth = star_of_mine:mine\n"
        "[pcn]\ntopology.both = star_of_mine:mine\nscheme.none = star_of_mine:mine\n",
    )
    monkeypatch.syspath_prepend(tmp_path)
    for _ in range(2):
        assert pcn(["topology", "check", "my-star"]) == 0
        assert capsys.readouterr().err == (
            "note: entry point my-star = star_of_mine:mine: write topology.my-star in the group "
            "pcn in place of pcn_lab.topologies, which 0.3.0 doesn't read\n"
        )
    assert pcn(["topology", "list"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("both") == 1
    assert "none" not in printed.out
    assert len(printed.err.splitlines()) == 1


def test_entry_point_with_an_old_import_names_the_new_one(tmp_path, monkeypatch, capsys):
    package(tmp_path, "[pcn]\ntopology.old = old_of_mine:mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert pcn(["topology", "check", "old"]) == 1
    assert capsys.readouterr().err == (
        f"pcn: topology 'old', old_of_mine:mine: {tmp_path}/old_of_mine.py:1: import "
        "pcn.topologies.star in place of topologies.star (since 0.2.0)\n"
    )
