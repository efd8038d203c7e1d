"""The victim flow (3.1, Fig. 1 to 3): F0 shares a link with F1, whose receiver many short flows
overwhelm at time 0."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete, format_value
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.checks import Check
from pcn.experiments.define.experiment import Experiment, Run, RunPage
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.claims import PCN, PCN_X, PFC
from pcn.experiments.papers.pcn.scenarios.pfc_parameters import PFC_PARAMETERS
from pcn.experiments.papers.pcn.scenarios.victim_charts import CHARTS
from pcn.experiments.papers.pcn.scenarios.victim_checks import compared, settled
from pcn.experiments.papers.pcn.scenarios.victim_measures import TEXTS, measure
from pcn.experiments.papers.pcn.scenarios.victim_setting import BURSTS, burst_s
from pcn.experiments.papers.pcn.scenarios.victim_story import about, headlines, story
from pcn.topologies.compact import LONG_SENDERS, P0_S0, P2_S1, compact
from pcn.topologies.model import FlowSpec, Topology, TopologyError

_BURST_IDS = 1000
"""The flows of h2 are 2000, 2001, ..., those of h3 3000, ..."""
_BEFORE_S = {PFC: 1e-3, PCN: 5e-3, "pcn-time": 5e-3, PCN_X: 5e-3, "dcqcn": 50e-3}
"""How long F0 and F1 run ahead, so that time 0 finds them in the scheme's steady state. PCN is
there after some half-lives of 0.66 ms. DCQCN's alpha falls from 1 by a half each 9.7 ms, and stays
between 0.10 and 0.12 from 45 on."""
_DURATION_S = {PFC: 8e-3, PCN: 12e-3, "pcn-time": 12e-3, PCN_X: 12e-3, "dcqcn": 40e-3}
"""Until the long flows are at their fair shares again, and some time more."""
_K = {PFC: (1000.0, 2400.0), "dcqcn": (1000.0, 2400.0)}
_K_OF_SHORT_PERIODS = (2000.0, 4000.0)
"""Least and most k. Where a period is 50 us and F0 sends at 95% of a link, a program that the
machine wakes 3 ms late leaves a queue for all of the next period, F0 is marked and cut, although
innocent: docs/victim.md has the figures."""
_STALL_S = 0.15e-3
"""F0 and F1 lose a twentieth of the bursts' time to such a stall, PCN three periods. A bursting
host may be as late: it is in a crowd, R1's port has a millisecond's work by then, and only who is
paused when changes."""

_PARAMETERS = (
    Parameter(
        "senders", "count", 16, "senders; h0 and h1 have the long flows, all others burst", 3, 64
    ),
    Parameter("rate", "rate", 40e9, "rate of every link", 1e6, 1e12),
    Parameter("delay", "time", 5e-6, "one-way delay of every link", 0, 1),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    Parameter(
        "burst_flows", "count", 16, "short flows that each bursting host starts at time 0", 1, 999
    ),
    Parameter("burst_size", "size", 64_000, "payload of each", 1, 1e9),
    Parameter(
        "limit",
        "rate",
        None,
        "limiter of F0 and F1",
        1e6,
        1e12,
        "half of the rate with PFC alone, else none",
    ),
    *PFC_PARAMETERS,
    Parameter(
        "before", "time", None, "how long F0 and F1 run before time 0", 1e-4, 10, "the scheme"
    ),
    Parameter("duration", "time", None, "and after it", 1e-3, 10, "the scheme"),
    # In step, as appendix A.2.2 notifies its flows, whose half-life the run is compared with:
    # docs/victim.md.
)


class Victim(Experiment):
    """Section 3.1's observation."""

    name = "victim"
    title = "The victim flow: who suffers when others burst"
    source = "PCN (NSDI'20), section 3.1 and Fig. 1 to 3"
    schemes = (PFC, "dcqcn", PCN)
    page = RunPage(CHARTS, headlines, about, story, explain="--flow 0")
    number_texts = TEXTS

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        return settled(plan, recording)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        return compared(outcomes)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, dataclasses.asdict(measure(plan, recording)))

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        published = scheme_parameters.as_published(PCN, "dcqcn", "qcn", "timely")
        in_step = {"pcn.w_min": (0.1 / LONG_SENDERS, ""), "pcn.phases": (0.0, "")}
        return scheme_parameters.of(scheme, _PARAMETERS, {**published, **in_step})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        filled = complete(values, self.parameters(scheme))
        rate, payload = float(filled["rate"] or 0), round(filled["payload"] or 0)
        frame = payload + HEADER_BYTES
        xoff = float(filled["xoff"] or 0)
        derived: dict[str, Value] = {
            "xon": round(xoff - 2 * frame),
            "before": _BEFORE_S.get(scheme, max(_BEFORE_S.values())),
            "duration": _DURATION_S.get(scheme, max(_DURATION_S.values())),
            "limit": rate / LONG_SENDERS if scheme == PFC else rate,
        }
        filled |= {name: value for name, value in derived.items() if filled[name] is None}
        xon, limit = float(filled["xon"] or 0), float(filled["limit"] or 0)
        if not frame <= xon < xoff:
            raise ExperimentError(
                f"xon={xon:g}, xoff={xoff:g}: xon must be below xoff, and hold a frame"
            )
        try:
            topology = compact(
                senders=round(filled["senders"] or 0),
                rate_bps=rate,
                delay_s=float(filled["delay"] or 0),
                xoff_bytes=xoff,
                xon_bytes=xon,
                mtu_bytes=frame,
            )
        except TopologyError as error:
            raise ExperimentError(str(error)) from error
        before = float(filled["before"] or 0)
        topology = _with_flows(topology, -before, limit if limit < rate else None, filled)
        plan = Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            **scheme_parameters.with_network(scheme, filled, topology, payload),
            topology=topology,
            bottleneck=P0_S0,
            start_s=-before,
            duration_s=float(filled["duration"] or 0),
            payload_bytes=payload,
            sampling=Sampling((P2_S1, P0_S0), queues_s=0.05e-3, counters_s=0.1e-3, flows_s=0.05e-3),
            live=LiveLimits(2 * rate, *_K.get(scheme, _K_OF_SHORT_PERIODS), _STALL_S),
        )
        if plan.duration_s <= burst_s(plan):
            raise ExperimentError(
                f"duration={format_value('time', plan.duration_s)}: the bursts alone take "
                f"{format_value('time', float(f'{burst_s(plan):.3g}'))}: give a longer one, or a "
                "smaller burst_size"
            )
        return plan


def _with_flows(
    topology: Topology, start_s: float, limit_bps: float | None, values: Mapping[str, Value]
) -> Topology:
    long = tuple(
        dataclasses.replace(flow, start_s=start_s, rate_bps=limit_bps) for flow in topology.flows
    )
    bursts = tuple(
        FlowSpec(
            index * _BURST_IDS + number,
            f"h{index}",
            "r1",
            0.0,
            round(values["burst_size"] or 0),
            group=BURSTS,
        )
        for index in range(LONG_SENDERS, round(values["senders"] or 0))
        for number in range(round(values["burst_flows"] or 0))
    )
    return dataclasses.replace(topology, flows=(*long, *bursts))
