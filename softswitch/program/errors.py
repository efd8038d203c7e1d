"""What a program can be refused for, and where in its source."""

from __future__ import annotations

from typing import NamedTuple


class Source(NamedTuple):
    """A place in the P4 source, as the compiler wrote it into the JSON."""

    file: str
    line: int
    fragment: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class ProgramError(Exception):
    """The JSON is not a valid BMv2 program. `place` is the path inside it, e.g.
    `pipelines[0].tables[2].key`."""

    def __init__(self, message: str, place: str = "", source: Source | None = None) -> None:
        self.place = place
        self.source = source
        where = ", ".join(part for part in (str(source) if source else "", place) if part)
        super().__init__(f"{where}: {message}" if where else message)


class UnsupportedProgram(ProgramError):  # noqa: N818, the name says what it is
    """The JSON is valid, but the program needs something that the switch does not run."""
