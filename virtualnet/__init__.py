"""Timed networks: switches with compiled P4 programs, hosts with endpoints, links, and a clock that nobody waits for;
deterministic, on one core. `TimedNetwork` knows neither what frames are for nor who programs the switches; above it is
the RDMA lab (`lab.virtual`).

docs/virtualnet.md describes the model.
"""

from __future__ import annotations

from virtualnet.counts import Deadlock, LinkStats, Totals
from virtualnet.errors import CallbackError, VirtualError
from virtualnet.samples import Samples, Source
from virtualnet.timed import Arrived, TimedNetwork

__all__ = [
    "Arrived",
    "CallbackError",
    "Deadlock",
    "LinkStats",
    "Samples",
    "Source",
    "TimedNetwork",
    "Totals",
    "VirtualError",
]
