"""Captures of RoCEv2 over IPv4: each queue pair that data goes to is a flow."""

from __future__ import annotations

import ipaddress
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from pcn.base.captures import CaptureError, frames, is_capture
from pcn.experiments.traffic.flow_files.base import MOST_FLOWS, FlowFile, FlowFormat
from pcn.hosts.wire import ICRC_LENGTH, ROCE_PORT, bytes_before_payload
from pcn.topologies.model import FlowSpec

_MOST_BYTES = 2**32
"""Of a file: some minutes of reading, if the frames in it are cut to their headers."""
_VLAN, _IPV4, _UDP = 0x8100, 0x0800, 17
_HEADERS = 14 + 20 + 8 + 12
_PSNS = 1 << 24
_RETH, _IMMEDIATE, _AETH, _DETH = 16, 4, 4, 8
_ANSWERS = (0x0D, 0x0E, 0x0F, 0x10)
_REQUESTS = (0x0C, 0x13, 0x14)
"""RDMA READ and atomic operations: no payload; a READ takes as many PSNs as its answers have."""
_WHOLE = _MOST_BYTES
# Bytes between BTH and payload by the low five bits of the opcode, of the InfiniBand specification
# 9.2.1: SEND, RDMA WRITE, and answers to RDMA READ.
_EXTENDED = {
    **dict.fromkeys((0x00, 0x01, 0x02, 0x04, 0x07, 0x08, 0x0E), 0),
    **dict.fromkeys((0x03, 0x05, 0x09, 0x16, 0x17), _IMMEDIATE),
    **dict.fromkeys((0x06, 0x0A), _RETH),
    0x0B: _RETH + _IMMEDIATE,
    **dict.fromkeys((0x0D, 0x0F, 0x10), _AETH),
    **dict.fromkeys(_REQUESTS, _WHOLE),
}
_Key = tuple[bytes, bytes, int, bool]
"""Addresses, queue pair, and whether these are answers to RDMA READ."""
_CONNECTED = (0, 1)
"""Transport services, the upper three bits: RC, UC. A third, UD, has datagrams."""
_UD = 3


