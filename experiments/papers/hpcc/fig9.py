"""Fig. 9: four small loads on the paper's testbed, a rack of 25 Gbit/s."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array, counter_at, jain
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most, between, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.hpcc.claims import DCQCN, FAIR, HPCC, MICE, REACTS, RECOVERS
from pcn.hosts.wire import ack_bytes
from pcn.topologies.model import Endpoint, FlowSpec
from pcn.topologies.star import star

LINE_BPS, DELAY_S = 25e9, 1.15e-6
RTT_S = 5.4e-6
"""Of the rack, with a packet and its acknowledgement (5.1)."""
_BACK_S = 2 * (DELAY_S + ack_bytes() * 8 / LINE_BPS)
FIELDS: Mapping[str, Mapping[str, float]] = {
    HPCC: {"base_rtt_s": 9e-6, "w_ai_bytes": 80},
    DCQCN: {"k_min_bytes": 100e3, "k_max_bytes": 400e3, "r_ai_bps": 5e6, "r_hai_bps": 50e6},
}
"""5.1; of DCQCN what run.py sets at 25 Gbit/s."""
_JOIN_S, _STEP_S, _MOUSE_S = 1e-3, 20e-3, 50e-6
_EVERY_S = 1e-6
_RECOVERED, _BIN_S = 0.95, 20e-6
WHY = "schemes.md#windows-and-acknowledgements-examplesaimd_window"
LONG_SHORT, INCAST, MOUSE, SHARE = "long-short", "in-cast", "mice", "fair share"


def _long_short() -> tuple[FlowSpec, ...]:
    return FlowSpec(1, "h0", "r0", duration_s=5e-3), FlowSpec(2, "h1", "r0", _JOIN_S, 1_000_000)


def _incast() -> tuple[FlowSpec, ...]:
    joining = (FlowSpec(n + 1, f"h{n}", "r0", _JOIN_S, duration_s=2e-3) for n in range(1, 8))
    return FlowSpec(1, "h0", "r0", duration_s=3e-3), *joining


def _mice() -> tuple[FlowSpec, ...]:
    elephants = (FlowSpec(n + 1, f"h{n}", "r0", duration_s=60e-3) for n in range(2))
    starts = np.arange(30e-3, 60e-3 - 4 * _MOUSE_S, _MOUSE_S)
    small = (
        FlowSpec(n, "h2", "r0", float(at), PAYLOAD_BYTES, group=MOUSE)
        for n, at in enumerate(starts, start=3)
    )
    return *elephants, *small


def _share() -> tuple[FlowSpec, ...]:
    return tuple(
        FlowSpec(n + 1, f"h{n}", "r0", n * _STEP_S, duration_s=4 * _STEP_S) for n in range(4)
    )


@dataclass(frozen=True)
class Load:
    senders: int
    ends_s: float
    flows: Callable[[], tuple[FlowSpec, ...]]
    every_s: float = _EVERY_S


LOADS: Mapping[str, Load] = {
    LONG_SHORT: Load(2, 5e-3, _long_short, 5e-6),
    INCAST: Load(8, 3e-3, _incast),
    MOUSE: Load(3, 60e-3, _mice, 5e-6),
    SHARE: Load(4, 7 * _STEP_S, _share, 0.2e-3),
}


class Fig9(Experiment):
    name = "hpcc-fig9"
    title = "Four small loads on a testbed"
    source = "5.2, Fig. 9"
    schemes = (HPCC, DCQCN)
    about = (
        "A rack of the paper's testbed: hosts of 25 Gbit/s around a switch, round trips of 5.4 us, "
        "T = 9 us, W_AI = 80 bytes, DCQCN's K 100 and 400 KB. Long-short: a flow of 1 MB joins a "
        "long one after 1 ms, for 5 ms; recovered is the end of the last 20 us below 95% of the "
        "rate before it. In-cast: seven flows join a long one. Mice: 1 KB each 50 us beside two "
        "elephants, from 30 ms on; their latency is that of a packet and its acknowledgement, "
        "which meets no queue. Fair share: four flows join and leave, 20 ms after each other; the "
        "paper has a second."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for number, load in enumerate(LOADS):
            for scheme in schemes:
                yield Run({"load": load, "scheme": scheme, "seed": 1}, scheme, 1, {"load": number})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        load = list(LOADS.values())[round(values["load"] or 0)]
        topology = star(load.senders, 1, LINE_BPS, DELAY_S, xoff_bytes=50e6)
        topology = replace(topology, flows=load.flows())
        queue, fields = Endpoint("s0", load.senders + 1), FIELDS.get(scheme, {})
        return plan_of(
            self.name, scheme, seed, topology, load.ends_s, fields, [queue], load.every_s
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        times, queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
        of = {LONG_SHORT: _recovery, INCAST: _reaction, MOUSE: _latency, SHARE: _fairness}[
            str(run.keys["load"])
        ]
        curves = {"queue": recording_numbers.thin(times, queue, 0.0, plan.duration_s, 1e-3)}
        for flow in recording.flows:
            if not flow.group:
                series = recording.series.get(flow.entity, "received_bytes")
                curves[flow.entity] = recording_numbers.binned(
                    *series, 0.0, plan.duration_s, 8e-9, 100
                )
        return Outcome(run.keys, of(recording, times, queue), curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            hpcc = scheme == HPCC
            name = label(scheme)
            after = outcomes.mean("recovered_us", load=LONG_SHORT, scheme=scheme)
            words = (
                "met: 10 round trips, 54 us; trend: 350"
                if hpcc
                else "met: 2 ms and more; trend: 350 us"
            )
            rule = at_most(54, 350 * RTT_S * 1e6) if hpcc else at_least(2000, 350)
            text = f"{name}: from the short flow's end until the long one has its rate ({words})"
            rows.append(RECOVERS.row(text, after, rule, scheme))
            if hpcc:
                rounds = outcomes.mean("highest_rtts", load=INCAST, scheme=scheme)
                text = (
                    f"{name}: round trips from the start until the queue is the highest (met: 2.2; "
                    "trend: 4)"
                )
                # The first windows of 9 us take 1.7 round trips to leave, and half of one to come.
                rows.append(REACTS.row(text, rounds, at_most(2.2, 4), scheme, unit="round trips"))
            else:
                most = outcomes.mean("highest_kb", load=INCAST, scheme=scheme)
                text = f"{name}: the queue's height (met: within a fifth; trend: a factor of two)"
                rows.append(REACTS.row(text, most, near(550, 0.2), scheme, unit="KB"))
            low, half = (outcomes.mean(f"p{q}_us", load=MOUSE, scheme=scheme) for q in (5, 50))
            if hpcc:
                text = (
                    f"{name}: median latency of mice (met: within 1 us of the empty network's; "
                    "trend: 2 us)"
                )
                rows.append(MICE.row(text, half, between(5, 6.4, 4, 7.4), scheme))
            else:
                for phrase, value in (("that 95% of mice exceed", low), ("of mice, median", half)):
                    text = f"{name}: latency {phrase} (met: 35 us; trend: 17)"
                    rows.append(MICE.row(text, value, at_least(35, 17), scheme, known=WHY))
            index = outcomes.mean("jain", load=SHARE, scheme=scheme)
            text = (
                f"{name}: least of Jain's index in the second half of a step (met: 0.95; trend: "
                "0.9)"
            )
            rows.append(FAIR.row(text, index, at_least(0.95, 0.9)))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        rates = [
            curve(
                label(str(outcome.keys["scheme"])),
                *outcome.curves["flow 1"],
                str(outcome.keys["scheme"]),
            )
            for outcome in outcomes.where(load=LONG_SHORT)
        ]
        charts = [Chart("Long-short: the long flow", "Time (ms)", "Gbit/s", rates)]
        for load in (INCAST, MOUSE):
            lines = [
                curve(
                    label(str(outcome.keys["scheme"])),
                    *outcome.curves["queue"],
                    str(outcome.keys["scheme"]),
                )
                for outcome in outcomes.where(load=load)
            ]
            charts.append(Chart(f"{load.capitalize()}: queue", "Time (ms)", "KB", lines))
        return charts


def _recovery(recording: Recording, times: Array, queue: Array) -> dict[str, float | None]:
    long, short = recording.flows
    if short.fct_s is None:
        return {"recovered_us": None}
    series, end_s = recording.series.get(long.entity, "received_bytes"), short.start_s + short.fct_s
    before = recording_numbers.goodput_bps(recording, long.entity, _JOIN_S / 2, _JOIN_S)
    edges = np.arange(end_s, recording.duration_s, _BIN_S)
    low = np.flatnonzero(np.diff(counter_at(*series, edges)) * 8 / _BIN_S < _RECOVERED * before)
    return {"recovered_us": (float(low[-1]) + 1) * _BIN_S * 1e6 if low.size else 0.0}


def _reaction(recording: Recording, times: Array, queue: Array) -> dict[str, float | None]:
    if queue.size == 0:
        return {"highest_kb": None, "highest_rtts": None, "drained_us": None}
    highest = int(queue.argmax())
    low = queue[highest:] <= len(recording.flows) * (PAYLOAD_BYTES + HEADER_BYTES)
    drained_s = float(times[highest + int(low.argmax())]) - _JOIN_S if low.any() else None
    return {
        "highest_kb": float(queue[highest]) / 1e3,
        "highest_rtts": (float(times[highest]) - _JOIN_S) / RTT_S,
        "drained_us": None if drained_s is None else drained_s * 1e6,
    }


def _latency(recording: Recording, times: Array, queue: Array) -> dict[str, float | None]:
    mice = recording_numbers.completion_times_s(
        flow for flow in recording.flows if flow.group == MOUSE
    )
    from_s = min(flow.start_s for flow in recording.flows if flow.group == MOUSE)
    late = queue[times >= from_s]
    percentiles = {
        f"p{q}_us": recording_numbers.percentile((mice + _BACK_S) * 1e6, q) for q in (5, 50, 95)
    }
    return percentiles | {
        f"queue_p{q}_kb": recording_numbers.percentile(late / 1e3, q) for q in (50, 95)
    }


def _fairness(recording: Recording, times: Array, queue: Array) -> dict[str, float | None]:
    least = 1.0
    for step in range(7):
        span = ((step + 0.5) * _STEP_S, (step + 1) * _STEP_S)
        here = recording.flows[max(0, step - 3) : step + 1]
        least = min(
            least,
            jain([recording_numbers.goodput_bps(recording, flow.entity, *span) for flow in here]),
        )
    return {"jain": least}
