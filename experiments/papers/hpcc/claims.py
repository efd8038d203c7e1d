"""Numbers of HPCC's paper and of its authors' page of results (hpcc-group.github.io) that runs are
compared with, each once, by the rows of docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

HPCC = "hpcc"
DCQCN = "dcqcn-ns3"
"""The one that HPCC's authors compare with: "suggested by a major NIC vendor" (5.1), as their
simulation has it."""
AT_ETA = Claim("6.2", "", {"utilisation": 0.95, "queue": 0.0})
"""3.3, 5.1: eta, and queues near zero."""
DRAINS = Claim("6.3", "round trips", {"after": 1.0})
"""Results: congestion is resolved "in just one RTT"."""
SHORTENED = Claim("6.5", "", {"share": 0.95})
"""Abstract: completion times are up to this share shorter than DCQCN's and TIMELY's."""
SHORT_FLOWS = Claim("6.6")
LONG_FLOWS = Claim("6.7")
"""Results: flows below 200 KB gain, above all in the tail; long ones lose the 5% of telemetry."""
RECOVERS = Claim("6.9", "us", {HPCC: 0.0, DCQCN: 2000.0})
"""5.2, Fig. 9a, 9b: after a short flow's end HPCC has its rate "right after", DCQCN not "even after
2 ms"."""
REACTS = Claim("6.10", "", {HPCC: 1.0, DCQCN: 550.0})
"""5.2, Fig. 9c, 9d: HPCC reacts after a round trip; DCQCN's queue grows to 550 KB."""
MICE = Claim("6.11", "us", {HPCC: 5.4, DCQCN: 35.0})
"""5.2, Fig. 9e, 9f: latency of mice; DCQCN's is "consistently higher"."""
FAIR = Claim("6.12")
"""5.2, Fig. 9g, 9h: four flows that join and leave are fair, "even in a short time scale"."""
WITHOUT_REFERENCE = Claim("6.13", "", {"least": 0.0})
"""5.4, Fig. 13: a window that each acknowledgement changes "soon drops to almost 0"; once a round
trip, a long queue "persists for a long time"."""
BY_W_AI = Claim("6.14", "KB", {"within": 4.0, "above": 13.0})
"""5.4, Fig. 14b: 95% of the queue's lengths, W_AI within 150 bytes, and 300."""
IN_FAT_TREE = Claim("6.15", "us", {"latency": 19.8, "most": 20.0, "dctcp": 2.0})
"""5.3, Fig. 11b, 11d: 95% of round trips, at 50% load and at most; DCTCP's over HPCC's."""
SHORT_IN_FAT_TREE = Claim("6.16")
"""5.3, Fig. 11a, 11c: 95% slowdown of flows below 120 KB is the least of all schemes'."""
NO_PAUSE = Claim("6.17", "frames", {HPCC: 0.0})
"""5.3, Fig. 11b: large-scale PAUSE with DCQCN and TIMELY alone; a window around them leaves almost
none."""
RESIDUAL = Claim("6.18", "", {"factor": 1.24})
"""5.3: how much slower long flows are at 50% load."""
ON_TESTBED = Claim(
    "6.8",
    "",
    {"30%": 2.38, "50%": 2.70, "30% less": 1 - 2.38 / 11.2, "50% less": 0.95, "pause": 0.0},
)
"""5.2, Fig. 10a, 10c: 99% slowdown of flows below 3 KB, DCQCN's 11.2 and 53.9; "PFC is not
necessary"."""
QUEUES_ON_TESTBED = Claim("6.19", "KB", {"50": 0.0, "95": 19.7, "99": 22.9, "times": 2100 / 22.9})
"""5.2, Fig. 10d: at 50%; DCQCN's are 1.1 and 2.1 MB."""
