"""The live agent of one host: the loop between the network (`Port`), the algorithms and the control socket.

One thread: `hosts.loop` takes what arrived, counts it and sends what is due, and returns when a window of the NP has
ended, a CNP has come, or one of the times here has.
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

from softswitch.pace import Place, Window

from . import stats, wire
from .algorithms import Cnm, Cnp, Configured, Mark
from .arguments import INTEGER, NUMBER, START_FIELDS, nothing_left, take
from .clock import DilatedClock
from .control import CommandError, ControlServer
from .log import EventLog
from .loop import HostLink, Loop
from .memory_link import Watch
from .native import FRAME, PAUSE, RESUME, Event, Events
from .nic import Nic
from .pace import PaceMeter
from .packet_socket import Port
from .realtime import RealTime
from .receiver import Receiver
from .sender import FlowRequest, Sender
from .trace import FlowTrace

_PR_SET_TIMERSLACK = 29
_CATCH_UP_REAL_S = 400e-6
_HOUSEKEEPING_REAL_S = 0.25


@dataclass(frozen=True)
class AgentSettings:
    """An agent's settings at its start. Nominal units; `mac` and `ip` as text."""

    name: str
    interface: str
    mac: str
    ip: str
    line_rate_bps: float
    dilation: float
    scheme: Configured
    control: Path
    log: Path | None = None
    delay_s: float = 0.0
    seed: int = 1
    trace_s: float | None = None
    pace: tuple[float, Place] | None = None
    """How late a frame may leave, and the place on the network's board where to report that; None: nowhere."""
    link: tuple[int, int] | None = None
    """Descriptors of a link in memory to the host's switch (`memory_link.Ends`)."""


