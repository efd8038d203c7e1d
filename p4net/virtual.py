"""A network of P4 switches in virtual time.

with VirtualP4(read_exercise(Path("exercises/basic"))) as network:
    network.send("h1", 0.0, udp(network.value, "h1", "h2", b"hello"))
    network.run(until_s=1e-3)
    print(network.arrived("h2"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Literal

from pcn.base.frames import MAX_FRAME
from pcn.base.p4rt import p4r
from pcn.controller.control_plane import ControlPlane
from pcn.controller.in_process import InProcessSwitch
from pcn.p4net.entries import Written, write
from pcn.p4net.hosts import HostNetwork
from pcn.p4net.network import P4Network, P4Switch
from pcn.p4net.steps import Queue, Translated
from pcn.softswitch.embed.switch import EmbeddedSwitch
from pcn.topologies.model import Switch
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.native import CLASSES, NO_QUEUE
from pcn.virtualnet.switch import VirtualSwitch, load

if TYPE_CHECKING:
    from pcn.softswitch.coverage.counts import Counts, Covered
    from pcn.softswitch.trace.decoder import Step

FRAME_BYTES = 2048
"""The longest frame, with the headers that programs add."""
JUMBO_BYTES = MAX_FRAME
"""The most that `frame_bytes` can be."""
Controller = Callable[[ControlPlane], None]


class VirtualP4(HostNetwork):
    """The network `value`, whose switches have their entries. `switches`: their control planes by
    name. `written`: what came of entries, by switch. `strict`: a command of a command file that
    fails raises P4NetError; without it, it is among the complaints of `written`.

    `frame_bytes`: of the longest frame, 128 to 9216. None: of a frame, which has up to 65,535
    bytes, the first 128 are kept, and the rest are zeros. `queues` "one" takes events in one order,
    which functions for single frames and controllers need; "nodes" is faster in a large network,
    without a difference in results. `trace` gets each step of each packet with its switch's name,
    those of a switch in order, by the end of `run` (p4net/packet_paths.py makes ways of them).
    `covered`: programs count what packets run through. A context manager. Raises LabError.
    """

    def __init__(
        self,
        value: P4Network,
        *,
        seed: int = 1,
        frame_bytes: int | None = FRAME_BYTES,
        queues: Literal["nodes", "one"] = "one",
        trace: Callable[[str, Step], None] | None = None,
        strict: bool = True,
        covered: bool = False,
    ) -> None:
        self._counts: list[Counts] = []
        if covered:
            from pcn.softswitch.coverage.counts import Counts  # it reads programs

            self._counts = [Counts() for _ in value.topology.switches]
        self._strict = strict
        self._trace = trace
        self.switches: dict[str, ControlPlane] = {}
        self.written: dict[str, Written] = {}
        self._virtual_switches: dict[str, VirtualSwitch] = {}
        self._stack = ExitStack()
        try:
            for switch in value.topology.switches:
                self._make(switch, value.switches[switch.name], seed)
            super().__init__(
                value,
                {
                    name: virtual_switch.native
                    for name, virtual_switch in self._virtual_switches.items()
                },
                queues=queues,
                whole_bytes=frame_bytes,
            )
            translated: Translated = {}
            for name, virtual_switch in self._virtual_switches.items():
                virtual_switch.join(self)
                self._program(name, value.switches[name], translated)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Frees the engine and the switches. Samples stay readable."""
        super().close()
        self._stack.close()

    def run(
        self,
        until_s: float | None = None,
        *,
        finish: bool = False,
        progress: Callable[[float, float], None] | None = None,
    ) -> bool:
        """Runs the network as `TimedNetwork.run` does, and returns what that returns. Raises what
        `trace` raised."""
        reached = super().run(until_s, finish=finish, progress=progress)
        for switch in self._virtual_switches.values():
            if switch.tracer is not None:
                switch.tracer.read()
        return reached

    @contextmanager
    def _interrupts(self) -> Iterator[Callable[[], None]]:
        tracers = [
            switch.tracer for switch in self._virtual_switches.values() if switch.tracer is not None
        ]

        def check() -> None:
            for tracer in tracers:
                tracer.heed_interrupt()

        yield check

    # ---- controllers ----

    def control(self, switch: str, controller: Controller, *, latency_s: float = 0.0) -> None:
        """Calls the controller of a switch whenever it gets packet-ins, digest lists or idle
        timeouts, `latency_s` after their simulated time, with its control plane: `packets_in`,
        `digests` and `idle_timeouts` return them. What the controller writes and sends takes effect
        then. The switch has this controller alone. Raises VirtualError.
        """
        virtual_switch = self._virtual_switches[self.topology.switch(switch).name]
        plane = _Delayed(switch, virtual_switch)
        self.switches[switch] = plane
        watch = _Watch(self, virtual_switch, plane, controller, latency_s)
        plane.written = watch.plan
        self.on_messages(switch, watch.take)
        watch.plan()

    # ---- what is counted ----

    def coverage(self) -> list[Covered]:
        """Returns what of each program packets ran through so far, merged over switches; nothing,
        unless the network is `covered`."""
        from pcn.softswitch.coverage.counts import merged  # late, as above

        for switch in self._virtual_switches.values() if self._counts else ():
            switch.native.collect()
        return merged(program for counts in self._counts for program in counts.covered())

    def tail_drops(self, switch: str, port: int) -> tuple[int, ...]:
        """Returns the packets that a port's queues refused, by queue."""
        return self.link_stats(switch, port).refused_by_class

    # ---- inside ----

    def _make(self, switch: Switch, settings: P4Switch, seed: int) -> None:
        counts = self._counts[len(self._virtual_switches)] if self._counts else None
        program = load(settings.program, False, self._trace is not None, counts is not None)
        write = partial(self._trace, switch.name) if self._trace is not None else None
        virtual_switch = VirtualSwitch(
            switch.name,
            program,
            seed + switch.device_id,
            settings.cpu_port,
            write,
            counts=counts,
        )
        self._virtual_switches[switch.name] = virtual_switch
        self.switches[switch.name] = self._stack.enter_context(
            InProcessSwitch(switch.name, virtual_switch)
        )

    def _program(self, name: str, settings: P4Switch, translated: Translated) -> None:
        self._queues = {
            (port, queue): [settings.queue_depth, settings.queue_rate]
            for port in self.topology.ports(name)
            for queue in range(CLASSES)
        }
        plane = self.switches[name]
        self.written[name] = write(
            plane, settings.entries, self._note_queue, strict=self._strict, translated=translated
        )
        for (port, queue), (depth, rate) in self._queues.items():
            there = queue < settings.priority_queues
            if depth >= NO_QUEUE:
                raise VirtualError(
                    f"{name}: a depth of {depth} packets: in virtual time {NO_QUEUE - 1} are the "
                    "most"
                )
            self.set_queue(name, port, queue, depth=depth if there else NO_QUEUE, rate_pps=rate)

    def _note_queue(self, step: Queue) -> None:
        for (port, queue), settings in self._queues.items():
            if step.port in (None, port) and step.queue in (None, queue):
                settings[step.setting == "rate"] = step.value


