"""The live agent of one host: the loop between the network (a `Port` a NIC), the algorithms and the
control socket.

One thread: `pcn.hosts.loop` takes what arrived, counts it and sends what is due, and returns when a
window of the NP has ended, a CNP has come, or one of the times here has.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import select
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from pcn.softswitch.pace import WINDOW_NS, Place, Window
from pcn.softswitch.tick import TICK_NS

from . import stats, wire
from .algorithms import Cnm, Cnp, Configured, Mark
from .arguments import INTEGER, NUMBER, START_FIELDS, nothing_left, take
from .clock import DilatedClock
from .control import CommandError, ControlServer
from .log import EventLog
from .loop import HostLink, Loop, LoopPort
from .memory_link import Watch
from .native import Events
from .nic import Nic
from .nics import Nics, Routes
from .pace import PaceMeter
from .packet_socket import Port
from .realtime import RealTime
from .receiver import Receiver
from .sender import Sender
from .sent_flow import FlowRequest
from .structures import FRAME, PAUSE, RESUME, Event
from .trace import FlowTrace

_PR_SET_TIMERSLACK = 29
_CATCH_UP_REAL_S = 400e-6
# each time costs a wake-up: of hundreds of idle agents, a part of a core
_HOUSEKEEPING_REAL_S = WINDOW_NS * 1e-9


@dataclass(frozen=True)
class NicSettings:
    """A NIC's. `link`: descriptors of a link in memory to the host's switch
    (`memory_link.Ends`)."""

    interface: str
    line_rate_bps: float
    delay_s: float = 0.0
    link: tuple[int, int] | None = None


@dataclass(frozen=True)
class AgentSettings:
    """An agent's settings at its start. Nominal units; `mac` and `ip` as text. `nics`: by port,
    from 0."""

    name: str
    nics: tuple[NicSettings, ...]
    mac: str
    ip: str
    dilation: float
    scheme: Configured
    control: Path
    log: Path | None = None
    seed: int = 1
    trace_s: float | None = None
    switch_tick_s: float = TICK_NS / 1e9
    """Of the clock by which switches stamp telemetry, real time."""
    pace: tuple[float, Place] | None = None
    """How late a frame may leave, and the place on the network's board where to report that; None:
    nowhere."""


class Agent:
    """Everything of one host. Use as a context manager, then `run`."""

    def __init__(self, settings: AgentSettings) -> None:
        """Raises PortError, ControlError, WireError, BuildError or OSError (log file)."""
        self.settings = settings
        mac, ip = wire.parse_mac(settings.mac), wire.parse_ip(settings.ip)
        self._clock = DilatedClock(settings.dilation)
        self._log = EventLog(settings.log, self._clock)
        events = Events()
        self._nics = Nics(
            ip, [self._nic(port, nic, events) for port, nic in enumerate(settings.nics)]
        )
        self._sender = Sender(
            mac, ip, settings.scheme, self._nics, self._clock, self._log, settings.switch_tick_s
        )
        self._receiver = Receiver(
            mac,
            ip,
            settings.scheme,
            self._clock,
            self._log,
            events,
            self._nics.send_control,
            settings.seed,
        )
        events.listen(FRAME, self._on_frame)
        self._trace = FlowTrace(
            settings.trace_s, self._sender, self._receiver, self._log, self._clock
        )
        self._pace = PaceMeter(self._nics)
        self._share = 1.0
        self._window: Window | None = None
        self._bad_frames = 0
        self._counted_since = (time.monotonic(), time.process_time())
        self._realtime = RealTime()
        self._running = True
        with contextlib.ExitStack() as stack:
            tolerance_s = math.inf
            if settings.pace is not None:
                tolerance_s, place = settings.pace
                self._window = Window(place, round(self._clock.real(tolerance_s) * 1e9))
                stack.callback(self._window.close)
            self._ports = [stack.enter_context(Port(nic.interface)) for nic in settings.nics]
            self._control = stack.enter_context(ControlServer(settings.control, self._command))
            links = [
                None if nic.link is None else HostLink(*nic.link, nic.delay_s)
                for nic in settings.nics
            ]
            sockets = (port.fileno() for port in self._ports)
            self._loop = Loop(
                ip,
                self._clock,
                [LoopPort(*parts) for parts in zip(self._nics, sockets, links, strict=True)],
                self._receiver,
                events,
                self._control.poll.fileno(),
                tolerance_s,
            )
            self._watches: dict[int, Watch] = {}
            for port, nic in enumerate(settings.nics):
                if nic.link is None:
                    continue
                watch = self._watches[port] = stack.enter_context(
                    contextlib.closing(Watch(nic.interface))
                )
                self._control.poll.register(watch.socket, select.EPOLLIN)
                watch.ask()
            self._stack = stack.pop_all()

    def _nic(self, port: int, settings: NicSettings, events: Events) -> Nic:
        where = {"port": port} if len(self.settings.nics) > 1 else {}

        def note(at_s: float, name: str, priority: int, **fields: str | int) -> None:
            self._log.write(at_s, name, **{"class": priority, **fields, **where})

        events.listen(
            PAUSE, lambda event: note(event.at_s, "pause", event.priority, quanta=event.count), port
        )
        events.listen(
            RESUME, lambda event: note(event.at_s, "resume", event.priority, by="frame"), port
        )
        return Nic(
            settings.line_rate_bps,
            port=port,
            delay_s=settings.delay_s,
            catch_up_s=_CATCH_UP_REAL_S / self.settings.dilation,
            events=events,
            on_end=lambda flow, at_s: self._sender.on_end(flow, at_s),
            on_expiry=lambda priority, at_s: note(at_s, "resume", priority, by="expiry"),
        )

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._log.close()

    def run(self) -> None:
        """Until the shutdown command, SIGTERM or SIGINT. Raises PortError if the interface goes."""
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        gc.freeze()
        gc.set_threshold(100_000)
        self._realtime.acquire()
        wakeup, wakeup_sender = socket.socketpair()
        with wakeup, wakeup_sender:
            wakeup_sender.setblocking(False)
            previous_fd = signal.set_wakeup_fd(wakeup_sender.fileno())
            previous = {
                number: signal.signal(number, self._on_signal)
                for number in (signal.SIGTERM, signal.SIGINT)
            }
            try:
                self._run(wakeup.fileno())
            finally:
                self._realtime.release()
                signal.set_wakeup_fd(previous_fd)
                for number, handler in previous.items():
                    signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._running = False

    def _run(self, wakeup_fd: int) -> None:
        clock, sender, trace = self._clock, self._sender, self._trace
        housekeeping_s = _HOUSEKEEPING_REAL_S / clock.dilation
        next_housekeeping = clock.now() + housekeeping_s
        self._control.poll.register(wakeup_fd, select.EPOLLIN)
        while self._running:
            try:
                called = self._loop.run(min(sender.timer_s, trace.timer_s, next_housekeeping))
            except OSError as error:
                raise self._ports[self._loop.state.failed_port].failure(error) from error
            if called:
                self._control.serve()
                for port, watch in self._watches.items():
                    if (watched := watch.read()) is not None:
                        self._loop.watch(port, watched)
            now = clock.now()
            if sender.timer_s <= now:
                self._nics.advance(now)
                sender.on_timer(now)
            if trace.timer_s <= now:
                self._nics.advance(now)
                trace.on_timer(now)
            if now >= next_housekeeping:
                self._nics.advance(now)
                self._housekeep(now)
                next_housekeeping = now + housekeeping_s

    def _on_frame(self, event: Event) -> None:
        """A frame for this host that claims to be a CNP, a CNM or an acknowledgement."""
        try:
            packet = wire.decode(event.frame)
        except wire.WireError:
            packet = None
        if packet is None or isinstance(packet, wire.DataPacket):
            self._bad_frames += 1
            return
        if isinstance(packet, wire.CnmPacket):
            self._sender.on_cnm(packet.flow, packet.src_ip, Cnm(packet.feedback), event.at_s)
            return
        if isinstance(packet, wire.AckPacket):
            mark = Mark(packet.ecn)
            answer = packet.in_order, packet.nak
            self._sender.on_ack(
                packet.flow, packet.src_ip, packet.psn, mark, event.at_s, packet.telemetry, *answer
            )
            return
        assert isinstance(packet, wire.CnpPacket)
        cnp = Cnp(Mark(packet.ecn), packet.rec_rate_mbps * wire.REC_RATE_UNIT_BPS)
        self._sender.on_cnp(packet.flow, packet.src_ip, cnp, event.at_s)

    def _housekeep(self, now: float) -> None:
        share = self._pace.check(now, time.monotonic())
        if share is not None and share < PaceMeter.LEAST_SHARE:
            self._log.write(
                now, "lag", share=share, lag_real_s=self._clock.real(self._nics.shortfall_s(now))
            )
        self._share = 1.0 if not self._nics.flows else self._share if share is None else share
        self._log.flush()
        self._realtime.check(self._window is not None and self._report(self._window))

    def _report(self, window: Window) -> bool:
        """Reports on the board. Whether the network's nodes crowd this machine."""
        state = self._loop.state
        worst_ns = round(self._clock.real(state.worst_s) * 1e9)
        if window.update(
            state.sent_frames, state.late_frames, worst_ns, self._share, PaceMeter.LEAST_SHARE
        ):
            state.worst_s = 0.0
        return window.crowded

    # The control socket's commands

    def _command(self, request: Mapping[str, Any]) -> Any:
        arguments = dict(request)
        name = arguments.pop("cmd", None)
        handler = _COMMANDS.get(name) if isinstance(name, str) else None
        if handler is None:
            raise CommandError(f"no command {name!r}; choose from {', '.join(sorted(_COMMANDS))}")
        return handler(self, arguments, self._clock.now())

    def _do_start(self, arguments: dict[str, Any], now: float) -> None:
        at = take(arguments, "at", NUMBER)
        start_s = now if at is None else max(now, self._clock.nominal(at))
        fields = {name: take(arguments, name, kinds) for name, kinds in START_FIELDS.items()}
        nothing_left("start", arguments)
        for name in ("flow", "dst_ip", "dst_mac"):
            if fields[name] is None:
                raise CommandError(f"start needs {name}")
        request = FlowRequest(
            start_s=start_s, **{name: value for name, value in fields.items() if value is not None}
        )
        port = min(self._ports, key=lambda port: port.max_frame)
        room = self._sender.room_bytes(port.max_frame)
        if -(-request.payload_bytes // 4) * 4 > room:
            raise CommandError(
                f"payload_bytes is {request.payload_bytes}: {port.interface} carries {room} at "
                "most; take fewer, or raise its MTU"
            )
        self._nics.advance(now)
        self._sender.start(request, now)

    def _do_stop(self, arguments: dict[str, Any], now: float) -> None:
        number = take(arguments, "flow", INTEGER)
        if number is None:
            raise CommandError("stop needs flow")
        nothing_left("stop", arguments)
        self._nics.advance(now)
        self._sender.stop(number, now)

    def _do_routes(self, arguments: dict[str, Any], now: float) -> None:
        tables = {name: arguments.pop(name, None) for name in ("usual", "now")}
        nothing_left("routes", arguments)
        routes = Routes(**{name: self._ports_by_ip(name, table) for name, table in tables.items()})
        self._nics.advance(now)
        self._nics.route(routes, now)

    def _ports_by_ip(self, name: str, table: Any) -> dict[bytes, tuple[int, ...]]:
        wrong = CommandError(
            f"routes needs {name}: lists of ports from 0 to {len(self._nics) - 1}, by IP address"
        )
        if not isinstance(table, dict):
            raise wrong
        for ports in table.values():
            if not isinstance(ports, list) or not all(
                type(port) is int and port in range(len(self._nics)) for port in ports
            ):
                raise wrong
        return {wire.parse_ip(ip): tuple(sorted(ports)) for ip, ports in table.items()}

    def _do_list(self, arguments: dict[str, Any], now: float) -> list[dict[str, Any]]:
        nothing_left("list", arguments)
        return [vars(flow) for flow in self._sender.stats()]

    def _do_stats(self, arguments: dict[str, Any], now: float) -> dict[str, Any]:
        nothing_left("stats", arguments)
        self._nics.advance(now)
        self._log.flush()
        return self._stats(now).as_json()

    def _do_clock(self, arguments: dict[str, Any], now: float) -> None:
        epoch = take(arguments, "epoch", NUMBER)
        if epoch is None:
            raise CommandError("clock needs epoch, a reading of time.monotonic()")
        nothing_left("clock", arguments)
        self._clock.set_epoch(epoch)

    def _do_reset(self, arguments: dict[str, Any], now: float) -> None:
        nothing_left("reset", arguments)
        self._nics.advance(now)
        self._sender.reset()
        self._receiver.reset()
        self._nics.reset_counters(now)
        self._pace = PaceMeter(self._nics)
        for port in self._ports:
            port.forget_drops()
        self._loop.reset_counters()
        self._bad_frames = 0
        self._counted_since = (time.monotonic(), time.process_time())

    def _do_shutdown(self, arguments: dict[str, Any], now: float) -> None:
        nothing_left("shutdown", arguments)
        self._running = False

    def _stats(self, now: float) -> stats.AgentStats:
        settings, nics = self.settings, self._nics
        started, cpu = self._counted_since
        return stats.AgentStats(
            name=settings.name,
            scheme=settings.scheme.scheme.name,
            parameters=vars(settings.scheme.parameters),
            dilation=settings.dilation,
            line_rate_bps=nics.line_rate_bps,
            now_s=self._clock.since_epoch(now),
            sent=self._sender.stats(),
            received=self._receiver.stats(),
            pauses=tuple(
                stats.Pauses(
                    priority,
                    state.pause,
                    state.resume,
                    state.expired,
                    nic.paused_s(priority, now),
                    nic.port,
                )
                for nic in nics
                for priority, state in enumerate(nic.pauses)
                if state.pause or state.resume
            ),
            unknown_cnps=self._sender.unknown_cnps,
            unusable_cnps=self._sender.unusable_cnps,
            forgotten_sent=self._sender.forgotten,
            forgotten_received=self._receiver.forgotten,
            control_drops=nics.control_drops,
            other_frames=self._loop.state.other_frames,
            bad_frames=self._bad_frames + self._loop.state.bad_frames,
            socket_drops=sum(port.drops() for port in self._ports),
            send_retries=self._loop.state.send_retries,
            log_errno=self._log.errno,
            log_lost=self._log.lost,
            kept_pace=self._pace.met,
            worst_pace=self._pace.worst,
            lag_real_s=self._clock.real(nics.shortfall_s(now)),
            late_real_s=self._clock.real(self._loop.state.late_s),
            cpu_s=time.process_time() - cpu,
            realtime=self._realtime.active,
            elapsed_real_s=time.monotonic() - started,
        )


# By name: an attribute's name made of a request's would stay in Python's cache of methods, 60 bytes
# a time.
_COMMANDS = {
    name.removeprefix("_do_"): command
    for name, command in vars(Agent).items()
    if name.startswith("_do_")
}
