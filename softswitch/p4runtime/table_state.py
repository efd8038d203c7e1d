"""What is in a table: entries, BMv2's handles of them, and their direct resources."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

from pcn.softswitch.native_state import Counter, MeterConfig
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.references import Reference
from pcn.softswitch.p4runtime.schema import Table

DEFAULT_HANDLE = -1  # of the default entry, for direct counters
_VERSION_BITS = 24


@dataclass(slots=True)
class Entry:
    """One entry as the client wrote it. `key` is None for a default entry; `call` too, where a miss
    does nothing."""

    handle: int
    key: Key | None
    call: Call | Reference | None
    const: bool = False
    controller_metadata: int = 0
    metadata: bytes = b""
    idle_timeout_ns: int = 0
    timer: int = 0  # IdleTimers' own
    number: int = -1  # BMv2's handle


class Selected(NamedTuple):
    """The entries of a table that a query selects. `looked_at`: how many it took to find them."""

    table: Table
    entries: list[Entry]
    looked_at: int


@dataclass(slots=True)
class Numbers:
    """BMv2's handles of a table's entries: the lowest free index, and above 24 bits how often it
    was freed, in 31 bits altogether."""

    used: int = 0
    freed: list[int] = field(default_factory=list)  # a heap of indices
    versions: dict[int, int] = field(default_factory=dict)

    def take(self) -> int:
        """Returns the next entry's."""
        if not self.freed:
            self.used += 1
            return self.used - 1
        index = heapq.heappop(self.freed)
        return self.versions[index] << _VERSION_BITS | index

    def give(self, number: int) -> None:
        """That entry is gone."""
        index = number & (1 << _VERSION_BITS) - 1
        heapq.heappush(self.freed, index)
        self.versions[index] = (self.versions.get(index, 0) + 1) % 128


@dataclass(slots=True)
class TableState:
    """A table and what is in it."""

    table: Table
    default: Entry
    entries: dict[Key, Entry] = field(default_factory=dict)
    numbers: Numbers = field(default_factory=Numbers)


@dataclass(frozen=True)
class Direct:
    """An entry's direct resources; None: the table has none of the kind, or (meter) it is not
    configured."""

    counter: Counter | None = None
    meter: MeterConfig | None = None
