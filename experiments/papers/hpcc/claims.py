"""Numbers of HPCC's paper and of its authors' page of results (hpcc-group.github.io) that runs are compared with, each
once, by the rows of docs/claims.md."""

from __future__ import annotations

from experiments.define.checks import Claim

HPCC = "hpcc"
AT_ETA = Claim("6.2", "", {"utilisation": 0.95, "queue": 0.0})
"""3.3, 5.1: eta, and queues near zero."""
DRAINS = Claim("6.3", "round trips", {"after": 1.0})
"""Results: congestion is resolved "in just one RTT"."""
SHORTENED = Claim("6.5", "", {"share": 0.95})
"""Abstract: completion times are up to this share shorter than DCQCN's and TIMELY's."""
SHORT_FLOWS = Claim("6.6")
LONG_FLOWS = Claim("6.7")
"""Results: flows below 200 KB gain, above all in the tail; long ones lose the 5% of telemetry."""
