"""Timed networks: switches with compiled P4 programs, hosts with endpoints, links, and simulated
time, without waits; deterministic, on one core. `TimedNetwork` depends neither on the frames'
purpose nor on the switches' programs; above it is the RDMA lab (`pcn.hosts.virtual`).

docs/virtualnet.md describes the model.
"""

from __future__ import annotations

from pcn.softswitch.trimming import Trimming
from pcn.virtualnet.counts import Deadlock, LinkStats, Totals
from pcn.virtualnet.errors import CallbackError, VirtualError
from pcn.virtualnet.frames import Arrivals, Arrived
from pcn.virtualnet.pace import Lateness
from pcn.virtualnet.samples import Samples, Source
from pcn.virtualnet.timed import TimedNetwork

__all__ = [
    "Arrivals",
    "Arrived",
    "CallbackError",
    "Deadlock",
    "Lateness",
    "LinkStats",
    "Samples",
    "Source",
    "TimedNetwork",
    "Totals",
    "Trimming",
    "VirtualError",
]
