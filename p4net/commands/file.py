"""A file of commands: a command a line; `#` or `//` begins a comment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pcn.base.errors import nearest
from pcn.controller.p4info import Schema
from pcn.p4net.commands import arrays, profiles, replication, tables
from pcn.p4net.commands.session import Command, Session
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Place, Step, Write
from pcn.topologies.tree import FileError, read_text

_COMMENT = re.compile("#|//")
_MOST_STEPS, _MOST_BYTES = 2_000_000, 128 * 2**20
"""Of a file: a command may write all entries of a table, or a whole group, again and again."""
COMMANDS: Final[dict[str, Command]] = {
    **tables.COMMANDS,
    **profiles.COMMANDS,
    **replication.COMMANDS,
    **arrays.COMMANDS,
}


@dataclass(frozen=True)
class Line:
    """A command: its steps, or the `fault` for which it has none. `undo` takes back what it means
    for handles of later lines, where the switch refuses it; it is for the time before the next line
    is read."""

    place: Place
    steps: Sequence[Step]
    fault: str
    undo: Callable[[], None]


@dataclass(frozen=True)
class Commands:
    """A file, or with `inline` commands that stand in another file, each with its line."""

    path: Path
    inline: tuple[tuple[int, str], ...] | None = None

    def _numbered(self) -> Iterable[tuple[int, str]]:
        if self.inline is not None:
            return self.inline
        try:
            return enumerate(read_text(self.path).splitlines(), start=1)
        except FileError as error:
            raise P4NetError(str(error)) from None

    def lines(self, schema: Schema) -> Iterator[Line]:
        """Yields the commands in order. Raises P4NetError for a file that can't be read."""
        session, steps_left, bytes_left = Session(schema), _MOST_STEPS, _MOST_BYTES
        for number, line in self._numbered():
            words = _COMMENT.split(line, maxsplit=1)[0].split()
            if not words:
                continue
            place, steps, fault = Place(self.path, number), list[Step](), ""
            session.at(place)
            try:
                steps = _run(session, words[0], words[1:])
            except ValueError as error:
                session.undo()
                fault = f"{words[0]}: {error}"
            steps_left -= len(steps)
            bytes_left -= sum(step.update.ByteSize() for step in steps if isinstance(step, Write))
            if steps_left < 0 or bytes_left < 0:
                raise place.fail(
                    f"the commands up to here make more than {_MOST_STEPS:,} updates, or more than "
                    f"{_MOST_BYTES // 2**20} MiB of them"
                )
            yield Line(place, steps, fault, session.undo)

    def steps(self, schema: Schema) -> list[Step]:
        """Returns the steps of all lines. Raises P4NetError with the first line that can't be
        carried out."""
        steps = list[Step]()
        for line in self.lines(schema):
            if line.fault:
                raise line.place.fail(line.fault)
            steps += line.steps
        return steps


def _run(session: Session, name: str, words: list[str]) -> list[Step]:
    command = COMMANDS.get(name)
    if command is None:
        # else the author's comment, of a kind
        likeness = f"; {nearest(name, COMMANDS)}" if name[0].isalpha() else ""
        raise ValueError(f"no such command is supported{likeness}")
    if len(words) < command.least or (command.most is not None and len(words) > command.most):
        raise ValueError(f"write it as {name} {command.usage}")
    return list(command.run(session, words))
