"""The data-plane tests on the embedded switch and on the same switch whose packets the engine moves
(`softswitch --engine`), both on the manual clock: what each case sent, received and counted, and
when, to the bit. Both have simple_switch's rules by the same text (softswitch/csrc/rules.h), and
each has its own queues, schedulers and time.

    compare.py                                  all cases of pcn.p4
    compare.py --program pcn_time np_ecn pause  these files
    compare.py --trim trimming                  with short queues that trim
    compare.py xoff.FrameOvertakesData          a case

Exit code 1: a case differs.
"""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    path for path in (str(HERE.parent), str(HERE.parents[1] / "ptf-tests")) if path not in sys.path
]

import records  # noqa: E402
import run  # noqa: E402

from pcn.lab.target import TARGETS  # noqa: E402


def compared(
    ours: Mapping[str, records.Case], theirs: Mapping[str, records.Case]
) -> Iterator[tuple[str, list[str]]]:
    """Yields the cases that aren't equal to the bit, each with what is different."""
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            yield name, ["it ran on one of the two alone"]
        elif ours[name] != theirs[name]:
            listed = list(records.differences(ours[name], theirs[name]))
            yield name, listed or ["the order of events"]


def judge(
    ours: Mapping[str, records.Case], theirs: Mapping[str, records.Case]
) -> tuple[list[str], bool]:
    """Returns lines for people, and whether all cases are equal."""
    different = dict(compared(ours, theirs))
    lines = [f"{len(ours)} cases, {len(ours) - len(different)} equal to the bit"]
    for name, listed in different.items():
        lines += [name, *(f"    {line}" for line in listed)]
    return lines, not different


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default="pcn", help="of p4src (default: pcn)")
    parser.add_argument("--trim", action="store_true", help="short queues that trim")
    parser.add_argument("tests", nargs="*", help="ptf's names of files and cases (default: all)")
    options = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("softswitch", "engine"):
            record = Path(folder) / name
            code = run.run(
                TARGETS[name](), "manual", options.program, options.trim, record,
                list(options.tests),
            )  # fmt: skip
            if code != 0:
                return code
            cases.append(records.read(record.read_text(encoding="utf-8")))
    lines, right = judge(*cases)
    print("\n".join(lines))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
