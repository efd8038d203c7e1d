"""Packets a second, latency and shaping, from one veth to another through a P4 program.

- `forwarded`: packets a second that come out while the sender offers what it can; median of several
  runs. Where all that was sent came out, the sender was the limit;
- CPU: time that a forwarder uses for one packet of a full ring, while nothing else comes: free of
  the sender's pace;
- `loss-free`: the highest offered rate at which every packet of a run came out, by bisection to 2%;
- latency: of single frames through an idle switch, with an awake receiver;
- shaping: what a port with a rate lets out while a tenth more is offered.

The sender has a separate core; the copy loop and the embedded switch have one core, BMv2 has all.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.switch.wires import (
    SENDER_CPU,
    BenchError,
    Wires,
    cpu_time_ns,
    one_cpu,
    roce_frame,
    run,
    stopped,
)

_STILL_S = 0.05
"""How long nothing comes any more once a buffer is empty."""
_FULL, _FULL_RATE, _FULL_TIMES = 1600, 400_000.0, 20
"""Packets that a ring of 2,000 holds, their rate, and how often they are served."""


@dataclass(frozen=True)
class Figures:
    """Packets a second."""

    forwarded: float
    loss_free: float


@dataclass(frozen=True)
class Latency:
    """Microseconds from the call that sends a frame to its arrival."""

    median: float
    p99: float


@dataclass(frozen=True)
class Shaping:
    """What came out of a shaped port over a second: the rate, bit/s; the largest burst, packets
    within half the time of one; how many packets were the third or later of a burst."""

    rate: float
    burst: int
    beyond: int


@dataclass(frozen=True)
class Bench:
    """One forwarder under measurement. What was offered below capacity is lost once nothing has
    come for `lost_s`."""

    blast: Path
    through: Wires
    seconds: float
    runs: int
    lost_s: float = 1.0

    def offer(self, frame: bytes, rate: float, seconds: float = 0) -> tuple[int, int, float]:
        """Returns the packets sent, packets that came out, and the seconds of sending. rate 0: as
        fast as it goes."""
        before = self.through.arrived()
        words = ["send", self.through.far_in, str(rate), str(seconds or self.seconds), frame.hex()]
        sent, took = run(*self._sender(), *words).split()
        during = self.through.arrived() - before
        drained = self._drained(
            before + during, before + int(sent), _STILL_S if rate == 0 else self.lost_s
        )
        # Over the time of sending alone: what a full buffer still gives up afterwards doesn't
        # count.
        return int(sent), (during if rate == 0 else drained - before), float(took)

    def measure(self, length: int) -> Figures:
        """Returns both rates for frames of `length` bytes, after a warm-up."""
        frame = roce_frame(length)
        self.offer(frame, 1000)
        rates = []
        for _ in range(self.runs):
            _, arrived, took = self.offer(frame, 0)
            rates.append(arrived / took)
        forwarded = statistics.median(rates)
        low, high = 0.0, forwarded * 1.1
        while high - low > 0.02 * high:
            middle = (low + high) / 2 if low else high * 0.8
            sent, arrived, took = self.offer(frame, middle)
            if sent < 0.98 * middle * took:
                high = sent / took  # the sender can't offer more
                if sent != arrived:
                    continue
                low = high
            elif sent == arrived:
                low = middle
            else:
                high = middle
        return Figures(forwarded, low)

    def cpu_ns(self, pid: int, length: int) -> float:
        """Returns CPU time of process `pid` for one packet, ns: median over rings that fill while
        the process is stopped."""
        frame = roce_frame(length)
        costs = []
        for _ in range(_FULL_TIMES):
            with stopped(pid):
                before = self.through.arrived()
                words = [
                    "send",
                    self.through.far_in,
                    str(_FULL_RATE),
                    str(_FULL / _FULL_RATE),
                    frame.hex(),
                ]
                sent = int(run(*self._sender(), *words).split()[0])
                used_ns = cpu_time_ns(pid)
            arrived = self._drained(before, before + sent, self.lost_s) - before
            if arrived < sent:
                raise BenchError(
                    f"{sent - arrived} of {sent} frames that waited in the ring were lost"
                )
            if arrived > 0:
                costs.append((cpu_time_ns(pid) - used_ns) / arrived)
        return statistics.median(costs)

    def latency(self, length: int, frames: int = 2000) -> Latency:
        """Returns one frame a millisecond."""
        words = [
            "ping",
            self.through.far_in,
            self.through.far_out,
            str(frames),
            roce_frame(length).hex(),
        ]
        median, p99, came = run(*self._sender(), *words).split()
        if int(came) < frames:
            raise BenchError(f"{frames - int(came)} of {frames} single frames were lost")
        return Latency(float(median), float(p99))

    def shaping(self, bps: float, length: int) -> Shaping:
        """Returns the shaping of the port that leads out, which has this rate."""
        words = [*self._sender(), "watch", self.through.far_out, "1", str(bps)]
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as watcher:
            assert watcher.stdout is not None
            assert watcher.stderr is not None
            if watcher.stdout.readline() == "ready\n":
                self.offer(roce_frame(length), 1.1 * bps / (8 * length), 1.1 + 16 * length / bps)
            fields = watcher.stdout.read().split()
            if len(fields) != 3:
                raise BenchError(f"no rate of a shaped port: {watcher.stderr.read().strip()}")
        return Shaping(float(fields[0]), int(fields[1]), int(fields[2]))

    def _sender(self) -> list[str]:
        return ["taskset", "-c", str(min(one_cpu(SENDER_CPU))), str(self.blast)]

    def _drained(self, last: int, all_of_them: int, still_s: float) -> int:
        """Returns the count once all have come, or once it has stood still for the limit."""
        since = time.monotonic()
        while last < all_of_them and time.monotonic() - since < still_s:
            time.sleep(0.05)
            now = self.through.arrived()
            if now != last:
                last, since = now, time.monotonic()
        return last
