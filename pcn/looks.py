"""When `pcn watch` looks at a network."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pcn.lab.observe import Observer, Snapshot

LEAST_S = 0.1
"""Between two looks (real)."""


class Looks:
    """Looks at a network, each `every_s` (real) after the one before began, or soon where that has
    passed."""

    def __init__(
        self,
        make: Callable[[], Observer],
        every_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`make` makes the observer, and by that the first look."""
        self._every_s = every_s
        self._clock = clock
        self._began = clock()
        self._observer = make()

    @property
    def wait_s(self) -> float:
        """How long to wait before the next look."""
        return max(LEAST_S, self._began + self._every_s - self._clock())

    def wait(self) -> None:
        """Sleeps until the next look is due: nothing of the network is seen in between."""
        time.sleep(self.wait_s)

    def look(self) -> Snapshot:
        """Returns a new look at the network."""
        self._began = self._clock()
        return self._observer.look()
