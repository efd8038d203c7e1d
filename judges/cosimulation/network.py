"""Small networks, drawn from seeds: two to five switches with links, queues and entries, what comes
from hosts, and what changes meanwhile. All times are whole nanoseconds."""

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pcn.hosts import wire
from pcn.softswitch.trimming import DEFAULT
from pcn.topologies import lossless
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

HOPS = "hops"
"""The program of hops.c; all others are schemes' programs, with the scheme's entries."""
SCHEMES = ("pcn", "dcqcn", "tcd", "qcn", "qcn-in", "dctcp", "nscc")
RATES_BPS = (80_000_000, 100_000_000, 200_000_000, 400_000_000, 500_000_000, 1_000_000_000)
"""A byte takes whole nanoseconds."""
UNEVEN_BPS = (70_000_000, 150_000_000, 300_000_000)
RATES_PPS = (5_000, 10_000, 20_000, 50_000, 100_000)
CLASSES = 8
# of hops.c
SWITCHES, HEADER, PLACE = 6, 164, 42
(
    FORWARD, CLONE, CLONE_EGRESS, MULTICAST, RESUBMIT, RECIRCULATE, HOLD, TRUNCATE, DROP,
    DROP_EGRESS, DIGEST, LOG, DRAW,
) = range(13)  # fmt: skip
COPYING = (CLONE, CLONE_EGRESS, MULTICAST)
LABELS, GROUPS = 8, 3
NOWHERE, CPU = 200, 15  # a port that no switch has; where packet-ins leave
MAX_FRAME = 9216
Groups = tuple[tuple[tuple[int, int], ...], ...]
"""The replicas of each, port and instance."""


class Place(NamedTuple):
    """A switch, by its number from 0, and a port of it, from 1."""

    switch: int
    port: int


@dataclass(frozen=True)
class Port:
    """`rate_bps` 0: without. `delay_ns`: of the port itself, behind which the link's comes."""

    rate_bps: int
    delay_ns: int


@dataclass(frozen=True)
class Cable:
    """A link between two switches, with the same delay in both directions."""

    a: Place
    b: Place
    delay_ns: int


@dataclass(frozen=True)
class Queues:
    """What each queue of each switch begins with; `reentry_ns`: of what a program sends round.
    `trimming`: queues that trim, to `trimmed_bytes`. `priorities`: queues of a port, from 0."""

    priorities: int
    depth: int
    reentry_ns: int
    trimming: tuple[int, ...]
    tail_percent: int
    trimmed_bytes: int


@dataclass(frozen=True)
class Entries:
    """Of hops.c, by switch: ports by label, replicas (port, instance) by session and by group."""

    ways: tuple[tuple[int, ...], ...] = ()
    clones: tuple[Groups, ...] = ()
    groups: tuple[Groups, ...] = ()


class Arrival(NamedTuple):
    """A frame comes from a host."""

    at_ns: int
    place: Place
    frame: bytes


class PacketOut(NamedTuple):
    """A controller sends a frame to the CPU port."""

    at_ns: int
    switch: int
    frame: bytes


class Shape(NamedTuple):
    """A port gets another rate and delay."""

    at_ns: int
    place: Place
    to: Port


class QueueSet(NamedTuple):
    """A queue gets another depth and rate; 0 packets/s: any."""

    at_ns: int
    place: Place
    queue: int
    depth: int
    rate_pps: int


class CableSet(NamedTuple):
    """A link goes down, or up again: what arrives by one that is down is lost."""

    at_ns: int
    cable: int
    up: bool


class Held(NamedTuple):
    """Of hops.c: a port sends its HOLD frames round, or no more."""

    at_ns: int
    place: Place
    held: bool


class Way(NamedTuple):
    """Of hops.c: a label leads to another port."""

    at_ns: int
    switch: int
    label: int
    port: int


class Threshold(NamedTuple):
    """Of a scheme's program: a port pauses its neighbour above other bytes."""

    at_ns: int
    place: Place
    xoff_bytes: int


