"""Timed networks: switches with compiled P4 programs, hosts with endpoints, links, and simulated time, without
waits; deterministic, on one core. `TimedNetwork` depends neither on the frames' purpose nor on the switches' programs;
above it is the RDMA lab (`lab.virtual`).

docs/virtualnet.md describes the model.
"""

from __future__ import annotations

from softswitch.trimming import Trimming
from virtualnet.counts import Deadlock, LinkStats, Totals
from virtualnet.errors import CallbackError, VirtualError
from virtualnet.frames import Arrivals, Arrived
from virtualnet.samples import Samples, Source
from virtualnet.timed import TimedNetwork

__all__ = [
    "Arrivals",
    "Arrived",
    "CallbackError",
    "Deadlock",
    "LinkStats",
    "Samples",
    "Source",
    "TimedNetwork",
    "Totals",
    "Trimming",
    "VirtualError",
]
