"""The gRPC server that offers the P4Runtime service."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any

import grpc

from pcn.base import owner_only
from pcn.base.p4rt import p4r_grpc
from pcn.softswitch.p4runtime.arbitration import MAX_SESSIONS, MAX_SILENT
from pcn.softswitch.p4runtime.front import CONNECTIONS, UNFINISHED, Front, FrontError
from pcn.softswitch.p4runtime.limits import READS_AT_ONCE, WRITES_AT_ONCE, Limits
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.values import MESSAGE_BYTES

# A stream holds one as long as it lives, a Read as long as it is read, a Write while others are at
# work, and a request until it is whole; the rest is for the other methods, and for primaries.
WORKERS = MAX_SESSIONS + MAX_SILENT + 2 * READS_AT_ONCE + WRITES_AT_ONCE + UNFINISHED + 64
CALLS = 128  # of one connection at once; a client's further ones wait at the client
WINDOW = 64 << 10  # bytes that a call may send before its request is awaited
HANDSHAKE_MS = 5000
READ_AT_ONCE = 256 << 10  # bytes, for which each connection has room
STOP_S = 2.0  # what RPCs under way get to finish, and what workers then get

log = logging.getLogger(__name__)


class ServerError(Exception):
    """The server cannot listen."""


@dataclass(frozen=True)
class Tls:
    """PEM contents. With `client_ca`, clients need a certificate that it signed."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None


class Server:
    """Serves a Service, and what `others` handle, at `address` (HOST:PORT, port 0: any free one; or
    unix:PATH, which the switch's own user alone may open). A context manager. `message_bytes`: of
    the largest request.

    Leaving it waits for RPCs in progress, for a limited time: `busy` is set if one still runs.

    Raises ServerError.
    """

    def __init__(
        self,
        service: Service,
        address: str,
        tls: Tls | None = None,
        others: Sequence[grpc.GenericRpcHandler] = (),
        message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        self._service = service
        self._ended: threading.Event | None = None
        self._pool = _Pool(WORKERS)
        self._limits = Limits(message_bytes, service.primary_peers)
        self._message_bytes = message_bytes
        self.busy = False
        self._server = grpc.server(
            self._pool,
            interceptors=[self._limits],
            options=[
                (
                    "grpc.so_reuseport",
                    0,
                ),  # or a second switch would share the port and each get some of the clients
                ("grpc.max_receive_message_length", message_bytes),
                ("grpc.max_concurrent_streams", CALLS),
                (
                    "grpc.max_allowed_incoming_connections",
                    2 * CONNECTIONS,
                ),  # which a front keeps below
                ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
                ("grpc.http2.bdp_probe", 0),  # or the window grows with what a client sends
                ("grpc.http2.lookahead_bytes", WINDOW),
                ("grpc.experimental.tcp_max_read_chunk_size", READ_AT_ONCE),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 5000),
            ],
        )
        self._server.add_generic_rpc_handlers((p4r_grpc.handler(service),))
        if service.clock:
            # late: no switch on the live clock waits for it
            from pcn.softswitch.p4runtime.clock_service import (
                handler,
            )

            self._server.add_generic_rpc_handlers((handler(service.clock),))
        self._server.add_generic_rpc_handlers(tuple(others))
        self._front: Front | None = None
        try:
            self.port = self._listen(address, tls)
        except FrontError as error:
            self._pool.shutdown()
            raise ServerError(f"cannot listen on {address}: {error}") from None
        if not self.port:
            self._pool.shutdown()
            faults = "the address is in use, or not this machine's"
            if address.startswith("unix:"):
                faults = "its folder is missing or another user's, or there is a file of this name"
            if tls is not None:
                faults += ", or its PEM files are bad"
            raise ServerError(f"cannot listen on {address}: {faults}")
        self.address = (
            address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{self.port}"
        )

    def _listen(self, address: str, tls: Tls | None) -> int:
        """Returns the port; 0: it can't listen."""
        try:
            with owner_only.unshared():  # of a Unix socket: it listens as soon as it is made
                if tls is None and address.startswith("unix:"):
                    return int(self._server.add_insecure_port(address))
                if tls is None:
                    self._front = Front(self._service.library, address, self._message_bytes)
                    self._service.on_primaries = self._front.favour
                    return (
                        self._front.port
                        if self._front.listen(self._server.add_insecure_port)
                        else 0
                    )
                credentials = grpc.ssl_server_credentials(
                    [(tls.key, tls.certificate)],
                    root_certificates=tls.client_ca,
                    require_client_auth=tls.client_ca is not None,
                )
                return int(self._server.add_secure_port(address, credentials))
        except RuntimeError:
            return 0

    def __enter__(self) -> Server:
        self._service.start()
        self._limits.start()
        self._server.start()
        if self._front is not None:
            self._front.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.end().wait(2 * STOP_S)
        self._limits.stop()
        if self._front is not None:
            self._front.close()
        ending = threading.Thread(target=self._pool.shutdown, daemon=True)  # waits for the workers
        ending.start()
        ending.join(STOP_S)
        self.busy = ending.is_alive()

    def end(self) -> threading.Event:
        """Begins to end: no new RPCs. The event is set when those under way have ended."""
        if self._ended is None:
            if self._front is not None:
                self._front.refuse()
            self._service.stop()
            self._ended = self._server.stop(STOP_S)
        return self._ended


class _Pool(Executor):
    """Runs calls in threads that it starts as they are needed, up to a number. It makes do with
    those that it has where the system gives no more: gRPC's own thread would end of the error, and
    the server be deaf.

    No caller awaits a result, so a call has no future, with a lock and a condition."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._threads: list[threading.Thread] = []
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = Future[Any]()
        self._started.set_result(None)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Returns a future that is done already. gRPC's thread alone calls it."""
        self._calls.put(partial(fn, *args, **kwargs))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._workers:
            self._add_worker()
        return self._started

    def _add_worker(self) -> None:
        worker = threading.Thread(target=self._work, name="p4runtime", daemon=True)
        try:
            worker.start()
        except RuntimeError:
            if not self._threads:
                raise
            log.warning(
                "the system gives the switch no more threads: it goes on with those that it has"
            )
            return
        self._threads.append(worker)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:
                log.exception("a call failed")
            del call  # with its message
            self._idle.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for _ in self._threads:
            self._calls.put(None)
        for worker in self._threads if wait else ():
            worker.join()
