"""Captures of RoCEv2 over IPv4: each queue pair that data goes to is a flow."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from pcn.experiments.traffic.flow_files.base import MOST_FLOWS, FlowFile, FlowFormat
from pcn.hosts.wire import ICRC_LENGTH, ROCE_PORT
from pcn.lab.capture_file import CaptureError, frames, is_capture
from pcn.topologies.model import FlowSpec

_MOST_BYTES = 2**32
"""Of a file: some minutes of reading, if the frames in it are cut to their headers."""
_VLAN, _IPV4, _UDP = 0x8100, 0x0800, 17
_HEADERS = 14 + 20 + 8 + 12
_PSNS = 1 << 24
_RETH, _IMMEDIATE, _AETH, _DETH = 16, 4, 4, 8
# Bytes between BTH and payload by the low five bits of the opcode, of the InfiniBand specification 9.2.1: SEND, RDMA
# WRITE, and answers to RDMA READ.
_EXTENDED = {
    **dict.fromkeys((0x00, 0x01, 0x02, 0x04, 0x07, 0x08, 0x0E), 0),
    **dict.fromkeys((0x03, 0x05, 0x09, 0x16, 0x17), _IMMEDIATE),
    **dict.fromkeys((0x06, 0x0A), _RETH),
    0x0B: _RETH + _IMMEDIATE,
    **dict.fromkeys((0x0D, 0x0F, 0x10), _AETH),
}
_CONNECTED = (0, 1)
"""Transport services, the upper three bits: RC, UC. A third, UD, has datagrams."""
_UD = 3


@dataclass
class _Found:
    """A flow so far: `next` is the PSN behind the furthest one."""

    start_ns: int
    next: int
    traffic_class: int
    size_bytes: int = 0


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    found: dict[tuple[bytes, bytes, int], _Found] = {}
    try:
        with file.path.open("rb") as opened:
            if opened.seek(0, 2) > _MOST_BYTES:
                raise file.error(f"more than {_MOST_BYTES // 2**30} GiB: capture with a snap length of 96 bytes")
            opened.seek(0)
            for time_ns, frame in frames(opened):
                _take(found, time_ns, frame)
                if len(found) > MOST_FLOWS:
                    raise file.error(f"more than {MOST_FLOWS:,} flows")
    except CaptureError as error:
        raise file.error(str(error)) from None
    except OSError as error:
        raise file.error(error.strerror or str(error)) from None
    flows = {key: flow for key, flow in found.items() if flow.size_bytes}
    first_ns = min((flow.start_ns for flow in flows.values()), default=0)
    for number, ((src, dst, _), flow) in enumerate(flows.items()):
        made = FlowSpec(
            number,
            str(ipaddress.IPv4Address(src)),
            str(ipaddress.IPv4Address(dst)),
            (flow.start_ns - first_ns) / 1e9,
            flow.size_bytes,
            traffic_class=flow.traffic_class,
        )
        yield file.checked(made, where=f"flow {made.src} to {made.dst}: ")
    if not flows:
        raise file.error("no RoCEv2 data over IPv4 is in it")


def _take(found: dict[tuple[bytes, bytes, int], _Found], time_ns: int, frame: bytes) -> None:
    """Counts a frame, if it has payload of a flow that hasn't come before."""
    ip = 14
    while len(frame) >= ip + 4 and int.from_bytes(frame[ip - 2 : ip], "big") == _VLAN:
        ip += 4
    if len(frame) < ip - 14 + _HEADERS or int.from_bytes(frame[ip - 2 : ip], "big") != _IPV4 or frame[ip] != 0x45:
        return
    tos, total, protocol = frame[ip + 1], int.from_bytes(frame[ip + 2 : ip + 4], "big"), frame[ip + 9]
    if protocol != _UDP or int.from_bytes(frame[ip + 22 : ip + 24], "big") != ROCE_PORT:
        return
    opcode, flags, _, queue, psn = struct.unpack_from("!BBHII", frame, ip + 28)
    extended = _EXTENDED.get(opcode & 0x1F) if opcode >> 5 in _CONNECTED else None
    if opcode >> 5 == _UD and opcode & 0x1F in (0x04, 0x05):
        extended = _EXTENDED[opcode & 0x1F] + _DETH
    if extended is None:
        return
    payload = total - 20 - 8 - 12 - extended - ICRC_LENGTH - (flags >> 4 & 3)
    if payload <= 0:
        return
    key = (frame[ip + 12 : ip + 16], frame[ip + 16 : ip + 20], queue & 0xFFFFFF)
    psn &= 0xFFFFFF
    flow = found.get(key)
    if flow is None:
        flow = found[key] = _Found(time_ns, psn, tos >> 5)
    flow.start_ns = min(flow.start_ns, time_ns)
    ahead = (psn - flow.next) % _PSNS
    if ahead < _PSNS // 2:  # else it is sent again
        flow.next = (psn + 1) % _PSNS
        flow.size_bytes += payload


CAPTURE = FlowFormat(
    name="pcap",
    recognises=lambda file: is_capture(file.head),
    read=_read,
    fields={
        "frames": "RoCEv2 over IPv4, of RC, UC and UD, that have payload: SEND, RDMA WRITE, answers to RDMA READ; all "
        "others are left out, and so is what is sent again (a PSN that isn't beyond the furthest)",
        "addresses, destination QP": "of one flow each; the topology's host with the address",
        "first frame": "its start, counted from the first flow's",
        "payload": "all together its size, without headers, padding and ICRC",
        "DSCP": "its upper three bits are the traffic class",
    },
)
