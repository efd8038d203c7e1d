"""TLS before the front: a thread that shakes hands with clients, and passes their bytes on to the
front by a pair of sockets. What a client doesn't take stays with the front, within its bounds."""

from __future__ import annotations

import os
import select
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pcn.softswitch.p4runtime.limits import PEER_S

if TYPE_CHECKING:
    from pcn.softswitch.tls_files import Tls

HANDSHAKES: Final = 64  # at once; the oldest makes room
BUFFER: Final = 64 << 10  # bytes that wait either way
TURNS: Final = 4  # that a connection has before the others have theirs
LOOK_S: Final = 0.25
_WANTS: Final = {
    ssl.SSLWantReadError: selectors.EVENT_READ,
    ssl.SSLWantWriteError: selectors.EVENT_WRITE,
}


class TlsError(Exception):
    """The server can't have TLS with these files; the message is the reason."""


class Gate:
    """Takes connections at sockets, which are its own from now on. Raises TlsError, and leaves
    them."""

    def __init__(self, tls: Tls, sockets: Sequence[socket.socket]) -> None:
        self._context = _context(tls)
        # closed by the thread that waits for them, since a closed one's number may be another's
        self._listening = [socket.socket(fileno=sock.detach()) for sock in sockets]
        self._listens = False
        self._links: dict[_Link, None] = {}  # in their order
        self._selector = selectors.DefaultSelector()
        # Reports the ends of the front's sockets alone: the selector reports them only of a socket
        # that it is to read, and none is read while its client takes nothing.
        self._hangups = select.epoll()
        self._bell, self._rung = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="p4runtime-tls", daemon=True)
        self._adopt: Callable[[socket.socket], None] = lambda sock: sock.close()
        self._ending = self._refusing = False
        self._deaf_until_s = 0.0

    def start(self, adopt: Callable[[socket.socket], None], connections: int) -> None:
        """Starts the thread. `adopt` gets the front's end of each connection;
        `connections`: as many there may be."""
        self._adopt, self._connections = adopt, connections
        self._selector.register(self._rung, selectors.EVENT_READ)
        self._selector.register(self._hangups, selectors.EVENT_READ)
        for sock in self._listening:
            sock.setblocking(False)
        self._listen(True)
        self._thread.start()

    def refuse(self) -> None:
        """Takes no more connections."""
        self._refusing = True
        if self._thread.is_alive():
            self._ring()
        else:
            self._close_listening()

    def stop(self) -> None:
        """Ends all connections and the thread."""
        self._ending = True
        self._ring()
        if self._thread.is_alive():
            self._thread.join()
        self._close_listening()
        self._bell.close()
        self._rung.close()
        self._hangups.close()
        self._selector.close()

    def _ring(self) -> None:
        with suppress(OSError):
            self._bell.send(b"!")

    # ---- the thread ----

    def _run(self) -> None:
        while not self._ending:
            timed = any(link.until_s for link in self._links) or self._deaf_until_s
            for key, _ in self._selector.select(LOOK_S if timed else None):
                if key.fileobj is self._rung:
                    self._rung.recv(64)
                elif key.fileobj is self._hangups:
                    self._limit_ended()
                elif key.data is None:
                    self._accept(key.fileobj)  # type: ignore[arg-type]
                elif key.data in self._links:
                    self._serve(key.data)
            if self._refusing:
                self._close_listening()
            self._look()
        for link in list(self._links):
            self._end(link)

    def _listen(self, listens: bool) -> None:
        if listens == self._listens:
            return
        self._listens = listens
        for sock in self._listening:
            if listens:
                self._selector.register(sock, selectors.EVENT_READ)
            else:
                self._selector.unregister(sock)

    def _close_listening(self) -> None:
        self._listen(False)
        for sock in self._listening:
            sock.close()
        self._listening.clear()

    def _look(self) -> None:
        now_s = time.monotonic()
        if self._deaf_until_s and now_s >= self._deaf_until_s:
            self._deaf_until_s = 0.0
            self._listen(True)
        for link in [link for link in self._links if 0 < link.until_s <= now_s]:
            self._end(link)

    def _accept(self, listening: socket.socket) -> None:
        try:
            sock, _ = listening.accept()
        except BlockingIOError:
            return
        except OSError:  # there are no descriptors: who hasn't shaken hands makes room
            self._make_room()
            self._listen(False)
            self._deaf_until_s = time.monotonic() + LOOK_S
            return
        sock.setblocking(False)
        shaking = sum(not link.shaken for link in self._links)
        if shaking >= HANDSHAKES or len(self._links) >= self._connections + HANDSHAKES:
            self._make_room()
        try:
            outer = self._context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        except OSError:
            sock.close()
            return
        link = _Link(outer)
        self._links[link] = None
        self._serve(link)

    def _limit_ended(self) -> None:
        """Gives connections that the front has ended a time to take the rest."""
        ended = {descriptor for descriptor, _ in self._hangups.poll(0)}
        for link in self._links:
            if link.inner is not None and link.inner.fileno() in ended:
                self._hangups.unregister(link.inner)
                link.until_s = time.monotonic() + PEER_S

    def _make_room(self) -> None:
        """Ends a connection that the front has ended, or else one that hasn't shaken hands."""
        links = [link for link in self._links if link.until_s]
        if links:
            self._end(next((link for link in links if link.shaken), links[0]))

    def _serve(self, link: _Link) -> None:
        try:
            if not link.shaken and link.shake():
                inner, theirs = socket.socketpair()
                inner.setblocking(False)
                link.inner = inner
                self._adopt(theirs)
                self._hangups.register(inner, 0)
            if link.inner is not None:
                link.move(link.inner)
        except OSError:
            self._end(link)
            return
        self._watch(link.outer, link.outer_events(), link)
        if link.inner is not None:
            self._watch(link.inner, link.inner_events(), link)

    def _watch(self, sock: socket.socket, events: int, link: _Link) -> None:
        known = self._selector.get_map().get(sock)
        if known is None and events:
            self._selector.register(sock, events, link)
        elif known is not None and not events:
            self._selector.unregister(sock)
        elif known is not None and known.events != events:
            self._selector.modify(sock, events, link)

    def _end(self, link: _Link) -> None:
        del self._links[link]
        for sock in (link.outer, link.inner):
            if sock is not None:
                if sock in self._selector.get_map():
                    self._selector.unregister(sock)
                with suppress(OSError):  # a child of this process may have it, too: it isn't closed
                    self._hangups.unregister(sock)
                sock.close()