Step = Arrival | PacketOut | Shape | QueueSet | CableSet | Held | Way | Threshold


@dataclass(frozen=True)
class Network:
    """`ports`: by switch, from port 1. `steps`: in order of time, and at one moment in theirs."""

    seed: int
    program: str
    ports: tuple[tuple[Port, ...], ...]
    cables: tuple[Cable, ...]
    queues: Queues
    entries: Entries
    xoff_bytes: int
    steps: tuple[Step, ...]
    until_ns: int

    @property
    def at_hosts(self) -> list[Place]:
        """Ports without a link to a switch: there is a host at each."""
        inner = {end for cable in self.cables for end in (cable.a, cable.b)}
        places = (
            Place(switch, number)
            for switch, ports in enumerate(self.ports)
            for number in range(1, len(ports) + 1)
        )
        return [place for place in places if place not in inner]

    def topology(self) -> Topology:
        """Returns it as schemes' switches are programmed for it."""
        hosts = self.at_hosts
        names = [f"h{number}" for number in range(len(hosts))]
        links = [
            Link(
                Endpoint(name, 0), Endpoint(f"s{place.switch}", place.port),
                self._nominal_bps(place), 1e-6,
            )
            for name, place in zip(names, hosts, strict=True)
        ]  # fmt: skip
        links += [
            Link(
                Endpoint(f"s{cable.a.switch}", cable.a.port),
                Endpoint(f"s{cable.b.switch}", cable.b.port),
                self._nominal_bps(cable.a),
                cable.delay_ns * 1e-9,
            )
            for cable in self.cables
        ]
        switches = tuple(Switch(f"s{i}", i + 1) for i in range(len(self.ports)))
        parameters = lossless.parameters(self.xoff_bytes, None, lossless.MTU_BYTES, 400)
        return Topology("drawn", make_hosts(names), switches, tuple(links), parameters=parameters)

    def _nominal_bps(self, place: Place) -> float:
        return float(self.ports[place.switch][place.port - 1].rate_bps or max(RATES_BPS))


def draw(seed: int) -> Network:
    """Returns the network of a seed, always the same."""
    rng = random.Random(f"network {seed}")
    program = HOPS if rng.random() < 0.5 else rng.choice(SCHEMES)
    n_ports, cables = _wiring(rng)
    even = rng.random() < 0.7
    ports = tuple(tuple(_port(rng, even, program == HOPS) for _ in range(n)) for n in n_ports)
    network = Network(
        seed, program, ports, cables, _queues(rng),
        _entries(rng, n_ports) if program == HOPS else Entries(),
        rng.choice((3_000, 6_000, 20_000)),
        (),
        rng.choice((2_000_000, 5_000_000)),
    )  # fmt: skip
    steps = _arrivals(rng, network) + _changes(rng, network)
    return replace(network, steps=tuple(sorted(steps, key=lambda step: step.at_ns)))


def _queues(rng: random.Random) -> Queues:
    trimming: list[int] = []
    if rng.random() < 0.2:
        trimming = rng.sample(
            [queue for queue in range(CLASSES) if queue != DEFAULT.queue_index], 2
        )
    return Queues(
        priorities=CLASSES if trimming else rng.choice((CLASSES, CLASSES, CLASSES, 4, 1)),
        depth=rng.choice((1, 2, 5, 16, 64, 200)),
        reentry_ns=rng.choice((0, 0, 1_003, 20_011)),
        trimming=tuple(sorted(trimming)),
        tail_percent=rng.choice((0, 50)),
        trimmed_bytes=rng.choice((64, 200)),
    )


def _wiring(rng: random.Random) -> tuple[list[int], tuple[Cable, ...]]:
    """Returns the number of ports of each switch, and links: a tree, some more, and one or two
    ports for hosts at each."""
    n = rng.randint(2, 5)
    pairs = [(rng.randrange(i), i) for i in range(1, n)]
    pairs += [tuple(rng.sample(range(n), 2)) for _ in range(rng.choice((0, 0, 1, 2)))]
    n_ports = [0] * n

    def port(switch: int) -> Place:
        n_ports[switch] += 1
        return Place(switch, n_ports[switch])

    for switch in range(n):
        for _ in range(rng.choice((1, 1, 2))):
            port(switch)
    cables = [Cable(port(a), port(b), rng.randint(5_000, 40_000)) for a, b in pairs]
    return n_ports, tuple(cables)


