"""TCD as docs/tcd.md has it, of one port and class, written as a state machine, and PFC's events of
that port. Times are us in v1model, ns on Tofino; queues bytes, or cells."""

from dataclasses import dataclass, field
from enum import IntEnum

WRAP = 1 << 32


class State(IntEnum):
    NON_CONGESTION = 0
    DRAINING = 1
    UNDETERMINED = 2
    CONGESTION = 3


SETTLED = (State.NON_CONGESTION, State.CONGESTION)
"""RED marks."""


@dataclass
class States:
    """`looks` in a row that don't show the queue fall are congestion."""

    max_ton: int
    empty: int
    looks: int
    state: State = State.NON_CONGESTION
    _looked_at: int = 0
    _reference: int = 0
    _in_a_row: int = field(default=0)

    def depart(self, now: int, left: int, resumed: int | None = None) -> State:
        """A packet leaves `left` behind, the first since a RESUME at `resumed`. The state that it
        meets."""
        if resumed is not None:
            self.state, self._looked_at, self._reference, self._in_a_row = (
                State.UNDETERMINED, resumed, left, 0,
            )  # fmt: skip
        if self.state is not State.UNDETERMINED and left <= self.empty:
            self.state = State.NON_CONGESTION
        elif self.state not in SETTLED and now - self._looked_at > self.max_ton:
            self._in_a_row = 0 if left < self._reference else min(self._in_a_row + 1, 255)
            self._looked_at, self._reference = now, left
            self.state = State.CONGESTION if self._in_a_row >= self.looks else State.DRAINING
        return self.state


@dataclass
class Port:
    """p4src/v1model/programs/tcd.p4: PFC reports the RESUME."""

    states: States
    paused_until: int | None = None
    _resumed: int | None = None

    def paused(self, now: int) -> bool:
        return self.paused_until is not None and now < self.paused_until

    def pause(self, now: int, duration: int):
        self.paused_until = now + duration

    def resume(self, now: int):
        if self.paused_until is not None:
            self.paused_until = None
            self._resumed = now

    def depart(self, now: int, left: int) -> State:
        if self.paused_until is not None and now >= self.paused_until:
            self.resume(self.paused_until)
        resumed, self._resumed = self._resumed, None
        return self.states.depart(now, left, resumed)


@dataclass
class TofinoStates:
    """p4src/tna/tcd_port.p4, register by register: times are 32 bits, the two states in which RED
    marks are one."""

    max_ton: int
    empty: int
    looks: int
    until: int = 0
    undetermined: bool = False
    cells: int = 0
    missing: int = 0

    def depart(self, now: int, left: int, resumed: bool) -> State:
        """A packet leaves `left` cells behind; `resumed`: it shows a RESUME. CONGESTION stands for
        both settled states."""
        until = (now + self.max_ton) % WRAP
        look = not resumed and (self.until - now) % WRAP > self.max_ton
        if resumed or look:
            self.until = until
        was, self.undetermined = self.undetermined, resumed or (self.undetermined and not look)
        if resumed:
            self.cells, self.missing = left, self.looks
        elif not was and left <= self.empty:
            self.missing = 0
        elif look:
            if self.missing:
                self.missing = self.looks if left < self.cells else self.missing - 1
            self.cells = left
        if self.undetermined:
            return State.UNDETERMINED
        return State.DRAINING if self.missing else State.CONGESTION
