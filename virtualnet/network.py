"""A topology in virtual time: built, run and read from Python; the engine is in csrc/.

Python decides what the algorithms decide, a few times in a window of each flow; the engine does all else.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from controller.configure import plan, program_switch
from controller.switch import Program
from hosts import wire
from hosts.algorithms import Cnp, Configured, Window
from topologies.model import Endpoint, FlowSpec, Topology
from virtualnet import native
from virtualnet.errors import CallbackError, VirtualError
from virtualnet.flows import VirtualFlow, configure, marked_from_ps, picoseconds
from virtualnet.native import ANSWER, ANSWER_AT, NEVER, NOW, NOW_AT, TO_NP, TO_RP, TO_RP_AT, engine
from virtualnet.samples import Samples, Source
from virtualnet.switch import VirtualSwitch, load

ROCE_CLASS = 3
_CHUNK = 200_000
"""Events from one look at the wall's clock, and at Ctrl-C, to the next."""
_QUANTUM_SHIFT = 12
_PORT_MAC = 0x02_50_43_4E_00_00


@dataclass(frozen=True)
class LinkStats:
    """One direction of a link, named by the port it leaves. `paused_s`: how long PFC frames over it said stop.

    `held_max` and `held_limit` concern what came in over it: bytes that one lossless class had inside, and what PFC
    guarantees (XOFF and what can be in flight then).
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


@dataclass(frozen=True)
class Totals:
    """The run so far. A traversal is a packet through a switch's ingress; `data_traversals` counts data alone."""

    now_s: float
    events: int
    digest: int
    traversals: int
    data_traversals: int
    packets: int
    packets_most: int
    dropped: int
    bad_frames: int
    stray_frames: int


