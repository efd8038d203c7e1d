"""The agent's log: one JSON object a line. `t` is nominal seconds since the epoch; `ev` says what happened.

    start   flow, dst_ip, rate_bps                            a flow starts
    rate    flow, rate_bps, and the RP's variables (PCN: w)   its rate changed
    end     flow, packets                                     its last frame left
    np      flow, src_ip, packets, marked, marked_ue, bytes, ce, ue, rec_rate_bps
            the NP sent a CNP for a window with so many packets marked CE and UE; the CNP's mark: ce, ue, or neither
    last    flow, src_ip, packets                             the packet marked as a flow's last arrived
    flows   since, sent: {flow: bytes}, received: {flow: [payload bytes, packets, marked]}
            totals, of the flows that moved since that time (--trace)
    pause   class, quanta                                     PFC PAUSE received
    resume  class, by: "frame" | "expiry"                     the class may send again
    lag     share, lag_real_s                                 a window in which the agent did not keep pace

Events stand in the order in which they were noticed. A `pause` or `end` may carry a time a little before its
neighbour's.
"""

from __future__ import annotations

import json
from errno import EIO
from pathlib import Path
from typing import IO, Any

from .clock import DilatedClock

_FLUSH_BYTES = 1 << 16


class EventLog:
    """Appends to a file, in large writes. Without a path it drops what it gets; so it does once the file can't be
    written: the disk may be full, and a host that sends must not end for it. `errno` then says why."""

    def __init__(self, path: Path | None, clock: DilatedClock) -> None:
        self._clock = clock
        self._lines: list[str] = []
        self._size = 0
        self._file: IO[bytes] | None = path.open("ab", buffering=0) if path else None
        self.errno = 0

    def write(self, at_s: float, event: str, **fields: Any) -> None:
        """An event at a nominal time of the clock."""
        if self._file is None:
            return
        line = json.dumps({"t": round(self._clock.since_epoch(at_s), 9), "ev": event, **fields}) + "\n"
        self._lines.append(line)
        self._size += len(line)
        if self._size > _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._file is None or not self._lines:
            return
        data = "".join(self._lines).encode()
        self._lines.clear()
        self._size = 0
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            self.errno = error.errno or EIO
            self._file.close()
            self._file = None

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()
            self._file = None
