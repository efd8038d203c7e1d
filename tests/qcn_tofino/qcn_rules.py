"""QCN's congestion points as p4src/tna has them. Numbers are those of its registers: bytes and ns
in 32 bits, which wrap. `draw`: what the chip's random number generator gave, 32 bits."""

from dataclasses import dataclass, field

from pcn.controller.marking.qcn_in_cp import Culprit
from pcn.controller.tofino.qcn import (
    MOST_FEEDBACK,
    STEP_BYTES,
    STEPS,
    W,
    dice_mask,
    feedback_steps,
    sampling,
)

WRAP = 1 << 32
CELL_BYTES = 80


@dataclass(frozen=True)
class Point:
    """The tables' values for a port and class."""

    q_eq: int
    sample: int
    culprit: Culprit = Culprit.ARRIVAL
    longest_ns: int = 1

    def next_sample(self, draw: int) -> int:
        apart = sampling(self.sample)
        return apart["sample_min_bytes"] + (draw & apart["sample_mask_bytes"])


def feedback_of(queue: int, old: int, q_eq: int) -> int:
    """F_b, quantised by the table's steps; queues may be below 0."""
    f_b = (queue - q_eq + W * (queue - old)) % WRAP
    if f_b >= WRAP // 2:
        return 0
    step = f_b // STEP_BYTES
    if step >= STEPS:
        return MOST_FEEDBACK
    return next((value for first, last, value in feedback_steps(q_eq) if first <= step <= last), 0)


@dataclass
class Countdown:
    """Bytes that are still to come before the next sample."""

    point: Point
    after: int = 0

    def samples(self, length: int, draw: int) -> bool:
        if self.after > length:
            self.after -= length
            return False
        self.after = self.point.next_sample(draw)
        return True


@dataclass
class OutputRule:
    """qcn_cp.p4, of one egress port and class. `sampled`: whether the latest packet was."""

    point: Point
    old: int = 0
    sampled: bool = False
    countdown: Countdown = field(init=False)

    def __post_init__(self):
        self.countdown = Countdown(self.point)

    def departs(self, length: int, cells: int, draw: int) -> tuple[int, int]:
        """Feedback for this packet's source, 0 for none, and the queue. `cells`: what it found."""
        self.sampled = self.countdown.samples(length, draw)
        if not self.sampled:
            return 0, 0
        queue = cells * CELL_BYTES
        feedback = feedback_of(queue, self.old, self.point.q_eq)
        self.old = queue
        return feedback, queue


@dataclass
class InputRule:
    """qcn_in_cp.p4, of one ingress port and class, and of one pipe's egress ports."""

    point: Point
    admitted: int = 0
    departed: int = 0
    old: int = 0
    pending: int = 0
    countdown: Countdown = field(init=False)

    def __post_init__(self):
        self.countdown = Countdown(self.point)

    def arrives(self, length: int, draw: int) -> int | None:
        """At ingress. What the copy of a packet that is sampled takes along, otherwise None."""
        self.admitted = (self.admitted + length) % WRAP
        return self.admitted if self.countdown.samples(length, draw) else None

    def copied(self, admitted: int) -> tuple[int, int]:
        """The copy is at egress: feedback for its source, 0 for none, and the queue."""
        queue = (admitted - self.departed) % WRAP
        feedback = feedback_of(queue, self.old, self.point.q_eq)
        self.old = queue
        if self.point.culprit is Culprit.SOJOURN:
            self.pending = feedback
            return 0, queue
        return feedback, queue

    def departs(self, length: int, queued_ns: int, ingress_ns: int, draw: int) -> tuple[int, int]:
        """At egress, after `waited` in its queue, and in ingress before: feedback for this packet's
        source, and the queue."""
        self.departed = (self.departed + length) % WRAP
        inside_ns = (queued_ns + ingress_ns) % WRAP
        waited = inside_ns if inside_ns >> 18 else queued_ns % (1 << 18)
        if self.point.culprit is not Culprit.SOJOURN or waited <= draw & dice_mask(
            self.point.longest_ns
        ):
            return 0, self.old
        feedback, self.pending = self.pending, 0
        return feedback, self.old
