"""What clients may take of the server: bytes a request, RPCs at once, the time that they let it
wait, memory.

A client reaches these bounds without being primary, or having a certificate, so each is checked
before the service reads a request. What exceeds one is RESOURCE_EXHAUSTED; a client that lets the
server wait too long is cut off (CANCELLED)."""

from __future__ import annotations

import logging
import math
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from pcn.softswitch.p4runtime.errors import (
    CANCELLED,
    INVALID_ARGUMENT,
    RESOURCE_EXHAUSTED,
    RpcError,
    abort_rpc,
)
from pcn.softswitch.p4runtime.front import UNFINISHED, is_bounded, is_private, peer_of
from pcn.softswitch.values import MESSAGE_BYTES

# of one that carries no configuration, no batch of writes and no frames
SMALL_BYTES: Final = 1 << 20
# of a stream's message: a packet, or a claim with its role's configuration
STREAM_BYTES: Final = 128 << 10
LARGE_AT_ONCE: Final = (
    2  # requests above SMALL_BYTES, of primaries; parsed, one can be 30 times as large
)
STRANGERS_LARGE_AT_ONCE: Final = 1
PEER_S: Final = 10.0  # to send a request, and to take the next part of an answer
ROOM_S: Final = 1.0  # the same, where another call needs the room
SPARE_BYTES: Final = 128 << 20  # of address space, where it has a limit

P4RUNTIME: Final = "/p4.v1.P4Runtime/"
READS_AT_ONCE: Final = 16
WRITES_AT_ONCE: Final = 48
# Of P4Runtime's methods but StreamChannel, whose streams the service counts; the others' below.
_AT_ONCE: Final = {
    P4RUNTIME + "Read": READS_AT_ONCE,
    P4RUNTIME + "Write": WRITES_AT_ONCE,
    P4RUNTIME + "SetForwardingPipelineConfig": 4,
    P4RUNTIME + "GetForwardingPipelineConfig": 4,
    P4RUNTIME + "Capabilities": 16,
}
_OTHERS_AT_ONCE: Final = 4  # of each method of gNMI, reflection and the manual clock
_SHARE: Final = 2  # of a method's calls, one connection of strangers may have half
_STREAM: Final = P4RUNTIME + "StreamChannel"
_WRITE: Final = P4RUNTIME + "Write"  # its answer is empty
_LARGE: Final = {"Write", "SetForwardingPipelineConfig", "Send"}

_FREE: Final = nullcontext()
log = logging.getLogger(__name__)


