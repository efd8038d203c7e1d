"""Claims of QCN-T's paper that runs are compared with, by the rows of docs/claims.md. The text at
hand has no numbers of its experiments, only their order."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

QCN, QCN_T = "qcn", "qcn-t"
FASTER = Claim("4.5")
"""1: QCN is fair, but gets there slowly; where all rates are as likely to grow it takes less
time."""
CALMER = Claim("4.6")
"""6, 7: QCN-T's queue is steadier with more than five senders."""
