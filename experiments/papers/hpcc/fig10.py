"""Fig. 10: WebSearch on the paper's testbed, 32 servers with two NICs each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import Records
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flows_by_size import figure_charts
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.hpcc.claims import DCQCN, HPCC, ON_TESTBED, QUEUES_ON_TESTBED
from pcn.experiments.papers.hpcc.fig9 import FIELDS
from pcn.experiments.traffic import by_size, flows
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.topologies import lossless
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

SERVERS, TORS = 32, 4
_HOST_BPS, _UPLINK_BPS, _DELAY_S = 25e9, 100e9, 1.1e-6
_XOFF_BYTES = 50e6
_CROSSING = 2 * (SERVERS / 2) * _HOST_BPS / (2 * _UPLINK_BPS) * (SERVERS / 2) / (SERVERS - 1)
"""The load of an uplink over that of the servers' links."""
_K_MIN_S, _K_MAX_S, _P_MAX = 32e-6, 128e-6, 0.2
_SMALL_BYTES = 3e3
_EVERY_S = 20e-6
LOADS, COUNT = (0.3, 0.5), 4_000
_SPEC = TrafficSpec("testbed", "WebSearch", "uniform")


def dual_homed(ecn: bool) -> Topology:
    """Returns servers on two ToRs each, 16 on one pair of them and 16 on the other, and an Agg that
    joins them."""
    servers = [f"h{n}" for n in range(SERVERS)]
    links = []
    for n, name in enumerate(servers):
        pair = 2 * (n // (SERVERS // 2))
        links += [
            Link(
                Endpoint(name, nic),
                Endpoint(f"t{pair + nic}", n % (SERVERS // 2) + 1),
                _HOST_BPS,
                _DELAY_S,
            )
            for nic in range(2)
        ]
    links += [
        Link(Endpoint(f"t{n}", SERVERS // 2 + 1), Endpoint("a0", n + 1), _UPLINK_BPS, _DELAY_S)
        for n in range(TORS)
    ]
    rates = (_HOST_BPS, _UPLINK_BPS)
    steps = tuple(
        EcnThresholds(_K_MIN_S * rate / 8, _K_MAX_S * rate / 8, _P_MAX, rate) for rate in rates
    )
    names = [*(f"t{n}" for n in range(TORS)), "a0"]
    return Topology(
        name="testbed",
        hosts=make_hosts(servers),
        switches=tuple(
            Switch(name, n, ecn=steps if ecn else ()) for n, name in enumerate(names, start=1)
        ),
        links=tuple(links),
        flows=(),
        parameters=lossless.parameters(_XOFF_BYTES),
    )


class Fig10(Experiment):
    name = "hpcc-fig10"
    title = "WebSearch on a testbed"
    source = "5.2, Fig. 10"
    draws = DRAWN_FLOWS
    schemes = (HPCC, DCQCN)
    about = (
        "32 servers with two NICs of 25 Gbit/s, each on two of four ToRs, which an Agg joins by "
        "100 Gbit/s; links of 1.1 us. WebSearch at loads of 30 and 50% of the uplinks, the busiest "
        "links, as the paper doesn't state of which; 4,000 flows between random servers, until all "
        "have arrived. Parameters are Fig. 9's. Queues are those of all switches' ports, read each "
        "20 us until the last flow starts."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for load in LOADS:
            for scheme in schemes:
                yield Run({"load": load, "scheme": scheme, "seed": 1}, scheme, 1, {"load": load})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        topology = dual_homed(scheme == DCQCN)
        count = round(values.get("count") or COUNT)
        load = float(values["load"] or LOADS[0]) / _CROSSING
        drawn = draw(_SPEC, topology, seed, load, count, PAYLOAD_BYTES)
        topology = replace(topology, flows=tuple(flows.by_size(drawn)))
        last_s = max(flow.start_s for flow in topology.flows)
        fields = FIELDS.get(scheme, {})
        plan = plan_of(
            self.name, scheme, seed, topology, last_s, fields, [Endpoint("a0", 1)], last_s
        )
        return replace(plan, records=Records(queues_s=_EVERY_S), until_complete=True)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        ended, queues = flows.ended(plan, recording), recording.recorded.queues
        assert queues is not None  # the plan records them
        last_s = max(flow.start_s for flow in plan.topology.flows)
        waiting = queues.values[queues.times_s <= last_s].ravel() / 1e3
        sizes = np.array([flow.size_bytes or 0 for flow in plan.topology.flows], float)
        whole = not np.isnan(ended.slowdown).any()
        numbers: dict[str, float | None] = {"unfinished": float(np.isnan(ended.slowdown).sum())}
        small = ended.slowdown[sizes < _SMALL_BYTES] if whole else sizes[:0]
        for q in (50, 95, 99):
            numbers[f"p{q} small"] = recording_numbers.percentile(small, q)
            numbers[f"queue_p{q}_kb"] = recording_numbers.percentile(waiting, q)
        numbers["largest_kb"] = max(recording.recorded.queue_max.values()) / 1e3
        numbers["pause"] = float(sum(link.pause for link in recording.links.values()))
        return Outcome(run.keys, numbers, samples=by_size.samples(_SPEC, plan, recording).to_json())

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for load in map(float, outcomes.values("load")):

            def number(name: str, scheme: str, load: float = load) -> float | None:
                return outcomes.mean(name, load=load, scheme=scheme)

            ours, theirs = (number("p99 small", scheme) for scheme in (HPCC, DCQCN))
            text = (
                f"{load:.0%}: HPCC, 99% slowdown of flows below 3 KB (met: within a third; trend: "
                "a factor of two)"
            )
            rows.append(
                ON_TESTBED.row(text, ours, near(ON_TESTBED[f"{load:.0%}"], 1 / 3), f"{load:.0%}")
            )
            text = f"{load:.0%}: by which part it is below DCQCN's (met: 0.7 and more; trend: 0.5)"
            less = ratio(ours, theirs)
            part = None if less is None else 1 - less
            rows.append(ON_TESTBED.row(text, part, at_least(0.7, 0.5), f"{load:.0%} less"))
            text = f"{load:.0%}: PAUSE with HPCC (met: none)"
            rows.append(
                ON_TESTBED.row(text, number("pause", HPCC), at_most(0), "pause", unit="frames")
            )
            for q in (50, 95, 99):
                queue = number(f"queue_p{q}_kb", HPCC)
                most = QUEUES_ON_TESTBED[f"{q}"]
                text = (
                    f"{load:.0%}: HPCC, queue of {q}% of ports and times (met: {most:g} KB; trend: "
                    "twice)"
                )
                rows.append(QUEUES_ON_TESTBED.row(text, queue, at_most(most, 2 * most), f"{q}"))
            text = f"{load:.0%}: DCQCN's queue of 99% over HPCC's (met: 10; trend: 2)"
            times = ratio(number("queue_p99_kb", DCQCN), number("queue_p99_kb", HPCC))
            rows.append(QUEUES_ON_TESTBED.row(text, times, at_least(10, 2), "times", unit=""))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for load in map(float, outcomes.values("load")):
            schemes = map(str, outcomes.values("scheme"))
            samples = {scheme: outcomes.samples(load=load, scheme=scheme) for scheme in schemes}
            charts += figure_charts(f"{load:.0%}", samples, "p99")
        return charts
