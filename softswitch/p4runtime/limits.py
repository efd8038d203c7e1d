"""What clients may take of the server: bytes a request, RPCs at once, the time that they let it wait, memory.

A client reaches these bounds without being primary, or having a certificate, so each is checked before the service
reads a request. What exceeds one is RESOURCE_EXHAUSTED; a client that lets the server wait too long is cut off
(CANCELLED)."""

from __future__ import annotations

import logging
import math
import resource
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from pcn.softswitch.p4runtime.errors import CANCELLED, INVALID_ARGUMENT, RESOURCE_EXHAUSTED, RpcError, abort_rpc
from pcn.softswitch.values import MESSAGE_BYTES

SMALL_BYTES: Final = 1 << 20  # of one that carries no configuration, no batch of writes and no frames
STREAM_BYTES: Final = 128 << 10  # of a stream's message: a packet, or a claim with its role's configuration
LARGE_AT_ONCE: Final = 2  # requests above SMALL_BYTES: parsed, one can be 30 times as large
PEER_S: Final = 10.0  # to send a request, and to take the next part of an answer
ROOM_S: Final = 1.0  # the same, where another call needs the room
SPARE_BYTES: Final = 128 << 20  # of address space, where it has a limit

P4RUNTIME: Final = "/p4.v1.P4Runtime/"
READS_AT_ONCE: Final = 16
# Of P4Runtime's methods; the others' below. Writes wait in the pool: controllers send many at once, and each ends.
_AT_ONCE: Final = {
    P4RUNTIME + "Read": READS_AT_ONCE,
    P4RUNTIME + "SetForwardingPipelineConfig": 4,
    P4RUNTIME + "GetForwardingPipelineConfig": 4,
}
_OTHERS_AT_ONCE: Final = 4  # of each method of gNMI, reflection and the manual clock
_LARGE: Final = {"Write", "SetForwardingPipelineConfig", "Send"}

_FREE: Final = nullcontext()
log = logging.getLogger(__name__)


class Limits(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Wraps every method of a server. `message_bytes`: of the largest request."""

    def __init__(self, message_bytes: int = MESSAGE_BYTES) -> None:
        self._message_bytes = message_bytes
        self._patience = _Patience()
        self._large = threading.BoundedSemaphore(LARGE_AT_ONCE)
        self._wrappers: dict[str, Any] = {}

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
        """Unary requests are taken as streams of one: gRPC would wait for the message in a worker, without a limit."""
        slots = None
        if method in _AT_ONCE or not method.startswith(P4RUNTIME):
            slots = _Slots(method.rpartition("/")[2], _AT_ONCE.get(method, _OTHERS_AT_ONCE), self._patience)
        if handler.response_streaming:
            behave = self._stream(handler, slots) if handler.request_streaming else self._parts(method, handler, slots)
            return grpc.stream_stream_rpc_method_handler(behave, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(
            self._reply(method, handler, slots), None, handler.response_serializer
        )

    def _stream(self, handler: Any, slots: _Slots | None) -> Any:
        """Returns the wrapped handler of a stream both ways, which itself bounds its duration and its queues."""

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with _Refusals(context), slots.held(context) if slots else _FREE:
                messages = (_parsed(handler, data, STREAM_BYTES) for data in requests)
                yield from handler.stream_stream(messages, context)

        return behave

    def _parts(self, method: str, handler: Any, slots: _Slots | None) -> Any:
        """Returns the wrapped handler of an answer in parts."""
        most = self._most(method)

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[Any]:
            with _Refusals(context), slots.held(context) if slots else _FREE:
                data = self._received(requests, context)
                with self._large if len(data) > SMALL_BYTES else _FREE:
                    for part in handler.unary_stream(_parsed(handler, data, most), context):
                        self._patience.begin(context)
                        try:
                            yield part
                        finally:
                            self._patience.end(context)

        return behave

    def _reply(self, method: str, handler: Any, slots: _Slots | None) -> Any:
        """Returns the wrapped handler of an answer in one piece. A large answer counts as at work until the client has
        taken it."""
        most = self._most(method)

        def reply(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            data = self._received(requests, context)
            with self._large if len(data) > SMALL_BYTES else _FREE:
                return handler.unary_unary(_parsed(handler, data, most), context)

        def behave(requests: Iterator[bytes], context: grpc.ServicerContext) -> Any:
            with _Refusals(context):
                if slots is None:
                    return reply(requests, context)
                slots.take(context)
                if not context.add_callback(lambda: slots.release(context)):
                    slots.release(context)
                    raise RpcError(CANCELLED, "the client has gone")
                replied = reply(requests, context)
                self._patience.begin(context)
                if not context.is_active():  # the callback may have been before
                    slots.release(context)
                return replied

        return behave

    def _most(self, method: str) -> int:
        """Returns the bytes of a method's largest request."""
        return self._message_bytes if method.rpartition("/")[2] in _LARGE else SMALL_BYTES

    def _received(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """Returns a call's one request, as it comes from the wire."""
        self._patience.begin(context)
        try:
            data = next(requests, None)
        finally:
            self._patience.end(context)
        if data is None:
            raise RpcError(INVALID_ARGUMENT, "there is no request")
        return data


class _Slots:
    """How many calls of a method may be at work. One whose client lets the server wait makes room for the next."""

    def __init__(self, name: str, number: int, patience: _Patience) -> None:
        self._name, self._number, self._patience = name, number, patience
        self._lock = threading.Lock()
        self._holders: set[grpc.ServicerContext] = set()

    def take(self, context: grpc.ServicerContext) -> None:
        """Raises RpcError RESOURCE_EXHAUSTED where there is no room."""
        with self._lock:
            if len(self._holders) >= self._number:
                late = self._patience.latest(self._holders)
                if late is None:
                    raise RpcError(RESOURCE_EXHAUSTED, f"{self._number} calls of {self._name} are at work: try again")
                late.cancel()
                self._holders.discard(late)
            self._holders.add(context)

    def release(self, context: grpc.ServicerContext) -> None:
        """The call has ended."""
        self._patience.end(context)
        with self._lock:
            self._holders.discard(context)

    @contextmanager
    def held(self, context: grpc.ServicerContext) -> Iterator[None]:
        """Takes one for the block."""
        self.take(context)
        try:
            yield
        finally:
            self.release(context)


class _Patience:
    """Cuts off clients that let the server wait for PEER_S. Any thread may call any method: what each call does with
    the dictionary is one step of the interpreter's."""

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
        """Returns the client, of these, that the server has waited for longest; None: it has waited for none as long as
        ROOM_S."""
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
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
    """Raises RpcError RESOURCE_EXHAUSTED where the address space is nearly at its limit (`ulimit -v`): protobuf and
    gRPC don't look whether malloc gave them something."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    if pages * resource.getpagesize() + SPARE_BYTES > limit:
        raise RpcError(RESOURCE_EXHAUSTED, f"the switch is out of memory: {limit >> 20} MB (ulimit -v) are nearly used")
