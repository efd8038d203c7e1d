"""Fig. 13 and 14: why a reference window, and how much W_AI."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import jain, utilisation
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most
from pcn.experiments.define.experiment import Experiment, Run, Variant
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, ratio
from pcn.experiments.papers.hpcc.claims import BY_W_AI, HPCC, WITHOUT_REFERENCE
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.algorithms.hpcc import HpccReactionPoint
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

FLOWS, LINE_BPS, DELAY_S = 16, 100e9, 1e-6
T_S = 4.4e-6
"""A little more than a round trip with frames."""
_SHOWN_S, _FROM_S = 400e-6, 60 * T_S
_FRAMES = 16 * 1102
"""Bytes of a queue that is drained: a packet of each flow."""
_W_AI = 25.0
W_AI = (25.0, 50.0, 75.0, 150.0, 300.0)
EACH_ACK, EACH_ROUND, REFERENCE = "each acknowledgement", "each round trip", "reference window"


class EachAck(HpccReactionPoint):
    """HPCC without a reference: each acknowledgement changes the window that the one before
    left."""

    def _compute_wind(self, updates: bool) -> None:
        super()._compute_wind(True)


class EachRound(HpccReactionPoint):
    """HPCC that changes its window once a round trip: the first time when its first window is
    acknowledged."""

    _begun = False

    def _compute_wind(self, updates: bool) -> None:
        if updates and self._begun:
            super()._compute_wind(True)
        self._begun = True


def _with(reaction_point: type[HpccReactionPoint]) -> Variant:
    return Variant(dataclasses.replace(find_scheme(HPCC), reaction_point=reaction_point))


WITHOUT: Mapping[str, Callable[[], Variant]] = {
    EACH_ACK: functools.partial(_with, EachAck),
    EACH_ROUND: functools.partial(_with, EachRound),
}


def _plan(
    name: str, scheme: str, seed: int, w_ai_bytes: float, ends_s: float, every_s: float
) -> Plan:
    topology = star(FLOWS, 1, LINE_BPS, DELAY_S, xoff_bytes=50e6)
    flows = tuple(FlowSpec(n, f"h{n - 1}", "r0", duration_s=ends_s) for n in range(1, FLOWS + 1))
    topology = dataclasses.replace(topology, flows=flows)
    fields = known_fields(scheme, {"base_rtt_s": T_S, "w_ai_bytes": w_ai_bytes})
    return plan_of(
        name, scheme, seed, topology, ends_s, fields, [Endpoint("s0", FLOWS + 1)], every_s
    )


class Reference(Experiment):
    name = "hpcc-fig13"
    title = "A reference window reacts fast, and not too much"
    source = "5.4, Fig. 13"
    schemes = (HPCC,)
    variants = WITHOUT
    about = (
        "16 flows to one port of 100 Gbit/s start at once, links of 1 us, T = 4.4 us, W_AI = 25 "
        "bytes (5.4), for 400 us: HPCC, HPCC whose window each acknowledgement changes, and HPCC "
        "whose window changes once a round trip. Drained means that 16 packets are left. "
        "Throughput is of 4.4 us, the least from 60 round trips on."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for reaction in (REFERENCE, EACH_ACK, EACH_ROUND):
                keys: dict[str, Key] = {"scheme": scheme, "reaction": reaction, "seed": 1}
                yield Run(keys, scheme, 1, {}, "" if reaction == REFERENCE else reaction)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return _plan(self.name, scheme, seed, _W_AI, _SHOWN_S, T_S / 10)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        port = str(plan.bottleneck)
        times, queue = recording.series.get(port, "waiting_bytes")
        sent = recording.series.get(port, "transmitted_bytes")
        rates = recording_numbers.binned(
            *sent, 0.0, plan.duration_s, 8e-9, round(plan.duration_s / T_S)
        )
        late = [rate for at_ms, rate in zip(*rates, strict=True) if at_ms * 1e-3 >= _FROM_S]
        highest = int(queue.argmax())
        low = queue[highest:] <= _FRAMES
        numbers: dict[str, float | None] = {
            "utilisation": utilisation(*sent, plan.capacity_bps, _FROM_S, plan.duration_s),
            "least_gbps": min(late),
            "highest_kb": float(queue[highest]) / 1e3,
            "drained_us": float(times[highest + int(low.argmax())]) * 1e6 if low.any() else None,
        }
        curves = {
            "rate": rates,
            "queue": recording_numbers.thin(times, queue, 0.0, plan.duration_s, 1e-3),
        }
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            used, least, drained = (
                {
                    outcome: outcomes.mean(name, scheme=scheme, reaction=outcome)
                    for outcome in outcomes.values("reaction")
                }
                for name in ("utilisation", "least_gbps", "drained_us")
            )
            text = "each acknowledgement: least throughput (met: 5; trend: 50)"
            rows.append(
                WITHOUT_REFERENCE.row(
                    text, least.get(EACH_ACK), at_most(5, 50), "least", unit="Gbit/s"
                )
            )
            text = "each acknowledgement: utilisation over HPCC's (met: 0.8; trend: 0.95)"
            share = ratio(used.get(EACH_ACK), used.get(REFERENCE))
            rows.append(WITHOUT_REFERENCE.row(text, share, at_most(0.8, 0.95)))
            text = (
                "each round trip: time until the queue is drained over HPCC's (met: 1.2; trend: 1)"
            )
            share = ratio(drained.get(EACH_ROUND), drained.get(REFERENCE))
            rows.append(WITHOUT_REFERENCE.row(text, share, at_least(1.2, 1)))
            text = "HPCC: utilisation (met: 0.94; trend: 0.9)"
            rows.append(
                WITHOUT_REFERENCE.row(text, used.get(REFERENCE), at_least(0.94, 0.9), theory=0.95)
            )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def lines(name: str) -> list[Line]:
            return [
                curve(str(outcome), *outcomes.where(reaction=outcome)[0].curves[name])
                for outcome in outcomes.values("reaction")
            ]

        return [
            Chart("Fig. 13a", "Time (ms)", "Gbit/s", lines("rate")),
            Chart("Fig. 13b", "Time (ms)", "Queue (KB)", lines("queue")),
        ]


class ByWAi(Experiment):
    name = "hpcc-fig14"
    title = "W_AI by the number of flows"
    source = "5.4, Fig. 14"
    schemes = (HPCC,)
    swept: Mapping[str, Sequence[float]] = {"w_ai": W_AI}
    about = (
        "The 16 flows of Fig. 13 for 10 ms, with W_AI from 25 to 300 bytes: 150 bytes are what the "
        "rule of 3.3 allows 16 flows, 25 are for 100. The queue is read each microsecond, from 200 "
        "round trips on."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return _plan(self.name, scheme, seed, float(values["w_ai"] or _W_AI), 10e-3, 1e-6)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        port, from_s = str(plan.bottleneck), 200 * T_S
        times, queue = recording.series.get(port, "waiting_bytes")
        late = queue[times >= from_s] / 1e3
        numbers = {f"p{q}_kb": recording_numbers.percentile(late, q) for q in (50, 95, 99)}
        rates = [
            recording_numbers.goodput_bps(recording, flow.entity, from_s, plan.duration_s)
            for flow in recording.flows
        ]
        sent = recording.series.get(port, "transmitted_bytes")
        used = utilisation(*sent, plan.capacity_bps, from_s, plan.duration_s)
        return Outcome(run.keys, {**numbers, "utilisation": used, "jain": jain(rates)})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for w_ai in W_AI:
                queue = outcomes.mean("p95_kb", scheme=scheme, w_ai=w_ai)
                within = w_ai <= 150
                words = "met: 4 KB; trend: 8" if within else "met: 16 KB; trend: 32"
                text = f"W_AI = {w_ai:g} bytes: queue of 95% of the time at most ({words})"
                rule = at_most(4, 8) if within else at_most(16, 32)
                rows.append(BY_W_AI.row(text, queue, rule, "within" if within else "above"))
            low, high = (outcomes.mean("jain", scheme=scheme, w_ai=w_ai) for w_ai in (25.0, 150.0))
            text = "Jain's index with 150 bytes over that with 25 (met: 1 and more)"
            rows.append(BY_W_AI.row(text, ratio(high, low), at_least(1), unit=""))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = [outcomes.line(f"{q}%", "w_ai", f"p{q}_kb", "") for q in (50, 95, 99)]
        return [Chart("Queue by W_AI", "W_AI (bytes)", "KB", lines)]
