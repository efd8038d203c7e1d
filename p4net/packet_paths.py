"""Packets' ways through a network, of the steps that its switches report (softswitch/trace).

A switch's steps come in order, each part of a packet's work in one piece: ingress, then egress for
each copy. A link keeps the order of its frames, so what comes in by a port is the next equal frame
that left the port at its other end.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pcn.base import inputs
from pcn.p4net.errors import P4NetError
from pcn.softswitch.trace import json_lines
from pcn.softswitch.trace.decoder import Step
from pcn.topologies.model import Topology


@dataclass
class Departure:
    """A copy's egress. `next` is the switch that it came to; None: it came to a host, to no node,
    or was dropped."""

    steps: list[Step] = field(default_factory=list)
    next: Hop | None = None

    @property
    def queued(self) -> Step:
        """What its queue had."""
        return self.steps[0]

    @property
    def port(self) -> int:
        return int(self.queued.fields["port"])

    @property
    def clone(self) -> str:
        """Whose clone it is: ingress or egress; empty: it is none."""
        return {"ingress clone": "ingress", "egress clone": "egress"}.get(
            self.queued.fields["instance"], ""
        )

    @property
    def sent(self) -> Step | None:
        """The frame that left; None: none did."""
        return self.steps[-1] if self.steps[-1].kind == "sent" else None


@dataclass
class Hop:
    """A packet's visit to a switch. `number` is of the switch alone."""

    switch: str
    number: int
    steps: list[Step] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)
    again: Hop | None = None  # resubmitted

    @property
    def received(self) -> Step:
        return self.steps[0]

    @property
    def port(self) -> int:
        return int(self.received.fields["port"])

    @property
    def decided(self) -> Step | None:
        """What ingress decided; None: it hasn't ended."""
        return next((step for step in self.steps if step.kind == "decided"), None)

    @property
    def ingress_steps(self) -> list[Step]:
        """The steps of the packet itself, up to the decision."""
        return self.steps[: self._end]

    @property
    def cloned(self) -> list[Step]:
        """The steps of its clone of ingress, which is parsed anew."""
        return self.steps[self._end :]

    @property
    def _end(self) -> int:
        return next(
            (n for n, step in enumerate(self.steps, start=1) if step.kind == "decided"),
            len(self.steps),
        )

    def later(self) -> Iterator[Hop]:
        """Yields this visit, and those that follow from it, depth first."""
        waiting = [self]
        while waiting:  # not a call a visit: a packet may come back more often than calls nest
            hop = waiting.pop()
            yield hop
            next_hops = [hop.again, *(departure.next for departure in hop.departures)]
            waiting += [hop for hop in reversed(next_hops) if hop is not None]

    def fields(self) -> Iterator[tuple[str, str]]:
        """Yields the names of header fields with their values, as the parser found them."""
        for step in self.ingress_steps:
            if step.kind == "extracted":
                header = step.fields["header"]
                yield from (
                    (f"{header}.{name}", value) for name, value in step.fields["fields"].items()
                )


class Ways:
    """Collects the steps of all switches of a network: `take` is what VirtualP4's `trace` calls."""

    def __init__(self) -> None:
        self._hops: dict[str, dict[int, Hop]] = defaultdict(dict)
        self._open: dict[str, list[Step]] = {}

    def take(self, switch: str, step: Step) -> None:
        """Takes a switch's next step."""
        hops = self._hops[switch]
        if step.kind == "received":
            hops[step.packet] = Hop(switch, step.packet)
            self._open[switch] = hops[step.packet].steps
        elif (
            step.kind == "dequeued"
            and step.packet in hops
            and hops[step.packet].decided is not None
        ):
            departure = Departure()
            hops[step.packet].departures.append(departure)
            self._open[switch] = departure.steps
        if step.packet in hops:
            self._open[switch].append(step)

    def all(self, topology: Topology) -> list[Hop]:
        """Returns the first hops of all packets that came from hosts or controllers, in order of
        time."""
        in_order = sorted(
            (hop for hops in self._hops.values() for hop in hops.values()),
            key=lambda hop: hop.received.time_ns,
        )
        on_link: dict[tuple[str, int], deque[Departure]] = defaultdict(deque)
        left = [
            (departure.sent.time_ns, hop.switch, departure)
            for hop in in_order
            for departure in hop.departures
            if departure.sent is not None
        ]
        for _, switch, departure in sorted(left, key=lambda leaving: leaving[0]):
            if departure.port in topology.ports(switch):
                peer = topology.peer(switch, departure.port)
                on_link[peer.node, peer.port].append(departure)
        first, returned = [], self._returned()
        past = set[int]()
        """What has left by now: no packet comes from where it will be."""
        for hop in in_order:
            instance = hop.received.fields["instance"]
            waiting = returned[hop.switch, instance]
            if waiting and id(waiting[0]) in past:
                before = waiting.popleft()
                if isinstance(before, Hop):
                    before.again = hop
                else:
                    before.next = hop
            elif (origin := _origin(hop, on_link[hop.switch, hop.port], past)) is not None:
                origin.next = hop
            else:
                first.append(hop)
            past.update(map(id, (hop, *hop.departures)))
        return first

    def _returned(self) -> dict[tuple[str, str], deque[Hop | Departure]]:
        """Returns what goes back to ingress, in order, by switch and instance type."""
        returned: dict[tuple[str, str], deque[Hop | Departure]] = defaultdict(deque)
        for switch, hops in self._hops.items():
            for hop in hops.values():
                if any(step.fields.get("resubmitted") for step in hop.steps):
                    returned[switch, "resubmitted"].append(hop)
            departures = [departure for hop in hops.values() for departure in hop.departures]
            for departure in sorted(departures, key=lambda departure: departure.steps[-1].time_ns):
                if any(step.fields.get("recirculated") for step in departure.steps):
                    returned[switch, "recirculated"].append(departure)
        return returned


def _origin(hop: Hop, waiting: deque[Departure], past: Container[int]) -> Departure | None:
    """Returns which of the frames that are on a link has come; those before it were lost."""
    if hop.received.fields["instance"] != "normal":
        return None
    for number, departure in enumerate(waiting):
        assert departure.sent is not None
        if departure.sent.time_ns > hop.received.time_ns or id(departure) not in past:
            return None
        if all(
            departure.sent.fields[name] == hop.received.fields[name] for name in ("frame", "length")
        ):
            for _ in range(number + 1):
                waiting.popleft()
            return departure
    return None


def read(paths: Sequence[Path], names: dict[str, str]) -> Ways:
    """Returns the steps of files that `softswitch --trace` wrote; `names`: a switch's by its device
    id. Raises P4NetError."""
    ways = Ways()
    for path in paths:
        try:
            for number, text in enumerate(inputs.read_text(path).splitlines(), start=1):
                try:
                    switch, step = json_lines.parse(text)
                except ValueError:
                    where = f"{path}, line {number}"
                    raise P4NetError(
                        f"{where}: no step of a packet, as `softswitch --trace` writes them"
                    ) from None
                ways.take(names.get(switch, switch), step)
        except (OSError, UnicodeDecodeError) as error:
            raise P4NetError(
                f"cannot read {path}: {getattr(error, 'strerror', None) or error}"
            ) from None
    return ways
