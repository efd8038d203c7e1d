"""What PAUSE did to the receiving rate that PCN's NP measures, and that its RP takes.

A gap between two arrivals of a flow is longer by d than it would have been without PAUSE: d is the
time in which the sender, between the two packets, was held by its port's PAUSE alone, and what the
second packet waited at PAUSEd and idle ports of its way, less what the first one did. So d is above
0 where a PAUSE kept a packet back, and below 0 where packets that it had kept come in a burst
behind it. A period's d is the sum over its gaps, in proportion where its ends divide one. With R
the rate that the NP measured over the time E, without PAUSE it would have been R E / (E - d)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pcn.experiments.data.pauses import Pauses
from pcn.experiments.data.recording import flow_entity
from pcn.experiments.explain.again import Again
from pcn.experiments.explain.flow_log import FlowLog
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.algorithms.pcn import PcnNotificationPoint, PcnParameters
from pcn.hosts.explain_log import SENDER_PARTS
from pcn.virtualnet.times import picoseconds

_LEAST_BPS = 1e6
"""A notification's least rate."""


@dataclass(frozen=True)
class Held:
    """Where PAUSE made a gap longer, or, below 0, shorter: at which port, and within which span a
    packet was there."""

    port: int
    span_ps: tuple[int, int]
    ps: int


@dataclass(frozen=True)
class Gap:
    """Between the arrivals of two packets at the receiver; `longer_ps`: d, at most all of it."""

    from_ps: int
    to_ps: int
    held: tuple[Held, ...]

    @property
    def longer_ps(self) -> int:
        return min(sum(held.ps for held in self.held), self.to_ps - self.from_ps)

    def within(self, begin_ps: int, end_ps: int) -> int:
        """Returns d's part in [begin, end]; parts of spans that follow each other sum to d."""
        length, longer = self.to_ps - self.from_ps, self.longer_ps
        if length == 0:
            return longer if begin_ps < self.to_ps <= end_ps else 0
        first = max(begin_ps, self.from_ps) - self.from_ps
        last = min(end_ps, self.to_ps) - self.from_ps
        return longer * last // length - longer * first // length if last > first else 0


@dataclass(frozen=True)
class Period:
    """Of an NP: the time over which it measured, and the rate that it reported. `longer_ps`: d."""

    from_ps: int
    to_ps: int
    reported_bps: float
    longer_ps: int
    gaps: tuple[Gap, ...]

    def without_bps(self, line_rate_bps: float) -> float:
        """Returns the rate without PAUSE, at most the line's."""
        span = self.to_ps - self.from_ps
        rest = span - self.longer_ps
        return (
            min(self.reported_bps * span / rest, line_rate_bps)
            if rest > 0
            else max(line_rate_bps, _LEAST_BPS)
        )


@dataclass(frozen=True)
class Shift:
    """Of `n` decreases of a rate, from periods in which PAUSE made the time between packets longer,
    or shorter, by `ps` in all: means of the reported rates, and of what they would have been
    without; `roots`: shares of that time."""

    n: int = 0
    ps: int = 0
    reported_bps: float = 0.0
    without_bps: float = 0.0
    roots: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ReceivedRate:
    """Of a sender's decreases, all of them, and those whose periods a PAUSE changed."""

    decreases: int
    longer: Shift
    shorter: Shift


def gaps(log: FlowLog, arrivals_ps: Mapping[int, int]) -> list[Gap] | None:
    """Returns the gaps of a flow's arrivals, in order; None where packets have several ways or
    overtake each other. `arrivals_ps`: by the packet's serial, of those that have arrived."""
    paused = log.sent["parts_ps"][:, SENDER_PARTS.index("paused")].astype(np.int64).tolist()
    times, serials = log.sent["time_ps"].tolist(), log.sent["serial"].tolist()
    hops: dict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
    for name, port, since, start, idle in zip(
        *(log.hops[of].tolist() for of in ("serial", "link", "since_ps", "start_ps", "idle_ps")),
        strict=True,
    ):
        hops[name][port] = since, start, idle
    result: list[Gap] = []
    for place in range(1, len(serials)):
        before, after = serials[place - 1], serials[place]
        if after not in arrivals_ps:
            break
        begin, end = arrivals_ps.get(before), arrivals_ps[after]
        if begin is None or end < begin or hops[before].keys() != hops[after].keys():
            return None
        span = times[place - 1], times[place]
        held = [Held(log.nic, span, paused[place] - paused[place - 1])]
        for port, (since, start, idle) in hops[after].items():
            first_since, first_start, first_idle = hops[before][port]
            longest = (since, start) if idle > first_idle else (first_since, first_start)
            held.append(Held(port, longest, idle - first_idle))
        result.append(Gap(begin, end, tuple(item for item in held if item.ps)))
    return result


