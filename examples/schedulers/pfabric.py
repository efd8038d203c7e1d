"""pFabric's hosts (Alizadeh et al., SIGCOMM'13, section 4.3), for switches that serve by srpt.c:
flows start at line rate with a window of the bandwidth-delay product, send on as acknowledgements
come, and each packet reports what its flow has left. What a full queue gives up is sent again.

    pcn run traffic --clock virtual --scheme examples/schedulers/pfabric.py:PFABRIC \\
        --order examples/schedulers/srpt.c:srpt --set queue_packets=24 --set lossless_classes=6

Not as in the paper: the window is constant, where theirs falls to a packet after five timeouts in a
row.
"""

from __future__ import annotations

from dataclasses import dataclass

from pcn import Parameters, ReactionPoint, Scheme, parameter
from pcn.hosts.reliability import Reliability, Repeats


@dataclass(frozen=True)
class PfabricParameters(Parameters):
    window_bytes: float = parameter(
        250e3, "size", "what a flow may have in flight", name="W", least=64, most=1e9
    )
    timeout_s: float = parameter(
        100e-6,
        "time",
        "after which what is in flight is sent again",
        name="T",
        least=1e-6,
        most=1.0,
    )


class PfabricReactionPoint(ReactionPoint):
    segment_bytes = 1  # an acknowledgement of each packet
    reports_left = True

    def __init__(self, line_rate_bps: float, parameters: PfabricParameters) -> None:
        self.rate_bps = line_rate_bps
        self.window_bytes = parameters.window_bytes
        self.reliability = Reliability(Repeats.SELECTIVE, parameters.timeout_s)


PFABRIC = Scheme(
    "pfabric",
    "windows at line rate, and switches that serve the flow with the least left first",
    "plain",
    PfabricParameters,
    PfabricReactionPoint,
)
