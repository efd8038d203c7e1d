"""The data-plane tests on the embedded switch and on the engine of virtual time: what each case
sent, received and counted, and when, to the bit. Both have simple_switch's rules by the same text
(softswitch/csrc/rules.h), and each has its own queues, schedulers and time.

    compare.py                                  all cases of pcn.p4
    compare.py --program pcn_time np_ecn pause  these files
    compare.py --trim trimming                  with short queues that trim
    compare.py xoff.FrameOvertakesData          a case

Exit code 1: a case differs, or one that is named below doesn't any more.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [
    path for path in (str(HERE.parent), str(HERE.parents[1] / "ptf-tests")) if path not in sys.path
]

import records  # noqa: E402
import run  # noqa: E402

from pcn.lab.target import LaunchSpec, SoftswitchTarget  # noqa: E402

KNOWN: Mapping[str, Mapping[str, str]] = {
    "pcn": {
        "xoff.FramePassesPausedPort": "a departure makes a RESUME for a port at the moment at "
        "which a class that is held there is due: the switch has the class go round first, the "
        "engine sends the RESUME first"
    }
}
"""Cases that differ, by program, and why."""


class OwnQueues(SoftswitchTarget):
    """The switch. What goes round is back at once."""

    def command(self, spec: LaunchSpec) -> list[str]:
        return super().command(replace(spec, reentry_s=0.0))


class EngineQueues(SoftswitchTarget):
    """The same with the engine's queues."""

    def command(self, spec: LaunchSpec) -> list[str]:
        options = self._options(replace(spec, reentry_s=0.0))
        return [sys.executable, str(HERE / "switch.py"), *options]


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
    ours: Mapping[str, records.Case],
    theirs: Mapping[str, records.Case],
    known: Mapping[str, str],
) -> tuple[list[str], bool]:
    """Returns lines for people, and whether all is as it should be: `known` cases differ, and no
    others."""
    different = dict(compared(ours, theirs))
    lines = [f"{len(ours)} cases, {len(ours) - len(different)} equal to the bit"]
    for name, listed in different.items():
        if name in known:
            lines.append(f"{name}: {known[name]}")
        else:
            lines += [name, *(f"    {line}" for line in listed)]
    equal = [name for name in known if name in ours and name not in different]
    lines += [f"{name}: is equal, and named as different" for name in equal]
    return lines, not equal and different.keys() <= known.keys()


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
        for kind in (OwnQueues(), EngineQueues()):
            record = Path(folder) / type(kind).__name__
            code = run.run(
                kind, "manual", options.program, options.trim, record, list(options.tests)
            )
            if code != 0:
                return code
            cases.append(records.read(record.read_text(encoding="utf-8")))
    lines, right = judge(*cases, KNOWN.get(options.program, {}))
    print("\n".join(lines))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
