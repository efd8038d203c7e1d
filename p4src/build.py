"""Compiles every program in p4src/v1model/programs and examples/ with p4c and records what it was
made from.

    python p4src/build.py            compile; needs p4c-bm2-ss ($P4C, or on the PATH)
    python p4src/build.py --check    only check whether p4src/compiled fits the sources; needs no
                                     p4c

A program is a top file, which instantiates `main`; parts of p4src/v1model are on its include path.
NAME.p4 is compiled twice: NAME, which emulates PFC, and NAME_native, for a target that pauses
queues by itself; once, where no source has NATIVE_PFC. Each becomes a .json (BMv2's format, which
the embedded switch runs too; each header type, action, pipeline on a line) and a .p4info.txtpb;
all of a folder are packed (base/packed.py), except where none has two variants. Each has an entry
in manifest.json: the flags, digests of each source that it includes (manifest.py) and each output,
the first 16 digits of SHA-256, and the compiler's version.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import posixpath
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pcn.base import packed
from pcn.base.packed import NATIVE, pack
from pcn.p4src.manifest import PARTS, is_example, source_digest, sources_of
from pcn.softswitch import p4c
from pcn.softswitch.p4c import NATIVE_FLAGS, P4Error

ROOT = Path(__file__).resolve().parent.parent
MANIFEST_SCHEMA = 6
# What is compiled of each top program: suffix of the name, and p4c's flags.
VARIANTS = {"": (), NATIVE: NATIVE_FLAGS}
TOPS = ("p4src/v1model/programs/*.p4", "examples/*/*.p4")
_DIGITS = 16  # of a hash: what shows a change needn't withstand an attack
_MAIN = re.compile(r"^\s*V1Switch\s*\(", re.MULTILINE)

log = logging.getLogger("pcn.p4src")


class P4BuildError(Exception):
    """A program can't be compiled, or what is committed doesn't fit its sources."""


class Recorded(Protocol):
    """A program as in a manifest. `sources`: the top first; paths are relative to the checkout,
    with slashes."""

    @property
    def name(self) -> str: ...
    @property
    def root(self) -> Path: ...
    @property
    def sources(self) -> tuple[str, ...]: ...
    @property
    def flags(self) -> tuple[str, ...]: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Program:
    """A variant of a top program. `sources`: all files that it includes in any variant, the top
    first; relative to the checkout, with slashes."""

    name: str
    root: Path
    sources: tuple[str, ...]
    flags: tuple[str, ...]

    @property
    def outputs(self) -> tuple[str, str]:
        """The BMv2 JSON and the p4info, relative to the checkout; an example's stand beside it."""
        folder = (
            posixpath.dirname(self.sources[0]) if is_example(self.sources[0]) else "p4src/compiled"
        )
        return f"{folder}/{self.name}.json", f"{folder}/{self.name}.p4info.txtpb"


def find_programs(root: Path = ROOT) -> list[Program]:
    """Returns every variant of every top program of a checkout, by name."""
    tops = sorted(
        path
        for place in TOPS
        for path in root.glob(place)
        if _MAIN.search(path.read_text(encoding="utf-8"))
    )
    if not tops:
        raise P4BuildError(f"no program with a `main` in {root / TOPS[0]}")
    programs = []
    for top in tops:
        sources = readable_sources(top.relative_to(root).as_posix(), root)
        parts = (f"-I{PARTS}",) if is_example(sources[0]) else ()
        variants = (
            VARIANTS
            if any(p4c.SYMBOL in (root / source).read_text(encoding="utf-8") for source in sources)
            else {"": ()}
        )
        programs += [
            Program(top.stem + suffix, root, sources, (*parts, *flags))
            for suffix, flags in variants.items()
        ]
    return sorted(programs, key=lambda program: program.name)


def readable_sources(top: str, root: Path) -> tuple[str, ...]:
    """Returns a program's top file and all that it includes. Raises P4BuildError."""
    sources = tuple(sources_of(top, root))
    for path in sources:
        try:
            (root / path).open("rb").close()
        except OSError as error:
            raise P4BuildError(
                f"{top} includes {path}, which can't be read: {error.strerror}"
            ) from error
    return sources


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's bytes, in hex; packed or not."""
    return hashlib.sha256(packed.read_bytes(path)).hexdigest()


def write_outputs(root: Path, outputs: Mapping[str, bytes]) -> None:
    """Writes programs' files by their names in the checkout: packed where a folder has a program's
    two variants, else plain."""
    folders: dict[Path, dict[str, bytes]] = {}
    for name, content in outputs.items():
        folders.setdefault((root / name).parent, {})[posixpath.basename(name)] = content
    for folder, contents in folders.items():
        variants = any(NATIVE in name for name in contents)
        for name in contents:
            (folder / name).unlink(missing_ok=True)  # which would be read in the archive's place
        for name, content in ({packed.ARCHIVE: pack(contents)} if variants else contents).items():
            (folder / name).write_bytes(content)


def compile_program(program: Program, compiler: Path, into: Path) -> tuple[Path, Path]:
    """Writes JSON and p4info of `program` into a folder, with no trace of this machine in them.
    Returns their paths."""
    raw = into / f"{program.name}.raw.json"
    p4info = into / f"{program.name}.p4info.txtpb"
    log.info("compiling %s by %s", program.sources[0], compiler)
    # From the root of the checkout, so that p4c itself names the sources relative to it.
    try:
        warnings = p4c.run(compiler, program.sources[0], program.flags, program.root, raw, p4info)
    except P4Error as error:
        raise P4BuildError(str(error)) from None
    if warnings:
        log.warning("%s: %s", program.sources[0], warnings)
    document = _without_machine_paths(json.loads(raw.read_text(encoding="utf-8")), program.root)
    raw.unlink()
    output = into / f"{program.name}.json"
    output.write_text(compact(document), encoding="utf-8")
    return output, p4info


