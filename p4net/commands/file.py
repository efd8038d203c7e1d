"""A file of commands: a command a line; `#` begins a comment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from finsy import P4Schema

from pcn.p4net.commands import arrays, profiles, replication, tables
from pcn.p4net.commands.session import Command, Session
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Place, Step
from pcn.topologies.errors import nearest
from pcn.topologies.tree import FileError, read_text

COMMANDS: Final[dict[str, Command]] = {
    **tables.COMMANDS,
    **profiles.COMMANDS,
    **replication.COMMANDS,
    **arrays.COMMANDS,
}


@dataclass(frozen=True)
class Commands:
    """A file."""

    path: Path

    def steps(self, schema: P4Schema) -> list[Step]:
        """Returns the steps of all lines. Raises P4NetError with the first line that can't be carried out."""
        try:
            text = read_text(self.path)
        except FileError as error:
            raise P4NetError(str(error)) from None
        session, steps = Session(schema), list[Step]()
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            place = Place(self.path, number)
            session.at(place)
            try:
                steps += _run(session, words[0], words[1:])
            except ValueError as error:
                raise place.fail(f"{words[0]}: {error}") from None
        return steps


def _run(session: Session, name: str, words: list[str]) -> list[Step]:
    command = COMMANDS.get(name)
    if command is None:
        raise ValueError(f"no such command is supported; {nearest(name, COMMANDS)}")
    if len(words) < command.least or (command.most is not None and len(words) > command.most):
        raise ValueError(f"write it as {name} {command.usage}")
    return list(command.run(session, words))
