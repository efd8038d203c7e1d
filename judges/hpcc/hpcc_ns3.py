"""HPCC as HPCC's ns-3 simulation has it (rdma-hw.cc, CC_MODE 3), where that differs from hosts/algorithms/hpcc.py:

- The window counts payload alone: at the start 153 packets of 1,000 bytes are B_NIC T, here 138 of 1,102.
- The rate has a least value, MIN_RATE, and so has the window.
- A round trip begins with the first acknowledgement, here with the second, as the first one measures nothing."""

from __future__ import annotations

from dataclasses import replace

from hosts.algorithms import Ack
from hosts.algorithms.hpcc import HPCC, HpccParameters, HpccReactionPoint
from hosts.wire import data_bytes

PAYLOAD_BYTES, MIN_RATE_BPS = 1000, 1e9
_FRAMES = data_bytes(PAYLOAD_BYTES, telemetry=True) / PAYLOAD_BYTES


class HpccNs3ReactionPoint(HpccReactionPoint):
    def __init__(self, line_rate_bps: float, parameters: HpccParameters) -> None:
        super().__init__(line_rate_bps, parameters)
        self.window_bytes *= _FRAMES

    def on_ack(self, ack: Ack, now_s: float) -> None:
        if self._acked_bytes == 0:
            self._update_ends = float(self.sent_bytes)
        super().on_ack(ack, now_s)

    def _compute_wind(self, updates: bool) -> None:
        super()._compute_wind(updates)
        least = MIN_RATE_BPS * self._parameters.base_rtt_s / 8
        if self.window_bytes < least:
            self.window_bytes, self.rate_bps = least, MIN_RATE_BPS
            self.w_c = least if updates else self.w_c
        self.window_bytes *= _FRAMES


HPCC_NS3 = replace(HPCC, name="hpcc-ns3", reaction_point=HpccNs3ReactionPoint)
