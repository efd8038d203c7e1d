"""The board in shared memory on which the nodes of a network report whether they keep pace:
csrc/pace.h in Python.

Who holds the network makes the board. A node gets a place on it, "FILE:SLOT": a switch's worker
writes its slot in C, an agent by `Window`. Readers need no answer from a node that may be starved.

    board = Board.make(nodes=8, most_percent=40)
    place = board.place(3)                   # "/proc/4711/fd/5:3"
    for pace in Board.open(board.path).read(): ...
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import re
import time
from array import array
from pathlib import Path
from typing import Final, NamedTuple

from pcn.base import owner_only
from pcn.softswitch.errors import StartError

_WORD: Final = 8
_SLOT_WORDS: Final = 16
_SLOT_BYTES: Final = _SLOT_WORDS * _WORD
_SHARED: Final = 2  # words of the header: time, percent used, whether any node is behind
NEVER: Final = 2**64 - 1

# csrc/pace.h says why
WINDOW_NS: Final = 500_000_000
SHARE: Final = 20
LEAST: Final = 10
CALM_PERCENT: Final = 35
PATIENCE: Final = 4
HOLD_NS: Final = 20_000_000_000
FRESH_NS: Final = 4 * WINDOW_NS
MILLION: Final = 1_000_000


class Pace(NamedTuple):
    """A slot: struct sw_pace_slot, in its order. Times are nanoseconds of CLOCK_MONOTONIC."""

    tolerance_ns: int
    updated_ns: int
    due_ns: int
    behind_since_ns: int
    behind_until_ns: int
    window_ns: int
    frames: int
    late: int
    worst_ns: int
    cpu_ns: int
    sent_ppm: int

    def behind_ns(self, now_ns: int) -> int:
        """Returns since when the node has been behind; 0: it keeps pace. One that should have run
        by now and hasn't, is."""
        if (
            self.due_ns != NEVER
            and self.due_ns
            and now_ns - self.due_ns > max(self.tolerance_ns, WINDOW_NS)
        ):
            return self.behind_since_ns or self.due_ns
        return self.behind_since_ns if now_ns - self.updated_ns < FRESH_NS else 0

    def cores(self, now_ns: int) -> float:
        """Returns how many cores it used in its last window; none if that is long past, as it has
        slept since."""
        return (
            self.cpu_ns / self.window_ns
            if self.window_ns and now_ns - self.updated_ns < FRESH_NS
            else 0.0
        )


class Place(NamedTuple):
    """Where a node reports: a slot of a board."""

    board: Path
    slot: int

    @classmethod
    def parse(cls, text: str) -> Place:
        """Reads FILE:SLOT. Raises ValueError."""
        match = re.fullmatch(r"(/.+):([0-9]{1,9})", text)
        if not match:
            raise ValueError(f"{text!r}: write FILE:SLOT, as /proc/4711/fd/5:3")
        return cls(Path(match[1]), int(match[2]))


