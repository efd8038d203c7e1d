"""Fuzzes a P4Runtime server with valid and mutated writes, and judges each answer by the
specification.

    python judges/p4runtime/oracle/run.py [--program NAME ...] [--updates N] [--seed S]
        [--target HOST:PORT]

A line a program: updates, how many were accepted, how many refused by each rule, violations. Then
each violation, with the options that show it again (`--episode`), and how often each known
difference was met. The exit status is 1 if there is a violation.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [
    str(ROOT / folder) for folder in (".", "judges/p4runtime", "tests/p4runtime", "tests")
]

from oracle.differences import DIFFERENCES  # noqa: E402
from oracle.judge import Judge  # noqa: E402
from oracle.known import unclean  # noqa: E402
from oracle.programs import programs  # noqa: E402
from oracle.rules import RULES  # noqa: E402
from oracle.target import opened  # noqa: E402


def main() -> int:
    known = programs()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--program", action="append", choices=sorted(known), metavar="NAME", help="default: all"
    )
    parser.add_argument("--updates", type=int, default=10_000, help="of all programs together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--episode", type=int, help="this one alone, of one program")
    parser.add_argument(
        "--target", default="embedded", help="embedded, bmv2, or HOST:PORT of a P4Runtime server"
    )
    parser.add_argument(
        "--differences", default="none", choices=sorted(DIFFERENCES), help="of a known target"
    )
    options = parser.parse_args()
    names = options.program or list(known)
    target = opened(options.target)
    differences = DIFFERENCES[options.differences]
    reached: Counter[str] = Counter()
    met: Counter[tuple[str, int]] = Counter()
    updates = violations = 0
    start_s = time.monotonic()
    for name in names:
        judge = Judge(target, known[name], options.seed, differences)
        if options.episode is None:
            judge.run(-(-options.updates // len(names)))
        else:
            judge.episode(options.episode)
        tally = judge.tally
        refused = " ".join(f"{rule}={n}" for rule, n in sorted(tally.refused.items()))
        print(
            f"{name}: {tally.updates} updates, {tally.accepted} accepted, {tally.queries} queries, "
            f"{len(tally.violations)} violations; refused: {refused}",
            flush=True,
        )
        for violation in tally.violations:
            print(f"  {violation}", flush=True)
        reached += tally.reached
        met += tally.known
        updates, violations = updates + tally.updates, violations + len(tally.violations)
    target.close()
    seconds = time.monotonic() - start_s
    for difference in differences:
        seen = f"{met[difference.name, difference.code]} times" + (
            f", uncleanly {met[unclean(difference)]}" if difference.unclean else ""
        )
        print(f"known: {difference.name}, code {difference.code}: {seen} ({difference.right})")
    print(
        f"{updates} updates in {seconds:.0f} s, {len(reached)} of {len(RULES)} rules broken, "
        f"{violations} violations"
    )
    if options.updates >= 100_000:
        print(f"never broken: {' '.join(sorted(RULES.keys() - reached.keys()))}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
