"""Calls as the methods of a server see them: who calls, whether the client still waits, what is
sent. And the table of methods that a server serves."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

from pcn.base.protos import message
from pcn.softswitch.p4runtime.errors import OK, RpcError, Status
from pcn.softswitch.p4runtime.limits import SMALL_BYTES

ANY: Final = 2**64 - 1
MANY: Final = 2**32 - 1
LARGEST: Final = MANY
"""Bytes of a method's messages that only the server's own bound limits."""


class Kind(IntEnum):
    """enum sw_front_kind: one answer to one request; an answer in parts; messages both ways."""

    UNARY = 0
    PARTS = 1
    STREAM = 2


class Pushed(IntEnum):
    """enum sw_front_pushed: the message goes on its way; it is the last one before there is room
    again; it isn't sent, as too much waits; the call has ended."""

    SENT = 0
    FULL = 1
    REFUSED = 2
    GONE = 3


class Stream(Protocol):
    """A call with messages both ways. Each method is called once the one before has returned."""

    def hear(self, request: Any) -> None:
        """Takes a message. An RpcError ends the call."""

    def half_close(self) -> None:
        """The client sends no more."""

    def gone(self) -> None:
        """The call has ended, by whichever side."""


class Outlet(Protocol):
    """What a stream sends by; `peer`: the number of its connection, `is_private`: only the switch's
    own user may open such a one. Any thread may call any method; none waits for the client."""

    peer: int
    is_private: bool

    def push(self, data: bytes, most_bytes: int = ANY, most_messages: int = MANY) -> Pushed:
        """Sends a message, unless more than that would wait for the client."""

    def finish(self, status: Status) -> None:
        """Ends the call once the client has taken what waits."""

    def abort(self, error: RpcError) -> None:
        """Ends the call at once."""


class Call:
    """A call of a front's client, an Outlet. Its methods do nothing once it has ended."""

    __slots__ = ("_front", "_library", "handle", "is_private", "peer")

    def __init__(
        self,
        library: ctypes.CDLL,
        front: int,
        handle: int,
        peer: int,
        *,
        is_private: bool,
    ) -> None:
        self._library, self._front = library, front
        self.handle, self.peer, self.is_private = handle, peer, is_private

    def is_active(self) -> bool:
        """Returns whether the client still waits."""
        return bool(self._library.sw_front_active(self._front, self.handle))

    def push(self, data: bytes, most_bytes: int = ANY, most_messages: int = MANY) -> Pushed:
        return Pushed(
            self._library.sw_front_push(
                self._front, self.handle, data, len(data), most_bytes, most_messages
            )
        )

    def finish(self, status: Status, data: bytes | None = None) -> None:
        """Ends the call, with a last message."""
        self._library.sw_front_finish(
            self._front,
            self.handle,
            data,
            0 if data is None else len(data),
            status.code,
            status.message.encode(),
            status.details,
        )

    def abort(self, error: RpcError) -> None:
        self._library.sw_front_abort(self._front, self.handle, error.code, error.message.encode())


DONE: Final = Status(OK)


class Method(NamedTuple):
    """A method of a server. `handler` is called with the request and the Call, and returns the
    answer (UNARY) or its parts (PARTS); of a STREAM with the Call alone, and returns a Stream. It
    raises RpcError or BatchError. `most`: bytes of a message of clients; `most_of_strangers`: of
    those that are no role's primary; `at_once`: calls at work, of strangers and as many of
    primaries; `begun`: likewise calls whose answers aren't all made."""

    path: str
    kind: Kind
    handler: Callable[..., Any]
    parse: Callable[[bytes], Any]
    most: int = SMALL_BYTES
    most_of_strangers: int = MANY
    at_once: int = 2
    begun: int = 0


def methods(
    service: Any, handlers: Mapping[str, Callable[..., Any]], **options: Mapping[str, int]
) -> Iterable[Method]:
    """Yields the methods of a service's descriptor that have a handler. `options`: of a Method, by
    the methods' names."""
    for name, handler in handlers.items():
        method = service.methods_by_name[name]
        kind = (
            Kind.STREAM
            if method.client_streaming
            else Kind.PARTS
            if method.server_streaming
            else Kind.UNARY
        )
        yield Method(
            f"/{service.full_name}/{name}",
            kind,
            handler,
            message(method.input_type).FromString,
            **{option: by_name[name] for option, by_name in options.items() if name in by_name},
        )
