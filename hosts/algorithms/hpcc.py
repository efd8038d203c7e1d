"""HPCC (SIGCOMM'19, Algorithm 1): a window that goes by what in-band telemetry has of each link's
load. hpcc.c is the same RP in C, which virtual time runs.

Where the paper leaves a choice:

- A switch's clock ticks once a ns, as the paper's; one that ticks seldom (v1model's: 1 us) makes
  rates unequal where a round trip has few ticks. A link's load is measured between packets that
  have different times, and holds until then; an acknowledgement changes something if the busiest
  link's was measured by it. Where each packet has a separate time, that is the algorithm as it
  stands.
- The first acknowledgement measures nothing, nor does one of another path than the one before (4.1:
  pathID). The first RTT begins with the first that measures; in the authors' simulator with the one
  before, as with `first_rtt` here. Its window counts payload, and its rate has a least value:
  `frame_per_payload` and `min_rate_bps`.
- U begins with 1. Neither window nor reference window exceeds the first window, B_NIC T: the rate
  is the line's then.
- "Once an RTT" ends when what had been sent at the latest update is acknowledged.
- maxStage is 0, as in the simulations of the paper: the 5 in its text is a mistake, its authors
  state (hpcc-group.github.io, results). Steps of W_AI below eta alone, and cuts above it, turn each
  error of U into a loss.
- T has to be at least the round trip of an empty network: a shorter one leaves a part of the link
  idle.
- Losses change nothing: packets are repeated, and telemetry goes on."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Ack, Hop, NetworkFacts, ReactionPoint, Telemetry
from .parameters import Parameters, parameter
from .scheme import Rule, Scheme

_OLDER = 2**23  # ticks: half of a clock's range


@dataclass(frozen=True)
class HpccParameters(Parameters):
    """The paper's eta and W_AI (5.1), and the maxStage and T of its simulations."""

    eta: float = parameter(
        0.95, "number", "HPCC: the utilisation that it aims at", name="eta", least=0.01, most=1
    )
    max_stage: float = parameter(
        0,
        "count",
        "HPCC: steps of W_AI before a multiplicative one",
        name="maxStage",
        least=0,
        most=1e6,
    )
    w_ai_bytes: float = parameter(
        80, "size", "HPCC: additive increase, of a window", name="W_AI", least=1e-3, most=1e9
    )
    base_rtt_s: float = parameter(
        13e-6, "time", "HPCC: round trip of the empty network", name="hpcc_T", least=1e-9, most=1
    )
    frame_per_payload: float = parameter(
        1,
        "number",
        "HPCC: bytes of frames for each of a window; above 1: it counts payload",
        least=1,
        most=100,
    )
    min_rate_bps: float = parameter(
        0, "rate", "HPCC: least rate, and so least window", name="min_rate", most=1e12
    )
    first_rtt: float = parameter(
        0, "count", "HPCC: 1: the first RTT begins with the first acknowledgement", most=1
    )


