"""The live agent of one host: the loop between the network (`Port`), the algorithms and the control socket.

One thread: take what arrived, close NP windows, send what is due, sleep until the next of these.
"""

from __future__ import annotations

import ctypes
import gc
import select
import signal
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from . import stats, wire
from .algorithms import Cnp, Configured
from .arguments import INTEGER, NUMBER, START_FIELDS, nothing_left, take
from .clock import DilatedClock
from .control import CommandError, ControlServer
from .log import EventLog
from .nic import Nic
from .pace import PaceMeter
from .port import Port
from .realtime import RealTime
from .receiver import Receiver
from .sender import FlowRequest, Sender, SentFlow
from .trace import FlowTrace

_PR_SET_TIMERSLACK = 29
_RX_BATCH = 64
_RETRY_REAL_S = 200e-6
# Waking up is what costs most (25 us of CPU in a virtual machine, where a packet costs 5): not for every packet where
# they are dense. Incoming frames may wait this long, except before a frame is sent; outgoing ones leave about two at a
# time.
_RX_GAP_S = 2e-6
_LEAST_RX_GAP_REAL_S = 300e-6
_TX_GAP_REAL_S = 150e-6
_CATCH_UP_REAL_S = 400e-6
_HOUSEKEEPING_REAL_S = 0.25


@dataclass(frozen=True)
class AgentSettings:
    """What an agent is told at its start. Nominal units; `mac` and `ip` as text."""

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


