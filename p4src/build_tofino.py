"""Compiles p4src/tna for Tofino with p4c's own backend; records what it was made from and what it
takes of the chip.

    python p4src/build_tofino.py            compile; needs p4c-barefoot and bfas ($P4C_TOFINO,
                                            $BFAS, or on the PATH)
    python p4src/build_tofino.py --check    only check whether p4src/compiled fits the sources;
                                            needs no compiler
    python p4src/build_tofino.py --chip tofino2 --out DIR    for one chip, into another folder

The backend (github.com/p4lang/p4c, built with ENABLE_TOFINO) compiles to assembly and describes the
program to controllers, its assembler writes what the chip and its driver load. A program becomes,
for each chip, a folder CHIP/NAME in p4src/compiled/tna/programs.tar.xz with

    CHIP.bin         the chip's configuration
    context.json     where each table is, how its entries are encoded
    bf-rt.json       BF-RT's description of the tables
    NAME.bfa         what is matched, computed and stored in which stage; to read
    p4info.txtpb     P4Runtime's
    resources.json   what the program takes, see `resources`

and an entry in the manifest.json beside it. The chips' files are nine tenths the same text, so that
one archive has them. With --out nothing is packed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.base import packed
from pcn.base.packed import pack
from pcn.p4src.build import (
    ROOT,
    P4BuildError,
    differences,
    manifest_text,
    readable_sources,
)
from pcn.p4src.manifest import source_digest

COMPILER = "p4c-barefoot"
ASSEMBLER = "bfas"
# By the compiler's name of the chip.
FLAGS = {
    name: (
        "--target",
        name,
        "--arch",
        arch,
        f"-D__TARGET_TOFINO__={number}",
        "--p4runtime-force-std-externs",
    )
    for name, arch, number in (("tofino", "tna", 1), ("tofino2", "t2na", 2))
}
COMPILED = "p4src/compiled/tna"
MANIFEST = f"{COMPILED}/manifest.json"
_MAIN = re.compile(r"^\s*Switch\s*\(", re.MULTILINE)
# p4c's own: of a message type that the p4info names but protobuf doesn't know; and of the assembler
# where ingress and egress share a hash function of a stage, which then found that they take
# different bits of it, and went on.
_NO_WARNING = re.compile(
    r"^(\[libprotobuf WARNING .*PortMetadata: failed to parse contents"
    r"|.*: warning: Input xbar hash group \d+ mergeable conflict in stage \d+"
    r"|.*: warning: conflicting hash group definition here)$",
    re.MULTILINE,
)

log = logging.getLogger("pcn.p4src")


@dataclass(frozen=True)
class TofinoProgram:
    """A top program of p4src/tna for a chip. Paths are relative to the checkout, with slashes;
    `sources`: the top first."""

    chip: str
    top: str
    root: Path
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.chip}/{self.top}"

    @property
    def flags(self) -> tuple[str, ...]:
        return FLAGS[self.chip]

    @property
    def folder(self) -> str:
        return f"{COMPILED}/{self.name}"

    @property
    def files(self) -> tuple[str, ...]:
        return (
            f"{self.chip}.bin",
            "context.json",
            "bf-rt.json",
            f"{self.top}.bfa",
            "p4info.txtpb",
            "resources.json",
        )

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.folder}/{file}" for file in self.files)


def find_programs(root: Path = ROOT) -> list[TofinoProgram]:
    """Returns every file of p4src/tna that instantiates `main`, for each chip, by name. Raises
    P4BuildError."""
    tops = sorted(
        path
        for path in (root / "p4src/tna").glob("*.p4")
        if _MAIN.search(path.read_text(encoding="utf-8"))
    )
    if not tops:
        raise P4BuildError(f"no program with a `main` in {root / 'p4src/tna'}")
    return [
        TofinoProgram(
            chip, top.stem, root, readable_sources(top.relative_to(root).as_posix(), root)
        )
        for chip in FLAGS
        for top in tops
    ]


def find_tools() -> tuple[Path, Path]:
    """Returns compiler and assembler. Raises P4BuildError if one is missing."""
    tools = []
    for variable, name in (("P4C_TOFINO", COMPILER), ("BFAS", ASSEMBLER)):
        wanted = os.environ.get(variable, name)
        path = shutil.which(wanted)
        if path is None:
            raise P4BuildError(
                f"{wanted} was not found. It is only needed to change p4src/tna: the compiled form "
                "is committed. Build p4c (github.com/p4lang/p4c) with -DENABLE_TOFINO=ON and put "
                f"{COMPILER} and {ASSEMBLER} on the PATH, or set P4C_TOFINO and BFAS to them, and "
                "P4C_16_INCLUDE_PATH to the folder of tna.p4 unless p4c is installed."
            )
        tools.append(Path(path))
    return tools[0], tools[1]


def compile_program(
    program: TofinoProgram, tools: tuple[Path, Path], into: Path
) -> tuple[Path, ...]:
    """Writes a program's outputs into a folder, and returns them in order. A warning is an
    error."""
    compiler, assembler = tools
    bf_rt, p4info = into / "bf-rt.json", into / "p4info.txtpb"
    command = [
        str(compiler),
        "--std",
        "p4-16",
        *program.flags,
        "--Werror",
        "--Wdisable=unused",
        "-g",
    ]
    command += [
        "--bf-rt-schema",
        str(bf_rt),
        "--p4runtime-files",
        str(p4info),
        "-o",
        str(into),
        program.sources[0],
    ]
    _run(command, program)
    pipe = into / "pipe"
    assembly = pipe / f"{program.top}.bfa"
    # Drawn by chance at each run, and copied into what the assembler writes.
    text = re.sub(
        r'(?m)^( *run_id: )".*"$',
        rf'\g<1>"{_run_id(program)}"',
        assembly.read_text(encoding="utf-8"),
    )
    assembly.write_text(text, encoding="utf-8")
    _run([str(assembler), "--target", program.chip, "-o", str(pipe), str(assembly)], program)
    context = json.loads((pipe / "context.json").read_text(encoding="utf-8"))
    context["build_date"] = ""
    schema = json.loads(bf_rt.read_text(encoding="utf-8"))
    schema["tables"] = in_order(schema["tables"])
    used = resources(
        json.loads((pipe / "logs/resources.json").read_text(encoding="utf-8")), context
    )
    for name, document in (
        ("context.json", context),
        ("bf-rt.json", schema),
        ("resources.json", used),
    ):
        (into / name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for path in (pipe / f"{program.chip}.bin", assembly):
        path.replace(into / path.name)
    return tuple(into / name for name in program.files)


def in_order(tables: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns BF-RT's tables with those of ingress's snapshots before egress's. The compiler has
    them in the order of addresses in its memory, which changes from run to run; their common
    configuration has its id from those that come first."""
    of_gress = [
        table for table in tables if re.search(r"\.snapshot\.(ingress|egress)_", table["name"])
    ]
    if not of_gress:
        return list(tables)
    ordered = sorted(of_gress, key=lambda table: "egress" in table["name"])
    moved = iter(ordered)
    reordered = [next(moved) if table in of_gress else dict(table) for table in tables]
    for table in reordered:
        if table["name"].endswith(".snapshot.cfg"):
            table["id"] += ordered[0]["id"] - of_gress[0]["id"]
            table["depends_on"] = [
                trigger["id"] for trigger in ordered if trigger["name"].endswith("_trigger")
            ]
    return reordered


