"""DCTCP (SIGCOMM'10, 3.1): a window that falls in proportion to the share of packets that were
marked. dctcp.c is the same RP in C, which virtual time runs.

Where the paper leaves a choice:

- Windows are bytes of frames, segments are frames, and every packet may be acknowledged: TCP's slow
  start and congestion avoidance by bytes (RFC 3465) are the rest of the algorithm, as in the paper.
- A flow begins with `init_window`, and in slow start where that is below the bandwidth-delay
  product.
- alpha begins with 1, as in Linux and RFC 8257, so that the first mark halves.
- "Once per window" ends when what had been sent at the latest cut is acknowledged.
- A loss that isn't found by the timer halves the window, once a window; the timer leaves a frame
  (RFC 5681)."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.frames import MAX_FRAME

from .base import CE, Ack, Loss, NetworkFacts, ReactionPoint
from .parameters import parameter
from .scheme import Rule, Scheme
from .spraying import SprayingParameters, spray


@dataclass(frozen=True)
class DctcpParameters(SprayingParameters):
    """The paper's values for 10 Gbit/s: K = 65 packets, here of 1,058 bytes, and g = 1/16 (3.4,
    3.5)."""

    k_bytes: float = parameter(
        65 * 1058,
        "size",
        "DCTCP: the queue on arrival above which switches mark",
        name="K",
        most=1e9,
    )
    g: float = parameter(
        1 / 16,
        "number",
        "DCTCP: weight of the newest share of marked packets",
        name="g",
        least=1e-6,
        most=1,
    )
    init_window_bytes: float = parameter(
        10 * 1058, "size", "DCTCP: the first window",
        name="init_window", least=64, most=1e9, up_to="max_window_bytes",
    )  # fmt: skip
    max_window_bytes: float = parameter(
        10e6, "size", "DCTCP: the largest window", name="max_window", least=64, most=1e12
    )
    frame_bytes: float = parameter(
        1058, "size", "DCTCP: a segment, a frame's bytes", name="frame", least=64, most=MAX_FRAME
    )
    ack_bytes: float = parameter(
        1,
        "size",
        "DCTCP: payload from acknowledgement to acknowledgement; 1: of each packet",
        name="ack",
        least=1,
        most=1e6,
    )
    exact: float = parameter(
        0, "count",
        "DCTCP: 1: an ACK at each change of the mark (Fig. 8); not on live networks", name="exact",
        least=0, most=1,
    )  # fmt: skip


class DctcpReactionPoint(ReactionPoint):
    """Equations 1 and 2."""

    in_c = "dctcp.c"

    def __init__(self, line_rate_bps: float, parameters: DctcpParameters) -> None:
        self._parameters = parameters
        self.rate_bps = line_rate_bps
        self.window_bytes = parameters.init_window_bytes
        self.segment_bytes = int(parameters.ack_bytes)
        self.exact_marks = parameters.exact != 0
        spray(self, parameters)
        self.alpha = 1.0
        self._threshold_bytes = parameters.max_window_bytes  # of slow start
        self._acked_bytes = 0.0  # all
        # of the window whose share is being measured
        self._window_acked, self._window_marked = (
            0.0,
            0.0,
        )
        self._window_ends = 0.0  # when so much is acknowledged
        self._cut_ends = 0.0

    def on_ack(self, ack: Ack, now_s: float) -> None:
        parameters, marked = self._parameters, ack.mark is CE
        self._acked_bytes += ack.acked_bytes
        self._window_acked += ack.acked_bytes
        if marked:
            self._window_marked += ack.acked_bytes
        if self._acked_bytes > self._window_ends:
            if self._window_acked > 0:
                share = self._window_marked / self._window_acked
                self.alpha += parameters.g * (share - self.alpha)  # equation 1
            self._window_acked = self._window_marked = 0.0
            self._window_ends = float(self.sent_bytes)
        if marked and self._acked_bytes > self._cut_ends:
            self._cut(self.window_bytes * (1 - self.alpha / 2))  # equation 2
        elif marked:
            pass  # a window is cut once
        elif self.window_bytes < self._threshold_bytes:
            self._grow(float(ack.acked_bytes))
        else:
            self._grow(parameters.frame_bytes * ack.acked_bytes / self.window_bytes)

    def on_loss(self, loss: Loss, now_s: float) -> None:
        half_bytes = self.window_bytes / 2
        if loss.timeout:
            self._cut(self._parameters.frame_bytes)
            self._threshold_bytes = max(half_bytes, self.window_bytes)
        elif self._acked_bytes > self._cut_ends:
            self._cut(half_bytes)

    def _grow(self, by_bytes: float) -> None:
        self.window_bytes = min(self.window_bytes + by_bytes, self._parameters.max_window_bytes)

    def _cut(self, to_bytes: float) -> None:
        least = min(self._parameters.frame_bytes, self._parameters.max_window_bytes)
        self.window_bytes = self._threshold_bytes = max(to_bytes, least)
        self._cut_ends = float(self.sent_bytes)

    def state(self) -> dict[str, float]:
        return {"window_bytes": self.window_bytes, "alpha": self.alpha}


_LEAST_FRAMES, _OF_BDP = 20, 1 / 7


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns K by equation 13, of a port of `rate_bps`, and windows of bandwidth-delay
    products."""
    frame_bytes, bdp_bytes = network.frame_bytes, network.bdp_bytes
    values = {"frame_bytes": frame_bytes}
    if bdp_bytes:
        values["k_bytes"] = max(_OF_BDP * bdp_bytes, _LEAST_FRAMES * frame_bytes)
        values["init_window_bytes"] = max(bdp_bytes, frame_bytes)
        values["max_window_bytes"] = max(2 * bdp_bytes, DctcpParameters.max_window_bytes)
    return values


def holds(network: NetworkFacts, parameters: DctcpParameters) -> dict[str, float]:
    """Returns 3.3's: a full link, and a queue of K and a packet of each flow at most."""
    return {
        "utilisation": 1.0,
        "queue_bytes": parameters.k_bytes + network.flows * parameters.frame_bytes,
    }


DCTCP = Scheme(
    "dctcp",
    "DCTCP (SIGCOMM'10)",
    "dctcp",
    DctcpParameters,
    DctcpReactionPoint,
    marking=("arrival_ecn",),
    recommended=recommended,
    by_network={
        "k_bytes": Rule(
            "C RTT / 7 of the port, at least 20 frames",
            "eq. 13; the 20 of its ports of 1 Gbit/s (4)",
            of_port=True,
        ),
        "frame_bytes": Rule("a data packet's frame", "section 3.1: a segment"),
        "init_window_bytes": Rule(
            "a bandwidth-delay product", "HPCC's ns-3: DCTCP begins at the line's rate"
        ),
        "max_window_bytes": Rule("two bandwidth-delay products, at least 10 MB", "ours: no limit"),
    },
    holds=holds,
)
