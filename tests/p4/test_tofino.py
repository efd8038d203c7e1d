"""The Tofino twins as they are committed: they fit their sources, and the chip has room left."""

import itertools
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from assembly import read_assembly

from pcn.base import packed
from pcn.controller.tofino.chips import CHIPS
from pcn.controller.tofino.package import FOLDER, driver_files

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("pcn", "qcn", "qcn_in", "tcd")
STAGES = {"tofino": 12, "tofino2": 20}


@pytest.fixture(params=itertools.product(CHIPS, PROGRAMS), ids="-".join)
def twin(request) -> Path:
    """A program's folder."""
    return FOLDER.joinpath(*request.param)


def contents(twin: Path) -> tuple[bytes, bytes, bytes]:
    return driver_files(twin, CHIPS[twin.parent.name])


def resources(twin: Path) -> dict[str, Any]:
    return json.loads(packed.read_text(twin / "resources.json"))


def packed_contents() -> dict[str, bytes]:
    return {
        path.relative_to(FOLDER).as_posix(): packed.read_bytes(path)
        for path in packed.files(FOLDER, "")
        if path.parent != FOLDER
    }


def test_outputs_fit_sources(build_tofino: ModuleType):
    """A changed source, or an output edited by hand: `make p4-tofino` and commit."""
    assert build_tofino.stale() == []
    folders = {name.rpartition("/")[0] for name in packed_contents()}
    assert folders == {f"{chip}/{program}" for chip in CHIPS for program in PROGRAMS}


