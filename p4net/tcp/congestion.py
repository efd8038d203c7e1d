"""How much a sender may have under way: Reno (RFC 5681), CUBIC (RFC 9438), DCTCP (RFC 8257).
Windows are bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INITIAL_SEGMENTS: Final = 10  # RFC 6928
LEAST_SEGMENTS: Final = 2


@dataclass(frozen=True)
class Acked:
    """What an acknowledgement brought: new bytes, whether it echoes a mark, the time, the smoothed
    round trip, and the numbers of the first unacknowledged byte and of the next one to send."""

    size: int
    echo: bool
    now_s: float
    rtt_s: float
    first: int
    next: int


class Reno:
    """Half the window for each loss and for each window with an echoed mark."""

    name = "reno"
    exact_echo = False  # receivers echo marks until the sender has reacted (RFC 3168)

    def __init__(self, mss: int) -> None:
        self.mss = mss
        self.window = float(INITIAL_SEGMENTS * mss)
        self.threshold = float("inf")
        self._reduced_at = -1  # the next byte to send when an echo last reduced the window

    def acknowledged(self, ack: Acked) -> bool:
        """Takes an acknowledgement outside of recovery. Returns whether an echo has reduced the
        window."""
        if ack.echo:
            if ack.first <= self._reduced_at:
                return False
            self._reduced_at = ack.next
            self.reduce(ack.now_s)
            return True
        if self.window < self.threshold:
            self.window += ack.size
        else:
            self.grow(ack)
        return False

    def grow(self, ack: Acked) -> None:
        """Increases the window outside of slow start."""
        self.window += self.mss * ack.size / self.window

    def reduce(self, now_s: float, under_way: float | None = None) -> None:
        """An echo, or a loss that found these bytes under way."""
        self.threshold = self.window = self._at_least(self._of(under_way) * self.factor())

    def factor(self) -> float:
        """Returns what a loss leaves of the window."""
        return 0.5

    def timed_out(self, under_way: float, again: bool) -> None:
        """No acknowledgement came: a segment is all that is known to leave. `again`: of a segment
        that was sent again already, whose loss has reduced the threshold."""
        if not again:
            self.threshold = self._at_least(under_way * self.factor())
        self.window = float(self.mss)

    def _of(self, under_way: float | None) -> float:
        """Returns what a reduction is of: the window, or what a loss found under way (RFC 5681,
        equation 4)."""
        return self.window if under_way is None else under_way

    def _at_least(self, window: float) -> float:
        return max(window, float(LEAST_SEGMENTS * self.mss))


class Cubic(Reno):
    """The window is a cubic function of the time since the last reduction; at least what Reno would
    have."""

    name = "cubic"
    _C: Final = 0.4  # segments a second^3
    _BETA: Final = 0.7

    def __init__(self, mss: int) -> None:
        super().__init__(mss)
        self._most = 0.0  # segments, at the last reduction
        self._began_s: float | None = None
        self._k = 0.0
        self._friendly = 0.0

    def factor(self) -> float:
        return self._BETA

    def grow(self, ack: Acked) -> None:
        window = self.window / self.mss
        if self._began_s is None:
            self._began_s = ack.now_s
            self._most = max(self._most, window)
            self._k = ((self._most - window) / self._C) ** (1 / 3)
            self._friendly = window
        rate = 1.0 if self._friendly >= self._most else 3 * (1 - self._BETA) / (1 + self._BETA)
        self._friendly += rate * ack.size / self.mss / window
        at = ack.now_s - self._began_s
        target = min(
            max(self._C * (at + ack.rtt_s - self._k) ** 3 + self._most, window), 1.5 * window
        )
        if self._C * (at - self._k) ** 3 + self._most < self._friendly:
            window = max(window, self._friendly)
        else:
            window += (target - window) / window * ack.size / self.mss
        self.window = window * self.mss

    def reduce(self, now_s: float, under_way: float | None = None) -> None:
        self._note()
        super().reduce(now_s, under_way)

    def timed_out(self, under_way: float, again: bool) -> None:
        self._note()
        super().timed_out(under_way, again)

    def _note(self) -> None:
        window = self.window / self.mss
        # fast convergence
        self._most = window * (1 + self._BETA) / 2 if window < self._most else window
        self._began_s = None


class Dctcp(Reno):
    """Reduces by half of the share of marked bytes, once a window."""

    name = "dctcp"
    exact_echo = True  # each acknowledgement says whether its segment was marked
    _GAIN: Final = 1 / 16

    def __init__(self, mss: int) -> None:
        super().__init__(mss)
        self.alpha = 1.0
        self._end = 0
        self._acked = self._marked = 0

    def acknowledged(self, ack: Acked) -> bool:
        self._acked += ack.size
        self._marked += ack.size if ack.echo else 0
        reduced = False
        if ack.first > self._end:
            share = self._marked / self._acked if self._acked else 0.0
            self.alpha += self._GAIN * (share - self.alpha)
            if self._marked:
                self.threshold = self.window = self._at_least(self.window * (1 - self.alpha / 2))
                reduced = True
            self._acked = self._marked = 0
            self._end = ack.next
        if not reduced and not ack.echo:
            super().acknowledged(ack)
        return reduced


ALGORITHMS: Final[dict[str, type[Reno]]] = {kind.name: kind for kind in (Reno, Cubic, Dctcp)}
