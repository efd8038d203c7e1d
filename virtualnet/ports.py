"""What switches are besides programs: their schedulers, buffers and latency, and how ports serve
classes."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterable, Sequence

from pcn.softswitch.native_types import TrimmingRecord
from pcn.softswitch.trimming import DEFAULT, Trimming
from pcn.topologies import entry_points
from pcn.topologies.model import Endpoint, Switch, Topology
from pcn.topologies.switch import ARBITRATIONS, SCHEDULER
from pcn.topologies.watchdog import FORWARD, Watchdog
from pcn.virtualnet import native
from pcn.virtualnet.counts import WatchdogStats, counted
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.times import picoseconds


def scheduler_parts(topology: Topology) -> list[native.Part]:
    """Returns what the engine needs of installed packages for a topology's arbitrations. Raises
    VirtualError for one that is missing, or can't be loaded."""
    names = sorted({switch.arbitration for switch in topology.switches}.difference(ARBITRATIONS))
    parts = []
    for name in names:
        if (point := entry_points.find(SCHEDULER, name)) is None:
            raise VirtualError(f"no package brings the arbitration {name!r} here: install it")
        part = entry_points.loaded(SCHEDULER, point, native.Part, VirtualError)
        if name not in part.schedulers:
            raise VirtualError(f"{SCHEDULER} {name!r}, {point.value}: the Part has no {name!r}")
        parts.append(part)
    return parts


class Ports:
    """The part of a TimedNetwork that sets switches and their ports, ports when all else is
    there."""

    _library: ctypes.CDLL
    _links: dict[Endpoint, int]
    _nodes: dict[str, int]
    _alive: Callable[[], int]
    _changing: Callable[[], int]
    _check: Callable[[int], int]

    def set_queue(
        self, switch: str, port: int, traffic_class: int, *, depth: int = 0, rate_pps: int = 0
    ) -> None:
        """How many packets a class's output queue holds, of those that no flow control protects,
        and how many leave it in a second, beside the link's rate; 0: unlimited. Depth
        `native.NO_QUEUE`: all are refused."""
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
        drawn = random.Random(f"{seed}/{link}").getrandbits(64)
        raw = TrimmingRecord.of(numbers, trimming, drawn)
        self._check(self._library.vn_set_trimming(self._changing(), link, ctypes.byref(raw)))
        self.set_queue(switch, port, trimming.queue_index, depth=depth)

    def set_weights(self, switch: str, port: int, weights: Sequence[int]) -> None:
        """By class: a port serves those with a weight by deficit round robin, behind the others
        (0), which are strict. When all else is set. Raises VirtualError."""
        of = (ctypes.c_uint16 * native.CLASSES)(*weights)
        self._check(
            self._library.vn_set_weights(self._changing(), self._links[Endpoint(switch, port)], of)
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

    def _equip(self, switch: Switch) -> None:
        """Its scheduler, its output buffers, its latency."""
        node = self._nodes[switch.name]
        if name := ARBITRATIONS.get(switch.arbitration, switch.arbitration):
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
