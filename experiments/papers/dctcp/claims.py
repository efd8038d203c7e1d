"""Numbers of DCTCP's paper that runs are compared with, each once, by the rows of
docs/claims.md."""

from __future__ import annotations

from pcn.experiments.define.checks import Claim

DCTCP = "dctcp"
QUEUE_AT_K = Claim("5.2", "", {"queue": 20.0, "throughput": 0.95})
"""4.1, Fig. 1 and 13: packets of 1,500 bytes, K = 20; Gbit/s of 1."""
THROUGHPUT_BY_K = Claim("5.3", "", {"full": 1.0})
"""3.4, equation 13, and Fig. 14: K above C RTT / 7 loses no throughput."""
TWO_BOTTLENECKS = Claim(
    "5.4", "", {"S1": 46.0, "S2": 475.0, "S3": 54.0, "within": 0.1, "index": 0.99}
)
"""4.1, Fig. 17: Mbit/s of each of a group's senders; of the fair share, and Jain's index within a
group."""
INCAST = Claim("5.6", "", {"none": 0.0, "query": 8.0})
"""4.2.1, Fig. 18 and 19: answers of 1 MB / n from n servers at 1 Gbit/s; share of queries with a
timeout, ms."""
