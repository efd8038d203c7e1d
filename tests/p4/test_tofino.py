"""The Tofino twins as they are committed: they fit their sources, and the chip has room left."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "p4src/compiled"
TWINS = ("pcn", "tcd")


@pytest.fixture(scope="module", params=TWINS)
def twin(request: pytest.FixtureRequest) -> Path:
    """Its compiled form."""
    return COMPILED / "tofino" / str(request.param)


def read_resources(twin: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((twin / "resources.json").read_text())
    return document


@pytest.fixture(scope="module")
def resources(twin: Path) -> dict[str, Any]:
    return read_resources(twin)


@pytest.fixture(scope="module")
def assembly(twin: Path) -> str:
    return (twin / f"{twin.name}.bfa").read_text()


def test_outputs_fit_sources(build_tofino: ModuleType) -> None:
    """A changed source, or an output edited by hand: `make p4-tofino` and commit."""
    assert build_tofino.stale() == []


def test_drift_is_seen(build_tofino: ModuleType, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "p4src", tmp_path / "p4src", ignore=shutil.ignore_patterns("__pycache__"))
    assert build_tofino.stale(tmp_path) == []
    (tmp_path / "p4src/compiled/tofino/pcn/tofino.bin").write_bytes(b"")
    headers = tmp_path / "p4src/shared/headers.p4"
    headers.write_text(headers.read_text() + "\n")
    (tmp_path / "p4src/tna/forwarding.p4").unlink()
    with pytest.raises(build_tofino.P4BuildError, match=r"tna/forwarding\.p4, which can't be read"):
        build_tofino.stale(tmp_path)
    shutil.copy(ROOT / "p4src/tna/forwarding.p4", tmp_path / "p4src/tna")
    assert set(build_tofino.stale(tmp_path)) == {
        *(f"{program.name}: p4src/shared/headers.p4 changed" for program in build_tofino.find_programs()),
        "pcn: p4src/compiled/tofino/pcn/tofino.bin changed",
    }


@pytest.mark.parametrize("variable", ["P4C_TOFINO", "BFAS"])
def test_absent_compiler_is_explained(
    build_tofino: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str
) -> None:
    """One message that names the program and the way out; nothing is touched."""
    monkeypatch.setenv("P4C_TOFINO", "/bin/true")
    monkeypatch.setenv("BFAS", "/bin/true")
    monkeypatch.setenv(variable, "/nowhere/tool")
    before = {path: path.read_bytes() for path in (COMPILED / "tofino").glob("*/*")}
    assert build_tofino.main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: /nowhere/tool was not found")
    assert variable in message
    assert {path: path.read_bytes() for path in (COMPILED / "tofino").glob("*/*")} == before


def test_outputs_of_another_chip_have_a_place_of_their_own(
    build_tofino: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build_tofino.main(["--chip", "tofino2"])
    assert "say where the outputs for tofino2 go, with --out DIR" in capsys.readouterr().err


def test_snapshots_are_in_one_order(build_tofino: ModuleType, twin: Path) -> None:
    """Whichever of the two the compiler writes first."""
    tables = json.loads((twin / "bf-rt.json").read_text())["tables"]
    ingress, egress = (
        [table for table in tables if f".snapshot.{gress}_" in table["name"]] for gress in ("ingress", "egress")
    )
    (cfg,) = [table for table in tables if table["name"].endswith(".snapshot.cfg")]
    assert (len(ingress), len(egress)) == (3, 3)
    other = cfg | {
        "id": cfg["id"] - ingress[0]["id"] + egress[0]["id"],
        "depends_on": [egress[0]["id"], ingress[0]["id"]],
    }
    at = tables.index(cfg)
    assert tables[at : at + 7] == [cfg, *ingress, *egress]
    swapped = [*tables[:at], other, *egress, *ingress, *tables[at + 7 :]]
    assert build_tofino.in_order(swapped) == build_tofino.in_order(tables) == tables


def test_no_machine_path(twin: Path) -> None:
    for path in twin.iterdir():
        assert re.search(rb"/(home|opt|root|tmp|usr)/", path.read_bytes()) is None, path


def test_outputs_are_of_one_compilation(twin: Path, assembly: str) -> None:
    """The driver compares the binary with the context that describes it."""
    context = json.loads((twin / "context.json").read_text())
    assert context["target"] == "tofino"
    assert f'run_id: "{context["run_id"]}"' in assembly
    assert context["run_id"].encode() in (twin / "tofino.bin").read_bytes()[:256]


def test_room_is_left(resources: dict[str, Any]) -> None:
    """For a real forwarding pipeline beside it."""
    assert max(resources["stages"]["ingress"], resources["stages"]["egress"]) <= resources["stages"]["of"] == 12
    assert resources["sram"]["used"] < 0.1 * resources["sram"]["of"]
    assert resources["tcam"]["used"] < 0.1 * resources["tcam"]["of"]


def test_parser_branches(assembly: str) -> None:
    """It selects by ethertype, by version to protocol, and by UDP port: p4c has lost that once (issue 5752)."""
    ingress = assembly[assembly.index("parser ingress") : assembly.index("deparser ingress")]
    assert ingress.count("match: [") == 3
    for value in ("0x0800:", "0o105*0000021:", "0x12b7:"):
        assert value in ingress


def figures(resources: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """What is used, and what there is, by row of docs/tofino.md's table."""
    stages, phv = resources["stages"], resources["phv"]
    rows = {f"stages, {gress}": (stages[gress], stages["of"]) for gress in ("ingress", "egress")}
    rows |= {f"{name} blocks": tuple(resources[name.lower()].values()) for name in ("SRAM", "TCAM")}
    rows |= {f"{width} bit containers": tuple(phv[f"{width} bit"].values()) for width in (8, 16, 32)}
    tagalong = [unit for name, unit in phv.items() if "tagalong" in name]
    used, of = (sum(unit[key] for unit in tagalong) for key in ("used", "of"))
    return rows | {"tagalong containers": (used, of)}


def test_documentation_has_the_figures() -> None:
    text = (ROOT / "docs/tofino.md").read_text()
    found = [read_resources(COMPILED / "tofino" / twin) for twin in TWINS]
    for name, (_, of) in figures(found[0]).items():
        used = " | ".join(str(figures(one)[name][0]) for one in found)
        assert f"| {name} | {used} | {of} |" in text, name
    for gress in ("ingress", "egress"):
        used = " | ".join(str(one["actions"][gress]) for one in found)
        assert f"| actions, {gress} | {used} | |" in text
