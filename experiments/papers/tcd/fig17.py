"""Fig. 17b's network: a fat-tree of 1,024 hosts with InfiniBand's credits. The paper's traffic
isn't in the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import (
    HEADER_BYTES,
    PAYLOAD_BYTES,
    Plan,
    known_fields,
    numbers,
    plan_of,
)
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, percent, ratio
from pcn.experiments.define.workloads import arrivals_per_s, uniform_flows
from pcn.experiments.papers.tcd.claims import IB_TREE, IBCC, IBCC_TCD
from pcn.experiments.papers.tcd.plans import MESSAGES
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.lossless import CREDITS
from pcn.topologies.model import Endpoint

SEEDS = (1, 2)
K, LOAD, COUNT = 16, 0.6, 6000
_LINE_BPS, _DELAY_S = 40e9, 4e-6
_AFTER_S = 10e-3
_KINDS = {"mpi_us": 128_000, "io_us": 1_000_000}
_NAMES = {"mpi_us": "128 KB", "io_us": "1 MB"}


class Fig17(Experiment):
    name = "tcd-fig17"
    title = "Messages in a fat-tree with credits"
    draws = DRAWN_FLOWS
    source = "5.2.2, Fig. 17b"
    schemes = (IBCC, IBCC_TCD)
    seeds = SEEDS
    about = (
        "A fat-tree of k = 16, 1,024 hosts, links of 40 Gbit/s and 4 us, InfiniBand's credits with "
        "280 KB for each port and lane. The paper's MPI and I/O patterns aren't in the text: here "
        "6,000 messages of 128 KB (80%) and 1 MB start at random, each from one host to another, "
        "and load the hosts' links to 0.6. Means over 2 seeds; a message that is still going 10 ms "
        "after the last one has started counts with the time that it had."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        settings = numbers(values)
        k, count = (
            round(settings.pop(name, usual)) for name, usual in (("k", K), ("count", COUNT))
        )
        topology = fat_tree(k, _LINE_BPS, _DELAY_S)
        hosts = [host.name for host in topology.hosts]
        per_s = arrivals_per_s(
            LOAD, _LINE_BPS, MESSAGES, PAYLOAD_BYTES, PAYLOAD_BYTES + HEADER_BYTES
        )
        flows = uniform_flows(
            np.random.default_rng([seed, 17]), MESSAGES, per_s, count, hosts, lambda _: "all"
        )
        topology = replace(topology, flow_control=CREDITS, flows=tuple(flows))
        end_s = flows[-1].start_s + _AFTER_S
        fields = known_fields(scheme, settings)
        plan = plan_of(self.name, scheme, seed, topology, end_s, fields, [Endpoint("e0", 1)], end_s)
        return replace(plan, sampling=replace(plan.sampling, counters_s=end_s, flows_s=end_s))

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        sizes = np.array([flow.size_bytes or 0 for flow in plan.topology.flows])
        times = np.array([
            (plan.duration_s - flow.start_s if flow.fct_s is None else flow.fct_s) * 1e6
            for flow in recording.flows
        ])  # fmt: skip
        numbers: dict[str, float | None] = {
            "unfinished": float(sum(flow.fct_s is None for flow in recording.flows)),
            "ce_share": float(np.mean([flow.marked_packets > 0 for flow in recording.flows])),
            "ue_share": float(np.mean([flow.marked_ue_packets > 0 for flow in recording.flows])),
        }
        for name, size in _KINDS.items():
            part = times[sizes == size]
            numbers[name] = float(part.mean()) if part.size else None
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if not {IBCC, IBCC_TCD} <= set(outcomes.values("scheme")):
            return []
        rows = []
        for number, size in _NAMES.items():
            ours, theirs = (outcomes.mean(number, scheme=scheme) for scheme in (IBCC_TCD, IBCC))
            text = (
                f"messages of {size}: {label(IBCC)} over {label(IBCC_TCD)}, mean completion (met: "
                "above 1; trend: 0.8)"
            )
            rows.append(IB_TREE.row(text, ratio(theirs, ours), at_least(1.0, 0.8)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        marked = [
            (
                label(scheme),
                *(percent(outcomes.mean(f"{mark}_share", scheme=scheme)) for mark in ("ce", "ue")),
            )
            for scheme in outcomes.among((IBCC, IBCC_TCD))
        ]
        return [
            f"{name}: {ce} of the messages have a packet marked CE, {ue} one marked UE."
            for name, ce, ue in marked
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = []
        for scheme in map(str, outcomes.values("scheme")):
            means = [
                (float(n), outcomes.mean(number, scheme=scheme)) for n, number in enumerate(_NAMES)
            ]
            known = [(x, mean) for x, mean in means if mean is not None]
            lines.append(
                curve(
                    label(scheme), [x for x, _ in known], [y for _, y in known], scheme, points=True
                )
            )
        return [
            Chart(
                "Messages", "Size", "Mean completion time (us)", lines, ticks=tuple(_NAMES.values())
            )
        ]
