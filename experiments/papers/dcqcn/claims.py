"""Numbers of DCQCN's paper that runs are compared with, each once, by the rows of
docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

PFC, DCQCN = "pfc", "dcqcn"

UNFAIR = Claim("1.14", "Gbit/s", {"H4's most": 20.0})
"""2.2, Fig. 3: "H4 gets as much as 20 Gbps"."""
FAIR = Claim("1.16", "Gbit/s", {"each": 10.0})
"""Fig. 8."""
VICTIM = Claim("1.15", "Gbit/s", {"0": 10.0, "2": 4.5})
"""2.2, Fig. 4, by senders under T3: medians."""
SETTLED = Claim("1.18")
"""5.1: "for reasonable settings, p is less than 1%", a queue "close to Kmin"."""
NO_VICTIM = Claim("1.17")
"""Fig. 9, without numbers in the text."""
