"""Swift (SIGCOMM'20, Algorithm 1): a window that holds the round trip at a target. swift.c is the
same RP in C, which virtual time runs.

Where the paper leaves a choice:

- The delay is that between a packet's last bit and its acknowledgement, all of it: hosts here take
  no time, so there is no endpoint delay, and no window of the endpoint beside the fabric's (3.2).
- The target has flow scaling, clamp(alpha / sqrt(cwnd) + beta, 0, fs_range) (3.1, 3.5), and no
  topology scaling: set `base_target` by the network's round trip. An fs_range of 0 is no flow
  scaling.
- Windows count frames, as in the paper; a window below a frame is a frame each rtt / cwnd (3.3).
- A decrease comes at most once a round trip, by the latest one. `retx_reset` timers in a row leave
  the least window."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcn.base.frames import MAX_FRAME

from .base import Ack, Loss, NetworkFacts, ReactionPoint
from .parameters import Parameters, parameter
from .scheme import Rule, Scheme

_LEAST_RTT_S = 1e-9
_LEAST_BPS = 1.0


@dataclass(frozen=True)
class SwiftParameters(Parameters):
    """The paper gives max_mdf = 0.5, and of flow scaling fs_min = 0.1 and fs_max = 100 (3.5);
    targets depend on the network."""

    base_target_s: float = parameter(
        25e-6, "time", "Swift: the target of a large window", name="base_target", least=1e-9, most=1
    )
    fs_range_s: float = parameter(
        50e-6, "time", "Swift: the most that flow scaling adds", name="fs_range", most=1
    )
    fs_min: float = parameter(
        0.1,
        "number",
        "Swift: window, frames, at which flow scaling adds most",
        name="fs_min",
        least=1e-3,
        most=10,
    )
    fs_max: float = parameter(
        100,
        "number",
        "Swift: window, frames, from which it adds nothing",
        name="fs_max",
        least=11,
        most=1e6,
    )
    ai: float = parameter(
        1, "number", "Swift: frames that a round trip adds", name="ai", least=1e-3, most=100
    )
    beta: float = parameter(
        0.8, "number", "Swift: weight of a decrease", name="swift_beta", least=1e-3, most=1
    )
    max_mdf: float = parameter(
        0.5,
        "number",
        "Swift: largest part that a decrease takes",
        name="max_mdf",
        least=1e-3,
        most=0.9,
    )
    min_cwnd: float = parameter(
        0.001, "number", "Swift: least window, frames", name="min_cwnd", least=1e-6, most=1
    )
    max_cwnd: float = parameter(
        1e4, "number", "Swift: largest window, frames", name="max_cwnd", least=1, most=1e9
    )
    init_cwnd: float = parameter(
        10, "number", "Swift: first window, frames", name="init_cwnd", least=1e-3, most=1e9
    )
    retx_reset: float = parameter(
        5, "count", "Swift: timers in a row that leave min_cwnd", name="retx_reset", least=1
    )
    frame_bytes: float = parameter(
        1058, "size", "Swift: a frame's bytes", name="swift_frame", least=64, most=MAX_FRAME
    )


class SwiftReactionPoint(ReactionPoint):
    """Algorithm 1."""

    in_c = "swift.c"
    segment_bytes = 1

    def __init__(self, line_rate_bps: float, parameters: SwiftParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self.cwnd = min(max(parameters.init_cwnd, parameters.min_cwnd), parameters.max_cwnd)
        self._rtt_s = parameters.base_target_s
        self._decreased_s = -math.inf
        self._timeouts = 0.0
        self._set(self.cwnd)

    def target_s(self) -> float:
        parameters = self._parameters
        low, high = 1 / math.sqrt(parameters.fs_min), 1 / math.sqrt(parameters.fs_max)
        added_s = parameters.fs_range_s * ((1 / math.sqrt(self.cwnd) - high) / (low - high))
        return parameters.base_target_s + min(max(added_s, 0.0), parameters.fs_range_s)

    def on_ack(self, ack: Ack, now_s: float) -> None:
        parameters = self._parameters
        self._rtt_s, self._timeouts = max(ack.rtt_s, _LEAST_RTT_S), 0.0
        delay_s, target_s, acked = (
            self._rtt_s,
            self.target_s(),
            ack.acked_bytes / parameters.frame_bytes,
        )
        if delay_s < target_s:
            more = parameters.ai * acked
            self._set(self.cwnd + (more / self.cwnd if self.cwnd >= 1 else more))
        elif now_s - self._decreased_s >= self._rtt_s:
            factor = max(
                1 - parameters.beta * ((delay_s - target_s) / delay_s), 1 - parameters.max_mdf
            )
            self._decrease(self.cwnd * factor, now_s)
        else:
            self._set(self.cwnd)

    def on_loss(self, loss: Loss, now_s: float) -> None:
        parameters = self._parameters
        if loss.timeout:
            self._timeouts += 1
        if loss.timeout and self._timeouts >= parameters.retx_reset:
            self._decrease(parameters.min_cwnd, now_s)
        elif now_s - self._decreased_s >= self._rtt_s:
            self._decrease(self.cwnd * (1 - parameters.max_mdf), now_s)

    def _decrease(self, cwnd: float, now_s: float) -> None:
        self._decreased_s = now_s
        self._set(cwnd)

    def _set(self, cwnd: float) -> None:
        parameters = self._parameters
        self.cwnd = min(max(cwnd, parameters.min_cwnd), parameters.max_cwnd)
        self.window_bytes = max(self.cwnd, 1.0) * parameters.frame_bytes
        self.rate_bps = self._line_rate_bps
        if self.cwnd < 1:
            paced_bps = self.cwnd * parameters.frame_bytes * 8 / self._rtt_s
            self.rate_bps = min(max(paced_bps, _LEAST_BPS), self._line_rate_bps)

    def state(self) -> dict[str, float]:
        return {"cwnd": self.cwnd, "target_s": self.target_s()}


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns a target of two empty round trips, and a first window of one. The paper has no rule;
    below one round trip windows starve."""
    values = {"base_target_s": 2 * network.round_trip_s, "frame_bytes": network.frame_bytes}
    if network.bdp_bytes:
        values["init_cwnd"] = network.bdp_bytes / network.frame_bytes
        values["max_cwnd"] = max(3 * values["init_cwnd"], SwiftParameters.max_cwnd)
    return values


def holds(network: NetworkFacts, parameters: SwiftParameters) -> dict[str, float]:
    """Returns a full link, and the queue that makes the round trip the target of equal windows."""
    target_s = parameters.base_target_s
    for _ in range(20):
        rp = SwiftReactionPoint(network.rate_bps, parameters)
        rp.cwnd = network.rate_bps * target_s / 8 / network.flows / parameters.frame_bytes
        target_s = rp.target_s()
    return {
        "utilisation": 1.0,
        "queue_bytes": network.rate_bps * (target_s - network.round_trip_s) / 8,
    }


SWIFT = Scheme(
    "swift",
    "Swift (SIGCOMM'20)",
    "plain",
    SwiftParameters,
    SwiftReactionPoint,
    recommended=recommended,
    by_network={
        "base_target_s": Rule(
            "two of the largest round trips", "ours: the paper has none for a network"
        ),
        "frame_bytes": Rule("a data packet's frame", "3.1: windows count packets"),
        "init_cwnd": Rule(
            "a bandwidth-delay product", "ours: the rate that the other schemes begin with"
        ),
        "max_cwnd": Rule(
            "three bandwidth-delay products, at least 10,000 frames", "ours: no limit"
        ),
    },
    holds=holds,
)
