"""TCD's states with RESUMEs reported by PFC, and with RESUMEs detected by the port's rest, on
NP-ECN's port model."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from np_ecn_rules import TimeRule
from port_model import Trace
from tcd_rules import SETTLED, State, States


@dataclass(frozen=True)
class Met:
    """The states that a departing packet of one class meets. `place`: among all departures."""

    place: int
    at: int
    left: int
    by_pfc: State
    by_time: State

    @property
    def differ(self) -> bool:
        """What the packet is marked with isn't decided alike."""
        pfc, time = (
            State.CONGESTION if state in SETTLED else state for state in (self.by_pfc, self.by_time)
        )
        return pfc is not time


def states(trace: Trace, rule: TimeRule, number: int, new: Callable[[], States]) -> list[Met]:
    """Of all packets of a class that `rule` watches."""
    pfc, time = new(), new()
    resumes = deque(resume.at for resume in trace.resumes if resume.number == number)
    met = []
    for place, departure in enumerate(trace.departures):
        evidence, at = rule.tells(departure.dequeue), departure.dequeue.at
        if departure.dequeue.number != number:
            continue
        assert evidence is not None
        resumed = None
        while resumes and resumes[0] <= at:
            resumed = resumes.popleft()
        by_pfc = pfc.depart(at, departure.left, resumed)
        by_time = time.depart(at, departure.left, at if evidence.shows else None)
        met.append(Met(place, at, departure.left, by_pfc, by_time))
    return met


@dataclass(frozen=True)
class Undetermined:
    """Packets that only one of the two marks UE, by their place among the departures."""

    time_alone: frozenset[int]
    pfc_alone: frozenset[int]


def undetermined(met: Sequence[Met]) -> Undetermined:
    def alone(this: State, counterpart: State) -> bool:
        return this is State.UNDETERMINED and counterpart is not State.UNDETERMINED

    return Undetermined(
        frozenset(packet.place for packet in met if alone(packet.by_time, packet.by_pfc)),
        frozenset(packet.place for packet in met if alone(packet.by_pfc, packet.by_time)),
    )


@dataclass(frozen=True)
class Shown:
    """A RESUME, and when the rest shows it: at the first departure after it, or never if `first` is
    None."""

    at: int
    first: int | None


def shown(trace: Trace, ends: Sequence[int], gap: int, number: int) -> list[Shown]:
    """`ends` are those of the port's rests. A RESUME shows if a rest ended since the last departure
    of its class, more than `gap` after the next packet to leave was enqueued. RESUMEs after the
    last departure are left out."""
    mine = [
        departure.dequeue for departure in trace.departures if departure.dequeue.number == number
    ]
    resumes = []
    for at in (resume.at for resume in trace.resumes if resume.number == number):
        after = [packet for packet in mine if packet.at >= at]
        if after:
            before = max((packet.at for packet in mine if packet.at < at), default=-1)
            shows = any(
                before < end <= after[0].at and end > after[0].enqueued_at + gap for end in ends
            )
            resumes.append(Shown(at, after[0].at if shows else None))
    return resumes


def allowed(met: Sequence[Met], resumes: Sequence[Shown], max_ton: int) -> Undetermined:
    """The bound.

    A RESUME that doesn't show is PFC's alone, for max(Ton). One that shows is seen at the first
    departure after it: until then packets are marked UE by time alone."""
    time_alone, pfc_alone = set(), set()
    for packet in met:
        for resume in resumes:
            if resume.first is None and resume.at <= packet.at <= resume.at + max_ton:
                pfc_alone.add(packet.place)
            elif (
                resume.first is not None
                and resume.at + max_ton < packet.at <= resume.first + max_ton
            ):
                time_alone.add(packet.place)
    return Undetermined(frozenset(time_alone), frozenset(pfc_alone))
