"""The log of a session: its network, each command with its simulated time, and the digest at its
end. Lines of JSON, `commands.jsonl` beside the other logs.

    {"pcn": "commands", "version": 1, "topology": {...}, "scheme": "pcn", ...}
    {"at_s": 0.00123, "do": "flow", "id": 1, "src": "h0", "dst": "r0"}
    {"at_s": 0.1, "do": "end", "digest": "0123456789abcdef", "events": 12345}

A log is data, also a stranger's: it names no file, a reader bounds its lines and what they request,
and `driven.checked` looks at each command."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

from pcn.base import inputs
from pcn.base.errors import LabError
from pcn.lab.inside.driven import CommandError, checked

NAME: Final = "commands.jsonl"
VERSION: Final = 1
MOST_BYTES: Final = 64 << 20
"""Of a log that is written: a client that never stops mustn't fill the disk."""
MOST_LINE: Final = 16 << 20
"""Of a log that is read: a topology of thousands of hosts has a few MB."""
_UPDATES = 512 << 10
"""Characters of updates in a line."""
_LAST = 4096
"""Bytes that are kept free for the last line."""


class LogError(LabError):
    """A file that is no whole log of a session."""


@dataclass(frozen=True)
class Head:
    """The network of a session: what `Spec` of `pcn.lab.supervisor` came to. `at_ports`: parameters
    of the scheme at ports, by their rate in bit/s."""

    name: str
    topology: dict[str, Any]
    scheme: str
    parameters: dict[str, float]
    at_ports: list[list[Any]]
    seed: int
    k: float


@dataclass(frozen=True)
class End:
    """The last line: the simulated time in s, the digest in hex, and the number of events."""

    at_s: float
    digest: str
    events: int


class Writer:
    """Writes a log as it goes on: a session that is killed leaves all lines but its last one."""

    def __init__(self, file: IO[bytes], head: Head) -> None:
        self._file = file
        self._bytes = 0
        self.lost = ""
        """Why the log isn't whole; empty: it is."""
        self._write({"pcn": "commands", "version": VERSION, **asdict(head)})

    def command(self, at_s: float, command: Mapping[str, Any]) -> None:
        """Adds a command, of updates in several lines if need be."""
        if command["do"] != "write":
            self._write({"at_s": at_s, **command})
            return
        part: list[str] = []
        for text in command["updates"]:
            if part and sum(map(len, part)) + len(text) > _UPDATES:
                self._write({"at_s": at_s, **command, "updates": part})
                part = []
            part.append(text)
        self._write({"at_s": at_s, **command, "updates": part})

    def end(self, end: End) -> None:
        """Adds the last line, if nothing before it is lost."""
        self._write({"do": "end", **asdict(end)}, last=True)
        self.lost = self.lost or "the session has ended"

    def _write(self, fields: Mapping[str, Any], last: bool = False) -> None:
        """A log that has a gap ends before it: what would follow isn't what was."""
        if self.lost:
            return
        line = json.dumps(fields).encode() + b"\n"
        if self._bytes + len(line) > MOST_BYTES - (0 if last else _LAST):
            self.lost = f"it has {MOST_BYTES >> 20} MB, as many as it may"
            return
        try:
            if self._file.write(line) != len(line):
                raise OSError(28, os.strerror(28))
            self._file.flush()
        except OSError as error:
            self.lost = os.strerror(error.errno or 0)
        self._bytes += len(line)


def read(path: Path) -> tuple[Head, Iterator[tuple[float, dict[str, Any]] | End]]:
    """Returns a log's head, and its commands with their times in order; an End is the last, where
    the session had one. Raises LogError."""
    lines = _lines(path)
    _, head = next(lines, (1, None))
    if not isinstance(head, dict) or head.get("pcn") != "commands":
        raise LogError(f"{path}: no log of a session: `pcn up --inside` writes {NAME}")
    if head.get("version") != VERSION:
        raise LogError(
            f"{path}: version {str(head.get('version'))[:20]!r} of the log: this release reads "
            f"{VERSION}"
        )
    return _head(path, head), _commands(path, lines)


def _head(path: Path, raw: Mapping[str, Any]) -> Head:
    try:
        fields = {name: raw[name] for name in Head.__dataclass_fields__}
        if not all(isinstance(fields[name], str) for name in ("name", "scheme")):
            raise TypeError
        if not isinstance(fields["topology"], dict) or type(fields["seed"]) is not int:
            raise TypeError
        fields["k"] = float(fields["k"])
        fields["parameters"] = {str(key): float(v) for key, v in fields["parameters"].items()}
        fields["at_ports"] = [
            [float(rate), {str(key): float(value) for key, value in values.items()}]
            for rate, values in fields["at_ports"]
        ]
        return Head(**fields)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise LogError(f"{path}: line 1: not a session's network") from None


def _commands(
    path: Path, lines: Iterator[tuple[int, Any]]
) -> Iterator[tuple[float, dict[str, Any]] | End]:
    before_s = 0.0
    for number, fields in lines:
        where = f"{path}: line {number}"
        if not isinstance(fields, dict):
            raise LogError(f"{where}: not a command")
        at_s = fields.pop("at_s", None)
        if isinstance(at_s, bool) or not isinstance(at_s, int | float) or not at_s < math.inf:
            raise LogError(f"{where}: a command without its time, at_s")
        if at_s < before_s:
            raise LogError(f"{where}: its time, {at_s:g} s, is before the last one's")
        before_s = at_s
        if fields.get("do") == "end":
            digest, events = fields.get("digest"), fields.get("events")
            if not isinstance(digest, str) or not isinstance(events, int):
                raise LogError(f"{where}: an end without its digest")
            yield End(float(at_s), digest, events)
            return
        try:
            yield float(at_s), checked(fields)
        except CommandError as error:
            raise LogError(f"{where}: {error}") from None


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yields whole lines with their numbers. One that was being written when the session was killed
    has no end, and is left out."""
    try:
        with inputs.opened(path) as file:
            number = 0
            while line := file.readline(MOST_LINE + 1):
                number += 1
                if len(line) > MOST_LINE:
                    raise LogError(f"{path}: line {number}: longer than {MOST_LINE >> 20} MB")
                if not line.endswith(b"\n"):
                    return
                try:
                    yield number, json.loads(line)
                except (ValueError, RecursionError):
                    raise LogError(f"{path}: line {number}: not JSON") from None
    except OSError as error:
        raise LogError(f"{path}: {error.strerror}") from None
