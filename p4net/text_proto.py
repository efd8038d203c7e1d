"""Entries as a P4Runtime message in protobuf's text form: a WriteRequest (`updates { ... }`), or
what a Read returned (`entities { ... }`), whose entities are inserted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import text_format

from pcn.base.p4rt import p4r
from pcn.controller.p4info import Schema
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Place, Write
from pcn.topologies.tree import FileError, read_text

_TOKEN = re.compile(
    r"#[^\n]*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|[{}<>]|\w+|\n|.", re.DOTALL
)
"""A string without an end counts as one: no later quote looks for its end again."""
_MODIFIED = (
    "register_entry",
    "counter_entry",
    "meter_entry",
    "direct_counter_entry",
    "direct_meter_entry",
)
"""Entities that exist from the start, and can't be inserted."""


@dataclass(frozen=True)
class TextProto:
    """A file."""

    path: Path

    def steps(self, schema: Schema) -> list[Write]:
        """Returns the updates. Raises P4NetError."""
        try:
            text = read_text(self.path)
        except FileError as error:
            raise P4NetError(str(error)) from None
        starts = list(_starts(text))
        kinds = {name for name, _ in starts} & {"updates", "entities"}
        if len(kinds) > 1:
            raise Place(self.path, starts[0][1]).fail(
                "a file has `updates` or `entities`, not both"
            )
        updates = self._updates(text, "entities" in kinds)
        lines = [line for name, line in starts if name in kinds]
        if len(lines) != len(updates):  # `updates: [{...}, {...}]`
            lines = [1] * len(updates)
        return [
            Write(Place(self.path, line), update)
            for line, update in zip(lines, updates, strict=True)
        ]

    def _updates(self, text: str, read: bool) -> list[p4r.Update]:
        message = p4r.ReadResponse() if read else p4r.WriteRequest()
        try:
            text_format.Parse(text, message)
        except text_format.ParseError as error:
            line = error.GetLine() or 1
            raise Place(self.path, line).fail(
                f"no P4Runtime message in protobuf's text form: {error}"
            ) from None
        except (
            ValueError
        ) as error:  # a number too large for its field, whose line the parser doesn't name
            raise Place(self.path, 1).fail(
                f"no P4Runtime message in protobuf's text form: {error}"
            ) from None
        except RecursionError:
            raise Place(self.path, 1).fail("nested too deeply") from None
        if isinstance(message, p4r.WriteRequest):
            return list(message.updates)
        return [_insert(entity) for entity in message.entities]


def _insert(entity: p4r.Entity) -> p4r.Update:
    which = entity.WhichOneof("entity")
    default = which == "table_entry" and entity.table_entry.is_default_action
    kind = p4r.Update.MODIFY if default or which in _MODIFIED else p4r.Update.INSERT
    return p4r.Update(type=kind, entity=entity)


def _starts(text: str) -> Iterator[tuple[str, int]]:
    """Yields the names of the fields at the top, with their lines."""
    depth, line, name = 0, 1, ("", 0)
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "<"):
            if depth == 0:
                yield name
            depth += 1
        elif token in ("}", ">"):
            depth -= 1
        elif depth == 0 and (token[0].isalnum() or token[0] == "_"):
            name = (token, line)
        line += token.count("\n")