@dataclass
class _Progress:
    """A flow so far. PSNs are counted on beyond their range: `next` is behind the furthest one,
    `first` the least. `gaps`: those between that didn't come, as ranges (begin, end) in order."""

    start_ns: int
    first: int
    next: int
    traffic_class: int
    size_bytes: int = 0
    gaps: list[tuple[int, int]] = field(default_factory=list)
    requests: bool = False
    """Some PSNs are of requests, or of answers to them."""

    @property
    def missing(self) -> int:
        """Packets between the first and the last that didn't come, where all PSNs are of
        packets."""
        return 0 if self.requests else sum(end - begin for begin, end in self.gaps)

    def take(self, psn: int) -> bool:
        """Returns whether a packet comes for the first time, however late: a PSN is one of the half
        of the range behind the furthest, or of the half before it."""
        ahead = (psn - self.next + _PSNS // 2) % _PSNS - _PSNS // 2
        number = self.next + ahead
        if ahead >= 0:
            if ahead:
                self.gaps.append((self.next, number))
            self.next = number + 1
            return True
        if number < self.first:
            if number + 1 < self.first:
                self.gaps.insert(0, (number + 1, self.first))
            self.first = number
            return True
        at = bisect_right(self.gaps, (number, self.next)) - 1
        if at < 0 or self.gaps[at][1] <= number:
            return False
        begin, end = self.gaps[at]
        self.gaps[at : at + 1] = [
            gap for gap in ((begin, number), (number + 1, end)) if gap[0] < gap[1]
        ]
        return True


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    by_key: dict[_Key, _Progress] = {}
    try:
        with file.path.open("rb") as opened:
            if opened.seek(0, 2) > _MOST_BYTES:
                raise file.error(
                    f"more than {_MOST_BYTES // 2**30} GiB: capture with a snap length of 96 bytes"
                )
            opened.seek(0)
            for frame in frames(opened):
                _take(by_key, frame.time_ns, frame.data)
                if len(by_key) > MOST_FLOWS:
                    raise file.error(f"more than {MOST_FLOWS:,} flows")
    except CaptureError as error:
        raise file.error(str(error)) from None
    except OSError as error:
        raise file.error(error.strerror or str(error)) from None
    flows = {key: flow for key, flow in by_key.items() if flow.size_bytes}
    first_ns = min((flow.start_ns for flow in flows.values()), default=0)
    for number, ((src, dst, *_), flow) in enumerate(flows.items()):
        flow_spec = FlowSpec(
            number,
            str(ipaddress.IPv4Address(src)),
            str(ipaddress.IPv4Address(dst)),
            (flow.start_ns - first_ns) / 1e9,
            flow.size_bytes,
            traffic_class=flow.traffic_class,
        )
        yield file.checked(flow_spec, where=f"flow {flow_spec.src} to {flow_spec.dst}: ")
    if short := [flow.missing for flow in flows.values() if flow.missing]:
        file.notes.append(
            f"{file.path}: of {len(short)} of {len(flows)} flows {sum(short):,} packets between "
            "the first and the last aren't there: their sizes are too small by what these had"
        )
    if not flows:
        raise file.error("no RoCEv2 data over IPv4 is in it")


def _take(by_key: dict[_Key, _Progress], time_ns: int, frame: bytes) -> None:
    """Counts a frame, if it has payload of a flow that hasn't come before."""
    ip = 14
    while len(frame) >= ip + 4 and int.from_bytes(frame[ip - 2 : ip], "big") == _VLAN:
        ip += 4
    if (
        len(frame) < ip - 14 + _HEADERS
        or int.from_bytes(frame[ip - 2 : ip], "big") != _IPV4
        or frame[ip] != 0x45
    ):
        return
    tos, total, protocol = (
        frame[ip + 1],
        int.from_bytes(frame[ip + 2 : ip + 4], "big"),
        frame[ip + 9],
    )
    if protocol != _UDP or int.from_bytes(frame[ip + 22 : ip + 24], "big") != ROCE_PORT:
        return
    opcode, flags, _, queue, psn = struct.unpack_from("!BBHII", frame, ip + 28)
    extended = _EXTENDED.get(opcode & 0x1F) if opcode >> 5 in _CONNECTED else None
    if opcode >> 5 == _UD and opcode & 0x1F in (0x04, 0x05):
        extended = _EXTENDED[opcode & 0x1F] + _DETH
    if extended is None:
        return
    payload = total - 20 - 8 - 12 - extended - ICRC_LENGTH - (flags >> 4 & 3)
    payload -= bytes_before_payload(opcode, queue >> 24)
    # Answers have the PSNs of the requests, which come the other way, and a flow of their own.
    key = (
        frame[ip + 12 : ip + 16],
        frame[ip + 16 : ip + 20],
        queue & 0xFFFFFF,
        opcode & 0x1F in _ANSWERS,
    )
    psn &= 0xFFFFFF
    flow = by_key.get(key)
    if flow is None:
        flow = by_key[key] = _Progress(time_ns, psn, psn, tos >> 5)
    flow.requests |= opcode & 0x1F in (*_REQUESTS, *_ANSWERS)
    if flow.take(psn) and payload > 0:  # else it is sent again
        flow.start_ns = time_ns if flow.size_bytes == 0 else min(flow.start_ns, time_ns)
        flow.size_bytes += payload


CAPTURE = FlowFormat(
    name="pcap",
    recognises=lambda file: is_capture(file.head),
    read=_read,
    fields={
        "frames": "RoCEv2 over IPv4, of RC, UC and UD, that have payload: SEND, RDMA WRITE, "
        "answers to RDMA READ; all "
        "others are left out, and so is what is sent again: each PSN counts once, in whichever "
        "order they come, within "
        "half of their range",
        (
            "addresses, destination QP"
        ): "of one flow each, and answers to RDMA READ of another; the topology's host with "
        "the address",
        "first frame": "its start, counted from the first flow's",
        "payload": "all together its size, without headers, padding and ICRC, and without the "
        "telemetry and demands of "
        "this project's schemes. Packets that aren't there, by their PSNs, are in a note; what a "
        "switch has trimmed "
        "counts as far as it is there",
        "DSCP": "its upper three bits are the traffic class",
    },
)
