"""A link in memory between processes, a host's agent and a switch or two switches:
softswitch/csrc/channel.h in Python.

A frame is put with the time at which it arrives, so a process that is late by less than the link's
delay changes no frame's time. The interface stays: a frame that another process sends into it
arrives, and while a capture listens at it, frames come by the kernel (`Watch`).
"""

from __future__ import annotations

import os
import socket
import struct
from typing import Final, NamedTuple

from pcn.base import owner_only

CHANNEL_BYTES: Final = 4096 + (1 << 20)  # struct sw_channel
_AF_NETLINK_GROUP_LINK: Final = 1
_RTM_NEWLINK, _IFLA_PROMISCUITY, _NLMSG_HEADER, _IFINFO = (
    16,
    30,
    struct.Struct("=IHHII"),
    struct.Struct("=BxHiII"),
)
_ATTRIBUTE = struct.Struct("=HH")


class Ends(NamedTuple):
    """Descriptors of a link for the processes of its two ends: memory that they share, and a bell
    for each. Of a host's link the host is end 1."""

    memory: int
    bell_0: int
    bell_1: int

    @classmethod
    def make(cls) -> Ends:
        """Returns a new link. Raises OSError."""
        memory = owner_only.memory("pcn-lab-link", 2 * CHANNEL_BYTES)
        bells = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(memory, *(bell.detach() for bell in bells))

    def close(self) -> None:
        """Once both processes have been started."""
        for descriptor in self:
            os.close(descriptor)


class Watch:
    """Detects whether any process listens at an interface, which makes it promiscuous: by the
    kernel's messages, from a socket to poll."""

    def __init__(self, interface: str) -> None:
        """Raises OSError."""
        self._index = socket.if_nametoindex(interface)
        self.socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE
        )
        self.socket.bind((0, _AF_NETLINK_GROUP_LINK))

    def close(self) -> None:
        self.socket.close()

    def ask(self) -> None:
        """The kernel answers by a message."""
        link = _IFINFO.pack(socket.AF_UNSPEC, 0, self._index, 0, 0)
        header = _NLMSG_HEADER.pack(_NLMSG_HEADER.size + len(link), _RTM_NEWLINK + 2, 1, 0, 0)
        self.socket.send(header + link)

    def read(self) -> bool | None:
        """Returns whether a process listens, by the newest message; None: no message has come."""
        watched = None
        while True:
            try:
                data = self.socket.recv(1 << 16)
            except BlockingIOError:
                return watched
            except OSError:  # messages were lost
                self.ask()
                continue
            listeners = promiscuity(data, self._index)
            watched = watched if listeners is None else listeners > 0


def promiscuity(messages: bytes, index: int) -> int | None:
    """Returns the number of processes that listen at the interface `index`, from the last of the
    kernel's messages that has it; None: none has."""
    listeners = None
    at = 0
    while at + _NLMSG_HEADER.size <= len(messages):
        length, kind, *_ = _NLMSG_HEADER.unpack_from(messages, at)
        end = min(at + length, len(messages))
        body = at + _NLMSG_HEADER.size
        if length < _NLMSG_HEADER.size:
            break
        if (
            kind == _RTM_NEWLINK
            and body + _IFINFO.size <= end
            and _IFINFO.unpack_from(messages, body)[2] == index
        ):
            attribute = body + _IFINFO.size
            while attribute + _ATTRIBUTE.size <= end:
                size, attribute_type = _ATTRIBUTE.unpack_from(messages, attribute)
                if size < _ATTRIBUTE.size:
                    break
                if attribute_type == _IFLA_PROMISCUITY and attribute + 8 <= end:
                    listeners = int.from_bytes(messages[attribute + 4 : attribute + 8], "little")
                attribute += size + 3 & ~3
        at += length + 3 & ~3
    return listeners
