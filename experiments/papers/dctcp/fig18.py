"""Fig. 18 and 19: queries that many servers answer at once, by short queues and by long ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.checks import Check, at_least, at_most, between
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.papers.dctcp.claims import DCTCP, INCAST
from pcn.experiments.papers.dctcp.plans import FRAME_BYTES, XOFF_BYTES
from pcn.hosts.reliability import Reliability, Repeats
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.queue_depth import QUEUE
from pcn.topologies.star import star

SERVERS = (1, 5, 10, 15, 20, 25, 30, 34, 35, 40)
OVERFLOWS = 35
"""Servers of which 2 packets each are more than a queue of 100 KB holds."""
QUEUES = {"static": 100e3, "dynamic": 700e3}
"""Bytes that wait at the client's port at most."""
QUERIES, ANSWER_BYTES = 100, 1_000_000
_LINE_BPS, _DELAY_S, _K_PACKETS, _TIMEOUT_S = 1e9, 25e-6, 20, 10e-3
_PAYLOAD_BYTES, _LOSSY = 1440, 1
_REQUEST_S = 2 * _DELAY_S
"""From the client to a server: after it the next query's answers begin."""
LEAST_S = 8 * ANSWER_BYTES / _LINE_BPS


class Fig18(Experiment):
    name = "dctcp-fig18"
    title = "Answers of many servers, with a short and a long queue"
    source = "4.2.1, Fig. 18 and 19"
    schemes = (DCTCP,)
    about = (
        "A client requests 1 MB / n from each of n servers, and again when all has come, "
        f"{QUERIES} times (the paper 1,000), over links of 1 Gbit/s, with round trips of 100 us "
        "and K = 20 packets of 1,500 bytes. Nothing protects the answers: the queue to the client "
        "holds 100 KB (Fig. 18) or 700 KB, which the paper's switch allots a port of its dynamic "
        "buffer at most (Fig. 19), and what is lost is repeated, by selective acknowledgements or "
        "after 10 ms. Each answer begins with 2 packets. The paper has 100 packets in the text and "
        "100 KB in its reckoning, 35 x 2 x 1.5 KB > 100 KB. Servers answer at once, so either all "
        "queries have a timeout or none has; in the testbed some have. TCP beside it isn't here."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for queue, size in QUEUES.items():
                for servers in SERVERS:
                    keys: dict[str, Key] = {
                        "scheme": scheme,
                        "queue": queue,
                        "servers": servers,
                        "seed": 1,
                    }
                    yield Run(keys, scheme, 1, {"servers": servers, "queue_bytes": size})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        servers = int(values["servers"] or 0)
        topology = star(
            servers, 1, _LINE_BPS, _DELAY_S, xoff_bytes=XOFF_BYTES, mtu_bytes=FRAME_BYTES
        )
        packets = int((values["queue_bytes"] or 0.0) // FRAME_BYTES)
        topology = replace(
            topology,
            flows=tuple(_queries(servers)),
            parameters={**topology.parameters, QUEUE: packets},
        )
        fields = {
            "k_bytes": _K_PACKETS * FRAME_BYTES,
            "frame_bytes": FRAME_BYTES,
            "init_window_bytes": 2 * FRAME_BYTES,
        }
        plan = plan_of(
            self.name, scheme, seed, topology, 2 * QUERIES * LEAST_S, known_fields(scheme, fields),
            [Endpoint("s0", servers + 1)], LEAST_S / 10, payload_bytes=_PAYLOAD_BYTES,
            servers=servers,
        )  # fmt: skip
        reliability = {_LOSSY: Reliability(Repeats.SELECTIVE, _TIMEOUT_S)}
        return replace(plan, until_complete=True, reliability=reliability)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        servers = int(plan.number("servers"))
        flows = recording.flows
        queries = [flows[at : at + servers] for at in range(0, len(flows), servers)]
        late = [sum(flow.timeouts for flow in query) > 0 for query in queries]
        numbers: dict[str, float | None] = {"timeouts": float(np.mean(late)), "query_ms": None}
        if all(flow.fct_s is not None for flow in flows):
            took = [_REQUEST_S + max(flow.fct_s or 0.0 for flow in query) for query in queries]
            numbers["query_ms"] = 1e3 * float(np.mean(took))
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for queue in QUEUES:
                few = [n for n in SERVERS if queue == "dynamic" or n < OVERFLOWS]
                late = _extreme(outcomes, "timeouts", scheme, queue, few)
                slow = _extreme(outcomes, "query_ms", scheme, queue, few)
                text = (
                    f"{queue} buffer, up to {few[-1]} servers: largest share of queries with a "
                    "timeout (met: 0)"
                )
                rows.append(INCAST.row(text, late, at_most(0.0, 0.01), "none", theory=0.0))
                text = (
                    f"{queue} buffer, up to {few[-1]} servers: longest mean time of a query (met: "
                    "9 ms; trend: 10)"
                )
                rows.append(
                    INCAST.row(text, slow, between(8, 9, 7.9, 10), "query", theory=8.0, unit="ms")
                )
            many = [n for n in SERVERS if n >= OVERFLOWS]
            least = _extreme(outcomes, "timeouts", scheme, "static", many, largest=False)
            text = (
                f"static buffer, from {OVERFLOWS} servers on: least share of queries with a "
                "timeout (met: above 0.1)"
            )
            rows.append(INCAST.row(text, least, at_least(0.1, 0.0)))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        pairs = [(scheme, queue) for scheme in outcomes.values("scheme") for queue in QUEUES]

        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(
                    f"{queue} buffer", "servers", number, queue, scheme=scheme, queue=queue
                )
                for scheme, queue in pairs
            ]

        return [
            Chart("Query completion time", "Servers", "ms", lines("query_ms"), bottom=0),
            Chart(
                "Queries with a timeout", "Servers", "Share", lines("timeouts"), bottom=0, top=1.05
            ),
        ]


def _queries(servers: int) -> Iterator[FlowSpec]:
    """Yields the answers of all queries, each of which waits for the answers before."""
    before: tuple[int, ...] = ()
    for query in range(QUERIES):
        ids = tuple(range(query * servers + 1, (query + 1) * servers + 1))
        start_s = _REQUEST_S if before else 0.0
        for at, number in enumerate(ids):
            size = ANSWER_BYTES // servers
            yield FlowSpec(
                number,
                f"h{at}",
                "r0",
                start_s,
                size,
                group="answers",
                traffic_class=_LOSSY,
                after=before,
            )
        before = ids


def _extreme(
    outcomes: Outcomes,
    number: str,
    scheme: str,
    queue: str,
    servers: Sequence[int],
    largest: bool = True,
) -> float | None:
    means = [outcomes.mean(number, scheme=scheme, queue=queue, servers=n) for n in servers]
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means):
        return None
    return max(known) if largest else min(known)
