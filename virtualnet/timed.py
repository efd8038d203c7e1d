"""A timed network: switches, hosts and links of a topology with a clock; the engine is in csrc/.

A switch runs whatever program it has loaded, with its own entries; a host has endpoints, which make
and receive frames. The frames' purpose and the switches' programs and entries are determined above.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Literal, TypeVar
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from pcn.base import owner_only
from pcn.softswitch.cache.objects import BuildError
from pcn.softswitch.embed.switch import NativeSwitch
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import Endpoint, Topology
from pcn.virtualnet import native
from pcn.virtualnet.counts import Deadlock, LinkStats, PartStats, Totals, counted
from pcn.virtualnet.errors import CallbackError, VirtualError
from pcn.virtualnet.frames import Frames
from pcn.virtualnet.lock import EngineLock
from pcn.virtualnet.named import Named
from pcn.virtualnet.native import NEVER
from pcn.virtualnet.pace import Lateness, Pace
from pcn.virtualnet.parts import Part
from pcn.virtualnet.pfc_log import PfcLog
from pcn.virtualnet.ports import Ports, scheduler_parts
from pcn.virtualnet.samples import Samples, Source, specs
from pcn.virtualnet.shared_buffers import SharedBuffers
from pcn.virtualnet.sources import LinkSources
from pcn.virtualnet.threads import ThreadStats
from pcn.virtualnet.times import picoseconds

_Network = TypeVar("_Network", bound="TimedNetwork")
_CHUNK = 200_000
"""Events from one look at the wall's clock, and at Ctrl-C, to the next; of each process."""
_FC_SYMBOLS, _BITS_PER_SYMBOL = 65536, 4 * 8
"""The most symbol times between two flow control packets of a lane (InfiniBand Architecture 1.2.1,
7.9), and the bits that a link of the width 4X carries in one."""


class _Progress:
    """Calls `function` with the simulated time and the remaining real seconds, about twice a
    second."""

    _EVERY_S = 0.5

    def __init__(
        self, function: Callable[[float, float], None] | None, now_s: float, until_s: float | None
    ) -> None:
        self._function = function
        self._begun = self._told = time.monotonic()
        self._begun_s = now_s
        self._until_s = until_s

    def tell(self, network: TimedNetwork) -> None:
        now = time.monotonic()
        if self._function is None or now - self._told < self._EVERY_S:
            return
        self._told = now
        now_s = network.now_s
        done_s = now_s - self._begun_s
        known = self._until_s is not None and done_s > 0
        left_s = (
            (now - self._begun) * (self._until_s - now_s) / done_s
            if known and self._until_s
            else math.inf
        )
        self._function(now_s, left_s)


_NODE = re.compile(r"\bnode ([0-9]+)\b")


