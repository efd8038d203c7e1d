"""Connections of Thrift's clients: a thread each, messages of a bounded size, services by name.

What a client sends ends its own connection at most.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import socket
import threading
from typing import Any, Final, cast

from pcn.base.seats import Seats, shut
from pcn.softswitch.errors import StartError
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.options import Options
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.thrift import idl
from pcn.softswitch.thrift.replication import ReplicationCalls
from pcn.softswitch.thrift.switch import PlainReplication, SimpleSwitch, Standard

ADDRESS: Final = "127.0.0.1"
MOST_CONNECTIONS: Final = 32
MOST_BYTES: Final = 1_000_000  # of a message
MOST_PARTS: Final = (
    20_000  # of a message: its numbers, texts and ends of lists; an entry's match has some hundred
)
MESSAGE_S: Final = 10.0  # in which a message comes that has begun, and an answer is taken
NO_DESCRIPTORS_S: Final = 0.1

log = logging.getLogger("pcn.softswitch")


class ThriftServer:
    """Serves from `start` on, until `stop`. Raises StartError where the port is in use, or
    thriftpy2 missing."""

    def __init__(self, service: Service, native: NativeSwitch, options: Options, port: int) -> None:
        types = idl.load()
        try:
            self._socket = socket.create_server((ADDRESS, port))
        except OSError as error:
            raise StartError(f"--thrift-port {port}: {error.strerror}") from error
        self.port: int = self._socket.getsockname()[1]
        groups = ReplicationCalls(service)
        handlers: dict[str, tuple[Any, Any]] = {
            "standard": (types.Standard, Standard(service, native, options, groups, self.port)),
            "simple_pre_lag": (types.SimplePreLAG, groups),
            "simple_pre": (types.SimplePre, PlainReplication(groups)),
            "simple_switch": (types.SimpleSwitch, SimpleSwitch(service, native, options)),
        }
        self._services = handlers
        self._calls = threading.Lock()  # a call of several steps is one for other clients
        self._seats = Seats[socket.socket](MOST_CONNECTIONS, shut)
        self._ending = threading.Event()
        self._acceptor = threading.Thread(target=self._accept, name="thrift", daemon=True)

    def start(self) -> None:
        """Takes connections."""
        self._acceptor.start()

    def stop(self) -> None:
        """Ends all connections."""
        self._ending.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connection in self._seats.holders():
            shut(connection)
        if self._acceptor.is_alive():
            self._acceptor.join()

    def _accept(self) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError as error:
                if error.errno not in (
                    errno.EMFILE,
                    errno.ENFILE,
                    errno.ENOMEM,
                    errno.ENOBUFS,
                    errno.ECONNABORTED,
                ):
                    return
                self._ending.wait(NO_DESCRIPTORS_S)
                continue
            if not self._seats.take(connection):
                connection.close()
                continue
            try:
                threading.Thread(
                    target=self._serve, args=(connection,), name="thrift", daemon=True
                ).start()
            except RuntimeError:  # no more threads
                self._seats.leave(connection)
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        from thriftpy2.protocol import binary

        transport = _Transport(connection)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            protocol = cast(Any, binary).TBinaryProtocol(transport)
            while True:
                transport.begin()
                self._answer(protocol, connection)
                self._seats.work(connection, busy=False)
        except Exception as error:  # whatever a client sends
            log.debug("a Thrift connection ended: %r", error)
        finally:
            self._seats.leave(connection)
            transport.close()
            connection.close()

    def _answer(self, protocol: Any, connection: socket.socket) -> None:
        from thriftpy2.thrift import TApplicationException, TMessageType

        name, kind, number = protocol.read_message_begin()
        service_name, _, call = name.partition(":") if ":" in name else ("standard", ":", name)
        service, handler = self._services.get(service_name, (None, None))
        if service is None or call not in service.thrift_services or kind != TMessageType.CALL:
            raise ConnectionError(f"no such call: {name!r}")
        arguments = getattr(service, f"{call}_args")()
        arguments.read(protocol)
        self._seats.work(connection)
        result = getattr(service, f"{call}_result")()
        reply = TMessageType.REPLY
        try:
            values = [getattr(arguments, spec[1]) for spec in arguments.thrift_spec.values()]
            with self._calls:
                result.success = getattr(handler, call)(*values)
        except Exception as error:
            failure = next(
                (spec[1] for spec in result.thrift_spec.values() if _is_failure(spec, error)), None
            )
            if failure is not None:
                setattr(result, failure, error)
            else:
                if not isinstance(error, RpcError):
                    log.warning("Thrift call %s: %r", call, error)
                text = error.message if isinstance(error, RpcError) else repr(error)
                result, reply = (
                    TApplicationException(TApplicationException.INTERNAL_ERROR, text),
                    TMessageType.EXCEPTION,
                )
        protocol.write_message_begin(call, reply, number)
        result.write(protocol)
        protocol.write_message_end()
        protocol.trans.flush()


def _is_failure(spec: Any, error: Exception) -> bool:
    """Returns whether a call declares that it throws this."""
    return spec[1] != "success" and isinstance(spec[2], type) and isinstance(error, spec[2])


class _Transport:
    """A connection as thriftpy2 reads and writes it; a message has at most MOST_BYTES and
    MOST_PARTS."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._in = connection.makefile("rb")
        self._out = connection.makefile("wb")
        self.begin()

    def close(self) -> None:
        """Closes both streams, without which the connection stays open: a call's failure refers to
        them, by its traceback, until the garbage collector comes."""
        for stream in (self._in, self._out):
            with contextlib.suppress(OSError):
                stream.close()

    def begin(self) -> None:
        """The next message begins, whenever its client likes."""
        self._left, self._parts = MOST_BYTES, MOST_PARTS
        self._connection.settimeout(None)

    def read(self, size: int) -> bytes:
        if not 0 <= size <= self._left or self._parts == 0:
            raise ConnectionError(
                f"a message of more than {MOST_BYTES} bytes, or {MOST_PARTS} parts"
            )
        self._left -= size
        self._parts -= 1
        data = self._in.read(size)
        if len(data) < size:
            raise EOFError
        if self._parts == MOST_PARTS - 1:
            self._connection.settimeout(MESSAGE_S)
        return data

    def write(self, data: bytes) -> None:
        self._out.write(data)

    def flush(self) -> None:
        self._out.flush()
