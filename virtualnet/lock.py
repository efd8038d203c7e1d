"""The lock of an engine that several threads use (csrc/api/lock.c)."""

from __future__ import annotations

import ctypes
import threading

from pcn.virtualnet.errors import VirtualError


class EngineLock:
    """A context manager, or `acquire` and `release`, as of `threading.RLock`: a thread that has it
    may take it again. Threads get it in the order in which they came. Raises VirtualError."""

    def __init__(self, library: ctypes.CDLL) -> None:
        # By this handle Python's lock is released in a call: who waits for the engine doesn't have
        # it, so who has the engine gets it.
        self._library = ctypes.CDLL(library._name)
        self._library.vn_lock_new.restype = ctypes.c_void_p
        self._library.vn_lock_take.argtypes = [ctypes.c_void_p, ctypes.c_bool]
        for function in (self._library.vn_lock_leave, self._library.vn_lock_free):
            function.argtypes = [ctypes.c_void_p]
            function.restype = None
        self._mine = threading.local()
        self.handle: int = self._library.vn_lock_new()
        if not self.handle:
            raise VirtualError("out of memory for an engine's lock")

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self._library.vn_lock_free(self.handle)

    def acquire(self, blocking: bool = True) -> bool:
        """Returns whether the thread has it: False alone where it isn't `blocking`."""
        depth = getattr(self._mine, "depth", 0)
        if not depth and self._library.vn_lock_take(self.handle, blocking) != 0:
            return False
        self._mine.depth = depth + 1
        return True

    def release(self) -> None:
        """Gives it to the thread that has waited longest. Raises RuntimeError where this one hasn't
        it."""
        depth = getattr(self._mine, "depth", 0)
        if not depth:
            raise RuntimeError("an engine's lock that this thread hasn't taken")
        self._mine.depth = depth - 1
        if depth == 1:
            self._library.vn_lock_leave(self.handle)

    def __enter__(self) -> EngineLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
