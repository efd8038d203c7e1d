"""What csrc/nic.c must do, by the rules of csrc/pacing.h, in Python: `test_nic_model.py` compares
them.

The NIC is a serialiser at line rate. Control frames (CNPs) go first and are never paused; flows
share the rest round robin, each paced at the rate of its RP; PFC stops the flows of a class. No
clock and no socket: the caller brings times, which never go back, and puts on the wire what `due`
returns. Seconds are nominal; with fractions for rates and times, all is exact.

The schedule is absolute: a frame's start follows from the model, not from when the process woke up,
so that pacing has no drift. Starts are decided as late as possible without an effect:
`advance(now)` decides all up to now, and must be called before each change of the state. A frame
leaves when its last bit has left: at its start, plus its length at line rate, plus the link's
delay.

A process that is late may catch up by a burst of two packets, or of `catch_up_s`. What it is later
than that is lost: the schedule moves, and `allowed_bits` runs ahead of `started_bits`.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pcn.hosts.wire import CLASSES, QUANTUM_BITS

INFINITY = math.inf
CATCH_UP = 2


class ModelFlow:
    """A flow in the NIC. `packets` is its length, None if it has no end; `end_s` is when it ends at
    the latest."""

    __slots__ = (
        "acked", "base_s", "closed", "eligible_s", "end_s", "every", "frame_bits", "interval_s",
        "last_bits", "next_s", "number", "packets", "priority", "rate_bps", "requests", "start_s",
        "started", "window_bits",
    )  # fmt: skip

    def __init__(
        self,
        priority: int,
        frame_bits: int,
        rate_bps: float,
        start_s: float,
        *,
        packets: int | None = None,
        last_bits: int | None = None,
        end_s: float = INFINITY,
        every: int = 0,
        window_bits: float = INFINITY,
    ):
        self.priority = priority
        self.frame_bits = frame_bits
        self.last_bits = frame_bits if last_bits is None else last_bits
        self.packets = packets
        self.start_s = start_s
        self.end_s = end_s
        self.rate_bps = rate_bps
        self.interval_s = frame_bits / rate_bps
        # from where the gap to the next frame counts: there is none before the first
        self.base_s = -INFINITY
        self.next_s = start_s
        self.eligible_s = start_s
        self.started = 0
        self.number = 0  # in order of addition
        self.every = every
        self.window_bits = window_bits
        self.requests: list[int] = []  # packets that requested an acknowledgement
        self.acked = 0  # packets, from the first
        self.closed = False

    def bits(self, number: int) -> int:
        """Of a packet."""
        return self.last_bits if number + 1 == self.packets else self.frame_bits

    def bits_between(self, first: int, end: int) -> int:
        """Of the packets from `first` to before `end`."""
        has_last = self.packets is not None and first < self.packets <= end
        return max(0, end - first) * self.frame_bits + has_last * (self.last_bits - self.frame_bits)

    def full(self) -> bool:
        """Whether the next packet doesn't fit into the window."""
        return self.bits_between(self.acked, self.started + 1) > self.window_bits


@dataclass
class PauseState:
    """PFC of one class. Counts frames and nominal seconds."""

    until_s: float = 0
    since_s: float | None = None
    pause: int = 0
    resume: int = 0
    expired: int = 0
    paused_s: float = 0


_SEND, _CONTROL, _END, _NOTHING = range(4)


