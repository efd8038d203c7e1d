"""Fig. 21: how often a pod with a cycle of buffers stands still."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flow_sizes import W2
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, percent
from pcn.experiments.define.workloads import arrivals_per_s, incast_flows
from pcn.experiments.papers.pcn.claims import DEADLOCKS, PCN, PFC
from pcn.experiments.papers.pcn.figures.realistic import HOST_BPS
from pcn.experiments.papers.pcn.plans import pcn_fields
from pcn.topologies.clos import clos
from pcn.topologies.model import Endpoint

SEEDS = range(1, 21)
READINGS = {"two links": (2, 0.6), "one link": (1, 0.5)}
"""From a ToR to each leaf, and the load of hosts' links: 1:1 and the paper's load; and what the
drawing may mean."""
DCQCN, TIMELY = "dcqcn", "timely"
_ENDS_S = 0.5
_LOOK_S = 1e-3
_STREAM = 21
_SEGMENT_BYTES = 64_000


class Fig21(Experiment):
    name = "fig21"
    title = "A pod with a cycle of buffers"
    draws = DRAWN_FLOWS
    source = "B.5, Fig. 21"
    schemes = (PFC, PCN, DCQCN, TIMELY)
    deadlocks = True
    about = (
        "One pod of the Clos, without its spines and the links from L0 to T3 and from L1 to T0: "
        "what goes from T0 to T3 goes up, down and up again, and closes a cycle. W2's flows for "
        "500 ms, in-casts of 1 to 15 senders; a run ends when it stands still. The paper has 1,000 "
        "runs of each scheme. Section 7.4's network has two links from a ToR to each leaf; the "
        "drawing isn't in the text at hand, and with one, which can't carry 0.6, the load is 0.5. "
        "TIMELY has its paper's segments of 64 KB."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for reading in READINGS:
            for scheme in schemes:
                for seed in SEEDS:
                    named: dict[str, Key] = {"reading": reading, "scheme": scheme, "seed": seed}
                    strands, load = READINGS[reading]
                    yield Run(named, scheme, seed, {"strands": strands, "load": load})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        ends_s = values.get("duration") or _ENDS_S
        topology = clos(pods=1, spines=0, strands=round(values["strands"] or 1))
        topology = topology.without(("l0", "t3"), ("l1", "t0"))
        per_s = arrivals_per_s(
            values["load"] or 0.0, HOST_BPS, W2, PAYLOAD_BYTES, PAYLOAD_BYTES + HEADER_BYTES
        )
        random = np.random.default_rng([seed, _STREAM])
        hosts = [host.name for host in topology.hosts]
        flows = tuple(
            replace(flow, group="all")
            for flow in incast_flows(random, W2, per_s, math.inf, hosts, end_s=ends_s)
        )
        topology = replace(topology, flows=flows)
        timely = known_fields(
            scheme, {"segment_bytes": _SEGMENT_BYTES, "min_rtt_s": topology.max_rtt_s()}
        )
        fields = pcn_fields(scheme, 1 / 128, 50e-6) | timely
        plan = plan_of(
            self.name, scheme, seed, topology, ends_s, fields, [Endpoint("t0", 1)], ends_s
        )
        sampling = replace(plan.sampling, counters_s=ends_s, flows_s=ends_s)
        return replace(plan, sampling=sampling, deadlock_every_s=_LOOK_S)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        deadlock = recording.deadlock
        numbers: dict[str, float | None] = {
            "stands_still": 0.0 if deadlock is None else 1.0,
            "since_ms": None if deadlock is None else deadlock.since_s * 1e3,
            "pause": float(sum(link.pause for link in recording.links.values())),
        }
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        present = outcomes.among(self.schemes)
        for reading in map(str, outcomes.values("reading")):
            share = {
                scheme: outcomes.mean("stands_still", reading=reading, scheme=scheme)
                for scheme in present
            }
            rules = {
                PFC: ("95%", at_least(0.95)),
                PCN: ("15% at most", at_most(0.15)),
                TIMELY: ("30 to 95%", between(0.3, 0.95, 0.0))
                if reading == "two links"
                else ("80%", at_least(0.8, 0.3)),
            }
            for scheme, (text, rule) in rules.items():
                if scheme in present:
                    row_text = (
                        f"{reading}: {label(scheme)}, share of runs that stand still (met: {text})"
                    )
                    rows.append(DEADLOCKS.row(row_text, share[scheme], rule, scheme))
            for less, more in ((PCN, DCQCN), (DCQCN, TIMELY)):
                if less in present and more in present:
                    text, least = ("above 0", 1e-9) if more == TIMELY else ("from 0", 0.0)
                    row_text = (
                        f"{reading}: {label(more)}'s share less {label(less)}'s (met: {text})"
                    )
                    rows.append(
                        DEADLOCKS.row(row_text, _less(share[more], share[less]), at_least(least))
                    )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        return [
            f"{reading.capitalize()} from a ToR to each leaf: "
            + ", ".join(
                (
                    f"{label(scheme)} "
                    f"{percent(outcomes.mean('stands_still', reading=reading, scheme=scheme))}"
                )
                for scheme in outcomes.among(self.schemes)
            )
            + " of the runs stand still."
            for reading in map(str, outcomes.values("reading"))
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        present = outcomes.among(self.schemes)
        lines = []
        for reading in map(str, outcomes.values("reading")):
            shares = [
                outcomes.mean("stands_still", reading=reading, scheme=scheme) for scheme in present
            ]
            known = [(x, 100 * y) for x, y in enumerate(shares) if y is not None]
            lines.append(curve(reading, [x for x, _ in known], [y for _, y in known]))
        stated = [
            (x, 100 * DEADLOCKS[scheme])
            for x, scheme in enumerate(present)
            if scheme in DEADLOCKS.paper
        ]
        lines.append(curve("the paper", [x for x, _ in stated], [y for _, y in stated]))
        names = [label(scheme) for scheme in present]
        return [Chart("Runs that stand still", "Scheme", "Share (%)", lines, bars=names, top=100.0)]


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