class VirtualNetwork:
    """All switches run `program` (the scheme's, with native PFC) and are programmed as live ones are.

    `response_s`: from the arrival of a PFC frame to its effect. `pfc` False: no PFC below the pipeline, for programs
    that do it themselves. `queue` is the event queue's design, which no result depends on. A context manager. Raises
    LabError.
    """

    def __init__(
        self,
        topology: Topology,
        scheme: Configured,
        *,
        program: str | None = None,
        seed: int = 1,
        payload_bytes: int = 1000,
        response_s: float = 0.0,
        pfc: bool = True,
        queue: Literal["wheel", "heap"] = "wheel",
        bucket_shift: int = _QUANTUM_SHIFT,
    ) -> None:
        self.topology = topology
        self.scheme = scheme
        self.flows: dict[int, VirtualFlow] = {}
        self.switches: dict[str, VirtualSwitch] = {}
        self.on_rate: Callable[[VirtualFlow, float], None] | None = None
        """Called after an RP's event: the flow, and simulated seconds."""
        self.on_window: Callable[[VirtualFlow, float, Window, Cnp | None], None] | None = None
        """Called after an NP's window: the flow, simulated seconds, the window, and what the NP made of it."""
        self._seed = seed
        self._payload_bytes = payload_bytes
        self._nodes: dict[str, int] = {}
        self._links: dict[Endpoint, int] = {}
        self._rates: dict[int, tuple[float, bool]] = {}
        self._by_index: list[VirtualFlow] = []
        self._calls: list[tuple[Callable[[], None], str]] = []
        self._samples: list[Samples] = []
        self._library = engine()
        kind = native.HEAP if queue == "heap" else native.WHEEL
        self._handle: int | None = self._library.vn_create(kind, bucket_shift, picoseconds(response_s))
        if not self._handle:
            raise VirtualError("the network could not be made")
        try:
            self._build(load(Program.compiled(program or f"{scheme.scheme.program}_native")), pfc)
        except BaseException:
            self.close()
            raise
        self._exchange = self._library.vn_exchange_of(self._handle).contents
        self._block = (ctypes.c_char * ctypes.sizeof(native.Exchange)).from_buffer(self._exchange)

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
        config, rp, np = configure(self.topology, spec, self.scheme, self._seed, self._payload_bytes, start_s)
        config.src, config.dst = self._nodes[spec.src], self._nodes[spec.dst]
        index = self._check(self._library.vn_add_flow(self._handle, ctypes.byref(config)))
        flow = VirtualFlow(self._library, self._alive(), index, spec, rp, np)
        self.flows[spec.id] = flow
        self._by_index.append(flow)
        return flow

    def stop_flow(self, number: int) -> None:
        """The flow starts no further frame; what has started arrives."""
        self._check(self._library.vn_stop_flow(self._handle, self.flows[number].index))

    def at(self, time_s: float, function: Callable[[], None]) -> None:
        """Calls the function at that simulated time, after all that the network does then."""
        self._check(self._library.vn_call(self._handle, picoseconds(time_s), len(self._calls)))
        self._calls.append((function, getattr(function, "__qualname__", repr(function))))

    def set_link(self, node: str, port: int, *, rate_bps: float | None = None, up: bool | None = None) -> None:
        """Changes a link, both ways, from now on: its rate, or whether frames may start. Nothing is lost."""
        for end in (Endpoint(node, port), self.topology.peer(node, port)):
            link = self._links[end]
            old_rate, old_up = self._rates[link]
            new = (old_rate if rate_bps is None else rate_bps, old_up if up is None else up)
            self._check(self._library.vn_set_link(self._handle, link, round(new[0]), new[1]))
            self._rates[link] = new

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
            self._library.vn_add_sampler(self._handle, first, picoseconds(every_s), specs, len(sources))
        )
        samples = Samples(self._library, self._alive(), sampler, sources)
        self._samples.append(samples)
        return samples

    def register(self, switch: str, name: str, index: int) -> Source:
        """A cell of a register of the program."""
        number = self._switch(switch).register(name).index
        return Source(f"{switch} {name}[{index}]", native.REGISTER, self._nodes[switch], number, index)

    def counter_packets(self, switch: str, name: str, index: int) -> Source:
        """Packets in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).index
        return Source(f"{switch} {name}[{index}] packets", native.COUNTER_PACKETS, self._nodes[switch], number, index)

    def counter_bytes(self, switch: str, name: str, index: int) -> Source:
        """Bytes in a cell of a counter of the program."""
        number = self._switch(switch).counter(name).index
        return Source(f"{switch} {name}[{index}] bytes", native.COUNTER_BYTES, self._nodes[switch], number, index)

    def queue_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What waits to leave by a switch's port."""
        return self._of_link("queue bytes", native.QUEUE_BYTES, node, port, traffic_class)

    def queue_packets(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What waits to leave by a switch's port."""
        return self._of_link("queue packets", native.QUEUE_PACKETS, node, port, traffic_class)

    def held_bytes(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """What came in by a switch's port and is inside: what XOFF is compared with."""
        peer = self.topology.peer(node, port)
        return self._of_link("held bytes", native.HELD_BYTES, peer.node, peer.port, traffic_class)

    def xoff_sent(self, node: str, port: int, traffic_class: int = ROCE_CLASS) -> Source:
        """1 while what `node` sends out of `port` says stop."""
        return self._of_link("xoff", native.XOFF_SENT, node, port, traffic_class)

    def pause_sent(self, node: str, port: int) -> Source:
        """PAUSE frames sent out of a port."""
        return self._of_link("pause", native.PAUSE_SENT, node, port, 0)

    def resume_sent(self, node: str, port: int) -> Source:
        """RESUME frames sent out of a port."""
        return self._of_link("resume", native.RESUME_SENT, node, port, 0)

    def link_bytes(self, node: str, port: int) -> Source:
        """Bytes of all frames that have started to leave by a port."""
        return self._of_link("bytes", native.LINK_BYTES, node, port, 0)

    def flow_rate(self, flow: int) -> Source:
        """What the NIC paces the flow at, bit/s of frames; 0 once it has ended."""
        return Source(f"flow {flow} rate", native.FLOW_RATE, self.flows[flow].index)

    def flow_sent(self, flow: int) -> Source:
        """Bytes of the flow's frames that have started to leave."""
        return Source(f"flow {flow} sent", native.FLOW_SENT_BYTES, self.flows[flow].index)

    def flow_received(self, flow: int) -> Source:
        """Payload of the flow that has arrived."""
        return Source(f"flow {flow} received", native.FLOW_RECEIVED, self.flows[flow].index)

    def flow_received_packets(self, flow: int) -> Source:
        return Source(f"flow {flow} packets", native.FLOW_RECEIVED_PACKETS, self.flows[flow].index)

    def flow_marked_packets(self, flow: int) -> Source:
        """Packets of the flow that have arrived marked CE."""
        return Source(f"flow {flow} marked", native.FLOW_MARKED_PACKETS, self.flows[flow].index)

    # ---- running and reading ----

    @property
    def now_s(self) -> float:
        """Simulated seconds."""
        return self.totals().now_s

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
        an algorithm or a scheduled function raised. Ctrl-C ends it between two events, and it can be run on.
        """
        if until_s is None and not finish:
            raise VirtualError("a run needs a time to end at, or finish=True")
        library, handle, exchange = self._library, self._alive(), self._exchange
        exchange.until_ps = NEVER if until_s is None else picoseconds(until_s)
        exchange.budget, exchange.finish = _CHUNK, finish
        begun, begun_s = time.monotonic(), self.now_s
        told = begun
        step = library.vn_run
        while True:
            reason = step(handle)
            if reason == native.WINDOW:
                self._window()
            elif reason in (native.CNP, native.TIMER, native.BYTES):
                self._reaction(reason)
            elif reason == native.BUDGET:
                now = time.monotonic()
                if progress is not None and now - told >= 0.5:
                    told = now
                    now_s = self.now_s
                    done = now_s - begun_s
                    left = float("inf") if until_s is None or done <= 0 else (now - begun) * (until_s - now_s) / done
                    progress(now_s, left)
            elif reason == native.MARKED:
                self._marked()
            elif reason == native.CALL:
                function, name = self._calls[exchange.flow]
                try:
                    function()
                except Exception as error:
                    raise CallbackError(name, exchange.now_s, error) from error
            elif reason == native.FAILED:
                raise VirtualError(f"{self.now_s * 1e6:.6f} us: {library.vn_error(handle).decode()}")
            else:
                return bool(reason == native.FINISHED)

    def totals(self) -> Totals:
        raw = native.Totals()
        self._library.vn_totals(self._alive(), ctypes.byref(raw))
        return Totals(
            raw.now_ps / 1e12, raw.events, raw.digest, raw.traversals, raw.data_traversals, raw.packets,
            raw.packets_most, raw.dropped, raw.bad_frames, raw.stray_frames,
        )  # fmt: skip

    def link_stats(self, node: str, port: int) -> LinkStats:
        """Of the direction that leaves `node` by `port`."""
        raw = native.LinkStats()
        self._library.vn_link_stats(self._alive(), self._links[Endpoint(node, port)], ctypes.byref(raw))
        return LinkStats(
            raw.packets, raw.bytes, raw.pause, raw.resume, raw.paused_ps / 1e12, raw.refused, raw.held_max,
            raw.held_limit, raw.expired,
        )  # fmt: skip

    # ---- what the engine asks: once a window and flow, so every microsecond here counts ----

    def _window(self) -> None:
        index, packets, marked_ce, marked_ue, size, first_s, last_s, now_s = TO_NP.unpack_from(self._block)
        flow = self._by_index[index]
        window = Window(packets, marked_ce, marked_ue, size, first_s, last_s)
        try:
            cnp = flow.np.on_window(window)
            if self.on_window is not None:
                self.on_window(flow, now_s, window, cnp)
        except Exception as error:
            raise CallbackError(f"NP of flow {flow.spec.id}", now_s, error) from error
        if cnp is not None:
            ANSWER.pack_into(self._block, ANSWER_AT, 1, cnp.decrease, 0, cnp.rec_rate_bps, NEVER, NEVER, 0)

    def _marked(self) -> None:
        index, *_, now_s = TO_NP.unpack_from(self._block)
        flow = self._by_index[index]
        try:
            cnp = flow.np.on_marked(now_s)
            marked_from = marked_from_ps(flow.np)
        except Exception as error:
            raise CallbackError(f"NP of flow {flow.spec.id}", now_s, error) from error
        decrease, rate_bps = (False, 0.0) if cnp is None else cnp
        ANSWER.pack_into(self._block, ANSWER_AT, cnp is not None, decrease, 0, rate_bps, NEVER, NEVER, marked_from)

    def _reaction(self, reason: int) -> None:
        block = self._block
        (now_s,) = NOW.unpack_from(block, NOW_AT)
        sent_bytes, rec_rate_bps, decrease = TO_RP.unpack_from(block, TO_RP_AT)
        flow = self._by_index[self._exchange.flow]
        rp = flow.rp
        rp.sent_bytes = sent_bytes
        try:
            if reason == native.CNP:
                rp.on_cnp(Cnp(decrease != 0, rec_rate_bps), now_s)
            elif reason == native.TIMER:
                assert rp.timer_s is not None
                rp.on_timer(rp.timer_s)
            else:
                rp.on_bytes_sent(now_s)
            if self.on_rate is not None:
                self.on_rate(flow, now_s)
            timer = NEVER if rp.timer_s is None else picoseconds(rp.timer_s)
            due = NEVER if rp.due_bytes is None else rp.due_bytes
            ANSWER.pack_into(block, ANSWER_AT, 1, 0, 0, flow.allowed_bps, timer, due, 0)
        except Exception as error:
            raise CallbackError(f"RP of flow {flow.spec.id}", now_s, error) from error

    # ---- inside ----

    def _build(self, program: object, pfc: bool) -> None:
        from virtualnet.switch import LoadedProgram

        assert isinstance(program, LoadedProgram)
        library, handle = self._library, self._handle
        for switch in self.topology.switches:
            made = VirtualSwitch(switch.name, program, self._seed + switch.device_id)
            self.switches[switch.name] = made
            self._nodes[switch.name] = self._check(library.vn_add_switch(handle, made.native.handle))
        for host in self.topology.hosts:
            self._nodes[host.name] = self._check(library.vn_add_host(handle, wire.parse_ip(host.ip)))
        for link in self.topology.links:
            a, b = link.a, link.b
            rate, delay = round(link.rate_bps), picoseconds(link.delay_s)
            index = self._check(
                library.vn_add_link(handle, self._nodes[a.node], a.port, self._nodes[b.node], b.port, rate, delay)
            )
            self._links[a], self._links[b] = index, index + 1
            self._rates[index] = self._rates[index + 1] = (rate, True)
        for name, made in self.switches.items():
            planned = plan(self.topology, name, 1.0, self.scheme.parameters)
            program_switch(made, planned)
            for port in planned.pfc if pfc else ():
                mac = (_PORT_MAC | port.port).to_bytes(6, "big")
                self._check(
                    library.vn_set_pfc(
                        handle, self._links[self.topology.peer(name, port.port)], port.xoff_bytes, port.xon_bytes,
                        port.quanta, port.refresh_us * 10**6, port.lossless, mac,
                    )
                )  # fmt: skip

    def _switch(self, name: str) -> VirtualSwitch:
        self.topology.switch(name)
        return self.switches[name]

    def _of_link(self, what: str, source: int, node: str, port: int, traffic_class: int) -> Source:
        self.topology.link_at(node, port)
        return Source(f"{node}:{port} {what}", source, self._links[Endpoint(node, port)], 0, traffic_class)

    def _alive(self) -> int:
        if self._handle is None:
            raise VirtualError("the network is closed")
        return self._handle

    def _check(self, code: int) -> int:
        if code < 0:
            raise VirtualError(self._library.vn_error(self._alive()).decode() or os.strerror(-code))
        return code
