"""The sending end of a connection: slow start, fast retransmit and recovery (RFC 5681, 6582),
timeouts (RFC 6298), ECN (RFC 3168). It has neither clock nor network: its owner passes the time,
sends what it returns, and calls `expire`."""

from __future__ import annotations

from typing import Final

from pcn.p4net.tcp.congestion import Acked, Reno
from pcn.p4net.tcp.receiver import content
from pcn.p4net.tcp.segments import ACK, CWR, ECE, ECT, FIN, SYN, Segment

FIRST_TIMEOUT_S: Final = 1.0
LEAST_TIMEOUT_S: Final = 0.2  # Linux's
LONGEST_TIMEOUT_S: Final = 60.0
AFTER_LOST_SYN_S: Final = 3.0  # RFC 6298, 5.7
_DUPLICATES: Final = 3


class Sender:
    """Sends `size` bytes; None: without end. `ecn`: it negotiates ECN. Sequence number 0 is the
    SYN's."""

    def __init__(self, congestion: Reno, mss: int, size: int | None, ecn: bool) -> None:
        self.congestion = congestion
        self.mss = mss
        self.size = size
        self.first = 0  # unacknowledged
        self.next = 0  # to send
        self.retransmitted = self.timeouts = self.echoes = 0
        self.due_s: float | None = None  # when `expire` is to be called
        self.finished_s: float | None = None  # when all was acknowledged
        self.established_s: float | None = None
        self.rtt_s = 0.0
        self._ecn = ecn
        self._deviation_s = 0.0
        self._timeout_s = FIRST_TIMEOUT_S
        self._timed: tuple[int, float] | None = (
            None  # a segment's end and time, for a round trip (Karn's algorithm)
        )
        self._most = 0  # what was ever sent
        self._duplicates = 0
        self._recover: int | None = None  # in recovery, until this is acknowledged
        self._inflated = 0.0
        self._before = 0  # losses before this number are of a recovery that is over
        self._reduced = False  # CWR is to be sent

    @property
    def acknowledged(self) -> int:
        """Bytes of the stream that have arrived, as far as it was reported."""
        last = self.first - 1 if self._end is None else min(self.first - 1, self._end - 1)
        return max(last, 0)

    @property
    def under_way(self) -> int:
        return self.next - self.first

    @property
    def _end(self) -> int | None:
        """The FIN's number."""
        return None if self.size is None else 1 + self.size

    def start(self, now_s: float) -> list[Segment]:
        """Opens the connection."""
        self.next = self._most = 1
        self._timed = (1, now_s)
        self.due_s = now_s + self._timeout_s
        return [Segment(0, 0, SYN | (ECE | CWR if self._ecn else 0))]

    def stop(self) -> None:
        """Ends a stream without end: what was sent is all there is."""
        if self.size is None:
            self.size = max(self._most - 1, 0)

    def take(self, segment: Segment, now_s: float) -> list[Segment]:
        """Takes an acknowledgement. Returns what is to be sent."""
        if (
            not segment.flags & ACK
            or segment.acknowledgement > self._most
            or self.finished_s is not None
        ):
            return []
        if segment.flags & SYN:
            if self.established_s is not None:
                return [Segment(1, 1, ACK)]
            self._ecn &= bool(segment.flags & ECE)
            self.established_s = now_s
            if self.timeouts:  # RFC 5681, 3.1
                self.congestion.window = float(self.mss)
                self._timeout_s = AFTER_LOST_SYN_S
        elif self.established_s is None:
            return []
        echo = self._ecn and bool(segment.flags & ECE) and not segment.flags & SYN
        self.echoes += echo
        out = [Segment(1, 1, ACK)] if segment.flags & SYN else []
        if segment.acknowledgement > self.first:
            out += self._new(segment.acknowledgement, echo and not segment.flags & SYN, now_s)
        elif segment.acknowledgement == self.first and self.under_way and not segment.payload:
            out += self._duplicate(now_s)
        return [*out, *self._more(now_s)]

    def expire(self, now_s: float) -> list[Segment]:
        """Returns what is sent as the timer is over: everything after `first` is sent again, as the
        window permits."""
        if self.due_s is None or now_s < self.due_s:
            return []
        self.timeouts += 1
        self._timeout_s = min(2 * self._timeout_s, LONGEST_TIMEOUT_S)
        self.due_s = now_s + self._timeout_s
        self._timed = None
        if self.established_s is None:
            self.retransmitted += 1
            return [Segment(0, 0, SYN | (ECE | CWR if self._ecn else 0))]
        self.congestion.timed_out(self.under_way, again=self.first < self._before)
        self._recover, self._inflated, self._duplicates = None, 0.0, 0
        self._before = self._most
        self.next = self.first
        return self._more(now_s)

    # ---- acknowledgements ----

    def _new(self, acknowledgement: int, echo: bool, now_s: float) -> list[Segment]:
        size = acknowledgement - max(self.first, 1)  # the SYN is no data
        self.first = acknowledgement
        self.next = max(self.next, acknowledgement)
        self._duplicates = 0
        self._measure(now_s)
        out: list[Segment] = []
        if self._recover is not None and acknowledgement < self._recover:  # the next hole
            self._inflated = max(self._inflated - size + self.mss, 0.0)
            out = [self._again()]
        elif self._recover is not None:
            self._recover, self._inflated = None, 0.0
        else:
            ack = Acked(size, echo, now_s, self.rtt_s, self.first, self.next)
            self._reduced |= self.congestion.acknowledged(ack)
        if self._end is not None and self.first > self._end:
            self.due_s, self.finished_s = None, now_s
        else:
            self.due_s = now_s + self._timeout_s if self.under_way else None
        return out

    def _duplicate(self, now_s: float) -> list[Segment]:
        self._duplicates += 1
        if self._recover is not None:
            self._inflated += self.mss
        elif self._duplicates == _DUPLICATES and self.first > self._before:
            self._recover = self._before = self._most
            self.congestion.reduce(now_s, self.under_way)
            self._inflated = float(_DUPLICATES * self.mss)
            self._timed = None
            self._reduced = self._ecn
            return [self._again()]
        return []

    def _measure(self, now_s: float) -> None:
        if self._timed is None or self.first < self._timed[0]:
            return
        sample = now_s - self._timed[1]
        self._timed = None
        if self.rtt_s == 0.0:
            self.rtt_s, self._deviation_s = sample, sample / 2
        else:
            self._deviation_s += (abs(sample - self.rtt_s) - self._deviation_s) / 4
            self.rtt_s += (sample - self.rtt_s) / 8
        self._timeout_s = min(
            max(self.rtt_s + 4 * self._deviation_s, LEAST_TIMEOUT_S), LONGEST_TIMEOUT_S
        )

    # ---- what is sent ----

    def _more(self, now_s: float) -> list[Segment]:
        """Sends whatever the window permits. While lost segments are under way again, none gives a
        round trip: its acknowledgement waits for them."""
        out = []
        while self.established_s is not None and (size := self._permitted()) is not None:
            again = self.next < self._most
            segment = self._segment(self.next, size)
            self.next = segment.end
            self.retransmitted += again
            if (
                not again
                and self._timed is None
                and self._recover is None
                and self.first > self._before
            ):
                self._timed = (segment.end, now_s)
            self._most = max(self._most, self.next)
            out.append(segment)
        if out and self.due_s is None:
            self.due_s = now_s + self._timeout_s
        return out

    def _permitted(self) -> int | None:
        """Returns the bytes of the next segment; 0: the FIN alone; None: nothing is to be sent."""
        if self.finished_s is not None or (self._end is not None and self.next > self._end):
            return None
        left = self.mss if self._end is None else min(self.mss, self._end - self.next)
        window = max(self.congestion.window, float(self.mss)) + self._inflated
        return left if self.under_way + left <= window or not self.under_way else None

    def _segment(self, sequence: int, size: int) -> Segment:
        flags = ACK
        if self._end is not None and sequence + size == self._end:
            flags |= FIN
        if self._reduced and sequence >= self._most:
            flags |= CWR
            self._reduced = False
        # What is sent again isn't ECT (RFC 3168, 6.1.5), but DCTCP's is (RFC 8311, 4.3)
        capable = self._ecn and (sequence >= self._most or self.congestion.exact_echo)
        return Segment(sequence, 1, flags, content(sequence - 1, size), ECT if capable else 0)

    def _again(self) -> Segment:
        self.retransmitted += 1
        size = self.mss if self._end is None else min(self.mss, self._end - self.first)
        return self._segment(self.first, min(size, max(self._most - self.first, 0)))
