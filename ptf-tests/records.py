"""What data-plane tests recorded (run.py --record), as values: to keep it, and to compare two
switches case by case.

python ptf-tests/records.py RECORD FILE.json.xz   writes what a run recorded as JSON, one line a
                                                  frame, packed
"""

from __future__ import annotations

import ast
import json
import lzma
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Case:
    """Of one test: frames with their direction, in order ("0.008464000 out of 4: 0250..."), and
    packets by counter and cell."""

    frames: tuple[str, ...]
    counters: Mapping[str, Mapping[int, int]]


def read(text: str) -> dict[str, Case]:
    """Returns the cases of a record by name. A test that ran several times keeps its last run."""
    cases: dict[str, Case] = {}
    for block in text.split("== ")[1:]:
        name, *lines = block.splitlines()
        counters = dict(line.split(" ", 1) for line in lines if not line[0].isdigit())
        frames = tuple(line for line in lines if line[0].isdigit())
        cases[name] = Case(
            frames, {counter: ast.literal_eval(cells) for counter, cells in counters.items()}
        )
    return cases


def dump(cases: Mapping[str, Case]) -> str:
    """Returns JSON that shows a frame a line."""
    document: dict[str, Any] = {name: asdict(case) for name, case in sorted(cases.items())}
    return json.dumps(document, indent=1) + "\n"


def load(text: str) -> dict[str, Case]:
    """Reads what `dump` wrote."""
    return {
        name: Case(
            tuple(record["frames"]),
            {
                counter: {int(cell): n for cell, n in cells.items()}
                for counter, cells in record["counters"].items()
            },
        )
        for name, record in json.loads(text).items()
    }


def differences(ours: Case, theirs: Case) -> Iterator[str]:
    """Yields a line for each port at which two switches did differently, in order and with times,
    and for each counter that both have."""
    for where in sorted({_where(line) for line in (*ours.frames, *theirs.frames)}):
        pair = [[line for line in case.frames if _where(line) == where] for case in (ours, theirs)]
        if pair[0] != pair[1]:
            first = next(
                (n for n, (a, b) in enumerate(zip(*pair, strict=False)) if a != b),
                min(map(len, pair)),
            )
            a, b = (lines[first] if first < len(lines) else "nothing" for lines in pair)
            yield f"{where}, frame {first} of {len(pair[0])} and {len(pair[1])}: {a} | {b}"
    for name in sorted(set(ours.counters) & set(theirs.counters)):
        if ours.counters[name] != theirs.counters[name]:
            yield f"{name}: {dict(ours.counters[name])} | {dict(theirs.counters[name])}"


def _where(line: str) -> str:
    """Returns "into 1", "out of 4"."""
    return line.split(" ", 1)[1].split(":", 1)[0]


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    cases = read(source.read_text(encoding="utf-8"))
    target.write_bytes(lzma.compress(dump(cases).encode()))
