"""A port as NP-ECN sees it: FIFO queues by class, strict priorities, PFC, and the counter of paused
packets of a switch that sees PAUSE and RESUME. Times are integers; a packet's length is the time
that it takes on the wire."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from np_ecn_rules import Dequeue, TimeRule

CLASSES = 8
# Of what happens at one time, in this order; dequeues come last.
_RESUME, _PAUSE, _ARRIVAL = range(3)


@dataclass(frozen=True)
class Packet:
    at: int
    number: int
    length: int


@dataclass(frozen=True)
class Pause:
    """Of a class, from the PAUSE to the RESUME."""

    number: int
    begins: int
    ends: int


@dataclass(frozen=True)
class Departure:
    """`counted`: the counter's rule marks it. `left`: what it leaves behind in its class, in time
    on the wire."""

    dequeue: Dequeue
    counted: bool
    left: int


@dataclass(frozen=True)
class Resume:
    at: int
    number: int


@dataclass(frozen=True)
class Trace:
    departures: tuple[Departure, ...]
    resumes: tuple[Resume, ...]


def run(packets: Iterable[Packet], pauses: Iterable[Pause]) -> Trace:
    """All that leaves, in order, and all RESUMEs."""
    events = [(packet.at, _ARRIVAL, packet) for packet in packets]
    for pause in pauses:
        events += [(pause.begins, _PAUSE, pause), (pause.ends, _RESUME, pause)]
    events.sort(key=lambda event: event[:2])
    pending = deque(events)
    queues = [deque() for _ in range(CLASSES)]
    paused, pn = [False] * CLASSES, [0] * CLASSES
    departures: list[Departure] = []
    resumes: list[Resume] = []
    now = free = pending[0][0] if pending else 0
    while True:
        while pending and pending[0][0] <= now:
            at, kind, packet_or_pause = pending.popleft()
            if isinstance(packet_or_pause, Packet):
                queues[packet_or_pause.number].append(
                    (packet_or_pause, len(queues[packet_or_pause.number]))
                )
            else:
                paused[packet_or_pause.number] = kind == _PAUSE
                if kind == _RESUME:
                    pn[packet_or_pause.number] = len(queues[packet_or_pause.number])
                    resumes.append(Resume(at, packet_or_pause.number))
        ready = [number for number in range(CLASSES) if queues[number] and not paused[number]]
        if ready and free <= now:
            number = max(ready)
            packet, queued = queues[number].popleft()
            dequeue = Dequeue(now, number, packet.at, queued)
            left = sum(waiting.length for waiting, _ in queues[number])
            departures.append(Departure(dequeue, pn[number] == 0 and queued > 0, left))
            pn[number] = max(pn[number] - 1, 0)
            free = now + packet.length
        elif pending or ready:
            next_times = [at for at, _, _ in list(pending)[:1]] + ([free] if ready else [])
            now = min(next_times)
        else:
            return Trace(tuple(departures), tuple(resumes))


@dataclass(frozen=True)
class Differences:
    """Packets that only one rule marks, by their place among the departures."""

    time_alone: frozenset[int]
    counter_alone: frozenset[int]


def differences(trace: Trace, rule: TimeRule, marked: frozenset[int], tick: int = 1) -> Differences:
    """Of the classes `marked`. The rule's clock counts `tick` of the model's."""
    time_alone, counter_alone = set(), set()
    for place, departure in enumerate(trace.departures):
        packet = departure.dequeue
        seen = Dequeue(packet.at // tick, packet.number, packet.enqueued_at // tick, packet.queued)
        by_time = rule.marks(seen)
        if packet.number in marked and by_time != departure.counted:
            (time_alone if by_time else counter_alone).add(place)
    return Differences(frozenset(time_alone), frozenset(counter_alone))


def rests(trace: Trace, gap: int, counted: frozenset[int], tick: int = 1) -> list[int]:
    """Dequeues of these classes that come more than `gap` ticks after the one before, the first of
    all included."""
    times = [
        departure.dequeue.at
        for departure in trace.departures
        if departure.dequeue.number in counted
    ]
    return times[:1] + [
        after for before, after in pairwise(times) if after // tick - before // tick > gap
    ]


def allowed(
    trace: Trace, ends: Sequence[int], gap: int, marked: frozenset[int], tick: int = 1
) -> Differences:
    """The bound. `ends` are those of the port's rests.

    A RESUME shows if a rest ended since the last departure of its class, longer than `gap` after
    the next packet to leave was enqueued. It is seen at that packet's departure: what came between
    the two is taken for paused. If it doesn't show, whatever waited at that RESUME may be marked.
    """
    time_alone: set[int] = set()
    counter_alone: set[int] = set()
    for resume in trace.resumes:
        mine = [
            (k, departure.dequeue)
            for k, departure in enumerate(trace.departures)
            if departure.dequeue.number == resume.number
        ]
        after = [(place, packet) for place, packet in mine if packet.at >= resume.at]
        if resume.number not in marked or not after:
            continue
        first = after[0][1]
        before = max((packet.at for _, packet in mine if packet.at < resume.at), default=-1)
        shows = any(
            before < end <= first.at and end // tick > first.enqueued_at // tick + gap
            for end in ends
        )
        for place, packet in after:
            if (
                packet.enqueued_at >= resume.at
                and packet.enqueued_at // tick <= first.at // tick
                and shows
            ):
                counter_alone.add(place)
            elif packet.enqueued_at < resume.at and not shows:
                time_alone.add(place)
    return Differences(frozenset(time_alone), frozenset(counter_alone))
