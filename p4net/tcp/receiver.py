"""The receiving end of a connection: it acknowledges each segment (no delayed acknowledgements), in
order or not."""

from __future__ import annotations

from pcn.p4net.tcp.segments import ACK, CE, CWR, ECE, FIN, SYN, Segment


class Receiver:
    """`exact_echo`: acknowledgements report whether their segments were marked (DCTCP); else marks
    are echoed until the sender has reacted (RFC 3168). `delivered`: bytes that an application has,
    in order; `intact`: they are those of `content`."""

    def __init__(self, exact_echo: bool) -> None:
        self.delivered = 0
        self.marked = 0
        self.intact = True
        self.finished = False
        self._exact_echo = exact_echo
        self._echo = False
        self._ecn = False
        self._next: int | None = None
        self._parts: dict[int, Segment] = {}  # those that came before their turn

    @property
    def next(self) -> int:
        """The number of the next byte."""
        return self._next or 0

    def take(self, segment: Segment) -> Segment | None:
        """Takes a segment. Returns its acknowledgement; None: it belongs to no connection."""
        if segment.flags & SYN:
            self._next = self._next or segment.end
            self._ecn = segment.flags & (ECE | CWR) == ECE | CWR
            return Segment(0, segment.end, SYN | ACK | (ECE if self._ecn else 0))
        if self._next is None:
            return None
        if segment.payload or segment.flags & FIN:
            self._mark(segment)
            if segment.end > self._next:
                self._parts.setdefault(segment.sequence, segment)
            self._deliver()
        elif not segment.payload:
            return None  # an acknowledgement of ours
        return Segment(1, self._next, ACK | (ECE if self._echo else 0))

    def _mark(self, segment: Segment) -> None:
        self.marked += segment.ecn == CE
        if self._exact_echo:
            self._echo = segment.ecn == CE
        else:
            if segment.flags & CWR:
                self._echo = False
            self._echo |= segment.ecn == CE and self._ecn

    def _deliver(self) -> None:
        assert self._next is not None
        for sequence in sorted(self._parts):
            if sequence > self._next:
                break
            part = self._parts.pop(sequence)
            if part.end <= self._next:
                continue
            new = part.payload[self._next - sequence :]
            self.intact &= new == content(self._next - 1, len(new))
            self.delivered += len(new)
            self._next = part.end
            self.finished |= bool(part.flags & FIN)


_CYCLE = bytes(range(251))
_PATTERN = _CYCLE * 80


def content(first: int, size: int) -> bytes:
    """Returns the bytes of the stream that every connection sends: number n is n modulo 251."""
    start = first % len(_CYCLE)
    return _PATTERN[start : start + size]
