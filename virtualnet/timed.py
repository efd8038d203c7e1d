"""A timed network: switches, hosts and links of a topology with a clock; the engine is in csrc/.

A switch runs whatever program it has loaded, with its own entries; a host has endpoints, which make
and receive frames. The frames' purpose and the switches' programs and entries are determined above.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Literal, TypeVar
from weakref import WeakSet

import numpy as np

from pcn.softswitch.cache.objects import BuildError
from pcn.softswitch.embed.switch import NativeSwitch
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import Endpoint, Topology
from pcn.virtualnet import native
from pcn.virtualnet.captures import Captures
from pcn.virtualnet.errors import CallbackError, VirtualError
from pcn.virtualnet.faults import Faults
from pcn.virtualnet.frames import Frames
from pcn.virtualnet.lock import EngineLock
from pcn.virtualnet.named import Named
from pcn.virtualnet.native import NEVER
from pcn.virtualnet.pace import Lateness, Pace
from pcn.virtualnet.parts import Part
from pcn.virtualnet.ports import Ports, scheduler_parts
from pcn.virtualnet.progress import Progress
from pcn.virtualnet.samples import Samples, Source, specs
from pcn.virtualnet.shared_buffers import SharedBuffers
from pcn.virtualnet.sources import LinkSources
from pcn.virtualnet.statistics import Statistics
from pcn.virtualnet.times import picoseconds

_Network = TypeVar("_Network", bound="TimedNetwork")
_CHUNK = 200_000
"""Events from one look at the wall's clock, and at Ctrl-C, to the next; of each process."""
_FC_SYMBOLS, _BITS_PER_SYMBOL = 65536, 4 * 8
"""The most symbol times between two flow control packets of a lane (InfiniBand Architecture 1.2.1,
7.9), and the bits that a link of the width 4X carries in one."""


_NODE = re.compile(r"\bnode ([0-9]+)\b")


class TimedNetwork(LinkSources, Frames, SharedBuffers, Ports, Faults, Captures, Statistics):
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
        arbitrations = [switch.arbitration for switch in topology.switches]
        try:
            self._library = native.engine((*parts, *scheduler_parts(arbitrations)))
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

    # ---- samples ----

    def sample(
        self,
        every_s: float,
        sources: Sequence[Source],
        from_s: float | None = None,
        *,
        until_s: float | None = None,
        most: int | None = None,
        largest: bool = False,
    ) -> Samples:
        """Takes these values every `every_s`, from `from_s` (default: now) to `until_s` (default:
        the end). `most`, an even number: with as many samples every second one is dropped, and
        those that come are twice as far apart; what counts is as exact as it was. `largest`: of two
        the larger value stays. Raises VirtualError."""
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
                native.NEVER if until_s is None else picoseconds(until_s),
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
        reporter = Progress(progress, self.now_s, until_s)
        pace = () if self._pace is None else (self._pace.raw,)
        run_events = self._library.vn_run_paced if pace else self._library.vn_run
        try:
            with self._interrupts() as check, self.lock:
                while True:
                    alive = self._alive(), self._before_events()
                    reason: int = run_events(alive[0], *pace)
                    if reason == native.BUDGET:
                        exchange.budget = chunk
                        reporter.report(self.now_s)
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

    # ---- of several processes ----

    @property
    def is_shared(self) -> bool:
        """Whether several processes share it."""
        return self._part is not None

    def holds(self, node: str) -> bool:
        """Returns whether the node's state is in this process: of a network in one, all are."""
        return self._part is None or self._part.holds(node)

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
