"""Sockets in the network namespace of another process."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from topologies.errors import LabError

_CLONE_NEWNET = 0x40000000
_Made = TypeVar("_Made")


class NamespaceError(LabError):
    """The namespace can't be entered, or what was to be made there can't be made."""


def in_namespace(pid: int, make: Callable[[], _Made]) -> _Made:
    """What `make` returns in the network namespace of a process. A socket made there stays there, whoever uses it.

    Raises NamespaceError where the system says no.
    """
    result: list[_Made | OSError] = []

    def enter() -> None:
        # A namespace is a thread's: this thread ends in the other one, the caller stays where it is.
        handle = -1
        try:
            handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.setns(handle, _CLONE_NEWNET) != 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number))
            result.append(make())
        except OSError as error:
            result.append(error)
        finally:
            if handle >= 0:
                os.close(handle)

    thread = threading.Thread(target=enter, name="namespace")
    thread.start()
    thread.join()
    made = result[0]
    if isinstance(made, OSError):
        raise NamespaceError(f"in the network namespace of process {pid}: {made}")
    return made
