"""The gRPC server that offers the P4Runtime service."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType

import grpc
from finsy.proto import p4r_grpc

from softswitch import private
from softswitch.p4runtime.arbitration import MAX_SESSIONS
from softswitch.p4runtime.service import Service

WORKERS = MAX_SESSIONS + 16  # a stream holds one as long as it lives
STOP_S = 2.0  # what RPCs under way get to finish

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
    """Serves a Service, and what `others` handle, at `address` (HOST:PORT, port 0: any free one; or unix:PATH). A
    context manager.

    Raises ServerError.
    """

    def __init__(
        self, service: Service, address: str, tls: Tls | None = None, others: Sequence[grpc.GenericRpcHandler] = ()
    ) -> None:
        self._service = service
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="p4runtime")
        self._server = grpc.server(
            self._pool,
            options=[
                ("grpc.so_reuseport", 0),  # or a second switch would share the port and each get some of the clients
                ("grpc.max_receive_message_length", -1),  # device configurations and batches are larger than 4 MiB
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.min_ping_interval_without_data_ms", 5000),
            ],
        )
        p4r_grpc.add_P4RuntimeServicer_to_server(service, self._server)
        if service.clock:
            from softswitch.p4runtime.clock_service import handler  # late: no switch on the live clock waits for it

            self._server.add_generic_rpc_handlers((handler(service.clock),))
        self._server.add_generic_rpc_handlers(tuple(others))
        try:
            with private.unshared():  # of a Unix socket: it listens as soon as it is made
                self.port = self._listen(address, tls)
        except RuntimeError:
            self.port = 0
        if not self.port:
            self._pool.shutdown()
            faults = "the address is in use, or not this machine's" + (
                "" if tls is None else ", or its PEM files are bad"
            )
            raise ServerError(f"cannot listen on {address}: {faults}")
        self.address = address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{self.port}"

    def _listen(self, address: str, tls: Tls | None) -> int:
        if tls is None:
            return int(self._server.add_insecure_port(address))
        credentials = grpc.ssl_server_credentials(
            [(tls.key, tls.certificate)],
            root_certificates=tls.client_ca,
            require_client_auth=tls.client_ca is not None,
        )
        return int(self._server.add_secure_port(address, credentials))

    def __enter__(self) -> Server:
        self._service.start()
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._service.stop()
        self._server.stop(STOP_S).wait()
        self._pool.shutdown()
