"""A switch whose outputs are queues, first in, first out, and one input of it. Times are ns,
lengths bytes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# Of what happens at one time, in this order.
_ARRIVES, _DEPARTS, _COPIED = range(3)


@dataclass(frozen=True)
class Packet:
    at: int
    flow: int
    output: int
    length: int
    number: int


@dataclass(frozen=True)
class Arrives:
    """`inside`: the bytes that its input then has inside, this packet's too."""

    at: int
    packet: Packet
    inside: int


@dataclass(frozen=True)
class Departs:
    """It begins to leave."""

    at: int
    packet: Packet


@dataclass(frozen=True)
class Copied:
    """What a copy that was made at this packet's arrival comes to, a while later."""

    at: int
    packet: Packet


Event = Arrives | Departs | Copied


def run(packets: Iterable[Packet], rates: dict[int, float], transit_ns: int) -> Iterator[Event]:
    """All that happens, in order. `rates`: of outputs, bytes a ns. `transit_ns`: of copies."""
    events: list[tuple[int, int, int, Packet]] = []
    free = dict.fromkeys(rates, 0.0)
    for order, packet in enumerate(sorted(packets, key=lambda packet: packet.at)):
        leaves = max(packet.at, free[packet.output])
        free[packet.output] = leaves + packet.length / rates[packet.output]
        for at, kind in (
            (packet.at, _ARRIVES),
            (round(leaves), _DEPARTS),
            (packet.at + transit_ns, _COPIED),
        ):
            events.append((at, kind, order, packet))
    inside = 0
    for at, kind, _, packet in sorted(events, key=lambda event: event[:3]):
        if kind == _ARRIVES:
            inside += packet.length
            yield Arrives(at, packet, inside)
        elif kind == _DEPARTS:
            inside -= packet.length
            yield Departs(at, packet)
        else:
            yield Copied(at, packet)
