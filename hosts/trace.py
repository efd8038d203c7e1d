"""How far each flow has come, at equal intervals: what an experiment shows as really sent and
received over time."""

from __future__ import annotations

import math

from .clock import DilatedClock
from .log import EventLog
from .nic import INFINITY
from .receiver import Receiver
from .sender import Sender


class FlowTrace:
    """Writes the event `flows` every `period_s` (nominal; None: never), with the flows that moved
    since the last."""

    def __init__(
        self,
        period_s: float | None,
        sender: Sender,
        receiver: Receiver,
        log: EventLog,
        clock: DilatedClock,
    ) -> None:
        self.timer_s = INFINITY if period_s is None else period_s
        self._period_s = period_s
        self._sender = sender
        self._receiver = receiver
        self._log = log
        self._clock = clock
        self._last_s = 0.0
        self._sent: dict[int, int] = {}
        self._received: dict[int, tuple[int, int, int, int]] = {}

    def on_timer(self, now_s: float) -> None:
        """Is called when `timer_s` has come, after `Nic.advance`."""
        assert self._period_s is not None
        self.timer_s = (math.floor(now_s / self._period_s + 1e-6) + 1) * self._period_s
        sent, received = self._sender.progress(), self._receiver.progress()
        moved = {str(flow): size for flow, size in sent.items() if self._sent.get(flow, 0) != size}
        came = {
            str(flow): counts
            for flow, counts in received.items()
            if self._received.get(flow) != counts
        }
        if moved or came:
            since = round(self._clock.since_epoch(self._last_s), 9)
            self._log.write(now_s, "flows", since=since, sent=moved, received=came)
        self._sent, self._received, self._last_s = sent, received, now_s
