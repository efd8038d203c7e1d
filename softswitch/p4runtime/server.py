"""The gRPC server that offers the P4Runtime service."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from pcn.softswitch.native_types import FrontEvent
from pcn.softswitch.p4runtime.calls import DONE, Call, Kind, Method, Pushed, Stream
from pcn.softswitch.p4runtime.errors import (
    INTERNAL,
    INVALID_ARGUMENT,
    RESOURCE_EXHAUSTED,
    BatchError,
    RpcError,
    status_of,
)
from pcn.softswitch.p4runtime.front import (
    DESCRIPTORS,
    TLS_DESCRIPTORS,
    Front,
    FrontError,
    Listeners,
    connections,
)
from pcn.softswitch.p4runtime.limits import WORKING, check_memory
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.values import MESSAGE_BYTES

if TYPE_CHECKING:
    from pcn.softswitch.tls_files import Tls

WORKERS = 2 * WORKING  # strangers' calls have half of them, and primaries' the other half
STOP_S = 2.0  # what RPCs under way get to finish, and what workers then get
MESSAGE, HALF, ROOM, END = range(4)  # enum sw_front_event_kind

log = logging.getLogger(__name__)


class ServerError(Exception):
    """The server cannot listen."""


class Server:
    """Serves a Service, and the methods of `others`, at `address` (HOST:PORT, port 0: any free one;
    or unix:PATH, which the switch's own user alone may open). A context manager. `message_bytes`:
    of the largest request.

    It listens from the beginning, and takes connections once it is entered. Leaving it waits for
    RPCs in progress, for a limited time: `busy` is set if one still runs.

    Raises ServerError.
    """

    def __init__(
        self,
        service: Service,
        address: str,
        tls: Tls | None = None,
        others: Iterable[Method] = (),
        message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        self._service, self._message_bytes = service, message_bytes
        self.busy = False
        self._ended = False
        self._methods = [*service.methods(), *others]
        if service.clock:
            # late: no switch on the live clock waits for it
            from pcn.softswitch.p4runtime.clock_service import clock_methods

            self._methods += clock_methods(service.clock)
        self._front: Front | None = None
        self._workers: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._streams: dict[int, Stream] = {}
        self._parts: dict[int, Iterator[Any]] = {}
        self._gate: Any = None
        try:
            self._listeners = Listeners(address)
        except FrontError as error:
            raise ServerError(f"cannot listen on {address}: {error}") from None
        if tls is not None:
            from pcn.softswitch.p4runtime.tls import Gate, TlsError  # late: few switches have it

            try:
                self._gate = Gate(tls, self._listeners.sockets)
            except TlsError as error:
                self._listeners.close()
                raise ServerError(f"cannot listen on {address}: {error}") from None
        self.port = self._listeners.port
        self.address = (
            address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{self.port}"
        )

    def __enter__(self) -> Server:
        number = connections(DESCRIPTORS if self._gate is None else TLS_DESCRIPTORS)
        sockets = self._listeners.sockets if self._gate is None else []
        try:
            front = Front(
                self._service.library, sockets, self._methods, number, self._message_bytes
            )
        except FrontError as error:
            self.end()
            raise ServerError(f"cannot listen on {self.address}: {error}") from None
        self._front = front
        self._service.on_primaries = front.favour
        try:
            self._service.start()
            if self._gate is not None:
                self._gate.start(front.adopt, number)
            self._add_worker()  # the last: nothing uses the front if it fails
        except RuntimeError:
            self.end()
            if self._gate is not None:
                self._gate.stop()
            front.close()
            front.free()
            raise ServerError("the system gives the switch no threads") from None
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        front = self._front
        if front is None:
            return
        front.drain(STOP_S)
        if self._gate is not None:
            self._gate.stop()
        front.close()
        ending = threading.Thread(target=self._join, daemon=True)
        ending.start()
        ending.join(STOP_S)
        self.busy = ending.is_alive()
        if not self.busy:  # else a worker still has it
            front.free()

    def end(self) -> None:
        """Begins to end: no new RPCs."""
        if self._ended:
            return
        self._ended = True
        if self._gate is not None:
            self._gate.refuse()
        if self._front is not None:
            self._front.refuse()
        self._listeners.close()
        self._service.stop()

    # ---- workers ----

    def _join(self) -> None:
        for worker in self._workers:
            worker.join()

    def _add_worker(self) -> None:
        """One waits for events while others work, up to WORKERS."""
        with self._starting:
            if len(self._workers) >= WORKERS or self._ended:
                return
            worker = threading.Thread(target=self._work, name="p4runtime", daemon=True)
            try:
                worker.start()
            except RuntimeError:
                if not self._workers:
                    raise
                log.warning(
                    "the system gives the switch no more threads: it goes on with those that it has"
                )
                return
            self._workers.append(worker)

    def _work(self) -> None:
        front, event = self._front, FrontEvent()
        assert front is not None
        while front.next(event):
            if not event.idle:
                self._add_worker()
            call = front.call(event)
            try:
                self._handle(event, self._methods[event.method], call)
            except (RpcError, BatchError) as error:
                call.finish(status_of(error))
            except MemoryError:
                call.finish(status_of(RpcError(RESOURCE_EXHAUSTED, "the switch is out of memory")))
            except Exception:
                log.exception("a call failed")
                call.finish(
                    status_of(RpcError(INTERNAL, "the call failed: the log has the reason"))
                )

    def _handle(self, event: FrontEvent, method: Method, call: Call) -> None:
        """Raises RpcError and BatchError, with which the call ends."""
        if event.kind == END:
            self._parts.pop(event.call, None)
            if stream := self._streams.pop(event.call, None):
                stream.gone()
        elif event.kind == ROOM:
            if parts := self._parts.pop(event.call, None):
                self._send_parts(call, parts)
        elif method.kind == Kind.STREAM:
            known = self._streams.get(event.call)
            if known is None:  # it begins with its first message
                known = self._streams[event.call] = method.handler(call)
            if event.kind == HALF:
                known.half_close()
            else:
                known.hear(_request(event, method))
        elif method.kind == Kind.PARTS:
            self._send_parts(call, method.handler(_request(event, method), call))
        else:
            answer = method.handler(_request(event, method), call)
            call.finish(DONE, answer.SerializeToString())

    def _send_parts(self, call: Call, parts: Iterator[Any]) -> None:
        """Sends what the client has room for. The rest is made when it has more."""
        for part in parts:
            pushed = call.push(part.SerializeToString())
            if pushed is Pushed.FULL:
                self._parts[call.handle] = parts
                return
            if pushed is Pushed.REFUSED:
                raise RpcError(RESOURCE_EXHAUSTED, "too much waits for clients: try again")
            if pushed is Pushed.GONE:
                return
        call.finish(DONE)


def _request(event: FrontEvent, method: Method) -> Any:
    """Returns a request or a stream's message. Raises RpcError."""
    check_memory()
    try:
        return method.parse(ctypes.string_at(event.data, event.length) if event.length else b"")
    except DecodeError as error:
        raise RpcError(INVALID_ARGUMENT, f"the message can't be parsed: {error}") from error
