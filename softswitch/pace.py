"""The board in shared memory on which every node of this machine reports whether it keeps pace: csrc/pace.h in Python.

A switch's worker writes its slot in C, an agent by `Window`; readers need no answer from a node that may be starved.

    with Slot.claim(Board.open(), device_id, tolerance_ns) as slot: ...
    for pace in Board.open().read(): ...
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import stat
import time
from pathlib import Path
from typing import Final, NamedTuple

from softswitch.errors import StartError

SLOTS: Final = 4096
_WORD: Final = 8
_SLOT_WORDS: Final = 16
_BYTES: Final = (1 + SLOTS) * _SLOT_WORDS * _WORD
NEVER: Final = 2**64 - 1

# csrc/pace.h says why
WINDOW_NS: Final = 500_000_000
SHARE: Final = 20
LEAST: Final = 10
MOST_PERCENT: Final = 85
CALM_PERCENT: Final = 35
PATIENCE: Final = 4
HOLD_NS: Final = 20_000_000_000
FRESH_NS: Final = 4 * WINDOW_NS
MILLION: Final = 1_000_000


class Pace(NamedTuple):
    """A slot: struct sw_pace_slot, in its order. Times are nanoseconds of CLOCK_MONOTONIC."""

    pid: int
    number: int
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
        """Since when the node has been behind; 0: it keeps pace. One that should have run by now and hasn't, is."""
        if self.due_ns != NEVER and self.due_ns and now_ns - self.due_ns > max(self.tolerance_ns, WINDOW_NS):
            return self.behind_since_ns or self.due_ns
        return self.behind_since_ns if now_ns - self.updated_ns < FRESH_NS else 0

    def cores(self, now_ns: int) -> float:
        """How many cores it used in its last window; none if that is long past, as it has slept since."""
        return self.cpu_ns / self.window_ns if self.window_ns and now_ns - self.updated_ns < FRESH_NS else 0.0


class Board:
    """The shared memory: a header and slots of 16 words. `address` is csrc's struct sw_pace_board."""

    def __init__(self, memory: mmap.mmap, descriptor: int) -> None:
        self.words = memoryview(memory).cast("Q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.descriptor = descriptor

    @classmethod
    def open(cls, path: Path | None = None) -> Board:
        """The board of this user's nodes, made by whoever comes first. Raises StartError where another user's is in its
        place."""
        path = path or Path(f"/dev/shm/pcn-lab-pace-{os.geteuid()}")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartError(
                f"cannot open {path}, where nodes report their pace: {error.strerror}; remove it"
            ) from None
        there = os.fstat(descriptor)
        if not stat.S_ISREG(there.st_mode) or there.st_uid != os.geteuid():
            os.close(descriptor)
            raise StartError(f"{path}, where nodes report their pace, is another user's: remove it")
        if there.st_size < _BYTES:
            os.ftruncate(descriptor, _BYTES)
        return cls(mmap.mmap(descriptor, _BYTES), descriptor)

    def claim(self, number: int, tolerance_ns: int) -> int:
        """A free slot for this process, or one whose process has ended: its index. Raises StartError."""
        fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        try:
            for index in range(SLOTS):
                first = (1 + index) * _SLOT_WORDS
                pid = self.words[first]
                if index < self.words[0] and pid and _alive(pid):
                    continue
                for word in range(1, _SLOT_WORDS):
                    self.words[first + word] = 0
                self.words[first + Pace._fields.index("number")] = number
                self.words[first + Pace._fields.index("tolerance_ns")] = tolerance_ns
                self.words[first + Pace._fields.index("sent_ppm")] = MILLION
                self.words[first] = os.getpid()
                self.words[0] = max(self.words[0], index + 1)
                return index
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        raise StartError(f"{SLOTS} nodes report their pace already")

    def release(self, index: int) -> None:
        """Frees a slot."""
        self.words[(1 + index) * _SLOT_WORDS] = 0

    def slot_address(self, index: int) -> int:
        """csrc's struct sw_pace_slot."""
        return self.address + (1 + index) * _SLOT_WORDS * _WORD

    def read(self) -> list[Pace]:
        """The slots of nodes that have reported, dead ones too."""
        used = min(self.words[0], SLOTS)
        firsts = ((1 + index) * _SLOT_WORDS for index in range(used))
        found = (Pace._make(self.words[first : first + len(Pace._fields)]) for first in firsts)
        return [one for one in found if one.pid]

    def write(self, index: int, **fields: int) -> None:
        """Writes fields of a slot, by name."""
        for name, value in fields.items():
            self.words[(1 + index) * _SLOT_WORDS + Pace._fields.index(name)] = value

    def used_percent(self, now_ns: int) -> tuple[float, bool]:
        """What all nodes together used of this machine's cores in their last windows, and whether any is behind."""
        fresh = [one for one in self.read() if now_ns - one.updated_ns < FRESH_NS]
        used = sum(one.cores(now_ns) for one in fresh) / (os.cpu_count() or 1)
        return 100 * used, any(one.behind_since_ns for one in fresh)


class Window:
    """The windows of a node in Python, an agent: counts are totals, which only grow."""

    def __init__(self, board: Board, tolerance_ns: int) -> None:
        self.crowded = False
        self._over = 0
        self._crowded_until_ns = 0
        self._board = board
        self._index = board.claim(0, tolerance_ns)
        self._since_ns = 0
        self._began = (time.monotonic_ns(), time.process_time_ns(), 0, 0)

    def update(self, frames: int, late: int, worst_ns: int, sent_share: float, least_share: float) -> bool:
        """Call now and then: ends the window if it is over. Whether it did. `worst_ns` is of this window; `sent_share`
        of what flows' rates allowed was sent, which is too little below `least_share`."""
        now_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
        began_ns, began_cpu_ns, began_frames, began_late = self._began
        if now_ns - began_ns < WINDOW_NS:
            return False
        self._began = (now_ns, cpu_ns, frames, late)
        frames, late = max(0, frames - began_frames), max(0, late - began_late)
        behind = sent_share < least_share or (frames >= LEAST and late * SHARE > frames)
        self._since_ns = (self._since_ns or began_ns) if behind else 0
        self._board.write(
            self._index,
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
            self._board.write(self._index, behind_until_ns=now_ns)
        used, any_behind = self._board.used_percent(now_ns)
        self._over = self._over + 1 if used > (CALM_PERCENT if any_behind else MOST_PERCENT) else 0
        if self._over >= PATIENCE:
            self._crowded_until_ns = now_ns + HOLD_NS
        self.crowded = now_ns < self._crowded_until_ns or (self.crowded and used > CALM_PERCENT)
        return True

    def close(self) -> None:
        self._board.release(self._index)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
