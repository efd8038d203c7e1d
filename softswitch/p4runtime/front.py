"""What clients reach of a server before it has read a request: connections, calls, bytes of
messages that aren't whole.

gRPC holds all of a message, of any call that awaits one, and passes it on when it is there; it
takes connections and lets none go. So csrc/front.c takes them, and passes bytes on to a socket of
gRPC's that no other process can open.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pcn.softswitch.native_types import FrontLimits

CONNECTIONS: Final = 256
CALLS: Final = 512  # of all strangers: clients that are no role's primary
UNFINISHED: Final = 32  # calls of strangers whose request isn't whole: each may hold a worker
UNFINISHED_OF_CONNECTION: Final = 8
BYTES: Final = 64 << 20  # of strangers' messages that aren't whole
BYTES_OF_CONNECTION: Final = 20 << 20
SPARE_BYTES: Final = 4 << 20  # of a connection, beside its largest message
PATIENCE_S: Final = 10.0
BACKLOG: Final = 256
DESCRIPTORS: Final = 3  # of a connection that has sent anything
OTHER_DESCRIPTORS: Final = 256
LEAST_CONNECTIONS: Final = 16
_ERROR_BYTES: Final = 256
_NAME: Final = "unix-abstract:"
_ABSENT: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}  # as ::1 on a machine without IPv6


def peer_of(context: object) -> str:
    """Returns gRPC's name of a call's connection; empty: it comes from this process."""
    peer: Callable[[], str] = getattr(context, "peer", str)
    return peer()


def is_private(peer: str) -> bool:
    """Returns whether a connection is to a socket that the switch's own user alone may open."""
    return not peer or peer.startswith("unix:")


def is_bounded(peer: str) -> bool:
    """Returns whether a connection is a front's, or this user's."""
    return is_private(peer) or peer.startswith(_NAME)


class FrontError(Exception):
    """The address can't be taken; the message is the reason."""


class Front:
    """Takes connections to HOST:PORT, from `start` on; `port`: its number. Raises FrontError."""

    def __init__(self, library: ctypes.CDLL, address: str, message_bytes: int) -> None:
        self._library = library
        self._listening = _listening(address)
        self.port: int = self._listening[0].getsockname()[1]
        self._favoured: set[str] = set()
        self._handle: int | None = None
        self._target = -1
        self._limits = FrontLimits(
            connections=_connections(),
            calls=CALLS,
            unfinished=UNFINISHED,
            unfinished_of_one=UNFINISHED_OF_CONNECTION,
            bytes=max(BYTES, 4 * message_bytes),
            bytes_of_one=max(BYTES_OF_CONNECTION, message_bytes + SPARE_BYTES),
            favoured_bytes=4 * message_bytes,
            patience_ns=round(PATIENCE_S * 1e9),
        )

    def listen(self, add: Callable[[str], int]) -> int:
        """Returns what `add` makes of the address of a Unix socket, on which a server is to listen;
        0: it doesn't."""
        # Not by tempfile, with whose modules a switch has 10 MB more.
        folder = Path(os.environ.get("TMPDIR") or "/tmp") / f"pcn-{os.urandom(8).hex()}"
        try:
            folder.mkdir(0o700)
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise FrontError(f"no folder for a socket: {folder}: {error.strerror}") from None
        try:  # by the descriptor: the path may be longer than a socket's can be
            added = add(f"unix:/proc/self/fd/{handle}/s")
            if added:
                self._target = os.open("s", os.O_PATH | os.O_CLOEXEC, dir_fd=handle)
            return added
        finally:  # the socket has no name then: nothing is left, however the process ends
            with suppress(FileNotFoundError):
                os.unlink("s", dir_fd=handle)
            os.close(handle)
            folder.rmdir()

    def start(self) -> None:
        """Takes connections. Raises FrontError."""
        listening = (ctypes.c_int * len(self._listening))(
            *(sock.fileno() for sock in self._listening)
        )
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        path = f"/proc/self/fd/{self._target}".encode()
        self._handle = self._library.sw_front_open(
            listening, len(self._listening), path, ctypes.byref(self._limits), error
        )
        if not self._handle:
            raise FrontError(error.value.decode("utf-8", "replace"))
        for sock in self._listening:
            sock.detach()

    def favour(self, peers: set[str]) -> None:
        """These connections, by gRPC's names of them, and no others, are primaries'. One thread at
        a time calls it."""
        if self._handle:
            for peer in peers ^ self._favoured:
                self._library.sw_front_favour(
                    self._handle, peer.removeprefix(_NAME).encode(), peer in peers
                )
            self._favoured = set(peers)

    def refuse(self) -> None:
        """Takes no more connections."""
        if self._handle:
            self._library.sw_front_refuse(self._handle)

    def close(self) -> None:
        """Ends all connections."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.sw_front_close(handle)
        for sock in self._listening:
            sock.close()
        target, self._target = self._target, -1
        if target >= 0:
            os.close(target)


def _listening(address: str) -> Sequence[socket.socket]:
    """Returns the sockets of an address: those of all its host's numbers, on one port."""
    host, _, port = address.removeprefix("ipv4:").removeprefix("ipv6:").rpartition(":")
    try:
        infos = socket.getaddrinfo(
            host.strip("[]") or None, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, ValueError, OverflowError) as error:
        raise FrontError(getattr(error, "strerror", None) or str(error)) from None
    sockets: list[socket.socket] = []
    number = int(port)
    try:
        for family, _, _, _, place in dict.fromkeys(infos):
            both = family == socket.AF_INET6 and place[0] == "::"
            sockets.append(
                socket.create_server(
                    (place[0], number, *place[2:]),
                    family=family,
                    backlog=BACKLOG,
                    dualstack_ipv6=both and socket.has_dualstack_ipv6(),
                )
            )
            number = sockets[0].getsockname()[1]
            if both:
                break
    except OSError as error:
        if not sockets or error.errno not in _ABSENT:
            for sock in sockets:
                sock.close()
            raise FrontError(error.strerror or str(error)) from None
    return sockets


def _connections() -> int:
    """Returns how many there may be, by the descriptors that the process may still open: some are
    for its work."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS
    used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return max(
        LEAST_CONNECTIONS, min(CONNECTIONS, (soft - used - OTHER_DESCRIPTORS) // DESCRIPTORS)
    )
