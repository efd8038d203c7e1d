"""The receiving side: counts every data packet, closes the NP's windows, and makes the CNPs. No clock and no socket.

Windows are each flow's own: the first packet comes at a phase of its window that the seed and the flow decide, the next
windows follow every T. A flow that goes silent for a whole window costs nothing until it comes back, on the same grid.
"""

from __future__ import annotations

import heapq
import math
import struct
import zlib
from collections.abc import Callable

from . import stats, wire
from .algorithms import Cnp, Configured, NotificationPoint, Window, window_phase
from .clock import DilatedClock
from .log import EventLog
from .nic import INFINITY

_PSN_RANGE = 1 << 24
_MOST_MISSING = 4096
_IPV4_WORDS = struct.Struct("!10H")
_U32_LE = struct.Struct("<I")
_NO_WINDOW = -INFINITY


class ReceivedFlow:
    """Counters of a flow; `window_*` is what they were when the window began."""

    __slots__ = (
        "bytes", "cnps", "complete_s", "duplicates", "expected", "first_s", "flow", "gaps", "grid_s", "icrc_length",
        "icrc_prefix", "last_s", "marked_ce", "marked_ue", "missing", "np", "packets", "payload_bytes", "reordered",
        "reply_mac", "src_ip", "window_bytes", "window_ce", "window_end_s", "window_first_s", "window_packets",
        "window_ue",
    )  # fmt: skip

    def __init__(self, flow: int, src_ip: bytes, reply_mac: bytes, psn: int, np: NotificationPoint, now: float) -> None:
        self.flow = flow
        self.src_ip = src_ip
        self.reply_mac = reply_mac
        self.np = np
        self.expected = psn
        self.missing: set[int] = set()
        self.first_s = self.last_s = now
        self.complete_s: float | None = None
        self.packets = self.bytes = self.payload_bytes = self.marked_ce = self.marked_ue = 0
        self.gaps = self.duplicates = self.reordered = self.cnps = 0
        self.icrc_length = self.icrc_prefix = 0
        self.window_end_s = _NO_WINDOW if np.period_s is not None else INFINITY
        self.window_first_s: float | None = None
        self.grid_s = now
        self.window_packets = self.window_bytes = self.window_ce = self.window_ue = 0