class _Link:
    """A connection: `outer` is the client's, `inner` the front's, once they have shaken hands.
    `until_s`: when it ends, if it isn't 0: hands are to be shaken by then, or what the front has
    sent before it ended the connection to be taken; `closed`: all that the front has sent is read.
    Its methods raise OSError where the connection is to end."""

    def __init__(self, outer: ssl.SSLSocket) -> None:
        self.outer = outer
        self.inner: socket.socket | None = None
        self.shaken = False
        self.until_s = time.monotonic() + PEER_S
        self._in, self._out = bytearray(), bytearray()
        self._wants = selectors.EVENT_READ
        self.closed = False

    def shake(self) -> bool:
        """Returns whether hands are shaken now."""
        try:
            self.outer.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            self._wants = _WANTS[type(error)]
            return False
        self.shaken, self.until_s = True, 0.0
        return True

    def outer_events(self) -> int:
        """Returns what is awaited of the client."""
        if not self.shaken:
            return self._wants
        reads = selectors.EVENT_READ if len(self._in) < BUFFER and not self.closed else 0
        return reads | (selectors.EVENT_WRITE if self._out else 0)

    def inner_events(self) -> int:
        """Returns what is awaited of the front."""
        reads = selectors.EVENT_READ if len(self._out) < BUFFER and not self.closed else 0
        return reads | (selectors.EVENT_WRITE if self._in else 0)

    def move(self, inner: socket.socket) -> None:
        """Passes bytes on, both ways."""
        for _ in range(TURNS):
            moved = self._from_client() + self._to_front(inner)
            moved += self._from_front(inner) + self._to_client()
            if not moved:
                break
        else:  # there may be more that OpenSSL has read already: the socket won't tell
            if self.outer.pending() and len(self._in) < BUFFER:
                self._from_client()
        if self.closed and not self._out:
            raise ConnectionError

    def _from_client(self) -> int:
        if self.closed or len(self._in) >= BUFFER:
            return 0
        try:
            data = self.outer.recv(BUFFER)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return 0
        if not data:
            raise ConnectionError
        self._in += data
        return len(data)

    def _to_front(self, inner: socket.socket) -> int:
        return _send(inner, self._in)

    def _from_front(self, inner: socket.socket) -> int:
        if self.closed or len(self._out) >= BUFFER:
            return 0
        try:
            data = inner.recv(BUFFER)
        except BlockingIOError:
            return 0
        except ConnectionError:
            data = b""
        if not data:
            self.closed = True
            self._in.clear()
        self._out += data
        return len(data)

    def _to_client(self) -> int:
        return _send(self.outer, self._out)


def _send(sock: socket.socket, data: bytearray) -> int:
    """Sends what a socket takes of data, and takes it off."""
    if not data:
        return 0
    try:
        sent = sock.send(data)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return 0
    del data[:sent]
    return sent


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    try:
        with _File(tls.certificate) as certificate, _File(tls.key) as key:
            # a key that wants a password isn't one that a server starts with: nobody is asked
            context.load_cert_chain(certificate.name, key.name, password=lambda: b"")
        if tls.client_ca is not None:
            context.load_verify_locations(cadata=tls.client_ca.decode("ascii"))
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # SSLError is the former, bad ASCII the latter
        reason = getattr(error, "reason", None) or error
        raise TlsError(f"its PEM files are bad: {reason}") from None
    return context


class _File:
    """A file in memory with these bytes: OpenSSL reads certificates by name. A context manager;
    `name`: its path, until the block ends."""

    def __init__(self, content: bytes) -> None:
        self._descriptor = os.memfd_create("pem")
        os.write(self._descriptor, content)
        self.name = f"/proc/self/fd/{self._descriptor}"

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
