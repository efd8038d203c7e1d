"""NSCC, Ultra Ethernet's network signal-based congestion control (Specification 1.0, 3.6.13), with
its sender's spraying: a window by the delay and the mark of each acknowledgement. nscc.c is the
same RP in C, which virtual time runs.

| mark | delay | |
| --- | --- | --- |
| no | below the target | proportional increase, or fast increase where the queue was empty for a
window |
| no | above | fair increase |
| CE | below | none: the path is avoided |
| CE | above | multiplicative decrease by the mean delay, once a round trip |

Quick adapt: where a packet was trimmed, or the delay is above four targets, and little arrived in a
target and a round trip, the window becomes what arrived.

Where the specification leaves a choice, this is what uet-htsim runs (ultraethernet/uet-htsim
40ccb05, uec.cpp, BSD 2-clause), whose names the parameters have: the reference network has 100
Gbit/s and 12 us, by which a network's bandwidth-delay product scales the increases; windows begin
with the largest, 1.5 of it, which falls with the least round trip that was seen. Sizes are of
frames here, and of a frame's payload where a maximum segment size is meant. A round trip
begins there when the frame starts to leave the NIC, and an `Ack`'s when it has left, so a frame's
time at the line's rate is added: without, a flow that never finds the network empty, and takes
network_rtt for its least round trip, would count less delay than one that has found it. A trimmed
packet's round trip counts among the least ones, as there: it passes the queue, so that in an
in-cast a flow of a shorter path counts its own, too."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.frames import MAX_FRAME

from .base import CE, Ack, Loss, NetworkFacts, ReactionPoint
from .parameters import parameter
from .scheme import Rule, Scheme
from .spraying import SprayingParameters, spray

_REFERENCE_BDP = 12e-6 * 100e9 / 8
_REFERENCE_RTT_S = 12e-6
_HEADERS = 58
"""Of a frame: what isn't payload."""
_EMPTY_S = 1e-6
"""A delay below which a queue counts as empty: the specification has "near 0"; this is
uet-htsim's."""


@dataclass(frozen=True)
class NsccParameters(SprayingParameters):
    network_rtt_s: float = parameter(
        12e-6,
        "time",
        "NSCC: the network's largest empty round trip",
        name="network_rtt",
        least=1e-9,
        most=1,
    )
    target_qdelay_s: float = parameter(
        0,
        "time",
        "NSCC: the queueing delay to hold; 0: three quarters of network_rtt",
        name="target_Qdelay",
        most=1,
    )
    frame_bytes: float = parameter(
        1058, "size", "NSCC: a data packet's frame", name="frame", least=64, most=MAX_FRAME
    )
    gamma: float = parameter(
        0.8, "number", "NSCC: weight of a multiplicative decrease", name="gamma", most=1
    )
    max_md_jump: float = parameter(
        0.5,
        "number",
        "NSCC: the least that a decrease leaves of a window",
        name="max_md_jump",
        least=0.01,
        most=1,
    )
    delay_alpha: float = parameter(
        0.0125,
        "number",
        "NSCC: weight of the newest delay in the mean",
        name="delay_alpha",
        least=1e-6,
        most=1,
    )
    alpha: float = parameter(
        4, "number", "NSCC: proportional increase", name="nscc_alpha", most=1e3
    )
    fi: float = parameter(5, "number", "NSCC: fair increase", name="fi", most=1e3)
    fi_scale: float = parameter(0.25, "number", "NSCC: fast increase", name="fi_scale", most=1e3)
    eta: float = parameter(
        0.15, "number", "NSCC: increase of each round trip, segments", name="eta", most=1e3
    )
    qa_gate: float = parameter(
        3,
        "count",
        "NSCC: quick adapt below the largest window's 2^qa_gate-th part",
        name="qa_gate",
        most=30,
    )
    adjust_packets: float = parameter(
        8,
        "count",
        "NSCC: frames that arrived from one adjustment to the next",
        name="adjust_packets",
        most=1e6,
    )
    paths: float = parameter(
        64, "count", "NSCC: UDP source ports of a flow, in turn", name="paths", least=1, most=256
    )
    ecn_low: float = parameter(
        0.2, "number",
        "NSCC: share of the bandwidth-delay product in a queue from which switches mark",
        name="ecn_low", most=100, up_to="ecn_high",
    )  # fmt: skip
    ecn_high: float = parameter(
        0.8, "number", "NSCC: share above which they mark all", name="ecn_high", most=100
    )