def compact(document: dict[str, Any]) -> str:
    """Returns a JSON object as text without blanks, each element of its members that are lists on a
    line: little more than half of an indented one, and a diff still shows which objects changed."""

    def dump(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def lines(value: Any) -> str:
        return (
            "[\n" + ",\n".join(map(dump, value)) + "\n]"
            if value and isinstance(value, list)
            else dump(value)
        )

    return (
        "{\n"
        + ",\n".join(f"{dump(key)}:{lines(value)}" for key, value in document.items())
        + "\n}\n"
    )


def _without_machine_paths(node: Any, root: Path) -> Any:
    """Returns a copy of a JSON document in which every file name is relative to the checkout, or
    bare if it lies outside."""
    if isinstance(node, list):
        return [_without_machine_paths(item, root) for item in node]
    if not isinstance(node, dict):
        return node
    copy = {key: _without_machine_paths(value, root) for key, value in node.items()}
    for key in ("filename", "program"):
        name = copy.get(key)
        if isinstance(name, str) and name:
            path = Path(os.path.normpath(root / name))
            copy[key] = (
                path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
            )
    return copy


def build(root: Path = ROOT) -> list[Program]:
    """Compiles all programs of a checkout and writes the manifest; all or nothing."""
    programs = find_programs(root)
    try:
        compiler = p4c.find_compiler()
        version = p4c.compiler_version(compiler)
    except P4Error as error:
        raise P4BuildError(str(error)) from None
    compiled = root / "p4src/compiled"
    compiled.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=compiled, prefix=".new-") as scratch:
        results = [
            (program, compile_program(program, compiler, Path(scratch))) for program in programs
        ]
        outputs: dict[str, bytes] = {}
        for program, paths in results:
            outputs |= zip(program.outputs, map(Path.read_bytes, paths), strict=True)
        write_outputs(root, outputs)
        text = manifest_text(p4c.COMPILER, version, results)
    (compiled / "manifest.json").write_text(text, encoding="utf-8")
    return programs


def stale(root: Path = ROOT) -> list[str]:
    """Returns what doesn't fit: one line for each source or output that isn't as the manifest
    records. Empty: all fits."""
    return differences("p4src/compiled/manifest.json", find_programs(root), root)


def differences(manifest: str, present: Sequence[Recorded], root: Path) -> list[str]:
    """Returns the differences between the programs that a manifest records and those that are
    there, a line each."""
    try:
        document = json.loads((root / manifest).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"{manifest} can't be read: {error}"]
    problems = []
    entries: dict[str, Any] = document["programs"]
    programs = {program.name: program for program in present}
    for name in sorted(programs.keys() | entries.keys()):
        if name not in programs:
            problems.append(f"{name}: compiled, but it has no source any more")
        elif name not in entries:
            problems.append(f"{name}: never compiled")
        else:
            if entries[name]["flags"] != list(programs[name].flags):
                problems.append(f"{name}: compiled with other flags")
            sources = programs[name].sources
            recorded = {
                path: document["sources"][path] for path in sources if path in document["sources"]
            }
            problems += _differences(name, recorded, sources, root, source_digest)
            problems += _differences(
                name, entries[name]["outputs"], programs[name].outputs, root, sha256
            )
    used = {path for program in present for path in program.sources}
    problems += [
        f"{path} isn't used any more" for path in sorted(document["sources"].keys() - used)
    ]
    return problems


def manifest_text(
    compiler: str, version: str, results: Sequence[tuple[Recorded, Sequence[Path]]]
) -> str:
    """Returns the manifest of programs that were compiled together, each with its outputs in the
    program's order, in any folder. A source's digest is there once, though many include it; what
    includes what follows from the sources."""
    digests = {
        path: source_digest(program.root / path)[:_DIGITS]
        for program, _ in results
        for path in program.sources
    }
    entries = {
        program.name: {
            "source": program.sources[0],
            "flags": list(program.flags),
            "outputs": {
                name: sha256(path)[:_DIGITS]
                for name, path in zip(program.outputs, outputs, strict=True)
            },
        }
        for program, outputs in results
    }
    document = {
        "schema": MANIFEST_SCHEMA,
        "compiler": {"name": compiler, "version": version},
        "sources": dict(sorted(digests.items())),
        "programs": entries,
    }
    members = []
    for key, value in document.items():
        text = json.dumps(value)
        if isinstance(value, dict):  # a source or a program a line
            lines = (f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in value.items())
            text = "{\n" + ",\n".join(lines) + "\n}"
        members.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _differences(
    program: str,
    recorded: dict[str, str],
    present: tuple[str, ...],
    root: Path,
    digest: Callable[[Path], str],
) -> Iterator[str]:
    for path in sorted(recorded.keys() | set(present)):
        if path not in present:
            yield f"{program}: {path} isn't used any more"
        elif path not in recorded:
            yield f"{program}: {path} is new"
        elif not packed.is_file(root / path):
            yield f"{program}: {path} is missing"
        elif not digest(root / path).startswith(recorded[path]):
            yield f"{program}: {path} changed"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = argparse.ArgumentParser(description="Compile the P4 programs.")
    parser.add_argument(
        "--check", action="store_true", help="only check whether p4src/compiled fits the sources"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        if not options.check:
            for program in build():
                print(
                    f"{' '.join((program.sources[0], *program.flags))} -> "
                    f"{', '.join(program.outputs)}"
                )
            return 0
        problems = stale()
    except P4BuildError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(
            "p4src/compiled doesn't fit the sources: run `make p4` and commit the result",
            file=sys.stderr,
        )
        return 1
    print("p4src/compiled fits the sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