class ModelNic:
    """`on_end(flow, at_s)`: the last frame of a flow left, or was to leave, at that time.
    `on_expiry(class, at_s)`: a PAUSE ran out without RESUME."""

    def __init__(
        self,
        line_rate_bps: float,
        *,
        delay_s: float = 0,
        catch_up_s: float = 0,
        on_end: Callable[[ModelFlow, float], None] = lambda flow, at_s: None,
        on_expiry: Callable[[int, float], None] = lambda priority, at_s: None,
    ):
        self.line_rate_bps = line_rate_bps
        self.pauses = [PauseState() for _ in range(CLASSES)]
        self.allowed_bits = 0.0
        self.started_bits = 0
        self._delay_s = delay_s
        self._catch_up_s = catch_up_s
        self._on_end = on_end
        self._on_expiry = on_expiry
        self._flows: list[ModelFlow] = []
        self._added = 0
        self._last = 0  # number of the flow that sent last
        self._control: deque[tuple[float, bytes]] = deque()
        self._in_flight: deque[tuple[float, ModelFlow | None, int | bytes]] = deque()
        self._free_s = 0
        self._paused_classes = 0
        self._until = [0] * CLASSES
        self._accounted_s = 0
        self._next: tuple[float, int, ModelFlow | None] | None = None

    @property
    def flows(self) -> tuple[ModelFlow, ...]:
        """Flows that have not ended."""
        return tuple(self._flows)

    def add(self, flow: ModelFlow, now_s: float):
        """A flow whose start is now or later."""
        self.account(now_s)
        self._added += 1
        flow.number = self._added
        self._flows.append(flow)
        self._next = None

    def remove(self, flow: ModelFlow, now_s: float):
        """The flow starts no further frame. What has started still leaves."""
        self.account(now_s)
        self._drop(flow)
        self._on_end(flow, max(now_s, self._free_s + self._delay_s) if flow.started else now_s)

    def set_rate(self, flow: ModelFlow, rate_bps: float, now_s: float):
        """The gap after the flow's last frame follows the new rate at once."""
        if rate_bps == flow.rate_bps:
            return
        self.account(now_s)
        flow.rate_bps = rate_bps
        flow.interval_s = flow.frame_bits / rate_bps
        flow.next_s = max(flow.base_s + flow.interval_s, now_s, flow.start_s)
        self._next = None

    def set_window(self, flow: ModelFlow, window_bits: float, now_s: float):
        """The most bits that are sent and not acknowledged."""
        flow.window_bits = window_bits
        self._window_changed(flow, now_s)

    def acknowledge(self, flow: ModelFlow, number: int, now_s: float) -> int:
        """A packet was acknowledged, and all before it: the bits that weren't before."""
        bits = flow.bits_between(flow.acked, number + 1)
        flow.acked = max(flow.acked, number + 1)
        self._window_changed(flow, now_s)
        return bits

    def _window_changed(self, flow: ModelFlow, now_s: float):
        """A flow waits while its window is full and an ACK is requested; nothing starts before it
        opens."""
        closed = flow.full() and any(number >= flow.acked for number in flow.requests)
        if closed == flow.closed:
            return
        self.account(now_s)
        flow.closed = closed
        if not closed:
            flow.next_s = max(flow.next_s, now_s)
        self._next = None

    def send_control(self, frame: bytes, now_s: float):
        """A frame that goes before all others and obeys no PAUSE."""
        self._control.append((now_s, frame))
        self._next = None

    def pfc(self, quanta: Mapping[int, int], now_s: float):
        """A PFC frame arrived: pause quanta of 512 bit times by class; 0 is RESUME."""
        self.account(now_s)
        for priority, count in quanta.items():
            state = self.pauses[priority]
            if count:
                state.pause += 1
                if state.since_s is None:
                    state.since_s = now_s
                    self._paused_classes += 1
                state.until_s = now_s + count * QUANTUM_BITS / self.line_rate_bps
            else:
                state.resume += 1
                if state.since_s is not None:
                    self._end_pause(state, now_s)
            self._until[priority] = state.until_s
        self._next = None

    def paused_s(self, priority: int, now_s: float) -> float:
        """How long the class has been paused, until now."""
        state = self.pauses[priority]
        return state.paused_s + (
            0 if state.since_s is None else min(now_s, state.until_s) - state.since_s
        )

    def advance(self, now_s: float):
        """Decide every start until now."""
        if self._paused_classes:
            self._expire(now_s)
        # What could not be put on the wire in time holds the rest up
        while not (self._in_flight and self._in_flight[0][0] < now_s - self._allowance()):
            at_s, kind, flow = self._next or self._choose()
            if at_s > now_s:
                return
            if kind == _SEND:
                assert flow is not None
                self._start(flow, at_s, now_s)
            elif kind == _CONTROL:
                _, frame = self._control.popleft()
                self._free_s = at_s + len(frame) * 8 / self.line_rate_bps
                self._in_flight.append((self._free_s + self._delay_s, None, frame))
            else:
                assert flow is not None
                self.account(at_s)
                self._drop(flow)
                self._on_end(flow, at_s)
            self._next = None

    def due(self, now_s: float) -> tuple[float, ModelFlow | None, int | bytes] | None:
        """The next frame that must be on the wire by now: when it was due, and a flow and the
        number of its packet (from 0), or None and a control frame."""
        in_flight = self._in_flight
        if in_flight and in_flight[0][0] <= now_s:
            return in_flight.popleft()
        return None

    def wake(self) -> float:
        """When `advance` and `due` have something to do, if nothing happens before. Infinity if
        never."""
        if self._in_flight:
            return self._in_flight[0][0]
        at_s, kind, flow = self._next or self._choose()
        if kind == _SEND:
            assert flow is not None
            return at_s + self._bits(flow) / self.line_rate_bps + self._delay_s
        if kind == _CONTROL:
            return at_s + len(self._control[0][1]) * 8 / self.line_rate_bps + self._delay_s
        return at_s

    def account(self, now_s: float):
        """Bring `allowed_bits` up to now: the sum of the flows' rates, at most line rate, while PFC
        allows them."""
        begin = self._accounted_s
        if now_s <= begin:
            return
        edges = {now_s}
        for time_s in [
            *self._until,
            *(flow.start_s for flow in self._flows),
            *(flow.end_s for flow in self._flows),
        ]:
            if begin < time_s < now_s:
                edges.add(time_s)
        for end in sorted(edges):
            middle = (begin + end) / 2
            demand = sum(
                flow.rate_bps
                for flow in self._flows
                if flow.start_s <= middle < flow.end_s
                and not flow.closed
                and self._until[flow.priority] <= middle
            )
            self.allowed_bits += min(demand, self.line_rate_bps) * (end - begin)
            begin = end
        self._accounted_s = now_s

    def shortfall_s(self, now_s: float) -> float:
        """What the rates allowed until now and was not sent, as time at line rate: what lateness
        cost."""
        self.account(now_s)
        return max(0, self.allowed_bits - self.started_bits) / self.line_rate_bps

    def reset_counters(self, now_s: float):
        """Counts start anew; flows and pauses go on."""
        self.account(now_s)
        for state in self.pauses:
            state.pause = state.resume = state.expired = 0
            state.paused_s = 0
            if state.since_s is not None:
                state.since_s = now_s
        self.allowed_bits = 0.0
        self.started_bits = 0

    def _allowance(self) -> float:
        """How late a frame may leave without moving the schedule."""
        longest = max((flow.frame_bits for flow in self._flows), default=0)
        return max(self._catch_up_s, CATCH_UP * longest / self.line_rate_bps)

    def _bits(self, flow: ModelFlow) -> int:
        return flow.bits(flow.started)

    def _choose(self) -> tuple[float, int, ModelFlow | None]:
        """What starts next, and when: the earliest; where several could, the first after the flow
        that sent last."""
        until = self._until
        earliest = first_end = INFINITY
        ending: ModelFlow | None = None
        for flow in self._flows:
            eligible = flow.next_s
            if until[flow.priority] > eligible:
                eligible = until[flow.priority]
            if flow.closed:
                eligible = INFINITY
            if eligible >= flow.end_s:
                eligible = INFINITY
                if flow.end_s < first_end:
                    first_end = flow.end_s
                    ending = flow
            elif eligible < earliest:
                earliest = eligible
            flow.eligible_s = eligible
        free_s = self._free_s
        start_s = earliest if earliest > free_s else free_s
        choice: tuple[float, int, ModelFlow | None]
        if self._control and max(free_s, self._control[0][0]) <= (
            start_s if earliest < INFINITY else INFINITY
        ):
            choice = (max(free_s, self._control[0][0]), _CONTROL, None)
        elif earliest == INFINITY:
            choice = (INFINITY, _NOTHING, None)
        else:
            able = [flow for flow in self._flows if flow.eligible_s <= start_s]
            choice = (
                start_s,
                _SEND,
                next((flow for flow in able if flow.number > self._last), able[0]),
            )
        if ending is not None and first_end < choice[0]:
            choice = (first_end, _END, ending)
        self._next = choice
        return choice

    def _start(self, flow: ModelFlow, at_s: float, now_s: float):
        length_s = self._bits(flow) / self.line_rate_bps
        limit_s = now_s - self._allowance() - length_s - self._delay_s
        if at_s < limit_s:
            at_s = limit_s
        self._free_s = at_s + length_s
        self._in_flight.append((self._free_s + self._delay_s, flow, flow.started))
        self.started_bits += self._bits(flow)
        flow.started += 1
        last = flow.started == flow.packets
        if (flow.every and (last or flow.started % flow.every == 0)) or (not last and flow.full()):
            flow.requests.append(flow.started - 1)

        # A flow that had to wait keeps the credit for one packet
        flow.base_s = max(flow.next_s, at_s - flow.interval_s)
        flow.next_s = flow.base_s + flow.interval_s
        self._last = flow.number
        self._window_changed(flow, at_s)
        if flow.started == flow.packets:
            self.account(at_s)
            self._drop(flow)
            self._on_end(flow, self._free_s + self._delay_s)

    def _drop(self, flow: ModelFlow):
        self._flows.remove(flow)
        self._next = None

    def _end_pause(self, state: PauseState, at_s: float):
        assert state.since_s is not None
        end_s = min(at_s, state.until_s)
        state.paused_s += end_s - state.since_s
        state.since_s = None
        state.until_s = end_s
        self._paused_classes -= 1

    def _expire(self, now_s: float):
        for priority, state in enumerate(self.pauses):
            if state.since_s is not None and state.until_s <= now_s:
                state.expired += 1
                self._end_pause(state, now_s)
                self._on_expiry(priority, state.until_s)
