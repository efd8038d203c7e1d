"""A topology in virtual time: built, run and read from Python; the engine is in csrc/.

Python decides what the algorithms decide, a few times in a window of each flow; the engine does all else.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Literal

from controller.configure import packet_generator, plan, program_switch, require_tables
from controller.in_process import InProcessSwitch
from controller.programs import Program
from hosts import wire
from hosts.algorithms import Ack, Cnm, Cnp, Configured, Mark, Window
from softswitch import signals
from softswitch.codegen.build import BuildError
from topologies.lossless import CREDITS
from topologies.model import ROUND_ROBIN, Endpoint, FlowSpec, Topology
from virtualnet import native
from virtualnet.errors import CallbackError, VirtualError
from virtualnet.flows import Nic, VirtualFlow, configure, picoseconds
from virtualnet.native import NEVER, engine
from virtualnet.samples import Samples, Source
from virtualnet.sources import Sources
from virtualnet.switch import LoadedProgram, VirtualSwitch, load

_CHUNK = 200_000
"""Events from one look at the wall's clock, and at Ctrl-C, to the next."""
_PORT_MAC = 0x02_50_43_4E_00_00
_FC_SYMBOLS, _BITS_PER_SYMBOL = 65536, 4 * 8
"""At most so many symbol times lie between two flow control packets of a lane (InfiniBand Architecture 1.2.1, 7.9), and
so many bits a link of the width 4X carries in one."""


@dataclass(frozen=True)
class LinkStats:
    """One direction of a link, named by the port it leaves. `paused_s`: from XOFF to XON, for PAUSEs sent over it,
    summed over classes; `pause_by_class` counts the PAUSEs of each. `refused`: tail drops at its output queues.
    `expired`: PAUSEs of its classes that ran out. `output_bytes`: what is in its output buffer, or on its way there
    through the fabric; 0 without one.
    With credits, `fc_packets` are flow control packets, and `starved_s` is how long its classes had none for a frame,
    summed over them.

    `held_max` and `held_limit` concern what came in over it: bytes that one lossless class had inside, and what PFC
    guarantees (XOFF and what can be in flight then), or the buffer that credits share out, in whole blocks of 64 bytes.
    `held_bytes` is what all of them have inside now. `lost`, `repeated`: frames, by
    `VirtualNetwork.disturb`. `overrun`: frames of lossless classes for which there was no room left, after a PAUSE was
    lost or late.
    """

    packets: int
    bytes: int
    pause: int
    resume: int
    paused_s: float
    refused: int
    held_max: int
    held_limit: int
    expired: int
    output_bytes: int = 0
    held_bytes: int = 0
    fc_packets: int = 0
    starved_s: float = 0.0
    lost: int = 0
    repeated: int = 0
    overrun: int = 0
    pause_by_class: tuple[int, ...] = (0,) * native.CLASSES


@dataclass(frozen=True)
class Deadlock:
    """Classes of links that wait for each other and never send again: names of directions (Topology.link_name), and the
    class. `circle`: those that others of them wait for. `behind`: those that wait for these. `since_s`: when the last
    one of the circle was told to stop. `held_bytes`: of all of them, inside the switches where they end."""

    circle: tuple[tuple[str, int], ...]
    behind: tuple[tuple[str, int], ...]
    since_s: float
    held_bytes: int

    def __str__(self) -> str:
        links = ", ".join(f"{name} (class {number})" for name, number in self.circle)
        behind = f"; {len(self.behind)} more wait behind them" if self.behind else ""
        return f"Deadlock since {self.since_s * 1e3:.4g} ms: {links} wait for each other{behind}."


@dataclass(frozen=True)
class Totals:
    """The run so far. A traversal is a packet that comes into a switch; `data_traversals` counts data alone. `dropped`:
    by programs, which drop each PFC frame and each generated one that they are given, or for a port without a link or a
    multicast group that doesn't exist. Tail drops are a link's (`LinkStats.refused`).

    `packets` are those in the network now; credits' flow control packets, of which there are always some, don't count.
    `packets_most` is how many frames were in memory at once. Nodes don't go strictly in step, so it is a fact of the
    engine rather than of the model. `unusable_cnps` came to RPs that need a RecRate, without one, and were dropped.
    """

    now_s: float
    events: int
    digest: int
    traversals: int
    data_traversals: int
    packets: int
    packets_most: int = field(compare=False)
    dropped: int
    bad_frames: int
    stray_frames: int
    unusable_cnps: int