def periods(
    of: Sequence[Gap], ends_ps: Sequence[int], packets: Sequence[int],
    reported_bps: Sequence[float], period_ps: int,
) -> list[Period]:  # fmt: skip
    """Returns what an NP measured, by the ends of its periods, their packets and rates. That of a
    single packet is as long as the gap before it, if that is longer than T."""
    arrived = [gap.to_ps for gap in of]
    result = []
    for end, n, rate in zip(ends_ps, packets, reported_bps, strict=True):
        begin = end - period_ps
        last = int(np.searchsorted(arrived, end, "left")) - 1
        if n == 1 and last >= 0 and of[last].to_ps - of[last].from_ps > period_ps:
            begin, end = of[last].from_ps, of[last].to_ps
        first = int(np.searchsorted(arrived, begin, "right"))
        there = [gap for gap in of[first : last + 2] if gap.within(begin, end)]
        longer = sum(gap.within(begin, end) for gap in there)
        result.append(Period(begin, end, rate, longer, tuple(there)))
    return result


def received_rate(
    again: Again, pauses: Pauses, log: FlowLog, span_ps: tuple[int, int], names: Sequence[str]
) -> ReceivedRate | None:
    """Returns what PAUSE did to the rates by which this sender slowed down within a span; None
    where its scheme isn't PCN's, or its packets overtake each other."""
    scheme = find_scheme(again.plan.scheme)
    if scheme.notification_point is not PcnNotificationPoint or not log.hops.size:
        return None
    entity = flow_entity(log.spec.id)
    ends, reported = again.series.get(entity, "rec_rate_bps")
    _, packets = again.series.get(entity, "window_packets")
    _, rates = again.series.get(entity, "rate_bps")
    between = gaps(log, _arrivals(again, log))
    if between is None or not ends.size:
        return None
    ends_ps = np.rint((ends - again.plan.start_s) * 1e12).astype(np.int64).tolist()
    parameters = scheme.configure(again.plan.scheme_parameters).parameters
    assert isinstance(parameters, PcnParameters)
    period_ps = picoseconds(parameters.period_s)
    measured = periods(between, ends_ps, packets.tolist(), reported.tolist(), period_ps)
    taken = rates[rates > 0].tolist()  # from its start on; 0: it has ended, and takes no more
    slower = [
        period
        for period, (old, new) in zip(measured, pairwise(taken), strict=False)
        if new < old and span_ps[0] <= period.to_ps <= span_ps[1]
    ]

    def roots(gap: Held) -> Mapping[int, float]:
        followed, _ = pauses.blame((gap.port, log.spec.traffic_class), [gap.span_ps])
        total = sum(followed.roots.values())
        by_port: dict[int, float] = defaultdict(float)
        for root, ps in followed.roots.items():
            by_port[root.port] += ps / total
        return by_port or {gap.port: 1.0}

    return ReceivedRate(
        len(slower),
        _shift([item for item in slower if item.longer_ps > 0], log.line_bps, roots, names),
        _shift([item for item in slower if item.longer_ps < 0], log.line_bps, roots, names),
    )


def _arrivals(again: Again, log: FlowLog) -> dict[int, int]:
    """Returns when packets came to the host, by serial."""
    ports = again.logs.ports
    result: dict[int, int] = {}
    for serial, link, start, size in zip(
        *(log.hops[of].tolist() for of in ("serial", "link", "start_ps", "bytes")), strict=True
    ):
        end = ports[link]
        cable = again.plan.topology.link_at(end.node, end.port)
        if log.spec.dst in (cable.a.node, cable.b.node):
            flight = round(size * 8e12 / cable.rate_bps) + picoseconds(cable.delay_s)
            result[serial] = start + flight
    return result


def _shift(
    of: Sequence[Period], line_bps: float, roots: Callable[[Held], Mapping[int, float]],
    names: Sequence[str],
) -> Shift:  # fmt: skip
    if not of:
        return Shift()
    weights: dict[str, float] = defaultdict(float)
    for period in of:
        by_root: dict[str, float] = defaultdict(float)
        for gap in period.gaps:
            part = abs(gap.within(period.from_ps, period.to_ps) / (gap.longer_ps or 1))
            for held in gap.held:
                for port, share in roots(held).items():
                    by_root[names[port]] += part * abs(held.ps) * share
        total = sum(by_root.values())
        for name, weight in by_root.items():
            weights[name] += abs(period.longer_ps) * weight / total
    total_ps = sum(period.longer_ps for period in of)
    return Shift(
        len(of), total_ps,
        sum(period.reported_bps for period in of) / len(of),
        sum(period.without_bps(line_bps) for period in of) / len(of),
        {
            name: weight / abs(total_ps)
            for name, weight in sorted(weights.items(), key=lambda item: -item[1])
        },
    )  # fmt: skip