class Agent:
    """Everything of one host. Use as a context manager, then `run`."""

    def __init__(self, settings: AgentSettings) -> None:
        """Raises PortError, ControlError, WireError, BuildError or OSError (log file)."""
        self.settings = settings
        mac, ip = wire.parse_mac(settings.mac), wire.parse_ip(settings.ip)
        self._clock = DilatedClock(settings.dilation)
        self._log = EventLog(settings.log, self._clock)
        events = Events()
        self._nic = Nic(
            settings.line_rate_bps,
            delay_s=settings.delay_s,
            catch_up_s=_CATCH_UP_REAL_S / settings.dilation,
            events=events,
            on_end=lambda flow, at_s: self._sender.on_end(flow, at_s),
            on_expiry=lambda priority, at_s: self._log.write(at_s, "resume", **{"class": priority, "by": "expiry"}),
        )
        self._sender = Sender(mac, ip, settings.line_rate_bps, settings.scheme, self._nic, self._clock, self._log)
        self._receiver = Receiver(
            mac, ip, settings.scheme, self._clock, self._log, events, self._nic.send_control, settings.seed
        )
        events.listen(PAUSE, self._on_pause)
        events.listen(RESUME, self._on_resume)
        events.listen(FRAME, self._on_frame)
        self._trace = FlowTrace(settings.trace_s, self._sender, self._receiver, self._log, self._clock)
        self._pace = PaceMeter(self._nic)
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
            self._port = stack.enter_context(Port(settings.interface))
            self._control = stack.enter_context(ControlServer(settings.control, self._command))
            self._loop = Loop(
                ip, self._clock, self._nic, self._receiver, events, self._port.fileno(), self._control.poll.fileno(),
                tolerance_s, None if settings.link is None else HostLink(*settings.link, settings.delay_s),
            )  # fmt: skip
            self._watch: Watch | None = None
            if settings.link is not None:
                self._watch = stack.enter_context(contextlib.closing(Watch(settings.interface)))
                self._control.poll.register(self._watch.socket, select.EPOLLIN)
                self._watch.ask()
            self._stack = stack.pop_all()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._log.close()

    def run(self) -> None:
        """Until the shutdown command, SIGTERM or SIGINT. Raises PortError if the interface goes."""
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000)
        self._realtime.acquire()
        wakeup, wakeup_sender = socket.socketpair()
        with wakeup, wakeup_sender:
            wakeup_sender.setblocking(False)
            previous_fd = signal.set_wakeup_fd(wakeup_sender.fileno())
            previous = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
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
                raise self._port.failure(error) from error
            if called:
                self._control.serve()
                if self._watch is not None and (watched := self._watch.read()) is not None:
                    self._loop.watch(watched)
            now = clock.now()
            if sender.timer_s <= now:
                self._nic.advance(now)
                sender.on_timer(now)
            if trace.timer_s <= now:
                self._nic.advance(now)
                trace.on_timer(now)
            if now >= next_housekeeping:
                self._nic.advance(now)
                self._housekeep(now)
                next_housekeeping = now + housekeeping_s

    def _on_pause(self, event: Event) -> None:
        self._log.write(event.at_s, "pause", **{"class": event.priority, "quanta": event.count})

    def _on_resume(self, event: Event) -> None:
        self._log.write(event.at_s, "resume", **{"class": event.priority, "by": "frame"})

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
            self._sender.on_ack(packet.flow, packet.src_ip, packet.psn, mark, event.at_s, packet.telemetry, *answer)
            return
        assert isinstance(packet, wire.CnpPacket)
        cnp = Cnp(Mark(packet.ecn), packet.rec_rate_mbps * wire.REC_RATE_UNIT_BPS)
        self._sender.on_cnp(packet.flow, packet.src_ip, cnp, event.at_s)

    def _housekeep(self, now: float) -> None:
        share = self._pace.check(now, time.monotonic())
        if share is not None and share < PaceMeter.LEAST_SHARE:
            self._log.write(now, "lag", share=share, lag_real_s=self._clock.real(self._nic.shortfall_s(now)))
        self._share = 1.0 if not self._nic.flows else self._share if share is None else share
        self._log.flush()
        self._realtime.check(self._window is not None and self._report(self._window))

    def _report(self, window: Window) -> bool:
        """Reports on the board. Whether the network's nodes crowd this machine."""
        state = self._loop.state
        worst_ns = round(self._clock.real(state.worst_s) * 1e9)
        if window.update(state.sent_frames, state.late_frames, worst_ns, self._share, PaceMeter.LEAST_SHARE):
            state.worst_s = 0.0
        return window.crowded

    # The control socket's commands

    def _command(self, request: Mapping[str, Any]) -> Any:
        arguments = dict(request)
        name = arguments.pop("cmd", None)
        handler = _COMMANDS.get(name) if isinstance(name, str) else None
        if handler is None:
            raise CommandError(f"there is no command {name!r}; there are {', '.join(sorted(_COMMANDS))}")
        return handler(self, arguments, self._clock.now())

    def _do_start(self, arguments: dict[str, Any], now: float) -> None:
        at = take(arguments, "at", NUMBER)
        start_s = now if at is None else max(now, self._clock.nominal(at))
        given = {name: take(arguments, name, kinds) for name, kinds in START_FIELDS.items()}
        nothing_left("start", arguments)
        for name in ("flow", "dst_ip", "dst_mac"):
            if given[name] is None:
                raise CommandError(f"start needs {name}")
        request = FlowRequest(start_s=start_s, **{name: value for name, value in given.items() if value is not None})
        room = self._sender.room_bytes(self._port.max_frame)
        if -(-request.payload_bytes // 4) * 4 > room:
            raise CommandError(
                f"payload_bytes is {request.payload_bytes}: {self._port.interface} carries {room} at most; "
                "take fewer, or raise its MTU"
            )
        self._nic.advance(now)
        self._sender.start(request, now)

    def _do_stop(self, arguments: dict[str, Any], now: float) -> None:
        number = take(arguments, "flow", INTEGER)
        if number is None:
            raise CommandError("stop needs flow")
        nothing_left("stop", arguments)
        self._nic.advance(now)
        self._sender.stop(number, now)

    def _do_list(self, arguments: dict[str, Any], now: float) -> list[dict[str, Any]]:
        nothing_left("list", arguments)
        return [vars(flow) for flow in self._sender.stats()]

    def _do_stats(self, arguments: dict[str, Any], now: float) -> dict[str, Any]:
        nothing_left("stats", arguments)
        self._nic.advance(now)
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
        self._nic.advance(now)
        self._sender.reset()
        self._receiver.reset()
        self._nic.reset_counters(now)
        self._pace = PaceMeter(self._nic)
        self._port.forget_drops()
        self._loop.reset_counters()
        self._bad_frames = 0
        self._counted_since = (time.monotonic(), time.process_time())

    def _do_shutdown(self, arguments: dict[str, Any], now: float) -> None:
        nothing_left("shutdown", arguments)
        self._running = False

    def _stats(self, now: float) -> stats.AgentStats:
        settings, nic = self.settings, self._nic
        started, cpu = self._counted_since
        return stats.AgentStats(
            name=settings.name,
            scheme=settings.scheme.scheme.name,
            parameters=vars(settings.scheme.parameters),
            dilation=settings.dilation,
            line_rate_bps=settings.line_rate_bps,
            now_s=self._clock.since_epoch(now),
            sent=self._sender.stats(),
            received=self._receiver.stats(),
            pauses=tuple(
                stats.Pauses(priority, state.pause, state.resume, state.expired, nic.paused_s(priority, now))
                for priority, state in enumerate(nic.pauses)
                if state.pause or state.resume
            ),
            unknown_cnps=self._sender.unknown_cnps,
            unusable_cnps=self._sender.unusable_cnps,
            forgotten_sent=self._sender.forgotten,
            forgotten_received=self._receiver.forgotten,
            control_drops=nic.control_drops,
            other_frames=self._loop.state.other_frames,
            bad_frames=self._bad_frames + self._loop.state.bad_frames,
            socket_drops=self._port.drops(),
            send_retries=self._loop.state.send_retries,
            log_errno=self._log.errno,
            log_lost=self._log.lost,
            kept_pace=self._pace.kept,
            worst_pace=self._pace.worst,
            lag_real_s=self._clock.real(nic.shortfall_s(now)),
            late_real_s=self._clock.real(self._loop.state.late_s),
            cpu_s=time.process_time() - cpu,
            realtime=self._realtime.active,
            elapsed_real_s=time.monotonic() - started,
        )


# By name: an attribute's name made of a request's would stay in Python's cache of methods, 60 bytes a time.
_COMMANDS = {name.removeprefix("_do_"): what for name, what in vars(Agent).items() if name.startswith("_do_")}