class Limits(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Wraps every method of a server. `message_bytes`: of the largest request; `primary_peers`
    returns the connections that have a role's primary. What other clients may take, of each method,
    they may take without these."""

    def __init__(
        self, message_bytes: int = MESSAGE_BYTES, primary_peers: Callable[[], set[str]] = set
    ) -> None:
        self._message_bytes = message_bytes
        self._primary_peers = primary_peers
        self._patience = _Patience()
        self._large = {
            True: threading.BoundedSemaphore(LARGE_AT_ONCE),
            False: threading.BoundedSemaphore(STRANGERS_LARGE_AT_ONCE),
        }
        self._wrappers: dict[str, Any] = {}
        self._awaited = _Slots(
            "any method without a request", UNFINISHED, self._patience, self._favours
        )

    def start(self) -> None:
        """Starts to watch the clients."""
        self._patience.start()

    def stop(self) -> None:
        """Ends what watches them."""
        self._patience.stop()

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """Returns the handler of a method, within limits; None for a method that there isn't."""
        wrapper = self._wrappers.get(details.method)
        if wrapper is None:
            handler = continuation(details)
            if handler is None:
                return None
            wrapper = self._wrappers[details.method] = self._wrapped(details.method, handler)
        return wrapper

    def _wrapped(self, method: str, handler: Any) -> Any:
        """Unary requests are taken as streams of one: gRPC would wait for the message in a worker,
        without a limit."""
        name, number = method.rpartition("/")[2], _AT_ONCE.get(method, _OTHERS_AT_ONCE)
        slots = _Slots(name, number, self._patience, self._favours)
        if handler.response_streaming:
            of_stream = None if method == _STREAM else slots
            behave = (
                self._stream(handler, of_stream)
                if handler.request_streaming
                else self._parts(method, handler, slots)
            )
            return grpc.stream_stream_rpc_method_handler(behave, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(
            self._reply(method, handler, slots), None, handler.response_serializer
        )

    def _stream(self, handler: Any, slots: _Slots | None) -> Any:
        """Returns the wrapped handler of a stream both ways, which itself bounds its duration and
        its queues."""

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with _Refusals(context), slots.held(context) if slots else _FREE:
                messages = (_parsed(handler, data, STREAM_BYTES) for data in requests)
                yield from handler.stream_stream(messages, context)

        return behave

    def _parts(self, method: str, handler: Any, slots: _Slots) -> Any:
        """Returns the wrapped handler of an answer in parts."""
        most = self._most(method)

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with _Refusals(context):
                data = self._received(requests, context)
                with slots.held(context), self._room(data, context):
                    for part in handler.unary_stream(_parsed(handler, data, most), context):
                        self._patience.begin(context)
                        try:
                            yield part
                        finally:
                            self._patience.end(context)

        return behave

    def _reply(self, method: str, handler: Any, slots: _Slots) -> Any:
        """Returns the wrapped handler of an answer in one piece. An answer that may be large counts
        as at work until the client has taken it."""
        most = self._most(method)

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with _Refusals(context):
                data = self._received(requests, context)
                slots.take(context)
                if method == _WRITE:
                    try:
                        with self._room(data, context):
                            return handler.unary_unary(_parsed(handler, data, most), context)
                    finally:
                        slots.release(context)
                if not context.add_callback(lambda: slots.release(context)):
                    slots.release(context)
                    raise RpcError(CANCELLED, "the client has gone")
                with self._room(data, context):
                    replied = handler.unary_unary(_parsed(handler, data, most), context)
                self._patience.begin(context)
                if not context.is_active():  # the callback may have been before
                    slots.release(context)
                return replied

        return behave

    def _favours(self, context: grpc.ServicerContext) -> bool:
        """Returns whether a call is a primary's, or comes by a way that is closed to strangers."""
        peer = peer_of(context)
        return is_private(peer) or peer in self._primary_peers()

    def _room(self, data: bytes, context: grpc.ServicerContext) -> AbstractContextManager[object]:
        """Returns what a request is worked at in: large ones wait for each other, a primary's for
        primaries' alone."""
        return self._large[self._favours(context)] if len(data) > SMALL_BYTES else _FREE

    def _most(self, method: str) -> int:
        """Returns the bytes of a method's largest request."""
        return self._message_bytes if method.rpartition("/")[2] in _LARGE else SMALL_BYTES

    def _received(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Returns a call's one request, as it comes from the wire. Where no front bounds how many
        are awaited, a slot does: each holds a worker."""
        with _FREE if is_bounded(peer_of(context)) else self._awaited.held(context):
            self._patience.begin(context)
            try:
                data = next(requests, None)
            finally:
                self._patience.end(context)
        if data is None:
            raise RpcError(INVALID_ARGUMENT, "there is no request")
        return data


class _Slots:
    """How many calls of a method may be at work, of strangers and as many of primaries; of a
    stranger's connection, its share. One whose client lets the server wait makes room for the next
    of its kind."""

    def __init__(
        self,
        name: str,
        number: int,
        patience: _Patience,
        favours: Callable[[grpc.ServicerContext], bool],
    ) -> None:
        self._name, self._number, self._patience, self._favours = name, number, patience, favours
        self._lock = threading.Lock()
        self._holders: dict[
            grpc.ServicerContext, str
        ] = {}  # with a stranger's connection; empty: a primary's

    def take(self, context: grpc.ServicerContext) -> None:
        """Raises RpcError RESOURCE_EXHAUSTED where there is no room."""
        peer = "" if self._favours(context) else peer_of(context)
        with self._lock:
            self._make_room(
                [c for c, holder in self._holders.items() if bool(holder) == bool(peer)],
                self._number,
            )
            if peer:
                self._make_room(
                    [c for c, holder in self._holders.items() if holder == peer],
                    self._number // _SHARE,
                )
            self._holders[context] = peer

    def _make_room(self, holders: Sequence[grpc.ServicerContext], number: int) -> None:
        if len(holders) < number:
            return
        late = self._patience.latest(holders)
        if late is None:
            raise RpcError(
                RESOURCE_EXHAUSTED, f"{number} calls of {self._name} are at work: try again"
            )
        late.cancel()
        del self._holders[late]

    def release(self, context: grpc.ServicerContext) -> None:
        """The call has ended."""
        self._patience.end(context)
        with self._lock:
            self._holders.pop(context, None)

    @contextmanager
    def held(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Takes one for the block."""
        self.take(context)
        try:
            yield
        finally:
            self.release(context)


class _Patience:
    """Cuts off clients that let the server wait for PEER_S. Any thread may call any method: what
    each call does with the dictionary is one step of the interpreter's."""

    def __init__(self) -> None:
        self._since: dict[grpc.ServicerContext, float] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="p4runtime-patience", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def begin(self, context: grpc.ServicerContext) -> None:
        """From now on the server waits for this client."""
        self._since[context] = time.monotonic()

    def end(self, context: grpc.ServicerContext) -> None:
        """The client has done its part."""
        self._since.pop(context, None)

    def latest(self, contexts: Iterable[grpc.ServicerContext]) -> grpc.ServicerContext | None:
        """Returns the client, of these, that the server has waited for longest; None: it has waited
        for none as long as ROOM_S."""
        all_since = self._since.copy()
        waiting = [(all_since[context], context) for context in contexts if context in all_since]
        since, context = min(waiting, key=lambda item: item[0], default=(math.inf, None))
        return context if time.monotonic() - since >= ROOM_S else None

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(PEER_S / 4):
            now = time.monotonic()
            for context, since in self._since.copy().items():
                if now - since >= PEER_S and self._since.pop(context, None) is not None:
                    log.info("a client is cut off: the switch has waited for it for %g s", PEER_S)
                    context.cancel()  # of an RPC that has ended it does nothing


class _Refusals:
    """Ends an RPC with what its block raises; out of memory is an answer, too."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self._context = context

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        if isinstance(error, RpcError):
            abort_rpc(self._context, error)
        if isinstance(error, MemoryError):
            abort_rpc(self._context, RpcError(RESOURCE_EXHAUSTED, "the switch is out of memory"))


def _parsed(handler: Any, data: bytes, most: int) -> Any:
    """Returns a request or a stream's message. Raises RpcError."""
    if len(data) > most:
        raise RpcError(RESOURCE_EXHAUSTED, f"a message of {len(data)} bytes is larger than {most}")
    _check_memory()
    try:
        return handler.request_deserializer(data)
    except DecodeError as error:
        raise RpcError(INVALID_ARGUMENT, f"the message can't be parsed: {error}") from error


def _check_memory() -> None:
    """Raises RpcError RESOURCE_EXHAUSTED where the address space is nearly at its limit (`ulimit
    -v`): protobuf and gRPC don't look whether malloc gave them something."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    if pages * resource.getpagesize() + SPARE_BYTES > limit:
        raise RpcError(
            RESOURCE_EXHAUSTED,
            f"the switch is out of memory: {limit >> 20} MB (ulimit -v) are nearly used",
        )
