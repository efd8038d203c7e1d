"""A client of a switch process by BMv2's runtime interface over Thrift, with names of
programs/bench.p4."""

import socket
from typing import Any

import pytest
import thriftpy2.protocol
import thriftpy2.transport
from p4rt_process import Process
from thriftpy2.thrift import TClient

from pcn.softswitch.thrift import idl

L2, FORWARD, DROP = "BenchIngress.l2", "BenchIngress.forward", "BenchIngress.drop"
TYPES = idl.load()
LIMIT_S = 60.0


class Bmv2:
    """A client of a switch process that runs a program of its command line. `live`: without ports,
    on the live clock, and without a program."""

    def __init__(self, *arguments: str, live: bool = False):
        ports = [word for port in (1, 2, 3) for word in ("-i", str(port))]
        clock = ["--no-p4"] if live else ["--clock", "manual", *ports]
        self.process = Process(*clock, "--thrift-port", "0", *arguments)
        (line,) = [line for line in self.process.lines if "runtime interface" in line]
        self.port = int(line.rpartition(":")[2])
        self._open: list[Any] = []
        self._clients: dict[str, Any] = {}

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(LIMIT_S)
        self._open.append(connection)
        return connection

    def service(self, name: str, service):
        """A client, which all tests share."""
        if name not in self._clients:
            self._clients[name] = self._client(name, service)
        return self._clients[name]

    def _client(self, name: str, service):
        transport = thriftpy2.transport
        protocol = thriftpy2.protocol
        buffered = transport.TBufferedTransport(transport.TSocket(sock=self.connect()))
        return TClient(
            service, protocol.TMultiplexedProtocol(protocol.TBinaryProtocol(buffered), name)
        )

    def standard(self):
        return self.service("standard", TYPES.Standard)

    def close(self):
        for connection in self._open:
            connection.close()
        assert self.process.end() == 0


def exact(*values: int, size: int = 6) -> list[Any]:
    kinds = TYPES.MatchKind
    return [
        TYPES.Match(kinds.EXACT, exact=TYPES.Exact(value.to_bytes(size, "big"))) for value in values
    ]


def port(number: int) -> list[bytes]:
    return [number.to_bytes(2, "big")]


def add(standard, destination: int, out: int = 2) -> int:
    return int(
        standard.bm_mt_add_entry(0, L2, exact(destination), FORWARD, port(out), TYPES.Options())
    )


def code(call) -> int:
    with pytest.raises(TYPES.TableFailure) as raised:
        call()
    return int(raised.value.code)