class _Progress:
    """Tells `function` the simulated time and the wall's seconds that are left, about twice a second."""

    _EVERY_S = 0.5

    def __init__(self, function: Callable[[float, float], None] | None, now_s: float, until_s: float | None) -> None:
        self._function = function
        self._begun = self._told = time.monotonic()
        self._begun_s = now_s
        self._until_s = until_s

    def tell(self, network: VirtualNetwork) -> None:
        now = time.monotonic()
        if self._function is None or now - self._told < self._EVERY_S:
            return
        self._told = now
        now_s = network.now_s
        done_s = now_s - self._begun_s
        known = self._until_s is not None and done_s > 0
        left_s = (now - self._begun) * (self._until_s - now_s) / done_s if known and self._until_s else math.inf
        self._function(now_s, left_s)


class VirtualNetwork(Sources):
    """All switches run `program` (the scheme's, with native PFC) and are programmed as live ones are.

    `response_s`: from the arrival of a PFC frame to its effect. `pfc` False: no PFC outside the program, for those
    that do it themselves. `cpu_port`: of every switch, by which packets come from its controller and go there; 0: none.
    No result depends on the rest: `queues` is how events wait for their turn, each node's by themselves or all in one
    queue; `inplace` False takes the program's general form; `prefetch` False doesn't fetch the state of coming events
    into the processor's caches.
    A context manager. Raises LabError.
    """

    def __init__(
        self,
        topology: Topology,
        scheme: Configured,
        *,
        program: str | LoadedProgram | None = None,
        seed: int = 1,
        payload_bytes: int = 1000,
        response_s: float = 0.0,
        pfc: bool = True,
        queues: Literal["nodes", "one"] = "nodes",
        inplace: bool = True,
        prefetch: bool = True,
        cpu_port: int = 0,
    ) -> None:
        self.topology = topology
        self.scheme = scheme
        self.flows: dict[int, VirtualFlow] = {}
        self.switches: dict[str, InProcessSwitch] = {}
        self.on_rate: Callable[[VirtualFlow, float], None] | None = None
        """Called after an RP's event: the flow, and simulated seconds. Other nodes are up to two links' delays ahead or
        behind, so the network can't be changed from here, or from `on_window`: `at` calls what may."""
        self.on_window: Callable[[VirtualFlow, float, Window, Cnp | None], None] | None = None
        """Called after an NP's window: the flow, simulated seconds, the window, and what the NP made of it."""
        self._seed = seed
        self._payload_bytes = payload_bytes
        self._cpu_port = cpu_port
        self._nodes: dict[str, int] = {}
        self._nics: dict[str, Nic] = {}
        self._links: dict[Endpoint, int] = {}
        self._rates: dict[int, tuple[float, bool]] = {}
        self._by_index: list[VirtualFlow] = []
        self._calls: list[tuple[Callable[[], None], str]] = []
        self._samples: list[Samples] = []
        if topology.flow_control == CREDITS and not pfc:
            raise VirtualError(f"{topology.name}: credits are counted by switches themselves, not by a program")
        try:
            self._library = engine()
        except BuildError as error:
            raise VirtualError(str(error)) from None
        self._handle: int | None = self._library.vn_create(
            queues == "nodes", prefetch, picoseconds(response_s), Window, Cnp, Cnm, Ack, tuple(map(Mark, range(4)))
        )
        if not self._handle:
            raise VirtualError("out of memory for a network")
        try:
            if why := self._library.vn_error(self._handle).decode():
                raise VirtualError(why)
            if not isinstance(program, LoadedProgram):
                found = Program.compiled(program) if program else Program.find(scheme.scheme.program, native=True)
                require_tables(found, scheme.scheme)
                program = load(found, inplace)
            self._build(program, pfc)
        except BaseException:
            self.close()
            raise
        self._exchange = self._library.vn_exchange_of(self._handle).contents

    def __enter__(self) -> VirtualNetwork:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the engine and the switches. Samples stay readable."""
        handle, self._handle = self._handle, None
        if handle is not None:
            for samples in self._samples:
                samples.keep()
            self._library.vn_destroy(handle)
        for switch in self.switches.values():
            switch.close()

    # ---- building ----

    def add_flow(self, spec: FlowSpec, start_s: float | None = None) -> VirtualFlow:
        """A flow between hosts of the topology, from `start_s` (simulated seconds; the spec's own unless given)."""
        if spec.id in self.flows:
            raise VirtualError(f"flow {spec.id} is there already")
        start_s = spec.start_s if start_s is None else start_s
        if start_s < self.now_s:
            raise VirtualError(f"flow {spec.id} starts at {start_s:g} s, which is over")
        if not 0 <= spec.traffic_class < native.CLASSES:
            raise VirtualError(f"flow {spec.id}: class {spec.traffic_class}: there are 0 to {native.CLASSES - 1}")
        src, dst = (self._nics[self.topology.host(name).name] for name in (spec.src, spec.dst))
        config, rp, np = configure(src, dst, spec, self.scheme, self._seed, self._payload_bytes, start_s)
        index = self._check(self._library.vn_add_flow(self._changing(), ctypes.byref(config), rp, np))
        flow = VirtualFlow(self._library, self._alive(), index, spec, rp, np)
        self.flows[spec.id] = flow
        self._by_index.append(flow)
        return flow

    def stop_flow(self, number: int) -> None:
        """The flow starts no further frame; what has started arrives."""
        self._check(self._library.vn_stop_flow(self._changing(), self.flows[number].index))

    def at(self, time_s: float, function: Callable[[], None]) -> None:
        """Calls the function at that simulated time, after all that the network does then."""
        self._check(self._library.vn_return_at(self._changing(), picoseconds(time_s), len(self._calls)))
        self._calls.append((function, getattr(function, "__qualname__", repr(function))))

    def set_link(self, node: str, port: int, *, rate_bps: float | None = None, up: bool | None = None) -> None:
        """Changes a link, both ways, from now on: its rate, or whether frames may start. Nothing is lost,
        unless a PAUSE couldn't start in time (`LinkStats.overrun`)."""
        for end in (Endpoint(node, port), self.topology.peer(node, port)):
            link = self._links[end]
            old_rate, old_up = self._rates[link]
            new = (old_rate if rate_bps is None else rate_bps, old_up if up is None else up)
            self._check(self._library.vn_set_link(self._changing(), link, round(new[0]), new[1]))
            self._rates[link] = new

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
    ) -> None:
        """Faults of one kind of frames among those that `node` sends by `port`, from now on: of those that arrive,
        every `lose`th is lost, every `repeat`th comes twice, every `late`th takes effect `late_s` later, as does what
        follows it meanwhile; 0: none. Notifications are CNPs, CNMs and ACKs. Data are never late and come once; so do
        notifications where links have credits, which their senders have paid for. Raises VirtualError."""
        if frames not in native.FRAMES:
            raise VirtualError(f"frames {frames!r}: there are flow control, notifications and data")
        for name, every in (("lose", lose), ("repeat", repeat), ("late", late)):
            if every < 0:
                raise VirtualError(f"{name}: {every}: every so many, or 0")
        if not 0 <= late_s < math.inf:
            raise VirtualError(f"late_s: {late_s:g} s: some time after it comes")
        by = native.Disturbance(lose, repeat, late, picoseconds(late_s))
        link = self._links[Endpoint(node, port)]
        self._check(self._library.vn_disturb(self._changing(), link, native.FRAMES.index(frames), ctypes.byref(by)))

    def capture(self, node: str, port: int, path: Path) -> None:
        """Writes every frame that leaves `node` by `port` to a pcap file, from now until the network is closed; the
        time stamps, in nanoseconds, are simulated time. Raises VirtualError."""
        code = self._library.vn_capture(self._handle, self._links[Endpoint(node, port)], os.fsencode(path))
        if code < 0:
            raise VirtualError(f"{path}: {os.strerror(-code)}")

    # ---- samples ----

    def sample(self, every_s: float, sources: Sequence[Source], from_s: float | None = None) -> Samples:
        """Takes these values every `every_s`, from `from_s` (now, unless given) to the end."""
        specs = (native.SourceSpec * len(sources))(*(source.spec() for source in sources))
        first = picoseconds(self.now_s if from_s is None else from_s)
        sampler = self._check(
            self._library.vn_add_sampler(self._changing(), first, picoseconds(every_s), specs, len(sources))
        )
        samples = Samples(self._library, self._alive(), sampler, sources)
        self._samples.append(samples)
        return samples

    # ---- running and reading ----

    @property
    def now_s(self) -> float:
        """Simulated seconds."""
        self._alive()
        return float(self._exchange.now_s)

    def run(
        self,
        until_s: float | None = None,
        *,
        finish: bool = False,
        progress: Callable[[float, float], None] | None = None,
    ) -> bool:
        """Goes on until a time, or with `finish` until every flow of known size has arrived whole, if that is earlier.

        True: these flows have all arrived. `progress` is told, about twice a second, the simulated time and an estimate
        of the wall's seconds that are left (infinite where no end is known). Raises VirtualError; CallbackError where
        an algorithm or a scheduled function raised. Ctrl-C (and SIGTERM) waits until the events of a look at the wall's
        clock are over, so never comes in the middle of a callback: the run can go on as if nothing had happened. A
        second one ends an algorithm that hangs, and the run with it.
        """
        if until_s is None and not finish:
            raise VirtualError("a run needs a time to end at, or finish=True")
        run, exchange = self._library.vn_run, self._exchange
        exchange.until_ps = NEVER if until_s is None else picoseconds(until_s)
        exchange.budget, exchange.finish = _CHUNK, finish
        told = _Progress(progress, self.now_s, until_s)
        try:
            with signals.deferred(once=True) as signal:
                while True:
                    reason: int = run(self._alive(), self._by_index, self.on_window, self.on_rate)
                    if reason == native.BUDGET:
                        exchange.budget = _CHUNK
                        told.tell(self)
                        signal.check()
                    elif reason == native.RETURN:
                        self._calls[exchange.flow][0]()
                    elif reason == native.FAILED:
                        error = self._library.vn_error(self._handle).decode()
                        raise VirtualError(f"{self.now_s * 1e6:.6f} us: {error}")
                    else:
                        return reason == native.FINISHED
        except VirtualError:
            raise
        except Exception as error:
            raise CallbackError(self._who(error), exchange.now_s, error) from error

    def totals(self) -> Totals:
        raw = native.Totals()
        self._library.vn_totals(self._alive(), ctypes.byref(raw))
        return Totals(
            raw.now_ps / 1e12, raw.events, raw.digest, raw.traversals, raw.data_traversals, raw.packets,
            raw.packets_most, raw.dropped, raw.bad_frames, raw.stray_frames,
            raw.unusable_cnps,
        )  # fmt: skip

    def link_stats(self, node: str, port: int) -> LinkStats:
        """Of the direction that leaves `node` by `port`."""
        raw = native.LinkStats()
        self._library.vn_link_stats(self._alive(), self._links[Endpoint(node, port)], ctypes.byref(raw))
        return LinkStats(
            raw.packets, raw.bytes, raw.pause, raw.resume, raw.paused_ps / 1e12, raw.refused, raw.held_max,
            raw.held_limit, raw.expired, raw.output_bytes, raw.held_bytes, raw.fc_packets, raw.starved_ps / 1e12,
            raw.lost, raw.repeated, raw.overrun, tuple(raw.pause_by_class),
        )  # fmt: skip

    def deadlock(self) -> Deadlock | None:
        """The deadlock that there is now, if any: by PFC or credits of the switches themselves. It is exact: what is
        found never dissolves. Raises VirtualError where switches have output buffers, which aren't looked at."""
        buffered = next((switch.name for switch in self.topology.switches if switch.output is not None), None)
        if buffered is not None:
            raise VirtualError(f"{buffered} has output buffers: deadlocks are found without them alone")
        found, members = native.Deadlock(), (ctypes.c_uint32 * (len(self._links) * native.CLASSES))()
        self._check(self._library.vn_deadlock(self._changing(), ctypes.byref(found), members))
        if not found.members:
            return None
        ends = {link: end for end, link in self._links.items()}
        named = [divmod(member, native.CLASSES) for member in members[: found.members]]
        names = [(self.topology.link_name(ends[link].node, ends[link].port), number) for link, number in named]
        circle, behind = sorted(names[: found.circle]), sorted(names[found.circle :])
        return Deadlock(tuple(circle), tuple(behind), found.since_ps / 1e12, found.held_bytes)

    def _who(self, error: Exception) -> str:
        """Whose code raised."""
        reason, index = self._exchange.reason, self._exchange.flow
        if reason == native.RETURN:
            name: str = self._calls[index][1]
            return name
        if reason != native.CALLBACK:
            return "progress"
        end = "NP" if self._exchange.np else "RP"
        return f"{end} of flow {self._by_index[index].spec.id}"

    # ---- inside ----

    def _build(self, program: LoadedProgram, pfc: bool) -> None:
        library, handle = self._library, self._handle
        for switch in self.topology.switches:
            if self._cpu_port in self.topology.ports(switch.name):
                raise VirtualError(f"{switch.name}: port {self._cpu_port} is its CPU port, and has a link")
            made = VirtualSwitch(switch.name, program, self._seed + switch.device_id, self._cpu_port)
            self.switches[switch.name] = InProcessSwitch(switch.name, made)
            node = self._nodes[switch.name] = self._check(library.vn_add_switch(handle, made.native.handle))
            made.join(self._now_ns, partial(self._packet_out, node))
            if switch.arbitration == ROUND_ROBIN:
                self._check(library.vn_set_round_robin(handle, self._nodes[switch.name]))
            if switch.output is not None:
                if not pfc:
                    raise VirtualError(f"{switch.name}: output buffers need PFC by the switch itself, not by a program")
                buffer = switch.output
                config = native.FabricConfig(
                    round(buffer.size_bytes), picoseconds(buffer.latency_s), buffer.speed_up, buffer.reliable
                )
                self._check(library.vn_set_fabric(handle, self._nodes[switch.name], ctypes.byref(config)))
        for host in self.topology.hosts:
            mac, ip = wire.parse_mac(host.mac), wire.parse_ip(host.ip)
            node = self._nodes[host.name] = self._check(library.vn_add_host(handle, ip))
            self._nics[host.name] = Nic(node, mac, ip, self.topology.link_at(host.name, 0).rate_bps)
        for link in self.topology.links:
            a, b = link.a, link.b
            rate, delay = round(link.rate_bps), picoseconds(link.delay_s)
            index = self._check(
                library.vn_add_link(handle, self._nodes[a.node], a.port, self._nodes[b.node], b.port, rate, delay)
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
        for name, switched in self.switches.items():
            planned = plan(self.topology, name, 1.0, self.scheme)
            program_switch(switched, planned)
            generator = packet_generator(self.topology, name, 1.0, self.scheme)
            if generator is not None:
                switched.native.generate(generator.port, generator.period_us * 1000, generator.packet_ids)
            for port in planned.pfc if pfc else ():
                mac = (_PORT_MAC | port.port).to_bytes(6, "big")
                self._check(
                    library.vn_set_pfc(
                        handle, self._links[self.topology.peer(name, port.port)], port.xoff_bytes, port.xon_bytes,
                        port.quanta, port.refresh_us * 10**6, port.lossless, mac,
                    )
                )  # fmt: skip

    def _now_ns(self) -> int:
        raw = native.Totals()
        self._library.vn_totals(self._alive(), ctypes.byref(raw))
        return int(raw.now_ps) // 1000

    def _packet_out(self, node: int, frame: bytes) -> None:
        self._check(self._library.vn_packet_out(self._changing(), node, frame, len(frame)))

    def _alive(self) -> int:
        if self._handle is None:
            raise VirtualError("the network is closed")
        return self._handle

    def _changing(self) -> int:
        """The handle, to change the network with. Raises VirtualError while nodes are at different times."""
        if self._exchange.reason not in (native.UNTIL, native.BUDGET, native.FINISHED, native.RETURN):
            raise VirtualError(
                "the network can't be changed from on_rate or on_window, nor after an error: nodes are at different "
                "times; do it in a function that is given to at() before"
            )
        return self._alive()

    def _check(self, code: int) -> int:
        if code < 0:
            raise VirtualError(self._library.vn_error(self._alive()).decode() or os.strerror(-code))
        return code