def _port(rng: random.Random, even: bool, may_be_unshaped: bool) -> Port:
    unshaped = may_be_unshaped and rng.random() < 0.15
    rate_bps = 0 if unshaped else rng.choice(RATES_BPS if even else RATES_BPS + UNEVEN_BPS)
    return Port(rate_bps, rng.choice((0, 0, rng.randint(1, 30_000))))


def _entries(rng: random.Random, n_ports: Sequence[int]) -> Entries:
    def out(n: int) -> int:
        return rng.choice((NOWHERE, CPU)) if rng.random() < 0.05 else rng.randint(1, n)

    def groups(n: int) -> Groups:
        return tuple(
            tuple((out(n), instance) for instance in range(1, rng.randint(1, 3) + 1))
            for _ in range(GROUPS)
        )

    return Entries(
        tuple(tuple(out(n) for _ in range(LABELS)) for n in n_ports),
        tuple(groups(n) for n in n_ports),
        tuple(groups(n) for n in n_ports),
    )


def _arrivals(rng: random.Random, network: Network) -> list[Step]:
    hosts = network.at_hosts
    last_ns = network.until_ns * 6 // 10
    classes = rng.choice(((3,), (0, 3), (0, 3, 7), tuple(range(CLASSES))))
    steps: list[Step] = []
    for _ in range(rng.randint(3, 40)):
        at_ns = rng.randrange(last_ns)
        place = rng.choice(hosts)
        gap_ns = rng.choice((0, 0, rng.randint(1, 50_000)))
        for number in range(rng.randint(1, 8)):
            frame = (
                _hop_frame(rng, classes)
                if network.program == HOPS
                else _scheme_frame(rng, network, hosts.index(place), classes)
            )
            steps.append(Arrival(at_ns + number * gap_ns, place, frame))
        if network.program == HOPS and rng.random() < 0.2:
            switch = rng.randrange(len(network.ports))
            steps.append(PacketOut(at_ns, switch, _hop_frame(rng, classes)))
    return steps


def _hop_frame(rng: random.Random, classes: Sequence[int]) -> bytes:
    copies = 0
    instructions: list[tuple[int, int, int, int]] = []
    for _ in range(rng.randint(1, SWITCHES)):
        operation = FORWARD if rng.random() < 0.4 else rng.randrange(DRAW + 1)
        if operation in COPYING:
            copies += 1
            operation = operation if copies <= 2 else FORWARD
        argument = {RECIRCULATE: rng.randint(1, 6), TRUNCATE: rng.randrange(256)}.get(
            operation, rng.randint(1, GROUPS)
        )
        if rng.random() < 0.02:
            argument = 99  # no such group, or often round
        label = LABELS if rng.random() < 0.03 else rng.randrange(LABELS)  # the former leads nowhere
        instructions.append((operation, argument, label, rng.choice(classes)))
    length = rng.choice((HEADER, 500, 1000, rng.randint(HEADER, 1500), 1500))
    if rng.random() < 0.02:
        length = rng.choice((10, 60, MAX_FRAME))  # cut, or as long as can be
    return hop_frame(instructions, length, rng.randbytes(12), rng.random() < 0.9)


