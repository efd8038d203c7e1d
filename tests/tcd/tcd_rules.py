"""TCD as docs/tcd.md has it, of one port and class, written as a state machine.
Times are us, queues bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class State(IntEnum):
    NON_CONGESTION = 0
    DRAINING = 1
    UNDETERMINED = 2
    CONGESTION = 3


@dataclass
class Port:
    """What PFC says of it, and its state. `looks` in a row that don't show the queue fall are congestion."""

    max_ton: int
    empty: int
    looks: int
    state: State = State.NON_CONGESTION
    paused_until: int | None = None
    _resumed: int | None = None
    _looked_at: int = 0
    _reference: int = 0
    _in_a_row: int = field(default=0)

    def paused(self, now: int) -> bool:
        return self.paused_until is not None and now < self.paused_until

    def pause(self, now: int, duration: int) -> None:
        self.paused_until = now + duration

    def resume(self, now: int) -> None:
        if self.paused_until is not None:
            self.paused_until = None
            self._resumed = now

    def depart(self, now: int, left: int) -> State:
        """A packet leaves `left` bytes behind. The state that it meets."""
        if self.paused_until is not None and now >= self.paused_until:
            self._resumed = self.paused_until
            self.paused_until = None
        if self._resumed is not None:
            self.state, self._looked_at, self._reference, self._in_a_row = (
                State.UNDETERMINED, self._resumed, left, 0,
            )  # fmt: skip
            self._resumed = None

        if self.state is not State.UNDETERMINED and left <= self.empty:
            self.state = State.NON_CONGESTION
        elif self.state in (State.UNDETERMINED, State.DRAINING) and self._due(now):
            self.state = State.CONGESTION if self._look(now, left) >= self.looks else State.DRAINING
        return self.state

    def _due(self, now: int) -> bool:
        return now - self._looked_at > self.max_ton

    def _look(self, now: int, left: int) -> int:
        """How many looks in a row haven't shown a fall."""
        self._in_a_row = 0 if left < self._reference else min(self._in_a_row + 1, 255)
        self._looked_at, self._reference = now, left
        return self._in_a_row
