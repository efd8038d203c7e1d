"""What clients may take of the server: connections, calls, bytes, the time that they let it wait,
memory.

A client reaches these bounds without being primary, or having a certificate. csrc/front_calls.c and
csrc/front_answers.c keep them; what exceeds one is RESOURCE_EXHAUSTED, and a client that lets the
server wait too long is cut off (CANCELLED)."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Final

from pcn.softswitch.native_types import FrontLimits
from pcn.softswitch.p4runtime.errors import RESOURCE_EXHAUSTED, RpcError

CONNECTIONS: Final = 256
CALLS: Final = 512  # of all strangers: clients that are no role's primary
UNFINISHED: Final = 32  # calls of strangers whose request isn't whole
UNFINISHED_OF_CONNECTION: Final = 8
BYTES: Final = 64 << 20  # of strangers' requests; of their answers as well
BYTES_OF_CONNECTION: Final = 20 << 20
SPARE_OF_CONNECTION: Final = 4 << 20  # beside its largest message
# of one that carries no configuration, no batch of writes and no frames
SMALL_BYTES: Final = 1 << 20
# of a stream's message: a packet, or a claim with its role's configuration
STREAM_BYTES: Final = 128 << 10
PARSED_BYTES: Final = 1 << 20
"""Of strangers' requests that are at work, where it is more than one: parsed, a request can be 30
times as large."""
PEER_S: Final = 10.0  # to send a request, and to take 16 KB of an answer, or the rest
ROOM_S: Final = 1.0  # the same, where another call needs the room
READS: Final = 16  # whose answers aren't all made
WORKING: Final = 8
"""Calls at work, of strangers and as many of primaries. No client holds one: they work, wait for
each other's Writes, or compile, at most two of a method, of which two take long (a configuration;
the manual clock's Advance)."""
SPARE_BYTES: Final = 128 << 20  # of address space, where it has a limit


def front_limits(connections: int, message_bytes: int) -> FrontLimits:
    """Returns what a front keeps. `message_bytes`: of the largest request."""
    return FrontLimits(
        connections=connections,
        calls=CALLS,
        unfinished=UNFINISHED,
        unfinished_of_one=UNFINISHED_OF_CONNECTION,
        working=WORKING,
        bytes=max(BYTES, 4 * message_bytes),
        bytes_of_one=max(BYTES_OF_CONNECTION, message_bytes + SPARE_OF_CONNECTION),
        favoured_bytes=4 * message_bytes,
        parsed=PARSED_BYTES,
        favoured_parsed=max(PARSED_BYTES, 2 * message_bytes),
        patience_ns=round(PEER_S * 1e9),
        room_ns=round(ROOM_S * 1e9),
    )


def check_memory() -> None:
    """Raises RpcError RESOURCE_EXHAUSTED where the address space is nearly at its limit (`ulimit
    -v`): protobuf doesn't look whether malloc gave it something."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    if pages * resource.getpagesize() + SPARE_BYTES > limit:
        raise RpcError(
            RESOURCE_EXHAUSTED,
            f"the switch is out of memory: {limit >> 20} MB (ulimit -v) are nearly used",
        )
