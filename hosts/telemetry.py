"""In-band telemetry (INT) as switches write it into data packets and acknowledgements bring it
back: 44 bytes.

HPCC's header (SIGCOMM'19, Fig. 7), aligned to four bytes: the number of hops, 8 bits; 8 reserved
bits; the path's id, 16 bits, the exclusive or of its ports' ids; five records of 8 bytes. A record,
from its highest bit on:

    4   the type of the link's rate (controller/constants.py)
    24  when the packet left, in ticks of the switch's clock
    20  the bytes that the port had sent until then, in units of 128
    16  the bytes that wait behind it in its class, in units of 64, at most 65,535 units

p4src/v1model/telemetry.p4 writes it, csrc/telemetry.h reads it, too.
"""

from __future__ import annotations

import struct

from pcn.controller.constants import TELEMETRY_RATES_BPS

from .algorithms.base import Hop, Telemetry
from .wire import TELEMETRY_BYTES, WireError

MOST_HOPS = 5
_SENT_UNIT, _QUEUE_UNIT = 128, 64
_HEADER = struct.Struct("!BBH5Q")
assert _HEADER.size == TELEMETRY_BYTES


def encode(telemetry: Telemetry) -> bytes:
    """Returns the header, with bytes in whole units. Raises WireError."""
    records = [0] * MOST_HOPS
    for i, hop in enumerate(telemetry.hops[:MOST_HOPS]):
        if hop.rate_bps not in TELEMETRY_RATES_BPS:
            raise WireError(
                f"a link of {hop.rate_bps / 1e9:g} Gbit/s: telemetry has no type of such a rate"
            )
        sent, queue = hop.sent_bytes // _SENT_UNIT, hop.queue_bytes // _QUEUE_UNIT
        for name, value, bits in (
            ("ticks", hop.ticks, 24),
            ("sent_bytes / 128", sent, 20),
            ("queue_bytes / 64", queue, 16),
        ):
            if not 0 <= value < 1 << bits:
                raise WireError(f"{name} is {value}: it must fit into {bits} bits")
        records[i] = (
            TELEMETRY_RATES_BPS.index(hop.rate_bps) << 60 | hop.ticks << 36 | sent << 16 | queue
        )
    return _HEADER.pack(len(telemetry.hops), 0, telemetry.path_id, *records)


def decode(header: bytes, tick_s: float) -> Telemetry:
    """Returns the hops of a packet. `tick_s`: of the switches' clock, in the modelled network. Hops
    beyond five have no record."""
    hops, _, path_id, *records = _HEADER.unpack(header)
    return Telemetry(path_id, tick_s, tuple(map(_hop, records[:hops])))


def _hop(record: int) -> Hop:
    sent, queue = record >> 16 & 0xFFFFF, record & 0xFFFF
    return Hop(
        TELEMETRY_RATES_BPS[record >> 60],
        record >> 36 & 0xFFFFFF,
        sent * _SENT_UNIT,
        queue * _QUEUE_UNIT,
    )
