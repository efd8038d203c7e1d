"""What switches are besides programs: their schedulers, buffers and latency, and how ports serve
classes."""

from __future__ import annotations

import ctypes
import math
import random
from collections.abc import Iterable, Sequence

from pcn.softswitch.native_types import TrimmingRecord
from pcn.softswitch.trimming import DEFAULT, Trimming
from pcn.topologies import entry_points, order
from pcn.topologies.model import Endpoint, Switch
from pcn.topologies.schedules import Schedule
from pcn.topologies.switch import ARBITRATIONS, SCHEDULER
from pcn.topologies.watchdog import FORWARD, Watchdog
from pcn.virtualnet import native
from pcn.virtualnet.counts import WatchdogStats, counted
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.network_part import NetworkPart
from pcn.virtualnet.times import picoseconds


def scheduler_parts(arbitrations: Iterable[str]) -> list[native.Part]:
    """Returns what the engine needs for these arbitrations of switches beside its own: of installed
    packages, and of C files. Raises VirtualError for one that is missing, can't be loaded, or
    stands in a topology's file."""
    parts: dict[str, native.Part] = {}
    for arbitration in sorted(set(arbitrations).difference(ARBITRATIONS)):
        name, part = _scheduler(arbitration)
        if name in ARBITRATIONS.values() or parts.get(name, part).source != part.source:
            raise VirtualError(f"arbitration {arbitration}: another scheduler has the name {name}")
        parts[name] = part
    return list(parts.values())


def _scheduler(arbitration: str) -> tuple[str, native.Part]:
    if order.is_shown(arbitration):
        text = order.stored(arbitration)
        raise VirtualError(
            f"arbitration {text}: a topology's file can't bring code; `--order {text}` does, or a "
            "topology that is a FILE.py"
        )
    if (code := order.file_and_name(arbitration)) is not None:
        path, name = code
        if not path.is_file():
            raise VirtualError(f"arbitration {arbitration}: no file {path}")
        return name, native.Part(path.absolute(), schedulers=(name,))
    if (point := entry_points.find(SCHEDULER, arbitration)) is None:
        raise VirtualError(f"no package brings the arbitration {arbitration!r} here: install it")
    part = entry_points.loaded(SCHEDULER, point, native.Part, VirtualError)
    if arbitration not in part.schedulers:
        raise VirtualError(
            f"{SCHEDULER} {arbitration!r}, {point.value}: the Part has no {arbitration!r}"
        )
    return arbitration, part


def scheduler_name(arbitration: str) -> str:
    """Returns the engine's name for it; empty: FIFO, which has none."""
    code = order.file_and_name(arbitration)
    return code[1] if code else ARBITRATIONS.get(arbitration, arbitration)


