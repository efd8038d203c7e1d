"""Calls that concern the switch as a whole: ports, queues, program, time; and those that are
refused."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Sequence
from typing import Any, Final

from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.options import Options
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.thrift.arrays import ArrayCalls
from pcn.softswitch.thrift.face import Face
from pcn.softswitch.thrift.meters import MeterCalls
from pcn.softswitch.thrift.profiles import ProfileCalls
from pcn.softswitch.thrift.replication import MirrorCalls, ReplicationCalls

log = logging.getLogger("pcn.softswitch")

_RESOURCES: Final = (
    "tables",
    "action_profiles",
    "counter_arrays",
    "meter_arrays",
    "register_arrays",
    "learn_lists",
)
"""Of the JSON, by bm_get_id_from_name's number."""
_IN_PIPELINES: Final = 2  # of these stand in pipelines


class Standard(MeterCalls, ProfileCalls, ArrayCalls):
    """The service "standard"."""

    def __init__(
        self,
        service: Service,
        native: NativeSwitch,
        options: Options,
        groups: ReplicationCalls,
        port: int,
    ) -> None:
        super().__init__(service)
        self._native = native
        self._options = options
        self._replication = groups
        self._port = port
        self._ports = {number: interface or "" for number, interface in options.interfaces}

    # ---- ports ----

    def bm_dev_mgr_add_port(self, interface: str, port: int, _pcap: str) -> None:
        """Adds only what the command line names: a client may be any user of the machine, the
        switch root's."""
        named = {name for _, name in self._options.interfaces} | set(
            self._options.thrift_interfaces
        )
        if interface not in named:
            log.warning(
                "no port for interface %r: the command line doesn't name it (--thrift-interface)",
                interface,
            )
            raise self.idl.PortFailure(1)
        try:
            self._native.port_add(port, interface)
        except (NativeError, ValueError):
            raise self.idl.PortFailure(1) from None
        self._ports[port] = interface

    def bm_dev_mgr_remove_port(self, port: int) -> None:
        try:
            self._native.port_remove(port)
        except (NativeError, ValueError):
            raise self.idl.PortFailure(1) from None
        self._ports.pop(port, None)

    def bm_dev_mgr_show_ports(self) -> list[Any]:
        return [
            self.idl.Port(port, interface, bool(self._native.port_stats(port).up), {})
            for port, interface in sorted(self._ports.items())
        ]

    # ---- the program ----

    def bm_get_config(self) -> str:
        return self.service.program_locally()

    def bm_get_config_md5(self) -> bytes:
        return hashlib.md5(self.bm_get_config().encode(), usedforsecurity=False).digest()

    def bm_get_id_from_name(self, _context: int, kind: int, name: str) -> int:
        if not 0 <= kind < len(_RESOURCES):
            raise self.idl.LookupFailure(0)
        program = json.loads(self.bm_get_config() or "{}")
        places = program.get("pipelines", []) if kind < _IN_PIPELINES else [program]
        for thing in (thing for place in places for thing in place.get(_RESOURCES[kind], [])):
            if thing["name"] == name:
                return int(thing["id"])
        raise self.idl.LookupFailure(1)

    def bm_reset_state(self) -> None:
        try:
            self.service.reset_locally()
        except RpcError:
            return
        self._replication.forget()
        self._of_later().clear()

    def bm_mgmt_get_info(self) -> Any:
        return self.idl.Config(self._options.device_id, self._port)

    # ---- what this switch lacks ----

    def bm_load_new_config(self, _config: str) -> None:
        raise self.idl.SwapFailure(1)

    def bm_swap_configs(self) -> None:
        raise self.idl.SwapFailure(1)

    def bm_set_crc16_custom_parameters(self, _context: int, _name: str, _config: Any) -> None:
        raise self.idl.CrcFailure(3)

    def bm_set_crc32_custom_parameters(self, _context: int, _name: str, _config: Any) -> None:
        raise self.idl.CrcFailure(3)

    def bm_set_toeplitz_hash_key(self, _context: int, _name: str, _key: bytes) -> None:
        raise self.idl.ToeplitzFailure(3)

    def bm_learning_ack(
        self, _context: int, _digest: int, _buffer: int, _samples: Sequence[int]
    ) -> None:
        raise self.idl.LearnFailure(3)

    def bm_learning_ack_buffer(self, _context: int, _digest: int, _buffer: int) -> None:
        raise self.idl.LearnFailure(3)

    def bm_learning_set_timeout(self, _context: int, _digest: int, _timeout_ms: int) -> None:
        raise self.idl.LearnFailure(3)

    def bm_learning_set_buffer_size(self, _context: int, _digest: int, _samples: int) -> None:
        raise self.idl.LearnFailure(3)

    def bm_serialize_state(self) -> str:
        return "{}"


class SimpleSwitch(MirrorCalls):
    """The service "simple_switch": rates of queues are in packets/s, beside those of links, which
    are in bit/s."""

    def __init__(self, service: Service, native: NativeSwitch, options: Options) -> None:
        super().__init__(service)
        self._native = native
        self._log = logging.getLogger(f"pcn.softswitch.{options.device_id}")

    def set_egress_queue_depth(self, port: int, packets: int) -> int:
        return self._set(port, None, depth=packets)

    def set_all_egress_queue_depths(self, packets: int) -> int:
        return self._set(None, None, depth=packets)

    def set_egress_priority_queue_depth(self, port: int, queue: int, packets: int) -> int:
        return self._set(port, queue, depth=packets)

    def set_egress_queue_rate(self, port: int, packets_per_second: int) -> int:
        return self._set(port, None, rate_pps=packets_per_second)

    def set_egress_priority_queue_rate(self, port: int, queue: int, packets_per_second: int) -> int:
        return self._set(port, queue, rate_pps=packets_per_second)

    def set_all_egress_queue_rates(self, packets_per_second: int) -> int:
        return self._set(None, None, rate_pps=packets_per_second)

    def _set(self, port: int | None, queue: int | None, **to: int) -> int:
        """Returns BMv2's status. None: all."""
        try:
            if (
                min(*(number for number in (port, queue) if number is not None), *to.values(), 0)
                < 0
            ):
                raise ValueError("a number is negative")
            self._native.set_queue(port, queue, **to)
        except (NativeError, ValueError) as error:
            self._log.warning("queue %s of port %s stays as it is: %s", queue, port, error)
            return 1
        return 0

    def get_time_elapsed_us(self) -> int:
        return self._native.now_ns // 1000

    def get_time_since_epoch_us(self) -> int:
        return time.time_ns() // 1000


class PlainReplication(Face):
    """The service "simple_pre": the same groups, without LAGs."""

    def __init__(self, groups: ReplicationCalls) -> None:
        super().__init__(groups.service)
        self._replication = groups

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("bm_mc_"):
            raise AttributeError(name)
        return getattr(self._replication, name)
