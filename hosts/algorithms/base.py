"""What a congestion control scheme is to the hosts that run it: a reaction point (RP) and a
notification point (NP).

Both are pure state machines of one flow. They use no clock, socket or random number: their caller
(the live agent, or the virtual clock's NIC) passes times and events and applies the results. Units
are bit/s and seconds of the modelled network. Rates and sizes are of Ethernet frames, without
preamble and FCS.
"""

from __future__ import annotations

import hashlib
import inspect
import math
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability


class Mark(IntEnum):
    """The state that congestion points write into a packet, and notifications report of a flow: the
    ECN field's values.

    CE: congestion experienced. UE: undetermined, ECT(1) (SIGCOMM'21). Of several marks the worst
    counts: CE, then UE.
    """

    UE = 1
    NONE = 2
    CE = 3

    @classmethod
    def _missing_(cls, value: object) -> Mark | None:
        return cls.NONE if value == 0 else None  # Not-ECT


UE, NONE, CE = Mark


@dataclass(slots=True)
class Cnp:
    """A congestion notification for one flow: its mark, and the rate at which data arrives (0: the
    scheme sends none; any other arrives in whole Mbit/s, rounded, at least 1).

    An NP makes one a period and flow, in half the time that a named tuple takes.
    """

    mark: Mark
    rec_rate_bps: float = 0.0


class Cnm(NamedTuple):
    """Congestion notification message (IEEE 802.1Qau): quantised feedback of a congestion point, 0
    to 63."""

    feedback: int


class Hop(NamedTuple):
    """What a hop wrote into a packet when that left it: the rate of its link (0: it is unknown),
    the time on the switch's clock, the bytes that the port had sent until then, and those that wait
    behind it in its class. Time and bytes sent start again after 2^24 ticks and 2^27 bytes: what
    lies between two packets counts."""

    rate_bps: float
    ticks: int
    sent_bytes: int
    queue_bytes: int

    def since(self, before: Hop) -> tuple[int, int]:
        """Ticks and bytes sent between the two."""
        return (self.ticks - before.ticks) % 2**24, (self.sent_bytes - before.sent_bytes) % 2**27


class Telemetry(NamedTuple):
    """What the hops of a packet's path wrote into it, five at most, in order. `path_id`: of the
    ports that it left by, 16 bits; records of another path aren't to be compared. `tick_s`: how
    long a tick of the switches' clocks is."""

    path_id: int
    tick_s: float
    hops: tuple[Hop, ...]


class Ack(NamedTuple):
    """A packet that requested it was acknowledged, and with it all before. `rtt_s`: from when it
    had left the NIC to when that arrived; `mark`: the worst of the packets since the
    acknowledgement before.

    `acked_bytes`: frames' bytes that no acknowledgement acknowledged before (0: this one came
    twice). `psn`: the packet's sequence number, 24 bits. `path`: the entropy by which switches
    chose its path, its UDP source port. `telemetry`: what switches wrote into the packet, where the
    RP `wants_telemetry`; None if it has none.
    """

    rtt_s: float
    mark: Mark = NONE
    acked_bytes: int = 0
    psn: int = 0
    path: int = 0
    telemetry: Telemetry | None = None


class Loss(NamedTuple):
    """Packets of the flow are lost, `lost_bytes` of frames, and will be repeated. `timeout`: all
    that were in flight, as nothing new was acknowledged for as long as the host waits. `rtt_s`: of
    the packet whose refusal shows it, trimmed or out of order, from when it had left the NIC to
    when the refusal arrived, s; 0 where no packet was refused."""

    lost_bytes: int
    timeout: bool = False
    rtt_s: float = 0.0


class Grant(NamedTuple):
    """A receiver grants: the flow may have sent `granted_bytes` of frames in all, beyond what it
    may send unasked. Whole units of 256 bytes, below 2^40."""

    granted_bytes: int


class Demand(NamedTuple):
    """What a data packet demands for its flow, `demanded_bytes`, as a `Grant` has them; `trimmed`:
    its headers have come alone."""

    demanded_bytes: int
    trimmed: bool = False


class Turn(IntEnum):
    """A list of a host's NPs that grant: of those that want a turn, or that take one when none
    wants any; or none."""

    NONE = 0
    IDLE = 1
    ACTIVE = 2


