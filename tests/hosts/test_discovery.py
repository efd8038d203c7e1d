"""Schemes from outside: by file, by entry point, with another program; in this process and in
others."""

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcn.hosts.algorithms import (
    Ack,
    Cnm,
    Cnp,
    Mark,
    Scheme,
    SchemeError,
    discovery,
    find_scheme,
    names,
    schemes,
)
from pcn.topologies.entry_points import GROUP

SOURCE = """
from pcn.hosts.algorithms.parameters import Parameters
from pcn.hosts.algorithms import ReactionPoint, Scheme

class Stay(ReactionPoint):
    def __init__(self, line_rate_bps, parameters):
        self.rate_bps = line_rate_bps

STAY = Scheme("stay", "stays at line rate", "mine.json", Parameters, Stay, marking=("mine.py", "red_ecn"))
TAKEN = Scheme("pcn", "has a name of ours", "pcn", Parameters, Stay)
"""  # noqa: E501


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Schemes that a test finds are unknown to the next test."""
    before = dict(schemes)
    yield
    schemes.clear()
    schemes.update(before)


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "stay.py"
    path.write_text(SOURCE)
    return path


def test_a_file_s_scheme_is_found_by_name_from_then_on(file: Path, monkeypatch):
    monkeypatch.chdir(file.parent)
    scheme = find_scheme("stay.py:STAY")
    assert scheme.reference == f"{file}:STAY"
    assert scheme.program == str(file.parent / "mine.json")
    assert scheme.marking == (str(file.parent / "mine.py"), "red_ecn")
    assert find_scheme("stay") is scheme
    assert find_scheme(scheme.reference) is scheme
    assert "stay" in names()


def test_another_process_finds_it_by_its_reference(file: Path, tmp_path):
    reference = find_scheme(f"{file}:STAY").reference
    script = f"from pcn.hosts.algorithms import find_scheme; print(find_scheme({reference!r}).name)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stdout == "stay\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}:STY", "has no scheme 'STY'; did you mean 'STAY'?"),
        ("{}", "write the file and the scheme in it"),
        ("{}:TAKEN", "is called 'pcn', as pcn is already: give it another name"),
        ("nosuch.py:STAY", "no file "),
        ("pcnx", "no scheme 'pcnx'; did you mean 'pcn-x' or 'pcn'?"),
        ("pcn@nosuch.json", "no program nosuch.json"),
        ("pcn@{}", "a program is a .p4 file, or the .json that p4c made of one"),
    ],
)
def test_discovery_names_each_fault(text, message, file: Path):
    with pytest.raises(SchemeError) as error:
        find_scheme(text.format(file))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("line", "error"),
    [("x = 1 / 0", "ZeroDivisionError"), ("import nosuch", "ModuleNotFoundError")],
)
def test_a_file_that_fails_is_named_with_its_line(line, error, file: Path):
    file.write_text(f"\n\n{line}\n")
    with pytest.raises(SchemeError, match=rf"stay\.py:3: {error}: "):
        find_scheme(f"{file}:STAY")


def test_a_missing_file_is_one_error_without_causes():
    with pytest.raises(SchemeError) as error:
        find_scheme("nosuch.py:STAY")
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_a_fault_in_a_file_is_the_direct_cause(file: Path):
    file.write_text("x = 1 / 0")
    with pytest.raises(SchemeError) as error:
        find_scheme(f"{file}:STAY")
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_another_program_makes_another_scheme(tmp_path):
    (tmp_path / "mine.json").write_text("{}")
    scheme = find_scheme(f"dcqcn@{tmp_path / 'mine.json'}")
    assert (scheme.name, scheme.program, scheme.marking) == (
        "dcqcn@mine",
        str(tmp_path / "mine.json"),
        ("red_ecn",),
    )
    assert find_scheme("dcqcn").program == "dcqcn"
    assert find_scheme(scheme.reference) is scheme


def test_an_installed_package_s_scheme_is_found_by_name(file: Path, tmp_path):
    """A package as pip leaves it: a module, and metadata beside it."""
    info = tmp_path / "stay-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stay\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pcn]\nscheme.stay = stay:STAY\n")
    script = (
        "from pcn.hosts.algorithms import find_scheme, names\n"
        "assert 'stay' in names(); print(find_scheme('stay').reference, "
        "find_scheme('stay').program)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == f"stay {tmp_path / 'mine.json'}\n"


def test_an_entry_point_that_is_no_scheme_is_named(monkeypatch):
    point = importlib.metadata.EntryPoint("stay", "os:sep", GROUP)
    monkeypatch.setattr(discovery, "_installed", lambda: [point])
    with pytest.raises(SchemeError, match="entry point stay = os:sep isn't a Scheme of that name"):
        find_scheme("stay")


def test_a_scheme_s_reference_is_its_name_unless_it_comes_from_a_file():
    ours = find_scheme("pcn")
    assert isinstance(ours, Scheme)
    assert ours.reference == "pcn"


@pytest.mark.parametrize("name", ["dcqcn", "qcn", "qcn-t", "timely"])
def test_no_least_rate_is_above_the_line_s(name):
    rp = find_scheme(name).configure({"min_rate_bps": 1e12}).new_rp(10e9)
    rp.on_start(0.0)
    rp.on_cnp(Cnp(Mark.CE, 0.0), 1e-3)
    rp.on_cnm(Cnm(30), 2e-3)
    rp.on_ack(Ack(1e-3, Mark.CE), 3e-3)
    assert rp.rate_bps == 10e9
