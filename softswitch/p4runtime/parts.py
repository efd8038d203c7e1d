"""What a Read's answer is made of: a table, an array, or the like, as it was at one moment.

A part is taken while the service's lock is held, which takes little; its entities are made
afterwards, when only the client waits for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pcn.base.p4rt import p4r


class Part(NamedTuple):
    """`looked_at`: how many entries or cells it took to find it. `entities` depends on nothing that
    changes."""

    looked_at: int
    entities: Iterator[p4r.Entity]


def entities(parts: Iterable[Part]) -> Iterator[p4r.Entity]:
    """Yields those of all parts, where nothing changes meanwhile."""
    for part in parts:
        yield from part.entities
