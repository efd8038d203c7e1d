"""Sockets in the network namespace of another process: they stay there, in whichever thread they
are used."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading
from collections.abc import Callable
from typing import TypeVar

from pcn.base.errors import LabError

_CLONE_NEWNET = 0x40000000
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1
Opened = TypeVar("Opened")


class NamespaceError(LabError):
    """The namespace can't be entered, or what was to be opened there can't be opened."""


def in_namespace(pid: int | None, make: Callable[[], Opened]) -> Opened:
    """Returns what `make` returns in the network namespace of a process; None: in this one.

    Raises what `make` raises, but NamespaceError in place of OSError if the namespace is another
    one.
    """
    if pid is None:
        return make()
    result: list[Opened] = []
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
        if isinstance(failure[0], OSError):
            raise NamespaceError(
                f"in the network namespace of process {pid}: {failure[0]}"
            ) from failure[0]
        raise failure[0]
    return result[0]


def listen_to_all(connection: socket.socket, interface: str) -> None:
    """Makes an interface promiscuous for as long as the packet socket is open: where a link between
    switches is in memory, its frames come by the interface meanwhile."""
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PACKET_MR_PROMISC, 0, b"")
    connection.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)


def _set_namespace(pid: int) -> None:
    handle = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
