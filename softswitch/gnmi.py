"""Serves the counters of a port's interface by gNMI, at P4Runtime's address: P4Runtime has no such
counters.

Get of openconfig-interfaces, `/interfaces/interface[name=s0-eth3]/state/...` (a name of `*`: all):
`name`, `id` (the port's number), `oper-status` (UP or DOWN) and `counters/` in-pkts, in-octets,
in-discards, out-pkts, out-octets, out-discards, since the switch started; and `queued-pkts`, which
OpenConfig lacks: packets that wait in the port's queues now. In-discards: frames that the switch
was too slow for, or had no program for; out-discards: a full queue, a link that was down, an
interface that refused. Only leaves are returned, as PROTO or JSON.

What isn't here is UNIMPLEMENTED, not NOT_FOUND, which is for interfaces: clients that would use
more (a list of ports: ifindex, Subscribe) do without, as they do where there is no gNMI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pcn.base.p4rt import gnmi
from pcn.softswitch.native import NativeSwitch, PortStats
from pcn.softswitch.p4runtime.calls import Call, Kind, Method
from pcn.softswitch.p4runtime.errors import (
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
)

SERVICE = "gnmi.gNMI"
VERSION = "0.10.0"
MAX_LEAVES = 20_000  # of an answer: four times those of 512 ports
MODEL = ("openconfig-interfaces", "OpenConfig working group", "3.0.0")
_ROOT = ("interfaces", "interface", "state")

# By path below state: of a port's number, interface and counts.
_LEAVES: dict[tuple[str, ...], Callable[[int, str, PortStats], int | str]] = {
    ("name",): lambda _port, interface, _stats: interface,
    ("id",): lambda port, _interface, _stats: port,
    ("oper-status",): lambda _port, _interface, stats: "UP" if stats.up else "DOWN",
    ("queued-pkts",): lambda _port, _interface, stats: sum(stats.queue_packets),
    ("counters", "in-pkts"): lambda _port, _interface, stats: stats.rx_packets,
    ("counters", "in-octets"): lambda _port, _interface, stats: stats.rx_bytes,
    ("counters", "in-discards"): lambda _port, _interface, stats: stats.rx_dropped,
    ("counters", "out-pkts"): lambda _port, _interface, stats: stats.tx_packets,
    ("counters", "out-octets"): lambda _port, _interface, stats: stats.tx_bytes,
    ("counters", "out-discards"): lambda _port, _interface, stats: (
        stats.tx_dropped + stats.queue_dropped
    ),
}


class Gnmi:
    """Answers for the ports (number, interface) of a switch."""

    def __init__(self, native: NativeSwitch, ports: Sequence[tuple[int, str]]) -> None:
        self._native = native
        self._ports = ports

    def methods(self) -> Iterator[Method]:
        """Yields the methods that a server has of it."""
        for name, handler, message in (
            ("Get", self._get, "GetRequest"),
            ("Capabilities", self._capabilities, "CapabilityRequest"),
        ):
            yield Method(f"/{SERVICE}/{name}", Kind.UNARY, handler, self._reader(message))

    def _reader(self, message: str) -> Any:
        # the messages are loaded with the first request
        return lambda data: getattr(gnmi, message).FromString(data)

    def _capabilities(self, _request: gnmi.CapabilityRequest, _call: Call) -> Any:
        name, organization, version = MODEL
        model = gnmi.ModelData(name=name, organization=organization, version=version)
        encodings = [gnmi.Encoding.JSON, gnmi.Encoding.PROTO]
        return gnmi.CapabilityResponse(
            supported_models=[model], supported_encodings=encodings, gNMI_version=VERSION
        )

    def _get(self, request: gnmi.GetRequest, _call: Call) -> Any:
        if request.encoding not in (gnmi.Encoding.JSON, gnmi.Encoding.PROTO):
            raise RpcError(UNIMPLEMENTED, "encodings are JSON and PROTO")
        answer, leaves = gnmi.GetResponse(), 0
        for path in request.path:
            wanted = [*request.prefix.elem, *path.elem]
            note = answer.notification.add(timestamp=time.time_ns())
            for interface, leaf, value in self._leaves(wanted):
                elements = [gnmi.PathElem(name=name) for name in (*_ROOT, *leaf)]
                elements[1].key["name"] = interface
                note.update.add(path=gnmi.Path(elem=elements), val=_value(value, request.encoding))
            if not note.update:
                raise _refusal(wanted)
            leaves += len(note.update)
            if leaves > MAX_LEAVES:
                raise RpcError(RESOURCE_EXHAUSTED, f"a Get answers at most {MAX_LEAVES} leaves")
        return answer

    def _leaves(self, wanted: Sequence[Any]) -> Iterator[tuple[str, tuple[str, ...], int | str]]:
        names = tuple(element.name for element in wanted)
        interface_name = wanted[1].key.get("name", "*") if len(wanted) > 1 else "*"
        for port, interface in self._ports:
            if interface_name not in ("*", interface):
                continue
            for leaf, value in _leaves_of(port, interface, self._native):
                if (*_ROOT, *leaf)[: len(names)] == names:
                    yield interface, leaf, value


def _refusal(wanted: Sequence[Any]) -> RpcError:
    """Returns why a request has no leaf: an unknown interface or path."""
    names = tuple(element.name for element in wanted)
    known = [(*_ROOT, *leaf) for leaf in _LEAVES]
    text = "/".join(names)
    if any(path[: len(names)] == names for path in known):
        return RpcError(NOT_FOUND, f"/{text}: no such interface")
    leaves = ", ".join("/".join(leaf) for leaf in _LEAVES)
    return RpcError(
        UNIMPLEMENTED, f"/{text}: the switch has /interfaces/interface/state with {leaves}"
    )


def _leaves_of(
    port: int, interface: str, native: NativeSwitch
) -> Iterator[tuple[tuple[str, ...], int | str]]:
    stats = native.port_stats(port)
    for leaf, value in _LEAVES.items():
        yield leaf, value(port, interface, stats)


def _value(value: int | str, encoding: int) -> Any:
    if encoding == gnmi.Encoding.JSON:
        import json  # late, as the messages

        return gnmi.TypedValue(json_val=json.dumps(value).encode())
    return (
        gnmi.TypedValue(uint_val=value)
        if isinstance(value, int)
        else gnmi.TypedValue(string_val=value)
    )
