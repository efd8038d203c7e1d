"""Compiles programs/*.p4 with p4c-bm2-ss into JSON without source lines, which would have paths,
and p4info."""

import json
import subprocess
import tempfile
from pathlib import Path

from pcn.base import packed
from pcn.base.packed import pack

PROGRAMS = Path(__file__).resolve().with_name("programs")


def compile_program(source: Path, into: Path):
    """Writes NAME.json and NAME.p4info.txtpb."""
    raw, info = into / "raw.json", into / f"{source.stem}.p4info.txtpb"
    command = [
        "p4c-bm2-ss", "--std", "p4-16", "--Wdisable=unused", "--Wdisable=unsupported",
        "--p4runtime-files", str(info), "-o", str(raw), source.name,
    ]  # fmt: skip
    subprocess.run(command, cwd=source.parent, check=True)
    document = _bare(json.loads(raw.read_text()))
    raw.unlink()
    document["program"] = source.name
    (into / f"{source.stem}.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


def _bare(node):
    if isinstance(node, list):
        return [_bare(item) for item in node]
    if isinstance(node, dict):
        return {key: _bare(value) for key, value in node.items() if key != "source_info"}
    return node


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted(PROGRAMS.glob("*.p4")):
            compile_program(source, Path(scratch))
        contents = {output.name: output.read_bytes() for output in Path(scratch).iterdir()}
        (PROGRAMS / packed.ARCHIVE).write_bytes(pack(contents))
