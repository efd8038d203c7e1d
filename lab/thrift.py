"""BMv2's Thrift server: registers, queue depth and rate, ports that come and go. The calls are
those of softswitch/thrift/bmv2.thrift.

The server listens on the loopback of its switch's network namespace.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import thriftpy2
import thriftpy2.protocol
import thriftpy2.transport
from thriftpy2.thrift import TClient, TException

from pcn.base.namespaces import in_namespace
from pcn.controller.errors import SwitchError
from pcn.softswitch.thrift import idl

_CALL_LIMIT_S = 20.0
_CONTEXT = 0  # simple_switch has one


class Bmv2Thrift:
    """A connection to one switch; `pcn.lab.target.RegisterAccess`. Raises SwitchError."""

    def __init__(self, name: str, connection: socket.socket) -> None:
        # thriftpy2 has types for some of itself only.
        types = idl.load()
        transports: Any = thriftpy2.transport
        protocols: Any = thriftpy2.protocol
        self._name = name
        self._transport = transports.TBufferedTransport(transports.TSocket(sock=connection))
        protocol = protocols.TBinaryProtocol(self._transport)
        self._standard: Any = TClient(
            types.Standard, protocols.TMultiplexedProtocol(protocol, "standard")
        )
        self._simple_switch: Any = TClient(
            types.SimpleSwitch, protocols.TMultiplexedProtocol(protocol, "simple_switch")
        )

    @classmethod
    def connect(cls, namespace_pid: int, port: int, name: str = "bmv2") -> Bmv2Thrift:
        """Connects to 127.0.0.1:port as it is in the namespace of a process."""
        connection = in_namespace(
            namespace_pid, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        )
        try:
            connection.settimeout(_CALL_LIMIT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.connect(("127.0.0.1", port))
        except OSError as error:
            connection.close()
            raise SwitchError(
                f"{name}: no Thrift server answers at port {port} of its namespace: {error}"
            ) from None
        return cls(name, connection)

    def __enter__(self) -> Bmv2Thrift:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    def read(self, name: str, index: int) -> int:
        return int(
            self._call(f"reading {name}[{index}]", self._standard.bm_register_read, name, index)
        )

    def read_all(self, name: str) -> list[int]:
        return [
            int(cell)
            for cell in self._call(f"reading {name}", self._standard.bm_register_read_all, name)
        ]

    def _call(self, operation: str, method: Any, *arguments: Any) -> Any:
        try:
            return method(_CONTEXT, *arguments)
        except (TException, OSError) as error:
            raise SwitchError(f"{self._name}: {operation} over Thrift failed: {error!r}") from None

    def set_queue_depth(self, port: int, packets: int) -> None:
        self._set(
            f"depth of port {port}",
            partial(self._simple_switch.set_egress_queue_depth, port),
            packets,
        )

    def set_queue_rate(self, port: int, packets_per_second: int) -> None:
        """Sets the rate of each of a port's queues."""
        self._set(
            f"rate of port {port}",
            partial(self._simple_switch.set_egress_queue_rate, port),
            packets_per_second,
        )

    def set_class_rate(self, port: int, traffic_class: int, packets_per_second: int) -> None:
        """Sets the rate of one class's queue."""
        method = self._simple_switch.set_egress_priority_queue_rate
        self._set(
            f"rate of port {port} class {traffic_class}",
            partial(method, port, traffic_class),
            packets_per_second,
        )

    def ports(self) -> set[int]:
        return {
            port.port_num
            for port in self._port("reading the ports", self._standard.bm_dev_mgr_show_ports)
        }

    def add_port(self, port: int, interface: str) -> None:
        self._port(
            f"adding port {port} ({interface})",
            self._standard.bm_dev_mgr_add_port,
            interface,
            port,
            "",
        )

    def remove_port(self, port: int) -> None:
        self._port(f"removing port {port}", self._standard.bm_dev_mgr_remove_port, port)

    def _port(self, operation: str, method: Any, *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (TException, OSError) as error:
            raise SwitchError(f"{self._name}: {operation} over Thrift failed: {error!r}") from None

    def _set(self, setting: str, method: Callable[[int], int], value: int) -> None:
        try:
            status = method(value)
        except (TException, OSError) as error:
            raise SwitchError(f"{self._name}: setting queue {setting} failed: {error!r}") from None
        if status != 0:
            raise SwitchError(f"{self._name}: setting queue {setting} failed with status {status}")