class Window(NamedTuple):
    """What arrived of one flow in one NP period. Marked packets are counted by their mark: CE, or
    UE (ECT(1)).

    `first_s` and `last_s` are arrival times; they are equal if one packet arrived, and 0 if none
    did.
    """

    packets: int
    marked_ce: int
    marked_ue: int
    bytes: int
    first_s: float
    last_s: float


class NetworkFacts(NamedTuple):
    """What rules for a scheme's parameters go by: the most flows that last and share a link (0:
    unknown); the largest RTT, without queues, of delays alone, and with the time of a data frame on
    each link there and of its ACK on each link back (0: unknown); the fastest host's rate, or,
    where a rule is of ports, the port's (0: unknown); the bytes of a data frame."""

    flows: int
    rtt_s: float
    frame_rtt_s: float = 0.0
    rate_bps: float = 0.0
    frame_bytes: float = 1058.0

    @property
    def round_trip_s(self) -> float:
        """The largest round trip of the empty network in s, with frames where their times are
        known."""
        return max(self.rtt_s, self.frame_rtt_s)

    @property
    def bdp_bytes(self) -> float:
        """What `rate_bps` carries in a round trip, in bytes; 0: the rate is unknown."""
        return self.rate_bps * self.round_trip_s / 8


def check_rate(rate_bps: float) -> None:
    """Raises ValueError for what an RP's rate can't be."""
    if not 0 < rate_bps < math.inf:
        raise ValueError(f"rate_bps is {rate_bps:g}: a rate is finite, and above 0")


def check_window(window_bytes: float) -> None:
    """Raises ValueError for what an RP's window can't be."""
    if not window_bytes > 0:
        raise ValueError(
            f"window_bytes is {window_bytes:g}: a window is above 0, and infinite without one"
        )


def check_timer(timer_s: float | None, after_s: float = -math.inf) -> None:
    """Raises ValueError for what an RP's timer can't be; `after_s`: the time of its event, where
    one has run out."""
    if timer_s is not None and not timer_s > after_s:
        raise ValueError(
            f"timer_s is {timer_s:g} after {after_s:g} s: a timer lies ahead, or is None"
        )


class ReactionPoint:
    """RP of one flow. `rate_bps` is what it may send from now on: finite and above 0. Above the
    line rate it counts as the line rate.

    Events return nothing: read `rate_bps` afterwards. A scheme overrides the events that it reacts
    to. `timer_s` is when `on_timer` wants to be called, None if never; read it after each event.
    `sent_bytes` is what the flow has sent so far, in frames; the caller keeps it. `on_bytes_sent`
    wants to be called when it has reached `due_bytes`, None if never; read that after each event,
    too. `window_bytes` is how many bytes of the flow's frames may be sent and not acknowledged:
    above 0, and infinite if there is no such limit. The smaller of window and rate holds; a window
    below a packet lets one out at a time. `segment_bytes` is when `on_ack` wants to be called: for
    each such length of payload, in whole packets (1: for each packet), None if never. It doesn't
    change. The packet that fills the window is acknowledged in any case. Where an RP has neither a
    segment nor, at its start, a window, its flow's packets aren't acknowledged. `exact_marks`: what
    came before a change between packets marked CE and others is acknowledged before it, so that an
    acknowledgement's mark is that of each packet that it acknowledges (DCTCP's receiver). It
    doesn't change. `paths`: which of equal paths its packets take, where the network has no
    setting; None: one. `reliability`: what its host does about lost packets, where the flow's class
    has no setting; None: nothing. Neither changes. `wants_telemetry`, of the class: packets have
    room for telemetry, and acknowledgements bring it back. `needs_rec_rate`: CNPs without a rate
    (RecRate 0), as other schemes and RoCE NICs send them, are none of this scheme's. Hosts count
    and drop them. Where its NP `grants`: `left_bytes` is what the flow has left to send, in frames,
    what is to be repeated too, None if it has no end; the caller keeps it. `demand_bytes` is what
    the next packet demands for the flow, rounded up to whole units of 256 bytes; read it after each
    event. Virtual time alone has such NPs. `reports_left`, of the class: each data packet
    reports what its flow has left to send, itself and what is to be repeated included, in units of
    256 bytes, where another's would have a demand (pFabric's switches serve by it); in virtual time
    alone.
    `in_c`: a file with the same RP in C (hosts/csrc/reaction_point.h), which virtual time runs in
    its place; found from the class's own. It is of this class: one derived from it has none, unless
    it names its own.
    """

    rate_bps: float
    window_bytes: float = math.inf
    timer_s: float | None = None
    sent_bytes: int = 0
    due_bytes: int | None = None
    segment_bytes: int | None = None
    exact_marks: bool = False
    paths: Paths | None = None
    reliability: Reliability | None = None
    wants_telemetry: bool = False
    needs_rec_rate: bool = False
    reports_left: bool = False
    left_bytes: int | None = None
    demand_bytes: int = 0
    in_c: str = ""

    def on_start(self, now_s: float) -> None:
        """The flow starts. The first event."""

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        """A CNP arrived."""

    def on_cnm(self, cnm: Cnm, now_s: float) -> None:
        """A congestion point's message arrived."""

    def on_ack(self, ack: Ack, now_s: float) -> None:
        """An acknowledgement arrived."""

    def on_loss(self, loss: Loss, now_s: float) -> None:
        """Packets are lost that the host repeats (hosts/reliability.py)."""

    def on_grant(self, grant: Grant, now_s: float) -> None:
        """A grant arrived."""

    @property
    def wants_acks(self) -> bool:
        """Whether packets request acknowledgements: decided at the flow's start."""
        return self.segment_bytes is not None or self.window_bytes < math.inf

    def on_timer(self, now_s: float) -> None:
        """The time that `timer_s` named has come."""

    def on_bytes_sent(self, now_s: float) -> None:
        """`sent_bytes` has reached `due_bytes`."""

    def state(self) -> dict[str, float]:
        """Returns the variables worth a log entry beside the rate, by the paper's names."""
        return {}


