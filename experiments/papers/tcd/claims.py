"""Numbers of TCD's paper that runs are compared with, each once, by the rows of docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

RED, TCD = "red", "tcd"
"""Marks without congestion control."""
DCQCN, DCQCN_TCD, TIMELY, TIMELY_TCD = "dcqcn", "dcqcn-tcd", "timely", "timely-tcd"
PAIRS = {DCQCN: DCQCN_TCD, TIMELY: TIMELY_TCD}
"""A scheme, and the same with TCD."""
PAPER_ALPHA = {DCQCN: 0.5, DCQCN_TCD: 1.2}
"""5.2.1: where alpha starts; DCQCN's own paper has 1."""

FRACTIONS = Claim("3.1", "", {"F0 UE": 1.0, "F0 CE": 0.0, "F1 CE": 1.0, "after": 0.0})
"""5.1.1, Fig. 11."""
ONE_POINT = Claim("3.2", "packets", {"CE": 0.0})
"""5.1.2, Fig. 12: ports drain, and mark nothing CE."""
SEVERAL_POINTS = Claim("3.3", "", {"P1's CE": 0.0, "P2's CE": 1.0})
"""5.1.2, Fig. 13."""
IBCC, IBCC_TCD = "ibcc", "ibcc-tcd"
VICTIMS = Claim("3.4", "", {DCQCN: 0.266, DCQCN_TCD: 0.0, IBCC: 0.135, IBCC_TCD: 0.0})
"""Table 3: victims with at least one packet marked CE."""
SENSITIVITY = Claim("3.5", "", {"small": 0.0})
"""5.1.4, Fig. 14: "not mistakenly marked with CE when epsilon is smaller than 0.1"."""
HADOOP_TREE = Claim("3.9", "", {"DCQCN median": 10.8, "TCD median": 3.6, "99%": 1.7, "large": 1.0})
"""5.2.1, Fig. 16a: slowdown; how much better with TCD."""
WEB_TREE = Claim("3.10", "", {"DCQCN median": 4.6, "TCD median": 2.5, "99%": 2.0, "large": 1.0})
"""5.2.1, Fig. 16b."""
IB_TREE = Claim("3.11")
"""5.2.2, Fig. 17b."""
COMPLETION = Claim("3.8")
"""5.2.1, Fig. 15: victims' completion times, without numbers in the text at hand."""