class HpccReactionPoint(ReactionPoint):
    """Algorithm 1."""

    in_c = "hpcc.c"
    segment_bytes = 1
    wants_telemetry = True

    def __init__(self, line_rate_bps: float, parameters: HpccParameters) -> None:
        self._line_rate_bps = line_rate_bps
        self._parameters = parameters
        self.rate_bps = line_rate_bps
        self.w_c = line_rate_bps * parameters.base_rtt_s / 8  # W_init
        self.window_bytes = self.w_c * parameters.frame_per_payload
        self.u = 1.0
        self._stage = 0  # incStage
        self._acked_bytes = 0.0
        self._update_ends = 0.0  # lastUpdateSeq: W_c changes when so much is acknowledged
        self._path: tuple[int, int] | None = None  # its id, and the number of its hops
        self._before: list[Hop] = []  # L
        self._loads: list[float] = []  # u', by hop; 0: not measured yet

    def on_ack(self, ack: Ack, now_s: float) -> None:
        if self._parameters.first_rtt and self._acked_bytes == 0:
            self._update_ends = float(self.sent_bytes)
        self._acked_bytes += ack.acked_bytes
        if ack.telemetry is None or not self._measure_inflight(ack.telemetry):
            return
        updates = self._acked_bytes > self._update_ends
        self._compute_wind(updates)
        if updates:
            self._update_ends = float(self.sent_bytes)

    def _measure_inflight(self, telemetry: Telemetry) -> bool:
        """Measures U. False: nothing new."""
        base_rtt_s = self._parameters.base_rtt_s
        path = telemetry.path_id, len(telemetry.hops)
        if path != self._path:
            self._path = path
            self._before = list(telemetry.hops)
            self._loads = [0.0] * len(telemetry.hops)
            return False
        u = tau_s = 0.0
        for i, hop in enumerate(telemetry.hops):
            before = self._before[i]
            ticks, sent_bytes = hop.since(before)
            measured = 0 < ticks < _OLDER and hop.rate_bps > 0
            if measured:
                queue_bytes = min(hop.queue_bytes, before.queue_bytes)
                tx_rate_bps = sent_bytes * 8 / (ticks * telemetry.tick_s)
                self._loads[i] = (
                    queue_bytes * 8 / (hop.rate_bps * base_rtt_s) + tx_rate_bps / hop.rate_bps
                )
                self._before[i] = hop
            if self._loads[i] > u:
                u = self._loads[i]
                tau_s = ticks * telemetry.tick_s if measured else 0.0
        if tau_s <= 0:
            return False
        weight = min(tau_s, base_rtt_s) / base_rtt_s
        self.u = (1 - weight) * self.u + weight * u
        return True

    def _compute_wind(self, updates: bool) -> None:
        parameters = self._parameters
        multiplies = self.u >= parameters.eta or self._stage >= parameters.max_stage
        window = self.w_c / (self.u / parameters.eta) if multiplies else self.w_c
        most, least = (
            rate * parameters.base_rtt_s / 8
            for rate in (self._line_rate_bps, parameters.min_rate_bps)
        )
        window = min(max(window + parameters.w_ai_bytes, least), most)
        self.window_bytes = window * parameters.frame_per_payload
        self.rate_bps = min(window * 8 / parameters.base_rtt_s, self._line_rate_bps)
        if updates:
            self._stage = 0 if multiplies else self._stage + 1
            self.w_c = window

    def state(self) -> dict[str, float]:
        return {"window_bytes": self.window_bytes, "u": self.u}


def recommended(network: NetworkFacts) -> dict[str, float]:
    """Returns T a little more than the largest round trip; W_AI = W_init (1 - eta) / N (3.3). The
    paper's W_AI, 80 bytes at 100 Gbit/s and 13 us, is that of N = 100 flows."""
    usual = HpccParameters()
    base_rtt_s = 1.02 * network.round_trip_s
    w_ai = network.rate_bps * base_rtt_s / 8 * (1 - usual.eta) / max(network.flows, 100)
    return {"base_rtt_s": base_rtt_s, "w_ai_bytes": w_ai or usual.w_ai_bytes}


def holds(network: NetworkFacts, parameters: HpccParameters) -> dict[str, float]:
    """Returns 3.3's: eta, and no queue but packets that arrive together."""
    return {"utilisation": parameters.eta, "queue_bytes": network.flows * network.frame_bytes}


HPCC = Scheme(
    "hpcc",
    "HPCC (SIGCOMM'19)",
    "hpcc",
    HpccParameters,
    HpccReactionPoint,
    marking=("telemetry",),
    recommended=recommended,
    by_network={
        "base_rtt_s": Rule(
            "the largest round trip, and 2%", "5.1: a little more than the largest RTT"
        ),
        "w_ai_bytes": Rule(
            "W_init (1 - eta) / N, N flows that last on a link, at least 100", "3.3"
        ),
    },
    holds=holds,
)
