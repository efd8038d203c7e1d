"""Reports of how far a run is."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class Progress:
    """Calls `function` with the simulated time and the remaining real seconds, about twice a
    second."""

    _EVERY_S = 0.5

    def __init__(
        self, function: Callable[[float, float], None] | None, now_s: float, until_s: float | None
    ) -> None:
        self._function = function
        self._begun = self._reported = time.monotonic()
        self._begun_s = now_s
        self._until_s = until_s

    def report(self, now_s: float) -> None:
        """Calls the function where half a second has passed since the last call."""
        now = time.monotonic()
        if self._function is None or now - self._reported < self._EVERY_S:
            return
        self._reported = now
        done_s = now_s - self._begun_s
        known = self._until_s is not None and done_s > 0
        left_s = (
            (now - self._begun) * (self._until_s - now_s) / done_s
            if known and self._until_s
            else math.inf
        )
        self._function(now_s, left_s)
