"""Sockets made in the network namespace of another process: they stay there, also in other
threads."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
_Made = TypeVar("_Made")


def in_namespace(pid: int | None, make: Callable[[], _Made]) -> _Made:
    """Returns what `make` returns in the network namespace of a process; None: in this one. What
    `make` raises, and OSError where the namespace can't be entered."""
    if pid is None:
        return make()
    result: list[_Made] = []
    failure: list[BaseException] = []

    def enter() -> None:
        # A namespace is a thread's: this thread ends in the other one, the caller stays where it
        # is.
        try:
            _set_namespace(pid)
            result.append(make())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=enter, name="namespace")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return result[0]


def _set_namespace(pid: int) -> None:
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
