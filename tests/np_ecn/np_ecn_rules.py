"""A port's rest, and NP-ECN by it, as the two data planes have them. Times are integers of the
switch's clock: us in v1model, ns on Tofino. They don't wrap here; the rules take their lowest 32
bits, as the registers do."""

from dataclasses import dataclass

WRAP = 1 << 32


@dataclass(frozen=True)
class Dequeue:
    """A packet that leaves: when, its class, when it was enqueued, and how many of its class were
    waiting then."""

    at: int
    number: int
    enqueued_at: int
    queued: int


@dataclass(frozen=True)
class Evidence:
    """What a packet of a watched class shows: it is the first to show a RESUME; the latest one
    found it enqueued."""

    shows: bool
    held_up: bool


class TimeRule:
    """p4src/v1model/rest.p4, of one port. `gap`: the bound. `watched`, `before`: classes of
    set_rest and goes_before."""

    by_age = False

    def __init__(self, gap: int, watched: frozenset[int], before: frozenset[int] = frozenset()):
        self.gap = gap
        self._watched = watched
        self._counted = watched | before
        self._last = 0
        self._since = 0
        self._resumed = dict.fromkeys(watched, (0, 0))

    def tells(self, packet: Dequeue) -> Evidence | None:
        """None: its class isn't watched. Packets come in the order in which they leave."""
        if packet.number not in self._counted:
            return None
        now = packet.at % WRAP
        if (now - self._last) % WRAP > self.gap:
            self._since = now
        self._last = now
        if packet.number not in self._watched:
            return None
        waited = self._waited(packet)
        shown, at = self._resumed[packet.number]
        rested = max(waited - self.gap, 0) > (now - self._since) % WRAP
        shows = rested and self._since != shown
        if shows:
            at = now
            self._resumed[packet.number] = (self._since, at)
        age = (now - at) % WRAP
        return Evidence(shows or (self.by_age and rested and age == 0), waited >= age)

    def marks(self, packet: Dequeue) -> bool:
        """NP-ECN: whether it marks this packet, if that is ECN-capable."""
        evidence = self.tells(packet)
        return evidence is not None and not evidence.held_up and packet.queued > 0

    def _waited(self, packet: Dequeue) -> int:
        return (packet.at - packet.enqueued_at) % WRAP


class TofinoRule(TimeRule):
    """p4src/tna/rest.p4. A RESUME is new if its age is 0: what leaves at the very time of the
    latest one shows it again. deq_timedelta has 18 bits: longer waits are those since the packet's
    arrival in ingress, `ingress` ns before it was enqueued. Its register's 0 is a dequeue a gap
    before the clock's."""

    by_age = True

    def __init__(
        self,
        gap: int,
        watched: frozenset[int],
        before: frozenset[int] = frozenset(),
        ingress: int = 0,
    ):
        super().__init__(gap, watched, before)
        self._last = -gap
        self._ingress = ingress

    def _waited(self, packet: Dequeue) -> int:
        since_arrival = (packet.at - packet.enqueued_at + self._ingress) % WRAP
        return (
            since_arrival if since_arrival >> 18 else (packet.at - packet.enqueued_at) % (1 << 18)
        )
