"""What Swift's paper claims that runs are compared with, by the rows of docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

SWIFT = "swift"
AT_TARGET = Claim("7.4", "", {"distance": 0.0})
"""3.1, 3.5: the delay is the target, whatever the number of flows."""
FULL_AND_FAIR = Claim("7.5", "", {"utilisation": 1.0, "index": 1.0})
