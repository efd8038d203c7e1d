"""What only a real p4c can tell. Skipped, visibly, where there is none: the compiled programs are committed."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def compiler(build: ModuleType) -> Path:
    try:
        found: Path = build.find_compiler()
    except build.P4BuildError as error:
        pytest.skip(str(error))
    return found


def test_committed_output_is_p4cs(build: ModuleType, compiler: Path, tmp_path: Path) -> None:
    """Byte for byte, where p4c has the version that the manifest names."""
    manifest = json.loads((ROOT / "p4src/compiled/manifest.json").read_text())
    version = build.compiler_version(compiler)
    if version != manifest["compiler"]["version"]:
        pytest.skip(f"p4c is {version}, the outputs were made by {manifest['compiler']['version']}")
    for program in build.find_programs():
        outputs = build.compile_program(program, compiler, tmp_path)
        for name, path in zip(program.outputs, outputs, strict=True):
            assert path.read_text() == (ROOT / name).read_text(), f"{name}: run `make p4` and commit the result"


def test_error_of_p4c_is_shown(build: ModuleType, compiler: Path, tmp_path: Path) -> None:
    folder = tmp_path / "p4src/v1model"
    folder.mkdir(parents=True)
    (folder / "broken.p4").write_text("#include <v1model.p4>\nV1Switch(Nothing()) main;\n")
    program, _ = build.find_programs(tmp_path)
    with pytest.raises(build.P4BuildError, match=r"(?s)p4c refused p4src/v1model/broken\.p4.*Nothing"):
        build.compile_program(program, compiler, tmp_path)