class Ports(NetworkPart):
    """The part of a TimedNetwork that sets switches and their ports, ports when all else is
    there."""

    def set_queue(
        self, switch: str, port: int, traffic_class: int, *, depth: int = 0, rate_pps: int = 0
    ) -> None:
        """How many packets a class's output queue holds, of those that no flow control protects,
        and how many leave it in a second, beside the link's rate; 0: unlimited. Depth
        `native.NO_QUEUE`: all are refused."""
        if not (
            0 <= depth <= native.NO_QUEUE
            and 0 <= rate_pps < 2**63
            and 0 <= traffic_class < native.CLASSES
        ):
            raise VirtualError(
                f"a queue of class {traffic_class}, {depth} packets, {rate_pps} packets/s: classes "
                f"are 0 to {native.CLASSES - 1}, a depth is at most {native.NO_QUEUE - 1}, a rate "
                "below 2^63, or either 0: unlimited"
            )
        self._check(
            self._library.vn_set_queue(
                self._changing(),
                self._links[Endpoint(switch, port)],
                traffic_class,
                depth,
                rate_pps,
            )
        )

    def set_trimming(
        self,
        switch: str,
        port: int,
        classes: Iterable[int],
        trimming: Trimming = DEFAULT,
        depth: int = 2048,
        seed: int = 1,
    ) -> None:
        """Packets that the queues of these classes refuse (`set_queue`) are trimmed, if flow
        control doesn't protect them. `depth`: trimmed packets that wait; more are lost. `seed`,
        with the port, determines what `tail_percent` draws."""
        numbers = set(classes)
        if not numbers <= set(range(native.CLASSES)):
            raise VirtualError(f"classes {sorted(numbers)}: 0 to {native.CLASSES - 1} are possible")
        link = self._links[Endpoint(switch, port)]
        draws = trimming.tail_percent != 0  # and a generator takes as long as all the rest here
        drawn = random.Random(f"{seed}/{link}").getrandbits(64) if draws else 0
        raw = TrimmingRecord.of(numbers, trimming, drawn)
        self._check(self._library.vn_set_trimming(self._changing(), link, ctypes.byref(raw)))
        self.set_queue(switch, port, trimming.queue_index, depth=depth)

    def set_weights(self, switch: str, port: int, weights: Sequence[int]) -> None:
        """By class: a port serves those with a weight by deficit round robin, behind the others
        (0), which are strict. When all else is set. Raises VirtualError."""
        of = (ctypes.c_uint16 * native.CLASSES)(*Schedule(tuple(weights)).weights)
        self._check(
            self._library.vn_set_weights(self._changing(), self._links[Endpoint(switch, port)], of)
        )

    def set_caps(self, switch: str, port: int, caps_bps: Sequence[float]) -> None:
        """By class: it sends at most at this rate, also where the line is free; 0: at the line's.
        Raises VirtualError."""
        caps = Schedule((0,) * native.CLASSES, caps_bps=tuple(caps_bps)).caps_bps
        # beyond any rate a cap keeps nothing back
        of = (ctypes.c_uint64 * native.CLASSES)(*(math.ceil(min(cap, 2**63)) for cap in caps))
        self._check(
            self._library.vn_set_caps(self._changing(), self._links[Endpoint(switch, port)], of)
        )

    def set_watchdog(self, switch: str, port: int, watchdog: Watchdog) -> None:
        """Gives a port a PFC watchdog, of its lossless classes or `watchdog.classes`, whatever its
        `ports`. Raises VirtualError."""
        times = map(picoseconds, (watchdog.poll_s, watchdog.detection_s, watchdog.restoration_s))
        mask = sum(1 << number for number in set(watchdog.classes or range(native.CLASSES)))
        config = native.WatchdogConfig(*times, watchdog.action == FORWARD, mask)
        link = self._links[Endpoint(switch, port)]
        self._check(self._library.vn_set_watchdog(self._changing(), link, ctypes.byref(config)))

    def watchdog_stats(self, switch: str, port: int) -> WatchdogStats:
        """Returns what a port's PFC watchdog has counted; zeros where it has none. Raises
        VirtualError before the run."""
        raw = native.WatchdogStats()
        if (
            self._library.vn_watchdog_of(
                self._alive(), self._links[Endpoint(switch, port)], ctypes.byref(raw)
            )
            < 0
        ):
            raise VirtualError(
                f"{switch}:{port}: no port of a switch, or the network hasn't run yet"
            )
        return counted(WatchdogStats, raw)

    def reading_left(self) -> list[str]:
        """Returns the names of the schedulers that serve by what packets report that their flow has
        left."""
        reads, alive = self._library.vn_reads_left, self._alive()
        by_name = {scheduler_name(s.arbitration): s.name for s in self.topology.switches}
        return [name for name, switch in by_name.items() if reads(alive, self._nodes[switch])]

    def _equip(self, switch: Switch) -> None:
        """Its scheduler, its output buffers, its latency."""
        node = self._nodes[switch.name]
        if name := scheduler_name(switch.arbitration):
            self._check(self._library.vn_set_scheduler(self._alive(), node, name.encode()))
        if switch.output is not None:
            buffer = switch.output
            config = native.FabricConfig(
                round(buffer.size_bytes),
                picoseconds(buffer.latency_s),
                buffer.speed_up,
                buffer.reliable,
            )
            self._check(self._library.vn_set_fabric(self._alive(), node, ctypes.byref(config)))
        if switch.takes_time:
            latency_ps = picoseconds(switch.latency_s)
            self._check(
                self._library.vn_set_latency(self._alive(), node, latency_ps, switch.cut_through)
            )
