"""Checks that need a real p4c. Skipped, visibly, where p4c is missing: the compiled programs are
committed."""

import json
import shutil
from pathlib import Path
from types import ModuleType

import needs
import pytest

from pcn.base import packed
from pcn.softswitch import p4c

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def compiler() -> Path:
    try:
        return p4c.find_compiler()
    except p4c.P4Error:
        needs.missing(needs.P4C)


def test_committed_output_is_p4cs(build: ModuleType, compiler: Path, tmp_path):
    """Byte for byte, where p4c has the version that the manifest names."""
    manifest = json.loads((ROOT / "p4src/compiled/manifest.json").read_text())
    version = p4c.compiler_version(compiler)
    needs.p4c_version(version, manifest["compiler"]["version"])
    for program in build.find_programs():
        outputs = build.compile_program(program, compiler, tmp_path)
        for name, path in zip(program.outputs, outputs, strict=True):
            assert path.read_text() == packed.read_text(ROOT / name), (
                f"{name}: run `make p4` and commit the result"
            )


def test_error_of_p4c_is_shown(build: ModuleType, compiler: Path, tmp_path):
    folder = tmp_path / "p4src/v1model/programs"
    folder.mkdir(parents=True)
    (folder / "broken.p4").write_text("#include <v1model.p4>\nV1Switch(Nothing()) main;\n")
    (program,) = build.find_programs(tmp_path)
    with pytest.raises(
        build.P4BuildError, match=r"(?s)p4c refused p4src/v1model/programs/broken\.p4.*Nothing"
    ):
        build.compile_program(program, compiler, tmp_path)


def test_compiler_takes_a_program_by_a_relative_path(compiler: Path, tmp_path, monkeypatch):
    """In a folder below the working directory, as the tutorials' solution/x.p4."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "exercise" / "solution"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "examples/router/router.p4", folder)
    monkeypatch.chdir(tmp_path)
    bmv2_json, p4info = p4c.compiled(
        Path("exercise/solution/router.p4"), (), ROOT / "p4src/v1model"
    )
    assert bmv2_json.is_file()
    assert p4info.read_text() == (ROOT / "examples/router/router.p4info.txtpb").read_text()


@pytest.fixture(scope="module")
def tofino_tools(build_tofino: ModuleType) -> tuple[Path, Path]:
    try:
        tools: tuple[Path, Path] = build_tofino.find_tools()
    except build_tofino.P4BuildError:
        needs.missing(needs.P4C_TOFINO)
    return tools


def test_committed_tofino_output_is_p4cs(
    build_tofino: ModuleType, tofino_tools: tuple[Path, Path], tmp_path
):
    """Byte for byte, where the Tofino backend has the version that the manifest names."""
    manifest = json.loads((ROOT / build_tofino.MANIFEST).read_text())
    for program in build_tofino.find_programs():
        outputs = build_tofino.compile_program(program, tofino_tools, tmp_path)
        version = json.loads((tmp_path / "pipe/context.json").read_text())["compiler_version"]
        needs.p4c_version(version, manifest["compiler"]["version"])
        for name, path in zip(program.outputs, outputs, strict=True):
            assert path.read_bytes() == packed.read_bytes(ROOT / name), (
                f"{name}: run `make p4-tofino` and commit the result"
            )


def test_warning_of_the_tofino_backend_is_an_error(
    build_tofino: ModuleType, tofino_tools: tuple[Path, Path], tmp_path
):
    """For example of an uninitialised field."""
    shutil.copytree(
        ROOT / "p4src", tmp_path / "p4src", ignore=shutil.ignore_patterns("__pycache__")
    )
    parser = tmp_path / "p4src/tna/parser.p4"
    parser.write_text(parser.read_text().replace("        meta.watched = 0;\n", ""))
    program = next(
        program for program in build_tofino.find_programs(tmp_path) if program.name == "tofino/pcn"
    )
    into = tmp_path / "out"
    into.mkdir()
    with pytest.raises(
        build_tofino.P4BuildError,
        match=r"(?s)p4c-barefoot refused p4src/tna/pcn\.p4.*uninitialized",
    ):
        build_tofino.compile_program(program, tofino_tools, into)
