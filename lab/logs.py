"""What the programs of a network wrote: agents their events, switches and supervisor their
messages.

for line in read(lab.record, ["h0"], last=20):
    print(line.node, line.text)
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.controller.errors import UnknownNameError
from pcn.lab.journal import Record

_LOOK_S = 0.2
PERIODIC = ("rate", "np")
"""Events that agents write all the time."""
SUPERVISOR = "supervisor"  # the process that holds a network for `pcn up`


@dataclass(frozen=True)
class Line:
    """A line of a node's log. An agent's event has its nominal time and its fields (hosts/log.py);
    what was written otherwise has text alone."""

    node: str
    text: str
    time_s: float | None = None
    event: str = ""
    fields: dict[str, Any] | None = None


def read(record: Record, nodes: Sequence[str] = (), last: int | None = None) -> list[Line]:
    """Returns the lines of these nodes, or of all; the last ones of each. Messages come first, then
    events by time. Raises UnknownNameError."""
    return Reader(record, nodes).new(last)


class Reader:
    """Reads logs again and again, each time what is new, but the events `without`. Raises
    UnknownNameError."""

    def __init__(
        self, record: Record, nodes: Sequence[str] = (), without: Sequence[str] = ()
    ) -> None:
        self._tails = _tails(record, nodes)
        self._without = frozenset(without)

    def new(self, last: int | None = None) -> list[Line]:
        """Returns the lines since the last reading; the `last` ones of each node."""
        shown = (
            [line for line in tail.read() if line.event not in self._without]
            for tail in self._tails
        )
        lines = [line for some in shown for line in some[-last if last else 0 :]]
        return sorted(lines, key=lambda line: -math.inf if line.time_s is None else line.time_s)


def follow(record: Record, nodes: Sequence[str] = (), last: int | None = None) -> Iterator[Line]:
    """Yields the lines that `read` returns, then each new line, until the network ends."""
    reader = Reader(record, nodes)
    yield from reader.new(last)
    going = True
    while going:
        # files of several processes, some of which begin later
        time.sleep(_LOOK_S)
        going = record.owner.alive()
        yield from reader.new()


def nodes_with_logs(record: Record) -> list[str]:
    return [
        *record.nodes,
        *([SUPERVISOR] if (Path(record.log_dir) / f"{SUPERVISOR}.log").exists() else []),
    ]


def _tails(record: Record, nodes: Sequence[str]) -> list[_Tail]:
    known = nodes_with_logs(record)
    for node in nodes:
        if node not in known:
            raise UnknownNameError("node", node, known)
    paths = [
        (node, Path(record.log_dir) / f"{node}{ending}")
        for node in nodes or known
        for ending in (".log", ".jsonl")
    ]
    return [_Tail(node, path) for node, path in paths if path.exists()]


class _Tail:
    """A log, read from where the last reading ended; a line that isn't finished waits."""

    def __init__(self, node: str, path: Path) -> None:
        self._node = node
        self._path = path
        self._offset = 0

    def read(self) -> list[Line]:
        with self._path.open("rb") as log:
            log.seek(self._offset)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [_line(self._node, text) for text in whole.decode(errors="replace").splitlines()]


def _line(node: str, text: str) -> Line:
    if not text.startswith("{"):
        return Line(node, text)
    try:
        fields = json.loads(text)
        return Line(node, text, float(fields.pop("t")), str(fields.pop("ev")), fields)
    except (ValueError, KeyError):
        return Line(node, text)
