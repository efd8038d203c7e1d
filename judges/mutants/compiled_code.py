"""What a source becomes, so that two texts of it can be compared: assembly, a syntax tree, compiled
P4 programs."""

import ast
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
logging.getLogger("pcn.p4src").setLevel(logging.ERROR)  # p4c's warnings, of each change the same
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "p4src")) if path not in sys.path]

import build  # noqa: E402

from pcn.hosts.native import FLAGS as HOST_FLAGS  # noqa: E402
from pcn.softswitch import p4c  # noqa: E402
from pcn.softswitch.cache.objects import compiler  # noqa: E402
from pcn.softswitch.codegen.build import RUNTIME_FLAGS  # noqa: E402
from pcn.virtualnet.native import counts_in_c  # noqa: E402

ENGINE = ("-DVN_MORE_ENDPOINTS(X)=X(rdma)", "-include", "/dev/stdin", "-include")
"""Before the engine's file, and RDMA's."""
OBSERVED = ("-DVN_MORE_OBSERVERS(X)=X(explain)", *ENGINE)
"""Likewise, and the observer's."""


def code(place: Path, path: str) -> str | dict[Path, str] | None:
    """Of a file of the checkout at `place`, as it is now. None: it doesn't compile. P4: the files
    that p4c makes of all programs which include it, by where they belong."""
    return {".c": _assembly, ".h": _assembly, ".py": _tree, ".p4": _programs}[Path(path).suffix](
        place, path
    )


def same(before: str | dict[Path, str], after: str | dict[Path, str]) -> bool:
    """Except the lines that compiled P4 names."""
    if isinstance(before, str) or isinstance(after, str):
        return before == after
    return {path: _without_lines(text) for path, text in before.items()} == {
        path: _without_lines(text) for path, text in after.items()
    }


def _assembly(place: Path, path: str) -> str | None:
    folder = place / Path(path).parent
    units: list[list[str | Path]]
    text = ""
    if path.startswith(("virtualnet/", "hosts/csrc/virtual/")):
        text = counts_in_c()
        engine, rdma = place / "virtualnet/csrc/engine.c", place / "hosts/csrc/virtual/rdma.c"
        units = [
            [*ENGINE, engine, rdma],
            [*OBSERVED, engine, "-include", rdma, place / "hosts/csrc/virtual/explain.c"],
        ]
    elif path.endswith(".h"):
        units = [[source] for source in sorted(folder.glob("*.c"))]
        # what programs have of it, which aren't compiled here
        if folder.parent.name == "softswitch":
            units.append(["-fkeep-inline-functions", "-x", "c", folder / "pipeline.h"])
    else:
        units = [[place / path]]
    flags = [
        flag
        for flag in (HOST_FLAGS if folder.parent.name == "hosts" else RUNTIME_FLAGS)
        if flag[:2] != "-l"
    ]
    includes = [
        f"-I{place / include}" for include in ("virtualnet/csrc", "hosts/csrc", "softswitch/csrc")
    ]
    assembly = ""
    for unit in units:
        command = [*compiler(), *flags, *includes, "-g0", "-w", "-S", "-o", "-", *unit]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=place)
        if done.returncode:
            return None
        assembly += done.stdout
    return assembly


def _tree(place: Path, path: str) -> str | None:
    """Without the types of functions, which aren't evaluated; those of a class define its
    fields."""
    try:
        tree = ast.parse((place / path).read_text())
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(tree)


def _programs(place: Path, path: str) -> dict[Path, str] | None:
    compiled: dict[Path, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for program in build.find_programs(place):
            if path in program.sources:
                try:
                    outputs = build.compile_program(program, p4c.find_compiler(), Path(scratch))
                except build.P4BuildError:
                    return None
                compiled |= {
                    place / name: file.read_text()
                    for name, file in zip(program.outputs, outputs, strict=True)
                }
    return compiled


def _without_lines(text: str):
    if not text.startswith("{"):
        return text
    return json.loads(
        text, object_hook=lambda node: {k: v for k, v in node.items() if k != "source_info"}
    )
