"""A network of hops.c in virtual time: its hosts' frames in a TimedNetwork, one context with all
switches and links."""

from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from cosimulation.network import (
    CLASSES,
    COPYING,
    CPU,
    FORWARD,
    NOWHERE,
    RATES_BPS,
    Arrival,
    CableSet,
    Entries,
    Groups,
    Held,
    Network,
    PacketOut,
    Place,
    Port,
    QueueSet,
    Shape,
    Step,
    Way,
    instructions_of,
)
from cosimulation.play import TICK_NS, Departure, Outcome, change, hops_state, load_hops

from pcn.softswitch.embed.switch import NativeSwitch
from pcn.virtualnet import TimedNetwork
from pcn.virtualnet.native import NO_QUEUE, switch_library

START_NS = 10_000
"""Nothing happens before, as a host sends its frames before they arrive."""
_HOST_DELAY_NS = 1_000
_HOST_BPS = 8_000_000_000_000  # 1 ps a byte: frames of a host that arrive 10 ns apart don't wait
_APART_NS = 10
_KINDS = ("data", "notifications")  # which copies count as


def exact(network: Network, *, copies: bool) -> Network:
    """Returns what of a network means the same in virtual time: even rates, no delay but the
    links', no trimming, queues without rates, frames of hosts alone, one after the other, to ports
    with links, as others have no queue there. Not `copies`: what is to be copied is forwarded."""
    ports = tuple(tuple(Port(_even(port.rate_bps), 0) for port in of) for of in network.ports)
    steps: list[Step] = []
    latest: dict[Place, int] = {}
    for step in network.steps:
        if isinstance(step, PacketOut):
            continue
        step = step._replace(at_ns=step.at_ns + START_NS)
        if isinstance(step, Arrival):
            at_ns = max(step.at_ns, latest.get(step.place, 0) + _APART_NS)
            latest[step.place] = at_ns
            frame = step.frame if copies else _without_copies(step.frame)
            step = step._replace(at_ns=at_ns, frame=frame)
        elif isinstance(step, Shape):
            step = step._replace(to=Port(_even(step.to.rate_bps), 0))
        elif isinstance(step, QueueSet):
            step = step._replace(rate_pps=0)
        steps.append(step)
    return replace(
        network,
        ports=ports,
        queues=replace(network.queues, trimming=(), reentry_ns=0),
        entries=_linked(network.entries),
        steps=tuple(sorted(steps, key=lambda step: step.at_ns)),
        until_ns=network.until_ns + START_NS,
    )


def _linked(entries: Entries) -> Entries:
    def port(number: int) -> int:
        return 1 if number in (NOWHERE, CPU) else number

    def linked(of: tuple[Groups, ...]) -> tuple[Groups, ...]:
        return tuple(
            tuple(tuple((port(out), instance) for out, instance in group) for group in groups)
            for groups in of
        )

    ways = tuple(tuple(map(port, ways)) for ways in entries.ways)
    return Entries(ways, linked(entries.clones), linked(entries.groups))


def _even(rate_bps: int) -> int:
    return rate_bps if rate_bps in RATES_BPS else max(RATES_BPS)


def _without_copies(frame: bytes) -> bytes:
    changed = bytearray(frame)
    for at in instructions_of(frame):
        if changed[at] in COPYING:
            changed[at] = FORWARD
    return bytes(changed)


class _Run:
    """A network of hops.c, as `exact` makes it, in virtual time."""

    def __init__(self, network: Network, stack: ExitStack):
        self._network = network
        self._topology = network.topology()
        self._natives = [
            stack.enter_context(
                NativeSwitch(switch_library(), seed=network.seed, manual=True, tick_ns=TICK_NS)
            )
            for _ in network.ports
        ]
        for number, native in enumerate(self._natives):
            load_hops(network, number, native)
        switches = {f"s{number}": native for number, native in enumerate(self._natives)}
        self._timed = stack.enter_context(
            TimedNetwork(self._topology, switches, whole_bytes=9216, queues="one")
        )
        self._timed.survive()
        self._hosts = {place: f"h{number}" for number, place in enumerate(network.at_hosts)}
        for number, ports in enumerate(network.ports):
            for place, port in enumerate(ports, start=1):
                self._set_rate(Place(number, place), port.rate_bps)
                for queue in range(CLASSES):
                    self._set_depth(Place(number, place), queue, network.queues.depth)
        for host in self._hosts.values():
            self._timed.call("vn_set_link", self._timed.link(host, 0), _HOST_BPS, True)

    def _set_rate(self, place: Place, rate_bps: int):
        link = self._timed.link(f"s{place.switch}", place.port)
        self._timed.call("vn_set_link", link, rate_bps, True)

    def _set_depth(self, place: Place, queue: int, depth: int):
        if queue >= self._network.queues.priorities:
            depth = 0
        self._timed.set_queue(f"s{place.switch}", place.port, queue, depth=depth or NO_QUEUE)

    def _take(self, step: Step):
        if isinstance(step, CableSet):
            cable = self._network.cables[step.cable]
            for end in (cable.a, cable.b):
                for kind in _KINDS:
                    self._timed.disturb(f"s{end.switch}", end.port, kind, lose=int(not step.up))
        elif isinstance(step, Shape):
            self._set_rate(step.place, step.to.rate_bps)
        elif isinstance(step, QueueSet):
            self._set_depth(step.place, step.queue, step.depth)
        elif isinstance(step, Held | Way):
            number = step.place.switch if isinstance(step, Held) else step.switch
            change(self._network, self._natives[number], None, step)

    def run(self) -> Outcome:
        for step in self._network.steps:
            if isinstance(step, Arrival):
                start_ps = (step.at_ns - _HOST_DELAY_NS) * 1000 - len(step.frame)
                self._timed.send(self._hosts[step.place], start_ps / 1e12, step.frame)
            else:
                self._timed.at(step.at_ns / 1e9, partial(self._take, step))
        self._timed.run(until_s=self._network.until_ns / 1e9)
        departures = [
            Departure(round(frame.time_s * 1e9) - _HOST_DELAY_NS, place, frame.start)
            for place, host in self._hosts.items()
            for frame in self._timed.arrived(host)
        ]
        state = {
            f"s{number} {name}": value
            for number, native in enumerate(self._natives)
            for name, value in hops_state(native).items()
        }
        return Outcome(sorted(departures, key=lambda left: left[:2]), [], state)


def timed(network: Network) -> Outcome:
    """Plays what `exact` returns. `departures`: to hosts alone. Raises VirtualError."""
    with ExitStack() as stack:
        return _Run(network, stack).run()


def at_hosts(network: Network, outcome: Outcome) -> Outcome:
    """Returns what of a play virtual time has, too."""
    hosts = set(network.at_hosts)
    last_ns = network.until_ns - _HOST_DELAY_NS  # what leaves later hasn't arrived
    departures = [
        left for left in outcome.departures if left.place in hosts and left.at_ns <= last_ns
    ]
    state = {name: value for name, value in outcome.state.items() if ":" not in name}
    return Outcome(departures, [], state)
