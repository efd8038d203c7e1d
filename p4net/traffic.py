"""When frames are sent: at a rate, at random, in bursts, or as a capture has them. Times are
simulated seconds, for `TimedNetwork.send_all`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pcn.base import captures, inputs
from pcn.base.frames import MAX_FRAME
from pcn.p4net.errors import P4NetError

Times = npt.NDArray[np.float64]
MOST_FRAMES = 200_000_000


def at_rate(rate: float, from_s: float, until_s: float) -> Times:
    """Returns the frames at equal distances, `rate` a second, the first at `from_s`."""
    return np.arange(_count(rate, from_s, until_s)) / rate + from_s


def poisson(rate: float, from_s: float, until_s: float, seed: int = 1) -> Times:
    """Returns a Poisson process of `rate` frames a second."""
    draw = np.random.default_rng(seed)
    times: list[Times] = [np.zeros(0)]
    last, mean = from_s, _count(rate, from_s, until_s)
    while last < until_s:
        gaps = draw.exponential(1 / rate, max(1000, int(1.01 * mean)))
        drawn = last + np.cumsum(gaps)
        times.append(drawn)
        last = float(drawn[-1])
    joined = np.concatenate(times)
    return joined[joined < until_s]


def on_off(
    rate: float, on_s: float, off_s: float, from_s: float, until_s: float, seed: int = 1
) -> Times:
    """Returns the bursts: `rate` frames a second while on; on and off last exponentially
    distributed times with these means."""
    if not (on_s > 0 and off_s > 0):
        raise P4NetError(f"on for {on_s:g} s and off for {off_s:g} s: both must be above 0")
    _count(max(rate, 1 / (on_s + off_s)), from_s, until_s)
    draw, bursts, start = np.random.default_rng(seed), [np.zeros(0)], from_s
    while start < until_s:
        end = start + draw.exponential(on_s)
        bursts.append(at_rate(rate, start, min(end, until_s)))
        start = end + draw.exponential(off_s)
    return np.concatenate(bursts)


def _count(rate: float, from_s: float, until_s: float) -> int:
    if not (rate > 0 and 0 <= from_s <= until_s < float("inf")):
        raise P4NetError(
            f"{rate:g} frames/s from {from_s:g} to {until_s:g} s: a rate above 0 and times in "
            "order are needed"
        )
    count = int(np.ceil((until_s - from_s) * rate - 1e-9))
    if count > MOST_FRAMES:
        raise P4NetError(f"{count:,} frames: {MOST_FRAMES:,} are the most of a source")
    return count


class Capture(NamedTuple):
    """Frames and when they were captured, in seconds after the first."""

    times_s: Times
    frames: list[bytes]


def capture(path: Path) -> Capture:
    """Returns the frames of a capture of Ethernet, pcap or pcapng, each of which it holds whole.
    Raises P4NetError."""
    times_ns, data = [], []
    try:
        with inputs.opened(path) as file:
            for number, frame in enumerate(captures.frames(file, whole=True), 1):
                if not 1 <= frame.length <= MAX_FRAME:
                    raise P4NetError(
                        f"{path}: frame {number} has {frame.length} bytes: 1 to {MAX_FRAME} can be "
                        "sent"
                    )
                times_ns.append(frame.time_ns)
                data.append(frame.data)
    except captures.CaptureError as error:
        raise P4NetError(f"{path}: {error}") from None
    except OSError as error:
        raise P4NetError(f"{path}: {error.strerror}") from None
    # Differences of whole nanoseconds: a float of seconds since 1970 has 0.2 us.
    times = np.array([time_ns - times_ns[0] for time_ns in times_ns], np.float64) / 1e9
    if (np.diff(times) < 0).any():
        raise P4NetError(
            f"{path}: the frames aren't in the order of their times: `reordercap` sorts them"
        )
    return Capture(times, data)
