"""Several paths a flow, as settings of a scheme whose packets are acknowledged, each by itself."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.hosts.paths import Paths
from pcn.hosts.reliability import Reliability, Repeats

from .base import ReactionPoint
from .parameters import Parameters, parameter

_REORDERING_S = 1.0
"""Packets overtake each other by paths' queues, so what is lost is found by NAKs and the timer
alone."""


@dataclass(frozen=True)
class SprayingParameters(Parameters):
    paths: float = parameter(
        1, "count",
        "UDP source ports of a flow, in turn: paths; above 1 in virtual time alone", name="paths",
        least=1, most=256,
    )  # fmt: skip
    flowlet_gap_s: float = parameter(
        0,
        "time",
        "the time without a packet after which the port changes; 0: with each packet",
        name="flowlet_gap",
        most=1,
    )
    rto_s: float = parameter(
        10e-3,
        "time",
        "retransmission timer of flows with several paths",
        name="rto",
        least=1e-6,
        most=10,
    )


def spray(rp: ReactionPoint, parameters: SprayingParameters) -> None:
    """Gives an RP the paths, and with several of them the selective repeat that they need."""
    if parameters.paths == 1:
        return
    gap_s = parameters.flowlet_gap_s
    per_flowlet = Paths("flowlet", int(parameters.paths), gap_s) if gap_s > 0 else None
    rp.paths = per_flowlet or Paths("packet", int(parameters.paths))
    rp.reliability = Reliability(Repeats.SELECTIVE, parameters.rto_s, _REORDERING_S)