class TimedNetwork(LinkSources, Frames, SharedBuffers, Ports):
    """Nodes, links and credits of `topology`, PFC where `protect` sets it. `switches`: by name, one
    of the topology's each, with its program and entries; they must stay open as long as the
    network. `endpoints` of each host, or by the host's name: kinds of the engine, which offers what
    arrives in their order.

    `response_s`: from the arrival of a flow-control frame to its effect. No result depends on the
    rest: `queues` is how events wait for their turn, each node's by themselves or all in one queue;
    `prefetch` False doesn't fetch the state of coming events into the processor's caches; `threads`
    run it, of queues="nodes". `parts`: kinds beside the engine's own. `nodes`: which switches of
    the topology are of such a kind, KIND: `vn_add_KIND` of a part adds one. `whole_bytes`: frames
    are stored whole, and have at most this length (128 to 9216); None: their first bytes are
    (`frames.STORED_BYTES`), and the rest are zeros. `part`: this process's, of a network that
    several share: `switches` are its own then, all processes make the same calls, and after
    `gather` the first one has what all have counted. A context manager. Raises LabError.
    """

    _handle: int | None = None
    _pace: Pace | None = None
    _part: Part | None = None
    _link_rows: npt.NDArray[Any] | None = None
    """Of all processes, once they were gathered."""

    def __init__(
        self,
        topology: Topology,
        switches: Mapping[str, NativeSwitch],
        *,
        endpoints: Sequence[str] | Mapping[str, Sequence[str]] = ("source",),
        response_s: float = 0.0,
        queues: Literal["nodes", "one"] = "nodes",
        prefetch: bool = True,
        threads: int = 1,
        parts: Sequence[native.Part] = (),
        nodes: Mapping[str, str] = MappingProxyType({}),
        whole_bytes: int | None = None,
        part: Part | None = None,
    ) -> None:
        self.topology = topology
        self._part = part
        self.whole_bytes = whole_bytes
        self._nodes = Named[str, int](topology.unknown_node)
        self._links = Named[Endpoint, int](lambda end: topology.unknown_port(end.node, end.port))
        self._rates: dict[int, tuple[float, bool]] = {}
        self._calls: list[tuple[Callable[[], None], str]] = []
        self._samples: WeakSet[Samples] = WeakSet()
        self._captures: dict[int, Path] = {}
        try:
            self._library = native.engine((*parts, *scheduler_parts(topology)))
        except BuildError as error:
            raise VirtualError(str(error)) from None
        self.lock = EngineLock(self._library)
        """Held by a run but while it sleeps: another thread changes and reads the network with
        it, at the time that the run has reached."""
        self._handle = self._library.vn_create(
            queues == "nodes", prefetch, threads, picoseconds(response_s)
        )
        if not self._handle:
            raise VirtualError("out of memory for a network")
        self._exchange = self._library.vn_exchange_of(self._handle).contents
        try:
            if why := self._library.vn_error(self._handle).decode():
                raise VirtualError(why)
            if whole_bytes is not None:
                self._check(self._library.vn_store_whole(self._handle, whole_bytes))
            self._prepare()
            if part is not None:
                self._check(
                    self._library.vn_split(
                        self._handle, part.n, part.number, part.owners.ctypes.data,
                        part.owners.size, part.callback,
                    )
                )  # fmt: skip
            self._build(switches, endpoints, nodes)
        except BaseException:
            self.close()
            raise

    def __enter__(self: _Network) -> _Network:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except VirtualError:
            if error is None:
                raise

    def close(self) -> None:
        """Frees the engine. Samples that are referred to stay readable. Raises VirtualError for a
        capture that couldn't be written, when all is freed."""
        handle, self._handle = self._handle, None
        if handle is not None:
            for samples in self._samples:
                samples.keep()
            link = ctypes.c_uint32()
            code = self._library.vn_captures_end(handle, ctypes.byref(link))
            self._library.vn_destroy(handle)
            if code:
                raise VirtualError(
                    f"{self._captures[link.value]}: {os.strerror(code)}: the capture isn't whole"
                )

    # ---- building ----

    def protect(
        self,
        node: str,
        port: int,
        *,
        xoff_bytes: int,
        xon_bytes: int,
        quanta: int,
        refresh_s: float,
        classes: int,
        mac: bytes,
    ) -> None:
        """PFC by a switch itself for what comes in by its port, in the classes of a bit mask: PAUSE
        above XOFF, sent from `mac` again every `refresh_s`; RESUME below XON."""
        link = self._links[self.topology.peer(node, port)]
        refresh = picoseconds(refresh_s)
        self._check(
            self._library.vn_set_pfc(
                self._changing(), link, xoff_bytes, xon_bytes, quanta, refresh, classes, mac
            )
        )

    def set_scheduler(self, switch: str, name: str) -> None:
        """Before the run: how packets of a class share an output of the switch, by a name of the
        engine."""
        self._check(
            self._library.vn_set_scheduler(self._changing(), self._nodes[switch], name.encode())
        )

    def link(self, node: str, port: int) -> int:
        """Returns the engine's number of the direction that leaves `node` by `port`, for `call`."""
        return self._links[Endpoint(node, port)]

    def call(self, function: str, *arguments: object) -> int:
        """Calls a function of a part, after the network's handle. Raises VirtualError where it
        refuses."""
        return self._check(
            getattr(self._library, function)(ctypes.c_void_p(self._changing()), *arguments)
        )

    def packet_out(self, switch: str, frame: bytes) -> None:
        """A frame comes in at the CPU port of a switch, now. What its program sends there, and its
        digests, are events of the switch (`NativeSwitch.next_event`)."""
        self._check(
            self._library.vn_packet_out(self._changing(), self._nodes[switch], frame, len(frame))
        )

    def trace(self, switch: str) -> None:
        """The steps of this switch's traced program have the network's time."""
        self._check(self._library.vn_trace(self._changing(), self._nodes[switch]))

    def at(self, time_s: float, function: Callable[[], None]) -> None:
        """Calls the function at that simulated time, after all that the network does then."""
        self._check(
            self._library.vn_return_at(
                self._changing(), picoseconds(time_s), self._numbered(function)
            )
        )

    def on_messages(self, switch: str, function: Callable[[], None]) -> None:
        """Calls the function when a switch's program has sent packet-ins or digests, at their
        simulated time. Raises VirtualError where events aren't in one order (queues="one")."""
        self._only_in_one("a function for each packet-in sees the order of all nodes' events")
        number = self._numbered(function)
        self._check(self._library.vn_call_for_cpu(self._changing(), self._nodes[switch], number))

    def survive(self) -> None:
        """From now on a packet with which the run couldn't go on is lost and counted (`unable`),
        where it would be an error that ends the run: resubmitted without end, more parsed than
        virtual time stores, more headers than a frame has room for, beyond PFC's headroom or a
        lane's buffer (`LinkStats.overrun`). What an endpoint's code raises may be its own matter
        (`VirtualNetwork.failures`). Results of other runs are the same. Raises VirtualError."""
        self._check(self._library.vn_survive(self._changing()))

    def unable(self, node: str) -> int:
        """Returns how many such packets a node has lost."""
        return self._check(self._library.vn_unable(self._alive(), self._nodes[node]))

    def set_link(
        self, node: str, port: int, *, rate_bps: float | None = None, up: bool | None = None
    ) -> None:
        """Changes a link, both ways, from now on: its rate, or whether frames may start. Nothing is
        lost, unless a PAUSE couldn't start in time (`LinkStats.overrun`)."""
        for end in (Endpoint(node, port), self.topology.peer(node, port)):
            link = self._links[end]
            old_rate, old_up = self._rates[link]
            new = (old_rate if rate_bps is None else rate_bps, old_up if up is None else up)
            self._check(self._library.vn_set_link(self._changing(), link, round(new[0]), new[1]))
            self._rates[link] = new

    def discard(self, node: str, port: int, discards: bool) -> None:
        """Whether a switch loses from now on what is to leave by a port, and what waits there.
        Raises VirtualError where output buffers keep it."""
        self._check(
            self._library.vn_discard(self._changing(), self._links[Endpoint(node, port)], discards)
        )

    def pfc_arrives(
        self, node: str, port: int, traffic_class: int, quanta: int, mac: bytes
    ) -> None:
        """A PFC frame from `mac` comes in now at a port, as if its neighbour had sent it; 0 quanta
        are a RESUME. Raises VirtualError."""
        link = self._links[self.topology.peer(node, port)]
        self._check(
            self._library.vn_pfc_arrives(self._changing(), link, mac, traffic_class, quanta)
        )

    def disturb(
        self,
        node: str,
        port: int,
        frames: Literal["flow control", "notifications", "data"],
        *,
        lose: int = 0,
        repeat: int = 0,
        late: int = 0,
        late_s: float = 0.0,
        p_lose: float = 0.0,
        seed: int = 1,
    ) -> None:
        """Faults of one kind of frames among those that `node` sends by `port`, from now on: of
        those that arrive, every `lose`th is lost, every `repeat`th comes twice, every `late`th
        takes effect `late_s` later, as does what follows it meanwhile; 0: none. Each is lost with
        the probability `p_lose` besides, by random numbers that `seed`, link and kind determine.
        Notifications are CNPs, CNMs and ACKs. Data are never late and come once; so do
        notifications where links have credits, which their senders have paid for. Raises
        VirtualError."""
        if frames not in native.FRAMES:
            raise VirtualError(
                f"frames {frames!r}: choose from flow control, notifications and data"
            )
        for name, every in (("lose", lose), ("repeat", repeat), ("late", late)):
            if every < 0:
                raise VirtualError(f"{name}: {every}: a number from 1, or 0")
        if not 0 <= late_s < math.inf:
            raise VirtualError(f"late_s: {late_s:g} s: some time after it comes")
        if not 0 <= p_lose <= 1:
            raise VirtualError(f"p_lose: {p_lose:g}: a probability, from 0 to 1")
        by = native.Disturbance(lose, repeat, late, picoseconds(late_s), seed, p_lose)
        link = self._links[Endpoint(node, port)]
        self._check(
            self._library.vn_disturb(
                self._changing(), link, native.FRAMES.index(frames), ctypes.byref(by)
            )
        )

    def capture(self, node: str, port: int, path: Path) -> None:
        """Writes every frame that leaves `node` by `port` to a pcap file, from now until the
        network is closed; the time stamps, in nanoseconds, are simulated time. `close` fails if the
        file can't be written. Raises VirtualError."""
        self._only_in_one("a capture is one process's file")
        try:
            descriptor = owner_only.output(path)
        except (OSError, owner_only.NotPrivateError) as error:
            raise VirtualError(f"{path}: {getattr(error, 'strerror', error)}") from None
        self.capture_to(node, port, path, descriptor)

    def capture_to(self, node: str, port: int, path: Path, descriptor: int) -> None:
        """As `capture`, to a file that is open; the engine closes it. Raises VirtualError, also
        where a capture of the port goes on."""
        self._only_in_one("a capture is one process's file")
        link = self._links[Endpoint(node, port)]
        code = self._library.vn_capture(self._alive(), link, descriptor)
        if code < 0:
            raise VirtualError(
                f"{node}:{port} is captured already"
                if code == -errno.EEXIST
                else f"{path}: {os.strerror(-code)}"
            )
        self._captures[link] = path

    def end_capture(self, node: str, port: int) -> None:
        """Ends the capture of what leaves `node` by `port`, if there is one. Raises VirtualError
        where it isn't whole."""
        link = self._links[Endpoint(node, port)]
        if code := self._library.vn_capture_stop(self._alive(), link):
            raise VirtualError(
                f"{self._captures[link]}: {os.strerror(-code)}: the capture isn't whole"
            )

    def log_pfc(self) -> PfcLog:
        """Logs each PFC frame from now on."""
        self._only_in_one("the log of PFC frames is in the order of all nodes")
        self._check(self._library.vn_log_pfc(self._changing()))
        return PfcLog(self._library, self._alive(), tuple(self._links))

    # ---- samples ----

    def sample(
        self,
        every_s: float,
        sources: Sequence[Source],
        from_s: float | None = None,
        *,
        most: int | None = None,
        largest: bool = False,
    ) -> Samples:
        """Takes these values every `every_s`, from `from_s` (default: now) to the end. `most`, an
        even number: with as many samples every second one is dropped, and those that come are twice
        as far apart; what counts is as exact as it was. `largest`: of two the larger value stays.
        Raises VirtualError."""
        if most is not None and (most < 2 or most % 2):
            raise VirtualError(f"{most} samples at most: an even number from 2 on is possible")
        first = picoseconds(self.now_s if from_s is None else from_s)
        here = list(range(len(sources)))
        if self._part is not None:
            here = self._part.own_places(map(self._owner_of, sources))
        rows = specs(sources)[here]
        sampler = self._check(
            self._library.vn_add_sampler(
                self._changing(),
                first,
                picoseconds(every_s),
                rows.ctypes.data,
                len(here),
                most or 0,
                largest,
            )
        )
        samples = Samples(self._library, self._alive(), sampler, sources, here)
        self._samples.add(samples)
        return samples

    # ---- running and reading ----

    @property
    def now_s(self) -> float:
        """Simulated seconds."""
        self._alive()
        return float(self._exchange.now_s)

    def pace(self, k: float | None, slack_s: float = 5e-3) -> None:
        """Has one simulated second of coming runs last at least `k` real ones from now on, with
        `slack_s` real seconds between two batches of events; None: as fast as they can. The digest
        is the same. Raises VirtualError."""
        if k is not None and not (0 < k < math.inf and 1e-6 <= slack_s <= 1):
            raise VirtualError(
                f"a pace of k={k:g}, batches every {slack_s:g} s: k is more than 0, and a batch "
                "comes every 1 us to 1 s"
            )
        if k is not None:
            self._only_in_one("a pace is of one process's clock")
        self._pace = None if k is None else Pace(k, slack_s, self.now_s, self.lock)

    def lateness(self) -> Lateness:
        """Returns how late events came since `pace`. Raises VirtualError without one."""
        if self._pace is None:
            raise VirtualError("no lateness: the network has no pace")
        return self._pace.lateness()

    @property
    def behind_s(self) -> float:
        """Real seconds by which a paced run is behind now: with its slack, where it is on time.
        Raises VirtualError without a pace."""
        if self._pace is None:
            raise VirtualError("no lateness: the network has no pace")
        return self._pace.behind_s(self.now_s)

    def run(
        self,
        until_s: float | None = None,
        *,
        finish: bool = False,
        progress: Callable[[float, float], None] | None = None,
    ) -> bool:
        """Goes on until a time, or with `finish` until every flow of known size has arrived whole,
        if that is earlier.

        True: these flows have all arrived. A time before the present one is refused. `progress`
        gets, about twice a second, the simulated time and an estimate of the wall's seconds that
        are left (infinite where no end is known). Raises VirtualError; CallbackError where an
        algorithm or a scheduled function raised. Ctrl-C (and SIGTERM) waits until the events of a
        look at the wall's clock are over, so never comes in the middle of a callback: the run can
        go on as if nothing had happened. A second one ends an algorithm that hangs, and the run
        with it.
        """
        if until_s is None and not finish:
            raise VirtualError("a run needs a time to end at, or finish=True")
        exchange = self._exchange
        exchange.until_ps = NEVER if until_s is None else picoseconds(until_s)
        if exchange.until_ps < picoseconds(self.now_s):
            raise VirtualError(f"until_s={until_s:g}: the network is at {self.now_s:g} s already")
        chunk = _CHUNK * (self._part.n if self._part is not None else 1)
        exchange.budget, exchange.finish = chunk, finish
        reporter = _Progress(progress, self.now_s, until_s)
        pace = () if self._pace is None else (self._pace.raw,)
        run_events = self._library.vn_run_paced if pace else self._library.vn_run
        try:
            with self._interrupts() as check, self.lock:
                while True:
                    alive = self._alive(), self._before_events()
                    reason: int = run_events(alive[0], *pace)
                    if reason == native.BUDGET:
                        exchange.budget = chunk
                        reporter.tell(self)
                        check()
                        if pace:  # one that is late doesn't sleep: others have their turn here
                            self.lock.release()
                            self.lock.acquire()
                    elif reason == native.RETURN:
                        self._calls[exchange.flow][0]()
                    elif reason == native.FAILED:
                        self._raise_of_exchange()
                        error = self._library.vn_error(self._handle).decode()
                        raise VirtualError(f"{self.now_s * 1e6:.6f} us: {self._with_names(error)}")
                    else:
                        return reason == native.FINISHED
        except VirtualError:
            raise
        except Exception as error:
            raise CallbackError(self._raiser(error), exchange.now_s, error) from error

    def totals(self) -> Totals:
        raw = native.Totals()
        self._library.vn_totals(self._alive(), ctypes.byref(raw))
        return counted(Totals, raw)

    def threads(self) -> ThreadStats:
        """Returns what threads have done so far."""
        raw = native.Threads()
        self._library.vn_threads(self._alive(), ctypes.byref(raw))
        busy_s = tuple(busy_ns / 1e9 for busy_ns in raw.busy_ns[: raw.n])
        rounds = self._library.vn_rounds(self._alive())
        return ThreadStats(
            raw.wall_ns / 1e9,
            busy_s,
            raw.answering_ns / 1e9,
            raw.questions,
            rounds,
            raw.passes,
            raw.longest_ns / 1e9,
        )

    def link_stats(self, node: str, port: int) -> LinkStats:
        """Returns the statistics of the direction that leaves `node` by `port`."""
        link = self._links[Endpoint(node, port)]
        if self._link_rows is not None:
            row = self._link_rows[link].tobytes()
            return counted(LinkStats, native.LinkStats.from_buffer_copy(row))
        raw = native.LinkStats()
        self._library.vn_link_stats(self._alive(), link, ctypes.byref(raw))
        return counted(LinkStats, raw)

    def all_link_stats(self) -> npt.NDArray[Any]:
        """Returns the statistics of all directions of links: a row each of LinkStats' fields as the
        engine has them (times in ps), by the numbers of `link`."""
        if self._link_rows is not None:
            return self._link_rows
        handle, read = self._alive(), self._library.vn_link_stats
        rows = np.zeros(len(self._links), np.dtype(native.LinkStats))
        for link in range(rows.size):
            read(handle, link, rows.ctypes.data + link * rows.itemsize)
        return rows

    def deadlock(self) -> Deadlock | None:
        """Returns the present deadlock, if any: by PFC or credits of the switches themselves. It is
        exact: what is found never dissolves. Raises VirtualError where switches have output buffers
        or shared ones, which aren't looked at."""
        for switch in self.topology.switches:
            if switch.output is not None or switch.buffer is not None:
                kind = "output buffers" if switch.output is not None else "a shared buffer"
                raise VirtualError(
                    f"{switch.name} has {kind}: deadlocks are found without them alone"
                )
        deadlock, members = (
            native.Deadlock(),
            (ctypes.c_uint32 * (len(self._links) * native.CLASSES))(),
        )
        self._check(self._library.vn_deadlock(self._changing(), ctypes.byref(deadlock), members))
        if not deadlock.members:
            return None
        ends = {link: end for end, link in self._links.items()}
        named = [divmod(member, native.CLASSES) for member in members[: deadlock.members]]
        names = [
            (self.topology.link_name(ends[link].node, ends[link].port), number)
            for link, number in named
        ]
        circle, behind = sorted(names[: deadlock.circle]), sorted(names[deadlock.circle :])
        return Deadlock(tuple(circle), tuple(behind), deadlock.since_ps / 1e12, deadlock.held_bytes)

    # ---- of several processes ----

    @property
    def is_shared(self) -> bool:
        """Whether several processes share it."""
        return self._part is not None

    def holds(self, node: str) -> bool:
        """Returns whether the node's state is in this process: of a network in one, all are."""
        return self._part is None or self._part.holds(node)

    def part_stats(self) -> PartStats:
        """Returns what this process has done, of a network that several share; in one, what it has
        done alone."""
        raw = native.PartStats()
        self._library.vn_part_stats(self._alive(), ctypes.byref(raw))
        return counted(PartStats, raw)

    def gather(self) -> bool:
        """Brings what all processes have counted to the first one, whose digest, statistics and
        samples are those of the whole network from now on; between runs, once. Returns whether this
        is that one, or the only one."""
        if self._part is None:
            return True
        digests = np.zeros(len(self._nodes), np.uint64)
        self._library.vn_digests(self._alive(), digests.ctypes.data, False)
        all_digests = self._part.gather(digests)
        if all_digests:
            digests = np.bitwise_xor.reduce(all_digests)  # of a node one alone isn't 0
            self._library.vn_digests(self._alive(), digests.ctypes.data, True)
        self._gather_link_stats(self._part)
        for samples in sorted(self._samples, key=attrgetter("number")):
            samples.gather(self._part, self._owner_of)
        return self._part.number == 0

    def _gather_link_stats(self, part: Part) -> None:
        """Either end of a link counts its own, and zeros for the other one's."""
        links = [
            link for end, link in self._links.items()
            if part.holds(end.node) or part.holds(self.topology.peer(end.node, end.port).node)
        ]  # fmt: skip
        rows = np.zeros(len(links), np.dtype(native.LinkStats))
        size = rows.dtype.itemsize
        for row, link in enumerate(links):
            at = native.LinkStats.from_address(rows.ctypes.data + row * size)
            self._library.vn_link_stats(self._alive(), link, ctypes.byref(at))
        gathered = part.gather((links, rows))
        if not gathered:
            return
        of_links = np.zeros(len(self._links), np.dtype(native.LinkStats))
        for links, rows in gathered:
            for name in rows.dtype.names:
                combine = np.maximum if name in ("held_max", "held_limit") else np.add
                of_links[name][links] = combine(of_links[name][links], rows[name])
        self._link_rows = of_links

    def _owner_of(self, source: Source) -> int | None:
        """Returns the process that samples a source; None: each has a part of the sum."""
        assert self._part is not None
        if source.source in native.SOURCES_OF_NODES:
            return int(self._part.owners[source.object])
        end = self._ends[source.object ^ (source.source in native.SOURCES_OF_ENDS)]
        return self._part.owner(end.node)

    @cached_property
    def _ends(self) -> tuple[Endpoint, ...]:
        """By link, the port where it starts."""
        return tuple(self._links)

    def _only_in_one(self, demand: str) -> None:
        """Raises VirtualError in a process that has a part alone."""
        if self._part is not None:
            raise VirtualError(f"{demand}: run it in one process, without mpirun")

    # ---- what a network of more kinds adds ----

    def _prepare(self) -> None:
        """Is called before the first node is added."""

    def _before_events(self) -> object:
        """Is called before each return to the engine; what it returns lives as long as that
        lasts."""

    @contextlib.contextmanager
    def _interrupts(self) -> Iterator[Callable[[], None]]:
        """Yields the function that a run calls between batches of events: it raises a Ctrl-C that
        was deferred. Here none is: Ctrl-C raises at any time."""
        yield lambda: None

    def _with_names(self, error: str) -> str:
        """Returns an error of the engine, whose nodes have numbers there, with their names."""
        names = {number: name for name, number in self._nodes.items()}
        return _NODE.sub(lambda match: names.get(int(match[1]), match[0]), error)

    def _raiser(self, error: Exception) -> str:
        """Returns the name of the code that raised."""
        return (
            self._calls[self._exchange.flow][1]
            if self._exchange.reason == native.RETURN
            else "progress"
        )

    # ---- inside ----

    def _numbered(self, function: Callable[[], None]) -> int:
        """Registers a function that a run calls. Returns its number."""
        self._calls.append((function, getattr(function, "__qualname__", repr(function))))
        return len(self._calls) - 1

    def _build(
        self,
        switches: Mapping[str, NativeSwitch],
        endpoints: Sequence[str] | Mapping[str, Sequence[str]],
        nodes: Mapping[str, str],
    ) -> None:
        library, handle = self._library, self._handle
        for switch in self.topology.switches:
            if not self.holds(switch.name):
                self._nodes[switch.name] = self._check(library.vn_add_elsewhere(handle))
                continue
            if switch.name in nodes:
                self._nodes[switch.name] = self._check(
                    getattr(library, f"vn_add_{nodes[switch.name]}")(handle)
                )
                continue
            self._nodes[switch.name] = self._check(
                library.vn_add_switch(handle, switches[switch.name].handle)
            )
            self._equip(switch)
        for host in self.topology.hosts:
            ip = bytes(map(int, host.ip.split(".")))
            node = self._nodes[host.name] = self._check(library.vn_add_host(handle, ip))
            for endpoint in endpoints[host.name] if isinstance(endpoints, Mapping) else endpoints:
                self._check(library.vn_add_endpoint(handle, node, endpoint.encode()))
        for link in self.topology.links:
            a, b = link.a, link.b
            rate, delay = round(link.rate_bps), picoseconds(link.delay_s)
            index = self._check(
                library.vn_add_link(
                    handle, self._nodes[a.node], a.port, self._nodes[b.node], b.port, rate, delay
                )
            )
            self._links[a], self._links[b] = index, index + 1
            self._rates[index] = self._rates[index + 1] = (rate, True)
            if self.topology.flow_control == CREDITS:
                self._check(
                    library.vn_set_credits(
                        handle, index, round(self.topology.number("buffer_bytes")),
                        picoseconds(self.topology.number("credit_interval_s")),
                        picoseconds(_FC_SYMBOLS * _BITS_PER_SYMBOL / link.rate_bps),
                    )
                )  # fmt: skip

    def _alive(self) -> int:
        if self._handle is None:
            raise VirtualError("the network is closed")
        return self._handle

    @property
    def now_ns(self) -> int:
        """Whole simulated nanoseconds."""
        return int(self._library.vn_now(self._alive())) // 1000

    def _changing(self) -> int:
        """Returns the handle, to change the network with. Raises VirtualError while nodes are at
        different times."""
        if self._exchange.reason not in (
            native.UNTIL,
            native.BUDGET,
            native.FINISHED,
            native.RETURN,
        ):
            raise VirtualError(
                "the network can't be changed from on_rate or on_window, nor after an error: nodes "
                "are at different times; do it in a function that is given to at() before"
            )
        return self._alive()

    def _check(self, code: int) -> int:
        if code < 0:
            self._raise_of_exchange()
            raise VirtualError(self._library.vn_error(self._alive()).decode() or os.strerror(-code))
        return code

    def _raise_of_exchange(self) -> None:
        """Raises what an exchange with other processes has raised, for which the engine failed."""
        if self._part is not None and self._part.error is not None:
            raise self._part.error