class Board:
    """The shared memory: a header and slots of 16 words. `address` is csrc's struct
    sw_pace_board."""

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor. Raises StartError."""
        self._descriptor = descriptor
        size = os.fstat(descriptor).st_size
        if size < 2 * _SLOT_BYTES or size % _SLOT_BYTES:
            os.close(descriptor)
            raise StartError(f"a board of nodes that keep pace can't have {size} bytes")
        memory = mmap.mmap(descriptor, size)
        self.slots = size // _SLOT_BYTES - 1
        self.words = memoryview(memory).cast("Q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    @classmethod
    def make(cls, nodes: int, most_percent: int) -> Board:
        """Makes a board for `nodes` nodes, which lasts as long as any process has it open. At
        real-time priority they may use `most_percent` of all cores."""
        board = cls(owner_only.memory("pcn-lab-pace", (1 + nodes) * _SLOT_BYTES))
        board.words[0], board.words[1] = nodes, most_percent
        return board

    @classmethod
    def open(cls, path: Path) -> Board:
        """Returns the board that a process of this user made, by its `path`. Raises StartError."""
        try:
            return cls(owner_only.open_memory(path))
        except (OSError, owner_only.NotPrivateError) as error:
            raise StartError(f"no board of nodes that keep pace: {error}") from None

    @property
    def path(self) -> Path:
        """The name that other processes open it by while this one has it open."""
        return Path(f"/proc/{os.getpid()}/fd/{self._descriptor}")

    def place(self, slot: int) -> str:
        """Returns the name of a slot for its node: see `Place.parse`."""
        return f"{self.path}:{slot}"

    def close(self) -> None:
        """Takes its name away; who has it open keeps it."""
        os.close(self._descriptor)

    def begin(self, slot: int, tolerance_ns: int) -> None:
        """Clears a slot for its node, whose frames may be so late. Raises StartError."""
        if slot >= self.slots:
            raise StartError(f"the board has {self.slots} slots, from 0: no slot {slot}")
        self.write(
            slot,
            **{**dict.fromkeys(Pace._fields, 0), "tolerance_ns": tolerance_ns, "sent_ppm": MILLION},
        )

    def end(self, slot: int) -> None:
        """A node that has ended in order isn't behind."""
        self.write(slot, due_ns=NEVER, behind_since_ns=0)

    def slot_address(self, slot: int) -> int:
        """Returns the address of csrc's struct sw_pace_slot."""
        return self.address + (1 + slot) * _SLOT_BYTES

    def read(self) -> list[Pace]:
        """Returns all slots, also those of nodes that haven't reported."""
        firsts = ((1 + slot) * _SLOT_WORDS for slot in range(self.slots))
        return [Pace._make(self.words[first : first + len(Pace._fields)]) for first in firsts]

    def write(self, slot: int, **fields: int) -> None:
        """Writes fields of a slot, by name."""
        for name, value in fields.items():
            self.words[(1 + slot) * _SLOT_WORDS + Pace._fields.index(name)] = value

    def used_percent(self, now_ns: int) -> tuple[float, bool]:
        """Returns what all nodes together used of this machine's cores in their last windows, and
        whether any is behind."""
        fresh = [pace for pace in self.read() if now_ns - pace.updated_ns < FRESH_NS]
        used = sum(pace.cores(now_ns) for pace in fresh) / (os.cpu_count() or 1)
        return 100 * used, any(pace.behind_since_ns for pace in fresh)

    def shared_percent(self, now_ns: int) -> tuple[float, bool]:
        """Returns what `used_percent` did, at most half a window ago: one node computes it for all.
        512 agents that each read all slots took 0.4 of a core."""
        if not 0 <= now_ns - self.words[_SHARED] < WINDOW_NS // 2:
            used, any_behind = self.used_percent(now_ns)
            self.words[_SHARED : _SHARED + 3] = memoryview(
                array("Q", (now_ns, math.ceil(used), any_behind))
            )
        return self.words[_SHARED + 1], bool(self.words[_SHARED + 2])


class Window:
    """The windows of a node in Python, an agent: counts are totals, which only grow."""

    def __init__(self, place: Place, tolerance_ns: int) -> None:
        """Raises StartError."""
        self.crowded = False
        self._over = 0
        self._crowded_until_ns = 0
        self._board = Board.open(place.board)
        self._slot = place.slot
        self._board.begin(place.slot, tolerance_ns)
        self._since_ns = 0
        self._began = (time.monotonic_ns(), time.process_time_ns(), 0, 0)

    def update(
        self, frames: int, late: int, worst_ns: int, sent_share: float, least_share: float
    ) -> bool:
        """Ends the window if it is over, and returns whether it did; called now and then.
        `worst_ns` is of this window; `sent_share` of what flows' rates allowed was sent, which is
        too little below `least_share`."""
        now_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
        began_ns, began_cpu_ns, began_frames, began_late = self._began
        if now_ns - began_ns < WINDOW_NS:
            return False
        self._began = (now_ns, cpu_ns, frames, late)
        frames, late = max(0, frames - began_frames), max(0, late - began_late)
        behind = sent_share < least_share or (frames >= LEAST and late * SHARE > frames)
        self._since_ns = (self._since_ns or began_ns) if behind else 0
        self._board.write(
            self._slot,
            updated_ns=now_ns,
            due_ns=now_ns + WINDOW_NS,
            behind_since_ns=self._since_ns,
            window_ns=now_ns - began_ns,
            frames=frames,
            late=late,
            worst_ns=worst_ns,
            cpu_ns=cpu_ns - began_cpu_ns,
            sent_ppm=round(MILLION * sent_share),
        )
        if behind:
            self._board.write(self._slot, behind_until_ns=now_ns)
        used, any_behind = self._board.shared_percent(now_ns)
        self._over = (
            self._over + 1 if used > (CALM_PERCENT if any_behind else self._board.words[1]) else 0
        )
        if self._over >= PATIENCE:
            self._crowded_until_ns = now_ns + HOLD_NS
        self.crowded = now_ns < self._crowded_until_ns or (self.crowded and used > CALM_PERCENT)
        return True

    def close(self) -> None:
        self._board.end(self._slot)