class _Delayed(InProcessSwitch):
    """A control plane whose messages come from a `_Watch`. `written`: is called after each
    write."""

    def __init__(self, name: str, switch: EmbeddedSwitch) -> None:
        super().__init__(name, switch)
        self.written: Callable[[], None] = lambda: None

    def deliver(self, messages: list[p4r.StreamMessageResponse]) -> None:
        for message in messages:
            self._inbox.put(message)

    def _write(self, updates: object, operation: str) -> object:  # type: ignore[override]
        refused = super()._write(updates, operation)  # type: ignore[arg-type]
        self.written()
        return refused

    def _take(self, kind: str, wait_s: float) -> list[p4r.StreamMessageResponse]:
        return self._inbox.take(kind)


class _Watch:
    """Takes a switch's messages at their time, and brings them to its controller a latency
    later."""

    def __init__(
        self,
        network: VirtualP4,
        switch: VirtualSwitch,
        plane: _Delayed,
        controller: Controller,
        latency_s: float,
    ) -> None:
        if latency_s < 0:
            raise VirtualError(f"{switch.name}: a controller's latency of {latency_s:g} s")
        self._network, self._switch, self._plane = network, switch, plane
        self._controller, self._latency_s = controller, latency_s
        self._planned_ns: int | None = None

    def take(self) -> None:
        """Takes what has come until now."""
        messages = list(self._switch.messages())
        if messages:
            self._network.at(
                self._network.now_s + self._latency_s, partial(self._deliver, messages)
            )
        self.plan()

    def plan(self) -> None:
        """Takes again when the next message may come that no packet causes."""
        due_ns = self._switch.next_ns
        if due_ns is None or (
            self._planned_ns is not None and self._switch.now_ns <= self._planned_ns <= due_ns
        ):
            return
        self._planned_ns = max(due_ns, self._switch.now_ns)
        self._network.at(self._planned_ns / 1e9 + _ROUNDING_S, self._due)

    def _due(self) -> None:
        self._planned_ns = None
        self.take()

    def _deliver(self, messages: list[p4r.StreamMessageResponse]) -> None:
        self._plane.deliver(messages)
        self._controller(self._plane)
        self.plan()


_ROUNDING_S = 0.4e-9
"""The engine counts picoseconds, a switch whole nanoseconds of its time."""
