"""The agent's log: one JSON object a line. `t` is nominal seconds since the epoch; `ev` names the
event.

    start   flow, dst_ip, rate_bps                            a flow starts
    rate    flow, rate_bps, and the RP's variables (PCN: w)   its rate changed
    end     flow, packets                                     its last frame left
    failed  flow, error                                       its RP raised that: it ends
    failed  flow, src_ip, error                               its NP raised that: it gets no CNPs
                                                              any more
    np      flow, src_ip, packets, marked, marked_ue, bytes, ce, ue, rec_rate_bps
            the NP sent a CNP; the window's number of packets marked CE and UE; the CNP's mark: ce,
            ue, or neither
    last    flow, src_ip, packets                             the packet marked as a flow's last
                                                              arrived
    flows   since, sent: {flow: bytes}, received: {flow: [payload bytes, packets, marked]}
            totals, of the flows that moved since that time (--trace)
    pause   class, quanta                                     PFC PAUSE received
    resume  class, by: "frame" | "expiry"                     the class may send again
    lag     share, lag_real_s                                 a window in which the agent did not
                                                              keep pace
    lost    lines, why                                        lines missing here, which the file had
                                                              no room for

Events stand in the order in which they were noticed. A `pause` or `end` may carry a time a little
before its neighbour's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from errno import EFBIG, EIO
from pathlib import Path
from typing import IO, Any

from .clock import DilatedClock

_FLUSH_BYTES = 1 << 16
MOST_BYTES = 1 << 30
"""Largest size of a log: frames make lines as fast as a peer sends them."""


class EventLog:
    """Appends whole lines to a file, in large writes. Without a path it drops what it gets.

    The disk may be full, and a host that sends must not end for it: lines that the file can't take,
    or that are beyond its `most_bytes`, are lost, and counted (`lost`); `errno` has the reason.
    Once there is room again, an event has their number."""

    def __init__(
        self, path: Path | None, clock: DilatedClock, most_bytes: int = MOST_BYTES
    ) -> None:
        self._clock = clock
        self._room = most_bytes
        self._lines: list[bytes] = []
        self._size = 0
        self._file: IO[bytes] | None = path.open("ab", buffering=0) if path else None
        self.errno = 0
        self.lost = 0
        self._unreported = 0  # of these, those that no event reports
        self._lost_s = 0.0

    def write(self, at_s: float, event: str, **fields: Any) -> None:
        """An event at a nominal time of the clock."""
        if self._file is None:
            return
        line = self._line(at_s, event, **fields)
        self._lines.append(line)
        self._size += len(line)
        if self._size > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Writes the waiting lines."""
        if self._file is None or not (self._lines or self._unreported):
            return
        lines, unreported = self._lines, self._unreported
        self._lines, self._size = [], 0
        if unreported:
            lines.insert(
                0, self._line(self._lost_s, "lost", lines=unreported, why=os.strerror(self.errno))
            )
        events = len(lines) - bool(unreported)
        written = self._append(lines)
        reported = bool(unreported and written)
        lost = events - (written - reported)
        self.lost += lost
        self._unreported = lost + (0 if reported else unreported)
        if lost:
            self._lost_s = self._clock.now()

    def close(self) -> None:
        """Writes the waiting lines, and ends the log."""
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _line(self, at_s: float, event: str, **fields: Any) -> bytes:
        return (
            json.dumps({"t": round(self._clock.since_epoch(at_s), 9), "ev": event, **fields}) + "\n"
        ).encode()

    def _append(self, lines: Sequence[bytes]) -> int:
        """Returns how many of the lines, from the first on, the file has taken. It has no half
        ones."""
        assert self._file is not None
        data, written = b"".join(lines), 0
        try:
            if len(data) > self._room:
                self._room = 0
                raise OSError(EFBIG, os.strerror(EFBIG))
            while written < len(data):
                written += self._file.write(data[written:])
        except OSError as error:
            self.errno = error.errno or EIO
            half = written - (data.rfind(b"\n", 0, written) + 1)
            if half:
                with suppress(OSError):
                    os.truncate(self._file.fileno(), os.fstat(self._file.fileno()).st_size - half)
        self._room -= written
        return data.count(b"\n", 0, written)
