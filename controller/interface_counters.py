"""Reads a switch's interface counters, which P4Runtime lacks, by gNMI (openconfig-interfaces) at
the same address.

with attach() as lab:
    read(lab.switches["s0"])[4].out_discards
"""

from __future__ import annotations

from dataclasses import dataclass

import grpc

from pcn.base import signals
from pcn.base.p4rt import gnmi
from pcn.controller.errors import SwitchError
from pcn.controller.switch import CALL_LIMIT_S, SwitchClient

DISCARDS = ("in_discards", "out_discards")  # of PortCounts
_GET = "/gnmi.gNMI/Get"
_STATE = ("interfaces", "interface", "state")


@dataclass(frozen=True)
class PortCounts:
    """Frames since the switch started. `in_discards`: it was too slow for them; `out_discards`: its
    link was down, a queue was full, or the interface refused them. `up`: frames can leave.
    `queued_packets`: wait in the port's queues now."""

    up: bool
    in_packets: int
    out_packets: int
    in_discards: int
    out_discards: int
    in_bytes: int
    out_bytes: int
    queued_packets: int


# in PortCounts' order
_COUNTERS = (
    "in-pkts",
    "out-pkts",
    "in-discards",
    "out-discards",
    "in-octets",
    "out-octets",
)
_QUEUED = "queued-pkts"


def read(switch: SwitchClient) -> dict[int, PortCounts] | None:
    """Returns the counters by port; None where the switch has no gNMI (BMv2). One call. Raises
    SwitchError."""
    path = gnmi.Path(elem=[gnmi.PathElem(name=name) for name in _STATE])
    request = gnmi.GetRequest(path=[path], encoding=gnmi.Encoding.PROTO)
    call = switch.channel.unary_unary(
        _GET,
        request_serializer=gnmi.GetRequest.SerializeToString,
        response_deserializer=gnmi.GetResponse.FromString,
    )
    try:
        with signals.deferred():
            answer = call(request, timeout=CALL_LIMIT_S)
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED:
            return None
        raise SwitchError(
            f"{switch.name}: reading its interfaces: {error.details() or error.code().name}"
        ) from None
    interfaces: dict[str, dict[str, int | str]] = {}
    for update in answer.notification[0].update:
        interface = interfaces.setdefault(update.path.elem[1].key["name"], {})
        value = update.val
        interface[update.path.elem[-1].name] = (
            value.uint_val if value.HasField("uint_val") else value.string_val
        )
    return {
        int(leaves["id"]): PortCounts(
            leaves["oper-status"] == "UP", *(int(leaves[name]) for name in (*_COUNTERS, _QUEUED))
        )
        for leaves in interfaces.values()
    }