class Agent:
    """Everything of one host. Use as a context manager, then `run`."""

    def __init__(self, settings: AgentSettings) -> None:
        """Raises PortError, ControlError, WireError or OSError (log file)."""
        self.settings = settings
        mac, ip = wire.parse_mac(settings.mac), wire.parse_ip(settings.ip)
        self._ip = int.from_bytes(ip, "big")
        self._clock = DilatedClock(settings.dilation)
        self._log = EventLog(settings.log, self._clock)
        self._nic = Nic(
            settings.line_rate_bps,
            delay_s=settings.delay_s,
            catch_up_s=_CATCH_UP_REAL_S / settings.dilation,
            on_end=lambda flow, at_s: self._sender.on_end(flow, at_s),
            on_expiry=lambda priority, at_s: self._log.write(at_s, "resume", **{"class": priority, "by": "expiry"}),
        )
        self._sender = Sender(mac, ip, settings.line_rate_bps, settings.scheme, self._nic, self._clock, self._log)
        self._receiver = Receiver(
            mac, ip, settings.scheme, self._clock, self._log, self._nic.send_control, settings.seed
        )
        self._trace = FlowTrace(settings.trace_s, self._sender, self._receiver, self._log, self._clock)
        self._pace = PaceMeter(self._nic)
        self._other_frames = 0
        self._bad_frames = 0
        self._send_retries = 0
        self._late_s = 0.0
        self._counted_since = (time.monotonic(), time.process_time())
        self._realtime = RealTime()
        self._running = True
        self._port = Port(settings.interface)
        try:
            self._control = ControlServer(settings.control, self._command)
        except BaseException:
            self._port.__exit__()
            raise
        self._view = memoryview(self._port.buffer)

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.__exit__()
        self._port.__exit__()
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
                self._loop(wakeup.fileno())
            finally:
                self._realtime.release()
                signal.set_wakeup_fd(previous_fd)
                for number, handler in previous.items():
                    signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._running = False

    def _loop(self, wakeup_fd: int) -> None:
        clock, nic, receiver, sender, control = self._clock, self._nic, self._receiver, self._sender, self._control
        trace = self._trace
        port_fd = self._port.fileno()
        dilation = clock.dilation
        housekeeping_s = _HOUSEKEEPING_REAL_S / dilation
        tx_gap_s = _TX_GAP_REAL_S / dilation
        rx_gap_s = max(_RX_GAP_S, _LEAST_RX_GAP_REAL_S / dilation)
        quiet = [wakeup_fd, *control.filenos()]
        everything = [port_fd, *quiet]
        nothing: list[int] = []
        now = last_rx = clock.now()
        next_tx, next_housekeeping = now, now + housekeeping_s
        busy = False
        while self._running:
            wake = min(max(nic.wake(), next_tx), receiver.timer_s, sender.timer_s, trace.timer_s, next_housekeeping)
            if busy:
                wake = min(wake, last_rx + rx_gap_s)
            timeout = (wake - now) * dilation
            ready = select.select(quiet if busy else everything, nothing, nothing, timeout if timeout > 0 else 0)[0]
            now = clock.now()
            nic.advance(now)
            if busy or port_fd in ready:
                count = self._receive()
                # Where frames come faster than the gap, wake once for several of them
                busy = count > 0 and now - last_rx < 2 * rx_gap_s
                if count:
                    last_rx = now - rx_gap_s if count == _RX_BATCH else now
            if ready and (len(ready) > 1 or ready[0] != port_fd):
                if control.serve(ready):
                    quiet = [wakeup_fd, *control.filenos()]
                    everything = [port_fd, *quiet]
                now = clock.now()
            if receiver.timer_s <= now:
                receiver.on_timer(now)
            if sender.timer_s <= now:
                sender.on_timer(now)
            if now >= next_tx and nic.wake() <= now:
                next_tx = now + (tx_gap_s if self._transmit(now) else _RETRY_REAL_S / dilation)
            if trace.timer_s <= now:
                trace.on_timer(now)
            if now >= next_housekeeping:
                self._housekeep(now)
                next_housekeeping = now + housekeeping_s

    def _transmit(self, now: float) -> bool:
        """Put on the wire what is due. False if the kernel refused a frame: try again soon."""
        nic, sender, send = self._nic, self._sender, self._port.send
        nic.advance(now)
        while (item := nic.due(now)) is not None:
            due_s, flow, what = item
            if now - due_s > self._late_s:
                self._late_s = now - due_s
            if flow is None:
                assert isinstance(what, bytes)
                taken = send(what)
            else:
                assert isinstance(flow, SentFlow)
                assert isinstance(what, int)
                taken = send(flow.frame(what))
            if not taken:
                nic.put_back(item)
                self._send_retries += 1
                return False
            if flow is not None:
                sender.on_sent(flow, now)
        return True

    def _receive(self) -> int:
        """Take what arrived, a batch at most. How many frames."""
        receive, buffer, view = self._port.receive, self._port.buffer, self._view
        clock_now, unpack = self._clock.now, wire.FAST_HEADER.unpack_from
        on_data = self._receiver.on_data
        for count in range(_RX_BATCH):
            try:
                length = receive(buffer)
            except BlockingIOError:
                return count
            except OSError as error:
                raise self._port.failure(error) from error
            kind, version, tos, total, protocol, src, dst, udp_port, opcode, flags, flow, psn = unpack(buffer)
            if kind == wire.ETHERTYPE_FLOW_CONTROL:
                self._on_pfc(view[:length])
            elif (
                kind != wire.ETHERTYPE_IPV4
                or version != 0x45
                or protocol != wire.PROTOCOL_UDP
                or udp_port != wire.ROCE_PORT
                or dst != self._ip
            ):
                self._other_frames += 1
            elif total + 14 > length or total < wire.DATA_OVERHEAD - 14:
                self._bad_frames += 1
            elif opcode == wire.OPCODE_UC_SEND_ONLY:
                on_data(view, total + 14, tos, src, flags, flow & 0xFFFFFF, psn & 0xFFFFFF, clock_now())
            else:
                self._on_cnp(view[:length])
        return _RX_BATCH

    def _on_pfc(self, frame: memoryview) -> None:
        try:
            quanta = wire.decode_pfc_quanta(frame)
        except wire.WireError:
            self._bad_frames += 1
            return
        now = self._clock.now()
        self._nic.advance(now)
        self._nic.pfc(quanta, now)
        for priority, count in quanta.items():
            if count:
                self._log.write(now, "pause", **{"class": priority, "quanta": count})
            else:
                self._log.write(now, "resume", **{"class": priority, "by": "frame"})

    def _on_cnp(self, frame: memoryview) -> None:
        try:
            packet = wire.decode(frame)
        except wire.WireError:
            self._bad_frames += 1
            return
        assert isinstance(packet, wire.CnpPacket)
        now = self._clock.now()
        self._nic.advance(now)
        cnp = Cnp(packet.decrease, packet.rec_rate_mbps * wire.REC_RATE_UNIT_BPS)
        self._sender.on_cnp(packet.flow, packet.src_ip, cnp, now)

    def _housekeep(self, now: float) -> None:
        share = self._pace.check(now, time.monotonic())
        if share is not None and share < PaceMeter.LEAST_SHARE:
            self._log.write(now, "lag", share=share, lag_real_s=self._clock.real(self._nic.shortfall_s(now)))
        self._log.flush()
        self._realtime.check()

    # The control socket's commands

    def _command(self, request: Mapping[str, Any]) -> Any:
        arguments = dict(request)
        name = arguments.pop("cmd", None)
        handler = getattr(self, f"_do_{name}", None) if isinstance(name, str) else None
        if handler is None:
            names = sorted(attribute[4:] for attribute in dir(self) if attribute.startswith("_do_"))
            raise CommandError(f"there is no command {name!r}; there are {', '.join(names)}")
        return handler(arguments, self._clock.now())

    def _do_start(self, arguments: dict[str, Any], now: float) -> None:
        at = take(arguments, "at", NUMBER)
        start_s = now if at is None else max(now, self._clock.nominal(at))
        given = {name: take(arguments, name, kinds) for name, kinds in START_FIELDS.items()}
        nothing_left("start", arguments)
        for name in ("flow", "dst_ip", "dst_mac"):
            if given[name] is None:
                raise CommandError(f"start needs {name}")
        request = FlowRequest(start_s=start_s, **{name: value for name, value in given.items() if value is not None})
        room = self._port.max_frame - wire.DATA_OVERHEAD
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
        self._other_frames = self._bad_frames = self._send_retries = 0
        self._late_s = 0.0
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
            other_frames=self._other_frames,
            bad_frames=self._bad_frames + self._receiver.bad_frames,
            socket_drops=self._port.drops(),
            send_retries=self._send_retries,
            kept_pace=self._pace.kept,
            worst_pace=self._pace.worst,
            lag_real_s=self._clock.real(nic.shortfall_s(now)),
            late_real_s=self._clock.real(self._late_s),
            cpu_s=time.process_time() - cpu,
            realtime=self._realtime.active,
            elapsed_real_s=time.monotonic() - started,
        )
