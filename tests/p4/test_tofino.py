"""The Tofino twin as it is committed: it fits its sources, and the chip has room left."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from finsy.proto import p4i
from google.protobuf import text_format

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "p4src/compiled"
TWIN = COMPILED / "tofino/pcn"


def read_p4info(path: Path) -> p4i.P4Info:
    return text_format.Parse(path.read_text(), p4i.P4Info())


@pytest.fixture(scope="module")
def twin() -> p4i.P4Info:
    return read_p4info(TWIN / "p4info.txtpb")


@pytest.fixture(scope="module")
def v1model() -> p4i.P4Info:
    """The program that pauses nothing itself, as the twin."""
    return read_p4info(COMPILED / "pcn_native.p4info.txtpb")


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((TWIN / "resources.json").read_text())
    return document


@pytest.fixture(scope="module")
def assembly() -> str:
    return (TWIN / "pcn.bfa").read_text()


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
        "pcn: p4src/shared/headers.p4 changed",
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
    before = {path: path.read_bytes() for path in TWIN.iterdir()}
    assert build_tofino.main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: /nowhere/tool was not found")
    assert variable in message
    assert {path: path.read_bytes() for path in TWIN.iterdir()} == before


def test_outputs_of_another_chip_have_a_place_of_their_own(
    build_tofino: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        build_tofino.main(["--chip", "tofino2"])
    assert "say where the outputs for tofino2 go, with --out DIR" in capsys.readouterr().err


def test_snapshots_are_in_one_order(build_tofino: ModuleType) -> None:
    """Whichever of the two the compiler writes first."""
    tables = json.loads((TWIN / "bf-rt.json").read_text())["tables"]
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


def test_no_machine_path() -> None:
    for path in TWIN.iterdir():
        assert re.search(rb"/(home|opt|root|tmp|usr)/", path.read_bytes()) is None, path


def test_outputs_are_of_one_compilation(assembly: str) -> None:
    """The driver compares the binary with the context that describes it."""
    context = json.loads((TWIN / "context.json").read_text())
    assert context["target"] == "tofino"
    assert f'run_id: "{context["run_id"]}"' in assembly
    assert context["run_id"].encode() in (TWIN / "tofino.bin").read_bytes()[:256]


def test_room_is_left(resources: dict[str, Any]) -> None:
    """For a real forwarding pipeline beside it."""
    assert max(resources["stages"]["ingress"], resources["stages"]["egress"]) <= resources["stages"]["of"] == 12
    assert resources["sram"]["used"] < 0.05 * resources["sram"]["of"]
    assert resources["tcam"]["used"] < 0.05 * resources["tcam"]["of"]


def test_parser_branches(assembly: str) -> None:
    """It selects by ethertype, by version to protocol, and by UDP port: p4c has lost that once (issue 5752)."""
    ingress = assembly[assembly.index("parser ingress") : assembly.index("deparser ingress")]
    assert ingress.count("match: [") == 3
    for value in ("0x0800:", "0o105*0000021:", "0x12b7:"):
        assert value in ingress


def test_documentation_has_the_figures(resources: dict[str, Any]) -> None:
    text = (ROOT / "docs/tofino.md").read_text()
    rows = {
        f"stages, {gress}": (resources["stages"][gress], resources["stages"]["of"]) for gress in ("ingress", "egress")
    }
    rows |= {f"{name} blocks": tuple(resources[name.lower()].values()) for name in ("SRAM", "TCAM")}
    phv = resources["phv"]
    rows |= {f"{width} bit containers": tuple(phv[f"{width} bit"].values()) for width in (8, 16, 32)}
    tagalong = [unit for name, unit in phv.items() if "tagalong" in name]
    rows["tagalong containers"] = tuple(sum(unit[key] for unit in tagalong) for key in ("used", "of"))
    for name, (used, of) in rows.items():
        assert f"| {name} | {used} | {of} |" in text, name
    actions = resources["actions"]
    assert f"| actions, ingress and egress | {actions['ingress']}, {actions['egress']} |" in text