def _run(command: Sequence[str], program: TofinoProgram) -> None:
    tool = Path(command[0]).name
    result = subprocess.run(
        command, cwd=program.root, capture_output=True, text=True, errors="replace", check=False
    )
    stderr = _NO_WARNING.sub("", result.stderr).strip()
    if "Can't match parser state due to previous match" in stderr:
        raise P4BuildError(
            f"this {COMPILER} loses what parsers select by (p4lang/p4c issue 5752): take one that "
            "has pull request 5753"
        )
    if result.returncode != 0 or re.search(r"\b(warning|error): ", stderr):
        raise P4BuildError(f"{tool} refused {program.sources[0]}:\n{stderr}")


def _run_id(program: TofinoProgram) -> str:
    sources = "".join(source_digest(program.root / path) for path in program.sources)
    return hashlib.sha256(sources.encode()).hexdigest()[:16]


def resources(used: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a program's use of one pipe, and the pipe's total: from the compiler's resources.json
    and the context.

    `stages`: how many match-action stages each gress uses. `sram`, `tcam`, `map_ram`: blocks.
    `phv`: containers of the packet header vector by width: "tagalong" are those that no stage can
    touch, Tofino 2's "mocha" and "dark" those that stages only set. `actions`: of tables, by gress.
    """
    n_stages = used["resources"]["mau"]["nStages"]
    stages = used["resources"]["mau"]["mau_stages"]  # those that are used
    tables = [table for table in context["tables"] if table["table_type"] == "match"]

    def blocks(kind: str, cells: str, columns: str) -> dict[str, int]:
        return {
            "used": sum(len(stage[kind][cells]) for stage in stages),
            "of": n_stages * stages[0][kind]["nRows"] * stages[0][kind][columns],
        }

    def last_stage(gress: str) -> int:
        placed: list[int] = [
            stage["stage_number"]
            for table in context["tables"]
            if table["direction"] == gress
            for stage in (
                *table.get("stage_tables", ()),
                *table.get("match_attributes", {}).get("stage_tables", ()),
            )
        ]
        return max(placed) + 1

    phv = {}
    for kind, units in used["resources"]["phv_containers"].items():
        for unit in units:
            taken = {
                container["phv_number"]
                for stage in context["phv_allocation"]
                for gress in ("ingress", "egress")
                for container in stage[gress]
            }
            name = f"{unit['width']} bit{'' if kind == 'normal' else f' {kind}'}"
            phv[name] = {"used": len(taken & set(unit["addresses"])), "of": unit["units"]}
    return {
        "stages": {
            "ingress": last_stage("ingress"),
            "egress": last_stage("egress"),
            "of": n_stages,
        },
        "sram": blocks("rams", "srams", "nColumns"),
        "tcam": blocks("tcams", "tcams", "nColumns"),
        "map_ram": blocks("map_rams", "maprams", "nUnits"),
        "phv": phv,
        "actions": {
            gress: sum(len(table["actions"]) for table in tables if table["direction"] == gress)
            for gress in ("ingress", "egress")
        },
    }


def build(root: Path = ROOT) -> list[TofinoProgram]:
    """Compiles all programs of a checkout and writes the manifest; all or nothing."""
    programs = find_programs(root)
    tools = find_tools()
    compiled = root / COMPILED
    compiled.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=compiled, prefix=".new-") as scratch:
        results = []
        for program in programs:
            into = Path(scratch) / program.name
            into.mkdir(parents=True)
            results.append((program, compile_program(program, tools, into)))
        context = json.loads((Path(scratch) / programs[0].name / "context.json").read_bytes())
        text = manifest_text(COMPILER, context["compiler_version"], results)
        contents = {
            f"{program.name}/{path.name}": path.read_bytes()
            for program, outputs in results
            for path in outputs
        }
        (compiled / packed.ARCHIVE).write_bytes(pack(contents))
    (root / MANIFEST).write_text(text, encoding="utf-8")
    return programs


def build_into(folder: Path, chip: str, root: Path = ROOT) -> list[Path]:
    """Compiles all programs of a checkout for a chip, each into a folder of its name; returns
    these."""
    tools = find_tools()
    folders = []
    for program in find_programs(root):
        if program.chip != chip:
            continue
        into = folder / program.top
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as scratch:
            for name, path in zip(
                program.files, compile_program(program, tools, Path(scratch)), strict=True
            ):
                path.replace(into / name)
        folders.append(into)
    return folders


def stale(root: Path = ROOT) -> list[str]:
    """Returns what doesn't fit, a line each, as build.stale."""
    return differences(MANIFEST, find_programs(root), root)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(description="Compile the P4 programs for Tofino.")
    parser.add_argument(
        "--check", action="store_true", help=f"only check whether {COMPILED} fits the sources"
    )
    parser.add_argument("--chip", choices=tuple(FLAGS), help="for which, with --out")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"where outputs go, in place of {COMPILED}"
    )
    options = parser.parse_args(arguments)
    if (options.out is None) != (options.chip is None):
        parser.error("--out and --chip go together: where the outputs of which chip go")
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        if options.out is not None:
            for folder in build_into(options.out.resolve(), options.chip):
                print(folder)
            return 0
        if not options.check:
            for program in build():
                print(f"{program.sources[0]} -> {program.folder}")
            return 0
        problems = stale()
    except P4BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(
            f"{COMPILED} doesn't fit the sources: run `make p4-tofino` and commit the result",
            file=sys.stderr,
        )
        return 1
    print(f"{COMPILED} fits the sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