def hop_frame(
    instructions: Sequence[tuple[int, int, int, int]],
    length: int,
    addresses: bytes = bytes(12),
    is_ipv4: bool = True,
) -> bytes:
    """Returns a frame of hops.c: operation, argument, label and class for each switch. Not
    `is_ipv4`: no queue can cut it."""
    ip = struct.pack(
        "!BBHIBBHII", 0x45, 0, max(length, PLACE) - 14, 0, 64, 17, 0, 0x0A000001, 0x0A000002
    )
    ip = ip[:10] + struct.pack("!H", wire.ip_checksum(ip)) + ip[12:]
    udp = struct.pack("!HHHH", 1, 2, max(length, PLACE) - 34, 0)
    head = addresses + (b"\x08\x00" if is_ipv4 else b"\x88\xb5") + ip + udp
    listed = b"".join(map(bytes, instructions)).ljust(4 * SWITCHES, b"\0")
    return (head + bytes((0, len(instructions))) + listed).ljust(length, b".")[:length]


def instructions_of(frame: bytes) -> range:
    """Returns where the operations of a frame of hops.c are; of one that is cut, none."""
    first = PLACE + 2
    return range(first, first + 4 * frame[PLACE + 1], 4) if len(frame) >= HEADER else range(0)


def _scheme_frame(
    rng: random.Random, network: Network, source: int, classes: Sequence[int]
) -> bytes:
    addresses = make_hosts([f"h{number}" for number in range(len(network.at_hosts))])
    port_mac = bytes.fromhex("0250434e00") + bytes((network.at_hosts[source].port,))
    to = rng.choice([number for number in range(len(addresses)) if number != source])
    ends = (
        wire.parse_mac(addresses[source].mac),
        port_mac,
        wire.parse_ip(addresses[source].ip),
        wire.parse_ip(addresses[to].ip),
    )
    kind = rng.random()
    dscp = rng.choice(classes) << 3
    ecn = rng.choice((wire.ECN_ECT0, wire.ECN_ECT0, wire.ECN_CE, wire.ECN_NOT_ECT))
    flow, psn = rng.randint(1, 5), rng.randrange(1000)
    if kind < 0.75:
        payload = bytes(rng.choice((4, 200, 1000, 1000)))
        return wire.encode_data(wire.DataPacket(*ends, flow, psn, payload, ecn, dscp))
    if kind < 0.85:
        return wire.encode_ack(wire.AckPacket(*ends, flow, psn, ecn))
    if kind < 0.90:
        return wire.encode_cnp(wire.CnpPacket(*ends, flow, wire.ECN_CE, 1000))
    if kind < 0.98:
        quanta = {rng.choice(classes): rng.choice((0, 1, 50, 400, 0xFFFF)) for _ in range(2)}
        return wire.encode_pfc(wire.PfcFrame(ends[0], quanta))
    return rng.randbytes(12) + struct.pack("!H", 0x0800) + rng.randbytes(rng.randint(0, 200))


def _changes(rng: random.Random, network: Network) -> list[Step]:
    """Returns changes of ports, queues, links and entries."""
    steps: list[Step] = []
    for _ in range(rng.choice((0, 2, 5, 12))):
        at_ns = rng.randrange(network.until_ns * 8 // 10)
        switch = rng.randrange(len(network.ports))
        place = Place(switch, rng.randint(1, len(network.ports[switch])))
        kind = rng.randrange(5)
        if kind == 0:
            steps.append(Shape(at_ns, place, _port(rng, True, network.program == HOPS)))
        elif kind == 1:
            depth = rng.choice((0, 1, 3, 20))
            rate_pps = rng.choice((0, 0, *RATES_PPS))
            queue = rng.randrange(network.queues.priorities)
            steps.append(QueueSet(at_ns, place, queue, depth, rate_pps))
        elif kind == 2:
            cable = rng.randrange(len(network.cables))
            steps.append(CableSet(at_ns, cable, False))
            steps.append(CableSet(at_ns + rng.randint(1, 300_000), cable, True))
        elif network.program != HOPS:
            steps.append(Threshold(at_ns, place, rng.choice((0, 1_500, 10_000))))
        elif kind == 3:
            steps.append(Held(at_ns, place, True))
            steps.append(Held(at_ns + rng.randint(1, 500_000), place, False))
        else:
            port = rng.randint(1, len(network.ports[switch]))
            steps.append(Way(at_ns, switch, rng.randrange(LABELS), port))
    return steps