class Receiver:
    """Flows by source and number. `send(frame, now)` takes a CNP; `timer_s` is when `on_timer` must be called."""

    def __init__(
        self, mac: bytes, ip: bytes, configured: Configured, clock: DilatedClock, log: EventLog,
        send: Callable[[bytes, float], None], seed: int = 1,
    ) -> None:  # fmt: skip
        self.timer_s = INFINITY
        self.bad_frames = 0
        self._mac = mac
        self._ip = ip
        self._configured = configured
        self._clock = clock
        self._log = log
        self._send = send
        self._seed = seed
        self._flows: dict[tuple[int, int], ReceivedFlow] = {}
        self._timers: list[tuple[float, int, ReceivedFlow]] = []
        self._ticket = 0
        np = type(configured.new_np())
        self._wants_marked = np.on_marked is not NotificationPoint.on_marked

    def on_data(
        self, frame: memoryview, length: int, tos: int, src: int, flags: int, number: int, psn: int, now_s: float
    ) -> None:
        """A data packet for this host: its frame, of `length` bytes, and what was read of it already."""
        flow = self._flows.get((src, number))
        if flow is None:
            if not self._valid(frame[:length]):
                return
            flow = self._learn(frame, src, number, psn, now_s)

        # Both checks cost less than a microsecond: what a switch breaks must show
        covered = length - wire.ICRC_LENGTH
        if (
            length != flow.icrc_length
            or sum(_IPV4_WORDS.unpack_from(frame, 14)) % 0xFFFF
            or _U32_LE.unpack_from(frame, covered)[0] != zlib.crc32(frame[50:covered], flow.icrc_prefix)
        ):
            if not self._valid(frame[:length]):
                return
            flow.icrc_prefix = wire.icrc_prefix(frame)
            flow.icrc_length = length

        if psn == flow.expected:
            flow.expected = (psn + 1) % _PSN_RANGE
        else:
            self._out_of_order(flow, psn)

        if now_s >= flow.window_end_s:
            self._roll(flow, now_s)
        if flow.window_first_s is None:
            flow.window_first_s = now_s
        flow.packets += 1
        flow.bytes += length
        flow.payload_bytes += length - wire.DATA_OVERHEAD - (flags >> 4 & 3)
        flow.last_s = now_s
        ecn = tos & 3
        if ecn == wire.ECN_CE:
            flow.marked_ce += 1
            if self._wants_marked:
                self._notify(flow, flow.np.on_marked(now_s), now_s)
        elif ecn == wire.ECN_ECT1:
            flow.marked_ue += 1
        if flags & 0x80:
            flow.complete_s = now_s
            self._log.write(now_s, "last", flow=number, src_ip=wire.format_ip(flow.src_ip), packets=flow.packets)

    def on_timer(self, now_s: float) -> None:
        """Close the windows that have ended."""
        timers = self._timers
        while timers and timers[0][0] <= now_s:
            end_s, _, flow = heapq.heappop(timers)
            if flow.window_end_s == end_s:
                if self._close(flow, now_s):
                    self._open(flow, now_s)
                else:
                    flow.window_end_s = _NO_WINDOW
        self.timer_s = timers[0][0] if timers else INFINITY

    def reset(self) -> None:
        """Forget all flows: their next packet is their first."""
        self._flows.clear()
        self._timers.clear()
        self.timer_s = INFINITY
        self.bad_frames = 0

    def progress(self) -> dict[int, tuple[int, int, int]]:
        """What has come so far, by flow: payload in bytes, packets, and how many of them marked CE."""
        return {flow.flow: (flow.payload_bytes, flow.packets, flow.marked_ce) for flow in self._flows.values()}

    def stats(self) -> tuple[stats.ReceivedFlow, ...]:
        since = self._clock.since_epoch
        return tuple(
            stats.ReceivedFlow(
                flow=flow.flow,
                src_ip=wire.format_ip(flow.src_ip),
                packets=flow.packets,
                bytes=flow.bytes,
                payload_bytes=flow.payload_bytes,
                marked_ce=flow.marked_ce,
                marked_ue=flow.marked_ue,
                gaps=flow.gaps,
                duplicates=flow.duplicates,
                reordered=flow.reordered,
                cnps=flow.cnps,
                first_s=since(flow.first_s),
                last_s=since(flow.last_s),
                complete_s=None if flow.complete_s is None else since(flow.complete_s),
            )
            for _, flow in sorted(self._flows.items())
        )

    def _learn(self, frame: memoryview, src: int, number: int, psn: int, now_s: float) -> ReceivedFlow:
        flow = ReceivedFlow(number, src.to_bytes(4, "big"), bytes(frame[6:12]), psn, self._configured.new_np(), now_s)
        if flow.np.period_s is not None:
            flow.grid_s = now_s - window_phase(self._seed, src, number) * flow.np.period_s
        self._flows[src, number] = flow
        return flow

    def _out_of_order(self, flow: ReceivedFlow, psn: int) -> None:
        ahead = (psn - flow.expected) % _PSN_RANGE
        if ahead < _PSN_RANGE // 2:
            flow.gaps += ahead
            first = max(0, ahead - _MOST_MISSING)
            if len(flow.missing) > _MOST_MISSING:
                flow.missing.clear()
            flow.missing.update((flow.expected + step) % _PSN_RANGE for step in range(first, ahead))
            flow.expected = (psn + 1) % _PSN_RANGE
        elif psn in flow.missing:
            flow.missing.discard(psn)
            flow.gaps -= 1
            flow.reordered += 1
        else:
            flow.duplicates += 1

    def _valid(self, frame: memoryview) -> bool:
        try:
            wire.decode(frame)
        except wire.WireError:
            self.bad_frames += 1
            return False
        return True

    def _roll(self, flow: ReceivedFlow, now_s: float) -> None:
        """The packet that arrives now belongs to another window than the latest."""
        if flow.window_end_s != _NO_WINDOW:
            self._close(flow, now_s)
        self._open(flow, now_s)

    def _open(self, flow: ReceivedFlow, now_s: float) -> None:
        """The window that `now_s` is in, on the flow's grid."""
        period_s = flow.np.period_s
        assert period_s is not None
        flow.window_end_s = flow.grid_s + (math.floor((now_s - flow.grid_s) / period_s) + 1) * period_s
        if flow.window_end_s <= now_s:
            flow.window_end_s += period_s
        self._ticket += 1
        heapq.heappush(self._timers, (flow.window_end_s, self._ticket, flow))
        self.timer_s = self._timers[0][0]

    def _close(self, flow: ReceivedFlow, now_s: float) -> bool:
        """Hand the window to the NP and send what it decides. Whether any packet came."""
        packets = flow.packets - flow.window_packets
        if packets == 0:
            return False
        assert flow.window_first_s is not None
        window = Window(
            packets,
            flow.marked_ce - flow.window_ce,
            flow.marked_ue - flow.window_ue,
            flow.bytes - flow.window_bytes,
            flow.window_first_s,
            flow.last_s,
        )
        flow.window_packets = flow.packets
        flow.window_bytes = flow.bytes
        flow.window_ce = flow.marked_ce
        flow.window_ue = flow.marked_ue
        flow.window_first_s = None
        cnp = flow.np.on_window(window)
        if cnp is not None:
            self._log.write(
                now_s,
                "np",
                flow=flow.flow,
                src_ip=wire.format_ip(flow.src_ip),
                packets=window.packets,
                marked=window.marked_ce,
                bytes=window.bytes,
                ce=int(cnp.decrease),
                rec_rate_bps=cnp.rec_rate_bps,
            )
            self._notify(flow, cnp, now_s)
        return True

    def _notify(self, flow: ReceivedFlow, cnp: Cnp | None, now_s: float) -> None:
        if cnp is None:
            return
        flow.cnps += 1
        packet = wire.CnpPacket(
            self._mac,
            flow.reply_mac,
            self._ip,
            flow.src_ip,
            flow.flow,
            cnp.decrease,
            round(cnp.rec_rate_bps / wire.REC_RATE_UNIT_BPS),
        )
        self._send(wire.encode_cnp(packet), now_s)
