"""Sockets in the network namespace of another process."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import TypeVar

from pcn.base import namespace
from pcn.base.errors import LabError

_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1
_Made = TypeVar("_Made")


class NamespaceError(LabError):
    """The namespace can't be entered, or what was to be made there can't be made."""


def in_namespace(pid: int, make: Callable[[], _Made]) -> _Made:
    """Returns what `make` returns in the network namespace of a process. A socket made there stays
    there, in whichever thread it is used.

    Raises NamespaceError if the system refuses.
    """
    try:
        return namespace.in_namespace(pid, make)
    except OSError as error:
        raise NamespaceError(f"in the network namespace of process {pid}: {error}") from None


def listen_to_all(connection: socket.socket, interface: str) -> None:
    """Makes an interface promiscuous for as long as the packet socket is open: where a link between
    switches is in memory, its frames come by the interface meanwhile."""
    membership = struct.pack("iHH8s", socket.if_nametoindex(interface), _PACKET_MR_PROMISC, 0, b"")
    connection.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, membership)
