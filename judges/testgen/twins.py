"""Tests that p4testgen makes of our programs for Tofino, played on the v1model program of the same
rule.

Its Tofino target doesn't compute a checksum's verdict, and so finds only packets that are dropped.
A twin has the same tables and actions by name, so entries are the same.
"""

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
            generated = generate(source, Path(folder, program), args, architecture=TOFINO)
            info, config = load(twin)
            outcomes = [
                outcome(
                    TARGETS[args.target], f"{program}/{file.name}", file.read_text(), info, config
                )
                for file in generated.files
            ]
            for test in outcomes:
                if test.verdict != "pass":
                    print(f"{test.verdict}: {test.name} on {twin}: {test.reason[:600]}")
            verdicts = Counter(test.verdict for test in outcomes)
            forwards = sum(test.forwards for test in outcomes)
            covered = (
                ""
                if generated.coverage is None
                else f", {generated.coverage:.0%} of the program's nodes"
            )
            count = (
                ", ".join(f"{n} {word}" for word, n in verdicts.items())
                or f"no test: {generated.last_line}"
            )
            print(f"{program} on {twin}: {count}; {forwards} expect a frame{covered}", flush=True)
            judged += len(outcomes)
            failed += len(outcomes) - verdicts["pass"]
    return int(failed > 0 or judged == 0)