class NsccReactionPoint(ReactionPoint):
    in_c = "nscc.c"
    segment_bytes = 1

    def __init__(self, line_rate_bps: float, parameters: NsccParameters) -> None:
        self._parameters = parameters
        self.rate_bps = self._line_rate_bps = line_rate_bps
        spray(self, parameters)
        rtt_s = parameters.network_rtt_s
        segment_bytes = parameters.frame_bytes - _HEADERS
        scale = rtt_s * line_rate_bps / 8 / _REFERENCE_BDP
        self._target_s = (
            parameters.target_qdelay_s if parameters.target_qdelay_s > 0 else 0.75 * rtt_s
        )
        self._alpha = (
            parameters.alpha
            * segment_bytes
            * scale
            * (self._target_s / _REFERENCE_RTT_S)
            / self._target_s
        )
        self._fi = parameters.fi * segment_bytes * scale
        self._fi_scale = parameters.fi_scale * scale
        self._eta = parameters.eta * segment_bytes * scale
        self._base_rtt_s = rtt_s
        self._frame_s = 8 * parameters.frame_bytes / line_rate_bps
        self._most_bytes = self.window_bytes = max(
            1.5 * rtt_s * line_rate_bps / 8, parameters.frame_bytes
        )
        self.avg_delay_s = 0.0
        self._acked_bytes = self._lost_bytes = 0.0  # all
        self._increase_bytes = self._received_bytes = 0.0  # since the latest adjustment
        self._adjusted_s = self._decreased_s = 0.0
        self._fast_bytes = 0.0  # acknowledged while the queue was empty
        self._fast = False
        self._achieved_bytes = 0.0  # since the latest end of quick adapt's time
        self._adapt_at_s = 0.0  # 0: none yet
        self._adapt = False  # a packet was trimmed since quick adapt
        self._ignored_bytes = self._ignore_bytes = (
            0.0  # what was in flight at quick adapt is left out of account
        )

    def on_ack(self, ack: Ack, now_s: float) -> None:
        marked = ack.mark is CE
        acked = float(ack.acked_bytes)
        self._acked_bytes += acked
        self._achieved_bytes += acked
        self._received_bytes += acked
        self._ignored_bytes += acked
        rtt_s = ack.rtt_s + self._frame_s
        self._note_rtt(rtt_s)
        delay_s = rtt_s - self._base_rtt_s
        above = delay_s >= self._target_s
        self._note_delay(
            0.25 * self._base_rtt_s if not marked and delay_s > self._target_s else delay_s
        )
        if self._quick_adapt(marked, delay_s, now_s):
            return
        if not marked and above:
            self._increase_bytes += self._fi * acked
        elif not marked:
            self._rise(acked, delay_s)
        elif above:
            self._fall(now_s)
        self._bound()
        period_s = self._parameters.network_rtt_s
        if (
            self._received_bytes > self._parameters.adjust_packets * self._parameters.frame_bytes
            or now_s - self._adjusted_s > period_s
        ):
            self.window_bytes += self._increase_bytes / self.window_bytes
            if now_s - self._adjusted_s >= period_s:
                self.window_bytes += self._eta
                self._adjusted_s = now_s
            self._increase_bytes = self._received_bytes = 0.0
        self._bound()

    def on_loss(self, loss: Loss, now_s: float) -> None:
        lost = float(loss.lost_bytes)
        adapted = False
        if not loss.timeout:
            if loss.rtt_s > 0:
                self._note_rtt(loss.rtt_s + self._frame_s)
            self._ignored_bytes += lost
            # a trimmed packet found a queue of about that
            self._note_delay(self._parameters.network_rtt_s)
            self._adapt = True
            adapted = self._quick_adapt(True, 0.0, now_s)
        self._lost_bytes += lost
        if not adapted:
            self.window_bytes -= lost
        self._bound()

    def _note_rtt(self, rtt_s: float) -> None:
        if rtt_s < self._base_rtt_s:
            self._base_rtt_s = rtt_s
            self._most_bytes = max(
                1.5 * rtt_s * self._line_rate_bps / 8, self._parameters.frame_bytes
            )

    def _note_delay(self, delay_s: float) -> None:
        self.avg_delay_s += self._parameters.delay_alpha * (delay_s - self.avg_delay_s)

    def _rise(self, acked: float, delay_s: float) -> None:
        """Fast and proportional increase."""
        if delay_s < _EMPTY_S:
            self._fast_bytes += acked
            self._fast = self._fast or self._fast_bytes > self.window_bytes
        else:
            self._fast_bytes = 0.0
            self._fast = False
        if self._fast:
            self.window_bytes += acked * self._fi_scale
        else:
            self._increase_bytes += self._alpha * acked * (self._target_s - delay_s)

    def _fall(self, now_s: float) -> None:
        """Multiplicative decrease."""
        self._fast = False
        self._fast_bytes = 0.0
        if self.avg_delay_s > self._target_s and now_s - self._decreased_s > self._base_rtt_s:
            excess = (self.avg_delay_s - self._target_s) / self.avg_delay_s
            self.window_bytes *= max(
                1 - self._parameters.gamma * excess, self._parameters.max_md_jump
            )
            self._decreased_s = now_s

    def _quick_adapt(self, marked: bool, delay_s: float, now_s: float) -> bool:
        """Returns whether the event ends here: the window was adapted, or what is acknowledged left
        before it was."""
        done = self._ignored_bytes < self._ignore_bytes and marked
        if not done and now_s > self._adapt_at_s:
            due = self._adapt_at_s != 0 and (self._adapt or delay_s > 4 * self._target_s)
            if due and self._achieved_bytes < self._most_bytes / (
                1 << int(self._parameters.qa_gate)
            ):
                self.window_bytes = max(self._achieved_bytes, self._parameters.frame_bytes)
                self._ignore_bytes = self.sent_bytes - self._acked_bytes - self._lost_bytes
                self._ignored_bytes = 0.0
                self._adapt = False
                done = True
            self._achieved_bytes = 0.0
            self._adapt_at_s = now_s + self._base_rtt_s + self._target_s
        if done:
            self._increase_bytes = self._received_bytes = 0.0
        return done

    def _bound(self) -> None:
        self.window_bytes = min(
            max(self.window_bytes, self._parameters.frame_bytes), self._most_bytes
        )

    def state(self) -> dict[str, float]:
        return {"window_bytes": self.window_bytes, "avg_delay_s": self.avg_delay_s}


def recommended(facts: NetworkFacts) -> dict[str, float]:
    """Returns the network's round trip, and a target of one: networks here trim nothing."""
    rtt_s = facts.round_trip_s
    return {"network_rtt_s": rtt_s, "target_qdelay_s": rtt_s, "frame_bytes": facts.frame_bytes}


def holds(network: NetworkFacts, parameters: NsccParameters) -> dict[str, float]:
    """Returns a full link, and the queue that makes the delay the target."""
    target_s = parameters.target_qdelay_s or 0.75 * parameters.network_rtt_s
    return {"utilisation": 1.0, "queue_bytes": network.rate_bps * target_s / 8}


NSCC = Scheme(
    "nscc",
    "NSCC (Ultra Ethernet 1.0)",
    "nscc",
    NsccParameters,
    NsccReactionPoint,
    marking=("red_depth",),
    recommended=recommended,
    by_network={
        "network_rtt_s": Rule("the largest round trip", "uet-htsim's calculate_rtt"),
        "target_qdelay_s": Rule("the largest round trip", "uet-htsim, where switches trim nothing"),
        "frame_bytes": Rule("a data packet's frame", "uet-htsim's configured MTU"),
    },
    holds=holds,
)
