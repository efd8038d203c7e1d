"""Tests by p4testgen of our own programs, which `make test` plays: generated.json.xz, STF texts
by program and KIND_N.

p4testgen (p4c 34b86e9bac) ends on a shift by a number of another width and on a `field_list` of
several members, and takes a table with a selector to have no entries. It reads a copy that is
rewritten where that is so; what is judged is the program itself, in which an entry of the
selector's table is a set of one action. A list of the copy has fewer fields, which matters to
nothing that p4testgen follows: it has no clone go through egress. Tests that the switch fails are
printed, and aren't kept.
"""

import argparse
import json
import lzma
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path

from google.protobuf import text_format
from reached import lines_reached
from sweep import GENERATED, ROOT, Generated, Outcome, generate, outcome
from switches import embedded

from pcn.base import packed
from pcn.base.p4rt import p4i
from pcn.softswitch.coverage.counts import Counts

SOURCES = ROOT / "p4src"
COMPILED = SOURCES / "compiled"
# Without PFC: it clones, and p4testgen takes it that a clone leaves its port as it is, without
# egress.
KINDS = {
    "forwarded": (
        "--output-packet-only",
        "--skip-control-plane-entities",
        "SwitchIngress.pfc.pfc_config",
    ),
    "dropped": ("--dropped-packet-only",),
}
_COVERED = re.compile(r"; (\d+%) of nodes$")
"""In the first line of a test that is kept: what p4testgen covers by all that it made with it."""
_REPLACED = (
    (re.compile(r"(<<|>>) (meta\.class|class)\b"), r"\1 (bit<8>) \2"),
    (re.compile(r"@field_list\(\w+, (\w+)[^)]*\)"), r"@field_list(\1)"),
    (re.compile(r"^.*(: selector;|implementation = \w+;)\n", re.M), ""),
)


def readable(folder: Path):
    """Rewrites the sources there as p4testgen takes them."""
    for file in folder.rglob("*.p4"):
        text = file.read_text()
        for pattern, replacement in _REPLACED:
            text = pattern.sub(replacement, text)
        file.write_text(text)


@cache
def load(program: str) -> tuple[p4i.P4Info, bytes]:
    """The compiled program that is committed."""
    info = text_format.Parse(packed.read_text(COMPILED / f"{program}.p4info.txtpb"), p4i.P4Info())
    return info, packed.read_bytes(COMPILED / f"{program}.json")


def kept_tests() -> dict[str, dict[str, str]]:
    """Returns the tests that are kept, STF texts by program and name."""
    return json.loads(lzma.decompress(GENERATED.read_bytes()))


def own_programs(args: argparse.Namespace) -> int:
    """Makes the tests of all our programs anew, keeps those that the switch passes, prints. Returns
    the exit code."""
    done = subprocess.run([str(args.p4c), "--version"], capture_output=True, text=True, check=True)
    match = re.search(r"Version (\S+) \(SHA: (\w+)", done.stdout + done.stderr)
    version = " ".join(match.groups()) if match else "of unknown version"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "p4src")
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns("compiled", "tna"))
        readable(copy)
        runs = [
            (p, kind)
            for p in sorted((copy / "v1model" / "programs").glob("*.p4"))
            for kind in KINDS
        ]

        def run(job: tuple[Path, str]) -> Generated:
            program, kind = job
            return generate(
                program, Path(folder, program.stem, kind), args, *KINDS[kind],
                "--packet-size-range=0:4800",
            )  # fmt: skip

        with ThreadPoolExecutor(args.jobs) as pool:
            generated = list(pool.map(run, runs))
        selected: dict[str, dict[str, str]] = {}
        for (program, kind), tests in zip(runs, generated, strict=True):
            info, config = load(program.stem)
            outcomes = [outcome(embedded, f.stem, f.read_text(), info, config) for f in tests.files]
            failed += sum(test.verdict != "pass" for test in outcomes)
            head = f"# p4testgen of p4c {version}, seed {args.seed}"
            passed = _passed(program.stem, kind, tests, outcomes, head)
            selected.setdefault(program.stem, {}).update(passed)
        GENERATED.write_bytes(lzma.compress(json.dumps(selected, indent=0).encode()))
    print_kept()
    return int(failed > 0)


def print_kept() -> int:
    """Plays the tests that are kept, and prints for each program what p4testgen states of them, and
    how many lines the switch runs through. Returns the exit code."""
    failed = 0
    for program, texts in kept_tests().items():
        counts, by_kind, (info, config) = Counts(), dict[str, str](), load(program)
        for name, text in texts.items():
            match = _COVERED.search(text.partition("\n")[0])
            by_kind[name.partition("_")[0]] = match[1] if match else "unknown"
            test = outcome(partial(embedded, counts), name, text, info, config)
            failed += test.verdict != "pass"
        reached, lines = lines_reached(counts, SOURCES)
        nodes = ", ".join(f"{kind} {share}" for kind, share in by_kind.items())
        print(
            f"{program}: {len(texts)} tests; nodes by p4testgen: {nodes}; lines by the "
            f"switch: {reached} of {lines}, {reached / lines:.0%}",
            flush=True,
        )
    return int(failed > 0)


def _passed(
    program: str, kind: str, tests: Generated, outcomes: list[Outcome], head: str
) -> dict[str, str]:
    """Returns the tests that the switch passes by name, and prints the others."""
    texts = {}
    if tests.coverage is not None:
        head += f"; {tests.coverage:.0%} of nodes"
    for file, test in zip(tests.files, outcomes, strict=True):
        if test.verdict == "pass":
            lines = [
                line for line in file.read_text().splitlines() if line and not line.startswith("#")
            ]
            texts[f"{kind}_{file.stem}"] = "\n".join([head, *lines]) + "\n"
        else:
            print(f"{test.verdict}: {program}/{kind}_{test.name}: {test.reason[:600]}", flush=True)
    covered = "no test" if tests.coverage is None else f"{tests.coverage:.0%} of its nodes covered"
    print(
        f"{program}, {kind}: {len(texts)} of {len(outcomes)} kept, {covered} {tests.last_line}",
        flush=True,
    )
    return texts
