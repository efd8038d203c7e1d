"""The manual clock of a switch that serves P4Runtime: time doesn't pass notifications that are due.

The data plane's events reach controllers by the service's one thread. When it comes to a fence
behind these events, controllers have been notified of all of them, and of due digests and idle
entries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from pcn.softswitch.native import Departed, NativeSwitch
from pcn.softswitch.p4runtime.idle import NEVER
from pcn.softswitch.p4runtime.pipeline import Pipeline

LONGEST_NS: Final = 2**62  # 146 years: so far can time go


class Clock:
    """Of a NativeSwitch made with `manual`. Any thread may call any method."""

    def __init__(self, native: NativeSwitch, pipeline: Pipeline) -> None:
        self._native = native
        self._pipeline = pipeline
        self._moving = threading.Lock()
        self._told = threading.Condition()
        self._fences = self._fences_seen = 0
        self._stopped = False

    def stop(self) -> None:
        """No notifications come any more: ends all calls that wait for them."""
        with self._told:
            self._stopped = True
            self._told.notify_all()

    def note_fence(self) -> None:
        """The service's thread has come to the next fence, and has sent all due notifications."""
        with self._told:
            self._fences_seen += 1
            self._told.notify_all()

    def advance(
        self,
        span_ns: int,
        port: int = 0,
        frames: int = 0,
        wanted: Callable[[], bool] = lambda: True,
    ) -> int:
        """Advances the time and returns it, ns. Everything due by then is done, notifications
        included.

        With `frames` no further than to the moment at which that many more have left by `port`; no
        further either once it isn't `wanted` any more. Raises OverflowError where time would be
        after LONGEST_NS.
        """
        with self._moving:
            end_ns = self._native.now_ns + span_ns
            if end_ns > LONGEST_NS:
                raise OverflowError(
                    f"a clock that stands at {end_ns - span_ns} ns can't be moved by {span_ns} ns"
                )
            target = self._native.left_by(port) + frames if frames else 0
            while not self._stopped and wanted():
                self._settle()
                step_ns = min(end_ns, self._next_ns())
                there = self._native.advance(step_ns, port, target) and step_ns == end_ns
                if there or (target and self._native.left_by(port) >= target):
                    self._settle()
                    break
            return self._native.now_ns

    def inject(self, frames: Iterable[tuple[int, bytes]]) -> int:
        """Frames come in at ports, one after the other, at the time that stands, which is returned,
        ns.

        Their effects at this time, notifications included, are complete. Raises NativeError for a
        port that isn't one without interface, and for a frame that is too long."""
        try:
            for port, frame in frames:
                self._native.inject(port, frame)
        finally:
            self._settle()
        return self._native.now_ns

    def departed(self) -> list[Departed]:
        """Returns the frames that left ports without interface since the last call, in order."""
        return self._native.departed()

    def _next_ns(self) -> int:
        """Returns the time of the next notification of controllers, beside the data plane's."""
        running = self._pipeline.running
        if running is None:
            return NEVER
        return min(running.digests.next_ns, running.tables.timers.next_ns)

    def _settle(self) -> None:
        """Waits until controllers have been notified of all past and due events."""
        with self._told:
            self._fences += 1
            fence = self._fences
            self._native.fence(0)  # in the order of their numbers, since the lock is held
            self._told.wait_for(lambda: self._fences_seen >= fence or self._stopped)
