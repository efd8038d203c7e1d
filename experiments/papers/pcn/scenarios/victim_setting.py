"""The numbers of the victim scenario that follow from its plan."""

from __future__ import annotations

from pcn.experiments.data.plan import Plan
from pcn.experiments.define import theory
from pcn.topologies.compact import LONG_SENDERS

BURSTS = "bursts"


def burst_s(plan: Plan) -> float:
    """Returns how long the bursts last when R1's link is always busy and F1 has its share of it.
    [0.18]"""
    hosts = round(plan.number("senders")) - LONG_SENDERS
    frames = (
        hosts
        * plan.number("burst_flows")
        * plan.number("burst_size")
        * plan.frame_bytes
        / plan.payload_bytes
    )
    return theory.incast_duration(hosts, frames, plan.number("rate"))


def fair_bps(plan: Plan) -> float:
    """Returns the rates of F0 and F1 without bursts. [0.20]"""
    return plan.number("rate") / LONG_SENDERS


def ideal_bps(plan: Plan) -> tuple[float, float]:
    """Returns the rates of F0 and F1 during the bursts, in frames: R1's link shared by host, and
    what that leaves of S0's to S1. [0.19]"""
    rate = plan.number("rate")
    share = rate / (plan.number("senders") - 1)
    return rate - share, share


def attainable_bps(plan: Plan) -> tuple[float, float]:
    """Returns what F0 and F1 could have during the bursts, in frames: the ideal, and no more than
    their own limiters, which no network can undo."""
    f0, f1 = ideal_bps(plan)
    return min(f0, plan.number("limit")), min(f1, plan.number("limit"))