class NotificationPoint:
    """NP of one flow.

    `period_s` is the length of the windows that it needs, None if none. Windows follow each other
    without gap, as of a timer that doesn't depend on the flow's start: the first packet comes
    anywhere in one (`window_phase`), or, where `phase_spread` is below 1, in that part of it. A
    window without packets may be left out. `marked_from_s` is from when on `on_marked` wants to be
    called; calls before change nothing. `grants`, which doesn't change: data brings it demands of
    its flow, and its host gives it turns, of which each sends a grant; it has no on_marked. After
    on_demand and on_turn `turn` is the list that it is put into, unless it is in it (a demand's
    turn is never IDLE), and `pace_bytes`, of a turn, what the line carries until the host's next
    one. Virtual time alone has it. `in_c`: a file with the same NP in C
    (hosts/csrc/notification_point.h), as an RP's.
    """

    period_s: float | None = None
    phase_spread: float = 1.0
    marked_from_s: float = 0.0
    grants: bool = False
    turn: Turn = Turn.NONE
    pace_bytes: float = 1.0
    in_c: str = ""

    def on_window(self, window: Window) -> Cnp | None:
        """Takes a window that has ended. Returns the CNP to send; None: none."""
        return None

    def on_marked(self, now_s: float) -> Cnp | None:
        """Takes the arrival of a packet marked CE. Returns the CNP to send; None: none."""
        return None

    def on_demand(self, demand: Demand, now_s: float) -> None:
        """Takes the demand of a data packet that arrived, or its headers."""

    def on_turn(self, turn: Turn, now_s: float) -> int:
        """Returns what is granted in all, bytes, which the sender gets: it is the NP's turn, by
        this list."""
        return 0


def c_file(end: type[ReactionPoint | NotificationPoint]) -> Path | None:
    """Returns the file of the same RP or NP in C, if the class itself names one (`in_c`)."""
    name = vars(end).get("in_c")
    return Path(inspect.getfile(end)).parent / name if name else None


PHASE_BYTES = 6


def window_phase(spread: float, seed: int, src_ip: int, flow: int) -> float:
    """Returns how far into a window of its NP a flow's first packet comes, windows: the same in
    every clock. `spread`: the NP's `phase_spread`."""
    drawn = int.from_bytes(phase_drawn(seed, src_ip, flow), "big")
    return spread * drawn / (1 << 8 * PHASE_BYTES)


def phase_drawn(seed: int, src_ip: int, flow: int) -> bytes:
    """Returns that part of a window with a `spread` of 1, as a number of PHASE_BYTES digits."""
    return hashlib.blake2b(b"%d/%d/%d" % (seed, src_ip, flow), digest_size=PHASE_BYTES).digest()
