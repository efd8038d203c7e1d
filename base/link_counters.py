"""Counters of one direction of a link, each declared once: its name, type, meaning and unit. The
engine's struct in C, its ctypes, the records of results, entries of summary.json and their
documentation are made of these classes.

Counters are integers, times in s (the engine's are ps), or tuples with a number for each traffic
class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, kw_only=True)
class LinkRecord:
    """PFC frames that were sent over one direction of a link, and how long they held up the other
    direction (of a live run, class 3 of it): what results have. A counter that live runs don't have
    is None of these (`int | None`)."""

    pause: Annotated[int, "PAUSE frames sent over this direction of the link"]
    resume: Annotated[int, "RESUME frames likewise"]
    paused_s: Annotated[float, "time for which they held up the other direction, s"]
    pause_by_class: Annotated[tuple[int, ...], "PAUSE frames by traffic class, 0 to 7"]


@dataclass(frozen=True, kw_only=True)
class LinkStats(LinkRecord):
    """One direction of a link, named by the port it leaves, as the engine counts it: queued PFC
    frames too. `paused_s`: from XOFF to XON, for PAUSEs sent over it, summed over classes.

    What it counts where the link ends concerns what came in over it. The buffer that credits share
    out is in whole blocks of 64 bytes."""

    packets: Annotated[int, "frames of all kinds whose transmission has started"]
    bytes: Annotated[int, "bytes of these"]
    refused: Annotated[int, "tail drops at its output queues"]
    refused_by_class: Annotated[tuple[int, ...], "tail drops of each queue"]
    trimmed_by_class: Annotated[tuple[int, ...], "of these, those trimmed; the others are lost"]
    expired: Annotated[int, "PAUSEs of its classes that ran out without a RESUME"]
    output_bytes: Annotated[int, "in its output buffer, or on their way there through the fabric"]
    fc_packets: Annotated[int, "flow control packets of credits, of all classes"]
    starved_s: Annotated[float, "without credits for the longest frame, s, summed over classes"]
    held_max: Annotated[int, "where it ends: most bytes that one lossless class had inside"]
    held_limit: Annotated[int, "where it ends: XOFF and what can be in flight then; or the buffer"]
    held_bytes: Annotated[int, "where it ends: bytes that all lossless classes have inside now"]
    lost: Annotated[int, "frames lost by `VirtualNetwork.disturb`"]
    repeated: Annotated[int, "frames repeated by it"]
    overrun: Annotated[
        int,
        "where it ends: frames of lossless classes without room, after a PAUSE was lost or late, or"
        " where the run survives that",
    ]
