"""Numbers of PCN's paper (NSDI'20) that runs are compared with, each once, by the rows of
docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

PCN, PCN_X, PFC = "pcn", "pcn-x", "pfc"
COMPARED = (PCN, "qcn", "dcqcn", "timely")
"""The schemes that the paper compares, in its order."""
SHOWN = (*COMPARED, PCN_X)
"""Those that its figures are drawn for here."""

INCREASE = Claim("0.9", "of line rate")
RISE = Claim("0.10", "of line rate", {"5 CNPs": 0.1, "15 CNPs": 0.95})
"""5.3, Fig. 10: the rate from 0 after a number of CNPs, of line rate; at most and at least."""

IDEAL = Claim("0.19", "Gbit/s", {"f0": 37.5, "f1": 2.5})
"""3.2: what F0 and F1 would have during the bursts, with 16 hosts at R1."""
TREE_OF_PFC = Claim("0.21", "ms", {PFC: 3.1})
TREES = Claim("0.22", "ms", {"qcn": 0.5, "dcqcn": 1.8, "timely": 1.4})
"""3.1, Fig. 2a: how long the congestion tree stands."""
TREE = {**dict.fromkeys(TREES.paper, TREES), PFC: TREE_OF_PFC}
"""By scheme."""
LOSS = Claim("0.23", "ms", {"qcn": 12.5, "dcqcn": 25.0, "timely": 60.0})
"""3.1, Fig. 2b: how long throughput is lost."""
NO_TREE = Claim("0.24", "frames", {"to senders": 0, "a handful": 5})
"""5.4: no PAUSE to H0 and H1, and a handful from S1 to S0."""
VICTIM_FULL = Claim("0.25", "", {"last third": 1.0, "trunk": 1.0, "fair": 1.0})
"""Fig. 2b, 3: what F0 gets, the link from S0 to S1 afterwards, and Jain's index of F0 and F1."""
INNOCENT_CUT = Claim("0.26")
SHARE = Claim("0.27", "Gbit/s", {"payload": 9.5, "steps above": 1, "f0 below": 1})
"""4.2, Fig. 5: what F1 may send without PAUSE."""

AFTER_DECREASE = Claim("0.28", "Gbit/s")
FAIRNESS = Claim("0.31", "", {"index": 1.0})
QUEUE_SWING = Claim("0.32", "KB")
RATE_SWING = Claim("0.33", "Gbit/s")

CAPACITY = Claim("0.36", "ms", {PCN: 2.0, "qcn": 40.0, "dcqcn": 50.0, "timely": 90.0})
"""7.1, Fig. 11: when the sum of the rates is at capacity."""
DRAINED = Claim("0.37", "ms", {PCN: 7.5, "qcn": 13.0, "dcqcn": 41.0, "timely": 72.0})
"""7.1, Fig. 11: when the queue of the start is down to several packets."""
STEADY = Claim("0.38", "", {"utilisation": 1.0, "queue": 0.0})
"""7.1: PCN's and QCN's queue is almost zero at full rate; DCQCN and TIMELY swing."""

PREVENTED = Claim("0.39", "", {"dcqcn": 0.53, "timely": 0.92})
"""7.2, Fig. 12: share of these schemes' PAUSE frames that PCN prevents."""
OVER_QCN = Claim("0.40", "", {"qcn": 2.25})
H0_MEAN = Claim("0.41", "", {"dcqcn": 2.4, "timely": 2.0})
BURSTS_P99 = Claim("0.42", "", {"dcqcn": 3.5, "timely": 3.4})
H1_MEAN = Claim("0.43", "", {"dcqcn": 2.2, "timely": 1.7})
"""7.2, Fig. 12: completion times of these schemes over PCN's."""
WEIGHTS = Claim("0.44")

WORKLOAD_1_QCN = Claim("0.48", "", {"pause": 5.73, "qcn p99_ms all": 1.60, "qcn flows_per_s": 3.70})
"""7.4, Fig. 14: PCN's PAUSE frames over QCN's; by how much PCN is ahead."""
WORKLOAD_1 = Claim(
    "0.49",
    "",
    {
        "dcqcn pause": 0.64,
        "timely pause": 0.75,
        "dcqcn mean_ms all": 1.75,
        "timely mean_ms all": 2.35,
        "dcqcn flows_per_s": 1.73,
        "timely flows_per_s": 12.16,
    },
)
WORKLOAD_2 = Claim(
    "0.50",
    "",
    {
        "qcn pause": 0.35,
        "dcqcn pause": 0.89,
        "timely pause": 0.99,
        "qcn mean_ms all": 1.44,
        "dcqcn mean_ms all": 1.57,
        "timely mean_ms all": 10.96,
        "qcn flows_per_s": 1.27,
        "dcqcn flows_per_s": 1.13,
        "timely flows_per_s": 6.5,
    },
)
"""7.4, Fig. 14: share of their PAUSE frames that PCN prevents; by how much it is ahead."""
MANY_FLOWS = Claim("0.52", "KB", {"queue": 100.0, "pause": 0.0})
"""B.1, Fig. 17: PCN's mean queue in ns-3, at most, without PAUSE."""
OTHERS_QUEUES = Claim(
    "0.53",
    "KB",
    {"qcn least": 50.0, "qcn most": 100.0, "timely least": 100.0, "timely most": 200.0},
)
"""B.1: the others' queues, up to 256 flows."""
OTHERS_UNFAIR = Claim("0.54")
FULL_AND_FAIR = Claim("0.55", "", {"utilisation": 1.0, "index": 1.0})
"""B.1: PCN, whatever the number of flows."""
WHY_UNFAIR = "fairness.md#why-fairness-falls-with-the-number-of-flows"
"""Why rows about that are off."""
FILLED = Claim("0.56", "Gbit/s", {"full": 40.0, "dcqcn loses": 0.15})
"""B.2, Fig. 18: S0 to S1 at all intervals between bursts."""
LONG_INTERVALS = Claim("0.57", "Gbit/s", {PCN: 30.0, "qcn": 23.0, "dcqcn": 25.0, "timely": 29.0})
"""B.2, Fig. 18: throughput of S1 to R1 at long intervals."""
PRIORITIES = Claim("0.60")
"""B.4, Table 3 and Fig. 20."""
DEADLOCKS = Claim("0.61", "", {PCN: 0.028, "dcqcn": 0.134, "timely": 0.87})
"""B.5, Fig. 21: share of the runs that encounter one."""
PARKING_LOT = Claim("0.58", "", {PCN: 0.98, "qcn": 0.90, "dcqcn": 0.88, "timely": 0.95})
"""B.3, Fig. 19: utilisation."""
LONG_FLOW = Claim("0.59", "Gbit/s")
"""B.3, Fig. 19: what F0 gets."""
