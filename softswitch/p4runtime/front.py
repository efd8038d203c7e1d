"""The sockets of a server, and csrc/front.c, which speaks HTTP/2 and gRPC with their clients."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import socket
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pcn.base import owner_only
from pcn.softswitch.native_types import FrontEvent, FrontMethod
from pcn.softswitch.p4runtime.calls import Call, Method
from pcn.softswitch.p4runtime.limits import CONNECTIONS, front_limits

BACKLOG: Final = 256
DESCRIPTORS: Final = 1  # of a connection
TLS_DESCRIPTORS: Final = 3
OTHER_DESCRIPTORS: Final = 256
LEAST_CONNECTIONS: Final = 16
_ERROR_BYTES: Final = 256
_UNIX: Final = "unix:"
_ABSENT: Final = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}  # as ::1 on a machine without IPv6


class FrontError(Exception):
    """The address can't be taken; the message is the reason."""


class Listeners:
    """The sockets of an address: HOST:PORT (port 0: any free one), or unix:PATH, which this user
    alone may open. They listen from the beginning. `port`: the number; of a path 1. Raises
    FrontError."""

    def __init__(self, address: str) -> None:
        self._process = os.getpid()
        self._path: tuple[Path, int, int] | None = None
        if address.startswith(_UNIX):
            path = address.removeprefix(_UNIX).removeprefix("//")
            self.sockets, self.port = [_unix(path)], 1
            status = Path(path).stat()
            self._path = (Path.cwd() / path, status.st_dev, status.st_ino)
        else:
            self.sockets = _internet(address)
            self.port = self.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Closes sockets that nothing has taken; a path that is still this socket's is free again,
        unless this is a child of the process that serves it."""
        for sock in self.sockets:
            sock.close()
        path, self._path = self._path, None
        if path is not None and self._process == os.getpid():
            with suppress(OSError):
                status = path[0].lstat()
                if (status.st_dev, status.st_ino) == path[1:]:
                    path[0].unlink()


class Front:
    """Serves methods at sockets, which are its own from now on. Any thread may call any method. In
    a child of this process it does nothing. Raises FrontError."""

    def __init__(
        self,
        library: ctypes.CDLL,
        sockets: Sequence[socket.socket],
        methods: Sequence[Method],
        connections: int,
        message_bytes: int,
    ) -> None:
        self._library = library
        self._favoured: set[int] = set()
        numbers = (ctypes.c_int * max(1, len(sockets)))(*(sock.fileno() for sock in sockets))
        table = (FrontMethod * len(methods))(
            *(
                FrontMethod(
                    path=method.path.encode(),
                    kind=method.kind,
                    most=(
                        min(method.most_of_strangers, method.most, message_bytes),
                        min(method.most, message_bytes),
                    ),
                    at_once=method.at_once,
                    begun=method.begun,
                )
                for method in methods
            )
        )
        limits = front_limits(connections, message_bytes)
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        self._handle: int = library.sw_front_open(
            numbers, len(sockets), table, len(methods), ctypes.byref(limits), error
        )
        if not self._handle:
            raise FrontError(error.value.decode("utf-8", "replace"))
        for sock in sockets:
            sock.detach()

    def adopt(self, sock: socket.socket) -> None:
        """Serves a connected socket as a stranger's."""
        self._library.sw_front_adopt(self._handle, sock.detach())

    def next(self, event: FrontEvent) -> bool:
        """Waits for the next event; the work at the one before is done. False: the front is
        closed."""
        return bool(self._library.sw_front_next(self._handle, ctypes.byref(event)))

    def call(self, event: FrontEvent) -> Call:
        """Returns the call of an event."""
        return Call(
            self._library,
            self._handle,
            event.call,
            event.connection,
            is_private=bool(event.is_private),
        )

    def favour(self, peers: set[int]) -> None:
        """These connections, and no others, are primaries'. One thread at a time calls it."""
        for peer in peers ^ self._favoured:
            self._library.sw_front_favour(self._handle, peer, peer in peers)
        self._favoured = set(peers)

    def refuse(self) -> None:
        """Takes no more connections and calls."""
        self._library.sw_front_refuse(self._handle)

    def drain(self, seconds: float) -> None:
        """Waits until all calls have ended, at most these seconds."""
        self._library.sw_front_drain(self._handle, round(1000 * seconds))

    def close(self) -> None:
        """Ends all connections; workers get no more events."""
        self._library.sw_front_close(self._handle)

    def free(self) -> None:
        """After `close`, when no thread calls a method any more."""
        self._library.sw_front_free(self._handle)


def connections(descriptors: int) -> int:
    """Returns the number of connections that there may be, each with this number of descriptors, by
    those that the process may still open: some are for its work."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return CONNECTIONS
    used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    free = (soft - used - OTHER_DESCRIPTORS) // descriptors
    return max(LEAST_CONNECTIONS, min(CONNECTIONS, free))


def _unix(path: str) -> socket.socket:
    """Returns the socket of a path. What an ended process has left there makes room."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(Path(path).lstat().st_mode) and not _is_served(path):
                Path(path).unlink()
        with owner_only.unshared():
            sock.bind(path)
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise FrontError(
            "its folder is missing or another user's, or a file of this name exists"
        ) from None
    return sock


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:
            pass
    return True


def _internet(address: str) -> list[socket.socket]:
    """Returns the sockets of an address: those of all its host's numbers, on one port."""
    host, _, port = address.removeprefix("ipv4:").removeprefix("ipv6:").rpartition(":")
    name = host.strip("[]")
    try:
        infos = socket.getaddrinfo(
            # of a str Python looks IDNA's tables up, of which each switch would have 0.4 MB
            (name.encode() if name.isascii() else name) or None,
            int(port),
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
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
                    (str(place[0]).encode(), number, *place[2:]),
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
