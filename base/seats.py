"""How many connections a listener holds: a silent one makes room for the next.

The process that listens does other work, too, for which descriptors and memory are kept.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class Seats(Generic[Holder]):
    """Seats of connections. `end` is called, in the caller's thread, with one that makes room. Any
    thread may call."""

    def __init__(self, number: int, end: Callable[[Holder], object]) -> None:
        self._number, self._end = number, end
        self._busy: dict[
            Holder, bool | None
        ] = {}  # None: it has had no request yet; in the order of the last change
        self._lock = threading.Lock()

    def take(self, holder: Holder) -> bool:
        """Returns whether there is a seat: if need be, the connection leaves whose last request is
        the oldest, the first of those without a request."""
        leaver: Holder | None = None
        with self._lock:
            if len(self._busy) >= self._number:
                idle = [candidate for candidate, busy in self._busy.items() if not busy]
                if not idle:
                    return False
                leaver = next(
                    (candidate for candidate in idle if self._busy[candidate] is None), idle[0]
                )
                del self._busy[leaver]
            self._busy[holder] = None
        if leaver is not None:
            self._end(leaver)
        return True

    def work(self, holder: Holder, busy: bool = True) -> None:
        """A connection's request is answered from now on; or its answer has been given."""
        with self._lock:
            if holder in self._busy:
                del self._busy[holder]
                self._busy[holder] = busy

    def leave(self, holder: Holder) -> None:
        """A connection has ended."""
        with self._lock:
            self._busy.pop(holder, None)

    def holders(self) -> list[Holder]:
        """Returns those who have a seat."""
        with self._lock:
            return list(self._busy)


def shut(connection: socket.socket) -> None:
    """Ends a connection for the thread that reads or writes it, which closes it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
