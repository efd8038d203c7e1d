"""NP-ECN by time as the two data planes have it. Times are integers of the switch's clock: us in v1model, ns on Tofino.
They don't wrap here; the rules take their lowest 32 bits, as the registers do."""

from __future__ import annotations

from dataclasses import dataclass

WRAP = 1 << 32


@dataclass(frozen=True)
class Dequeue:
    """A packet that leaves: when, its class, when it was enqueued, and how many of its class were waiting then."""

    at: int
    number: int
    enqueued_at: int
    found: int


class TimeRule:
    """p4src/v1model/np_ecn_time.p4, of one port. `gap`: the bound. `marked`, `before`: classes of set_np_ecn and
    goes_before."""

    def __init__(self, gap: int, marked: frozenset[int], before: frozenset[int] = frozenset()) -> None:
        self.gap = gap
        self._marked = marked
        self._counted = marked | before
        self._last = 0
        self._since = 0
        self._resumed = dict.fromkeys(marked, (0, 0))

    def marks(self, packet: Dequeue) -> bool:
        """Whether it marks this packet, if that is ECN-capable. Packets come in the order in which they leave."""
        if packet.number not in self._counted:
            return False
        now = packet.at % WRAP
        if self._rested(now):
            self._since = now
        self._last = now
        if packet.number not in self._marked:
            return False
        waited = self._waited(packet)
        shown, at = self._resumed[packet.number]
        if max(waited - self.gap, 0) > (now - self._since) % WRAP and self._since != shown:
            at = now
            self._resumed[packet.number] = (self._since, at)
        return waited < (now - at) % WRAP and packet.found > 0

    def _rested(self, now: int) -> bool:
        return (now - self._last) % WRAP > self.gap

    def _waited(self, packet: Dequeue) -> int:
        return (packet.at - packet.enqueued_at) % WRAP


class TofinoRule(TimeRule):
    """p4src/tna/np_ecn.p4. Its stateful ALU compares times as numbers, and deq_timedelta has 18 bits: longer waits are
    those since the packet's arrival in ingress, `ingress` ns before it was enqueued."""

    def __init__(
        self, gap: int, marked: frozenset[int], before: frozenset[int] = frozenset(), ingress: int = 0
    ) -> None:
        super().__init__(gap, marked, before)
        self._ingress = ingress

    def _rested(self, now: int) -> bool:
        return (self._last + self.gap) % WRAP < now

    def _waited(self, packet: Dequeue) -> int:
        since_arrival = (packet.at - packet.enqueued_at + self._ingress) % WRAP
        return since_arrival if since_arrival >> 18 else (packet.at - packet.enqueued_at) % (1 << 18)
