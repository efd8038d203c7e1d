"""Tests that p4testgen makes of our programs for Tofino, played on the v1model program of the same
rule.

Its Tofino target doesn't compute a checksum's verdict, and so finds only packets that are dropped.
A twin has the same tables and actions by name, so entries are the same.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from own import SOURCES, load
from sweep import generate, outcome
from switches import TARGETS

TOFINO = ("--target", "tofino", "--arch", "tna", "-D__TARGET_TOFINO__=1")
TWINS = {"pcn": "pcn_time", "qcn": "qcn", "qcn_in": "qcn_in", "tcd": "tcd_time"}
"""By program of p4src/tna."""


def twins(args: argparse.Namespace) -> int:
    """Makes and judges the tests of all of them, and prints. Returns the exit code: 1, too, where
    none is made."""
    judged = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for program, twin in TWINS.items():
            source = SOURCES / "tna" / f"{program}.p4"
            made = generate(source, Path(folder, program), args, architecture=TOFINO)
            info, config = load(twin)
            outcomes = [
                outcome(
                    TARGETS[args.target], f"{program}/{file.name}", file.read_text(), info, config
                )
                for file in made.files
            ]
            for one in outcomes:
                if one.verdict != "pass":
                    print(f"{one.verdict}: {one.name} on {twin}: {one.reason[:600]}")
            verdicts = Counter(one.verdict for one in outcomes)
            forwards = sum(one.forwards for one in outcomes)
            covered = (
                "" if made.coverage is None else f", {made.coverage:.0%} of the program's nodes"
            )
            count = (
                ", ".join(f"{n} {word}" for word, n in verdicts.items()) or f"no test: {made.said}"
            )
            print(f"{program} on {twin}: {count}; {forwards} expect a frame{covered}", flush=True)
            judged += len(outcomes)
            failed += len(outcomes) - verdicts["pass"]
    return int(failed > 0 or judged == 0)