def test_drift_is_seen(build_tofino: ModuleType, tmp_path):
    shutil.copytree(
        ROOT / "p4src", tmp_path / "p4src", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert build_tofino.stale(tmp_path) == []
    contents = packed_contents()
    assert len(contents) == 48
    contents["tofino2/pcn/context.json"] = b""
    archive = tmp_path / "p4src/compiled/tna" / packed.ARCHIVE
    archive.write_bytes(build_tofino.pack(contents))
    headers = tmp_path / "p4src/shared/headers.p4"
    headers.write_text(headers.read_text() + "\n")
    (tmp_path / "p4src/tna/forwarding.p4").unlink()
    with pytest.raises(build_tofino.P4BuildError, match=r"tna/forwarding\.p4, which can't be read"):
        build_tofino.stale(tmp_path)
    shutil.copy(ROOT / "p4src/tna/forwarding.p4", tmp_path / "p4src/tna")
    assert set(build_tofino.stale(tmp_path)) == {
        *(
            f"{chip}/{program}: p4src/shared/headers.p4 changed"
            for chip in CHIPS
            for program in PROGRAMS
        ),
        "tofino2/pcn: p4src/compiled/tna/tofino2/pcn/context.json changed",
    }


@pytest.mark.parametrize("variable", ["P4C_TOFINO", "BFAS"])
def test_absent_compiler_is_explained(build_tofino: ModuleType, monkeypatch, capsys, variable):
    """One message that names the program and the way out; nothing is touched."""
    monkeypatch.setenv("P4C_TOFINO", "/bin/true")
    monkeypatch.setenv("BFAS", "/bin/true")
    monkeypatch.setenv(variable, "/nowhere/tool")
    before = {path: path.read_bytes() for path in FOLDER.iterdir()}
    assert build_tofino.main([]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: /nowhere/tool was not found")
    assert variable in message
    assert {path: path.read_bytes() for path in FOLDER.iterdir()} == before


def test_outputs_in_another_folder_are_of_one_chip(build_tofino: ModuleType, tmp_path, capsys):
    for arguments in (["--out", str(tmp_path)], ["--chip", "tofino2"]):
        with pytest.raises(SystemExit):
            build_tofino.main(arguments)
        assert "--out and --chip go together" in capsys.readouterr().err


def test_snapshots_are_in_one_order(build_tofino: ModuleType, twin: Path):
    """Whichever of the two the compiler writes first."""
    tables = json.loads(contents(twin)[2])["tables"]
    ingress, egress = (
        [table for table in tables if f".snapshot.{gress}_" in table["name"]]
        for gress in ("ingress", "egress")
    )
    (cfg,) = [table for table in tables if table["name"].endswith(".snapshot.cfg")]
    assert (len(ingress), len(egress)) == (3, 3)
    moved = cfg | {
        "id": cfg["id"] - ingress[0]["id"] + egress[0]["id"],
        "depends_on": [egress[0]["id"], ingress[0]["id"]],
    }
    at = tables.index(cfg)
    assert tables[at : at + 7] == [cfg, *ingress, *egress]
    swapped = [*tables[:at], moved, *egress, *ingress, *tables[at + 7 :]]
    assert build_tofino.in_order(swapped) == build_tofino.in_order(tables) == tables


def test_no_machine_path(twin: Path):
    files = [packed.read_bytes(path) for path in packed.files(FOLDER, "") if path.parent == twin]
    assert len(files) == 6
    assert [re.findall(rb"/(?:home|opt|root|tmp|usr)/", content) for content in files] == [
        []
    ] * len(files)


def test_outputs_are_of_one_compilation(twin: Path):
    """The driver compares the binary with the context that describes it."""
    binary, text, _ = contents(twin)
    context = json.loads(text)
    assert context["target"] == twin.parent.name
    assert f'run_id: "{context["run_id"]}"' in read_assembly(twin)
    assert context["run_id"].encode() in binary[:256]


def test_room_is_left(twin: Path):
    """For a real forwarding pipeline beside it."""
    takes = resources(twin)
    assert (
        max(takes["stages"]["ingress"], takes["stages"]["egress"])
        <= takes["stages"]["of"]
        == STAGES[twin.parent.name]
    )
    assert takes["sram"]["used"] < 0.06 * takes["sram"]["of"]
    assert takes["tcam"]["used"] < 0.08 * takes["tcam"]["of"]


def test_parser_branches(twin: Path):
    """It selects by ethertype, by version to protocol, and by UDP port: p4c has lost that once
    (issue 5752)."""
    text = read_assembly(twin)
    ingress = text[text.index("parser ingress") : text.index("deparser ingress")]
    assert ingress.count("match: [") == 3
    for value in ("0x0800:", "0o105*0000021:", "0x12b7:"):
        assert value in ingress


@pytest.mark.parametrize("program", ["pcn", "tcd"])
def test_p4info_of_both_chips_differs_in_the_architecture_alone(program):
    """QCN's has other widths: of the mirror's sessions."""
    ours, theirs = (packed.read_text(FOLDER / chip / program / "p4info.txtpb") for chip in CHIPS)
    assert theirs.replace('arch: "t2na"', 'arch: "tna"') == ours


@pytest.mark.parametrize(
    ("chip", "programs"),
    [("tofino", ("pcn", "tcd")), ("tofino", ("qcn", "qcn_in")), ("tofino2", PROGRAMS)],
)
def test_documentation_has_the_figures(chip, programs):
    """A table has a column for each program, and one for the chip's total."""
    text = (ROOT / "docs/tofino.md").read_text()
    takes = [resources(FOLDER / chip / program) for program in programs]
    for name, (*used, of) in rows(takes).items():
        assert f"| {name} | {' | '.join(map(str, used))} | {of} |" in text, name
    counts = " | ".join(
        f"{usage['actions']['ingress']}, {usage['actions']['egress']}" for usage in takes
    )
    assert f"| actions, ingress and egress | {counts} |" in text


def rows(programs: Sequence[dict[str, Any]]) -> dict[str, tuple[int, ...]]:
    columns = []
    for takes in programs:
        column = {
            f"stages, {gress}": (takes["stages"][gress], takes["stages"]["of"])
            for gress in ("ingress", "egress")
        }
        column |= {
            f"{name} blocks": tuple(takes[name.lower()].values()) for name in ("SRAM", "TCAM")
        }
        phv = takes["phv"]
        column |= {
            f"{width} bit containers": tuple(phv[f"{width} bit"].values()) for width in (8, 16, 32)
        }
        for kind in sorted({name.split(" ", 2)[2] for name in phv if name.count(" ") == 2}):
            units = [unit for name, unit in phv.items() if name.endswith(kind)]
            column[f"{kind} containers"] = tuple(
                sum(unit[key] for unit in units) for key in ("used", "of")
            )
        columns.append(column)
    return {
        name: (*(column[name][0] for column in columns), of) for name, (_, of) in columns[0].items()
    }
