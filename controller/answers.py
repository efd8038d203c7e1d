"""Answers of a switch that come in parts: all that a client keeps of them is bounded, whatever the
switch sends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pcn.controller.errors import SwitchError

MOST_BYTES: Final = 512 << 20
"""Of an answer's entities, with ENTITY_BYTES for each beside its content: some 1.5 million
entries."""
MESSAGE_BYTES: Final = 128 << 20
"""Of one message: BMv2 answers a Read in one."""
ENTITY_BYTES: Final = 300


def entities(name: str, parts: Iterable[Any]) -> list[Any]:
    """Returns the entities of all parts of an answer of the switch `name`. Raises SwitchError where
    they are too many, or too large."""
    taken: list[Any] = []
    n_bytes = 0
    for part in parts:
        n_bytes += part.ByteSize() + ENTITY_BYTES * len(part.entities)
        if n_bytes > MOST_BYTES:
            raise SwitchError(
                f"{name}: its answer doesn't end: {len(taken)} entities, more than "
                f"{MOST_BYTES >> 20} MB"
            )
        taken += part.entities
    return taken
