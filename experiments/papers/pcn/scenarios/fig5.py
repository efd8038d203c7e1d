"""How fast may a congested flow send without PAUSE (4.2, Fig. 5)? Rate limiters, PFC alone; F1
comes down in steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete, format_value
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define import charts
from pcn.experiments.define.charts import Chart, Line, View
from pcn.experiments.define.checks import Check, Verdict, at_least, at_most, clean, near
from pcn.experiments.define.experiment import Experiment, Headline, Run, RunPage
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.papers.pcn.claims import PFC, SHARE
from pcn.experiments.papers.pcn.scenarios.victim_charts import compact_queues
from pcn.topologies.compact import LONG_SENDERS, P0_S0, P2_S1, compact
from pcn.topologies.model import FlowSpec, TopologyError

F1 = "F1"
TRUNK = "s1->s0"
_F1_IDS = 100
"""F1's steps are the flows 100, 101, ..."""
_BIN_S = 0.5e-3
_TAIL_S = 2 * _BIN_S
"""The run goes on after its last point: agents' counts come now and then, and the last ones span
its end."""
_K = (800.0, 2400.0)
_STALL_S = 0.25e-3
"""A quarter of the time over which a point is measured."""
_RATE_X = "F1's limiter (Gbit/s)"


_PARAMETERS = (
    Parameter("bursting", "count", 3, "hosts that send to R1 at line rate all the time", 2, 32),
    Parameter("rate", "rate", 40e9, "rate of every link", 1e6, 1e12),
    Parameter("delay", "time", 5e-6, "one-way delay of every link", 0, 1),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    Parameter("points", "count", 10, "rates of F1, from half the rate to 0", 3, 99),
    Parameter("step", "time", 6.5e-3, "how long each lasts", 1e-4, 1),
    Parameter(
        "gap", "time", 1e-3, "its begin, in which F1 is silent: what it sent before drains", 0, 1
    ),
    Parameter("window", "time", 1e-3, "its end, over which is measured", 1e-4, 1),
    Parameter(
        "xoff",
        "size",
        512_000,
        "PFC sends PAUSE above this many bytes per ingress port",
        5_000,
        1e9,
    ),
)


@dataclass(frozen=True)
class Point:
    """One step, at its end. Rates in bit/s of frames; PAUSE frames a second."""

    limit_bps: float
    f1_bps: float
    f0_bps: float
    pause_rate: float


def share_bps(plan: Plan) -> float:
    """Returns F1's share of R1's link, in frames."""
    return plan.number("rate") / (plan.number("bursting") + 1)


def points(plan: Plan, recording: Recording) -> list[Point]:
    """Returns one a step, the fastest first."""
    series, step_s = recording.series, plan.number("step")
    frame_bits = plan.frame_bytes * 8
    steps = []
    for index, limit in enumerate(
        np.linspace(plan.number("rate") / 2, 0, round(plan.number("points")))
    ):
        end = (index + 1) * step_s
        span = (end - plan.number("window"), end)
        f1, f0 = (
            series_math.counter_rate(*series.get(flow, "received_packets"), *span)
            for flow in (F1, "flow 0")
        )
        pause = series_math.counter_rate(*series.get(TRUNK, "pause"), *span)
        steps.append(
            Point(
                float(limit),
                f1 * frame_bits,
                f0 * frame_bits,
                pause if pause > 0.5 / _BIN_S else 0.0,
            )
        )
    return steps


def _limits(steps: Sequence[Point]) -> Array:
    """Returns F1's limiter at each of the points, in Gbit/s."""
    return np.array([point.limit_bps * 1e-9 for point in steps])


def _by_limit(label: str, colour: str, steps: Sequence[Point], values: Sequence[float]) -> Line:
    return Line(label, _limits(steps)[::-1], np.array(values[::-1]), colour)


def _span(steps: Sequence[Point]) -> View:
    return View("by F1's limiter", 0.0, float(_limits(steps).max()))


def received(plan: Plan, recording: Recording) -> Chart:
    steps, share = points(plan, recording), share_bps(plan) / 1e9
    limits, span = _limits(steps), _span(steps)
    return Chart(
        name="received",
        title="What is received",
        alt="receiving rate of F0 and F1 by the rate that F1's limiter allows",
        x_label=_RATE_X,
        y_label="Received, frames (Gbit/s)",
        lines=(
            _by_limit("F0", "flow0", steps, [point.f0_bps * 1e-9 for point in steps]),
            _by_limit("F1", "flow1", steps, [point.f1_bps * 1e-9 for point in steps]),
            Line(
                "what F1 may send", limits[::-1], limits[::-1], "muted", stroke="dotted", width=1.2
            ),
            Line(
                f"its share, {share:g}",
                np.array([0.0, span.end]),
                np.array([share, share]),
                "accent",
                stroke="dashed",
                width=1.2,
            ),
        ),
        views=(span,),
    )


def pauses(plan: Plan, recording: Recording) -> Chart:
    steps = points(plan, recording)
    return Chart(
        name="pauses",
        title="PAUSE from S1 to S0",
        alt="PAUSE frames a millisecond from S1 to S0 by the rate that F1's limiter allows",
        x_label=_RATE_X,
        y_label="PAUSE frames (1/ms)",
        lines=(
            _by_limit("S1 to S0", "other3", steps, [point.pause_rate * 1e-3 for point in steps]),
        ),
        views=(_span(steps),),
    )


def steps(plan: Plan, recording: Recording) -> Chart:
    end_s, limits = plan.duration_s, _limits(points(plan, recording))
    frame_bits = plan.frame_bytes * 8e-9
    edges: Array = np.array([index * plan.number("step") * 1e3 for index in range(limits.size)])
    lines = [
        charts.rate(
            label,
            colour,
            recording.series.get(name, "received_packets"),
            _BIN_S,
            (0.0, end_s),
            frame_bits,
        )
        for name, label, colour in (("flow 0", "F0", "flow0"), (F1, "F1", "flow1"))
    ]
    return Chart(
        name="steps",
        title="Step by step",
        alt="receiving rate of F0 and F1 and F1's limiter over time",
        x_label=charts.TIME,
        y_label="Received, frames (Gbit/s)",
        lines=(*lines, Line("F1's limiter", edges, limits, "muted", "steps", "dashed", 1.2)),
        views=(View("over time", 0.0, end_s * 1e3),),
    )


def queues(plan: Plan, recording: Recording) -> Chart:
    return compact_queues(plan, recording)


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    steps = points(plan, recording)
    quiet = max((point.limit_bps for point in steps if point.pause_rate == 0), default=0.0)
    return [
        Headline(
            "F1 receives at most (frames)",
            f"{max(point.f1_bps for point in steps) / 1e9:.3g} Gbit/s",
        ),
        Headline(
            "fastest F1 without PAUSE",
            f"{quiet / 1e9:.3g} Gbit/s",
            f"paper: {SHARE['payload']:g} of payload",
        ),
        Headline("F0 where F1 is fastest", f"{steps[0].f0_bps / 1e9:.3g} Gbit/s"),
    ]


def about(plan: Plan) -> list[tuple[str, str]]:
    share = format_value("rate", share_bps(plan))
    return [
        (
            "topology",
            f"{plan.values['bursting']} hosts send to R1 at line rate all the time. F0, from H0 to "
            f"R0, is limited to {format_value('rate', plan.number('rate') / 2)}; F1, from H1 to "
            "R1, comes down from there to 0 in steps. No algorithm reacts to anything: there are "
            "rate limiters and PFC.",
        ),
        (
            "received",
            f"R1's link is shared by ingress port, {share} each: that is all that R1 gets of F1. "
            "If F1 sends more, S1 has to pause S0, and F0 goes with it. If F1 sends what is "
            "received of it, or less, nothing is paused, however congested R1's port is. That is "
            f"why PCN sends the receiving rate to a sender. (The paper's {SHARE['payload']:g} "
            "Gbit/s are payload; the rates here are of frames.)",
        ),
        (
            "checks",
            "Verdicts are computed from the run. Claim numbers are those of docs/claims.md.",
        ),
    ]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    steps = points(plan, recording)
    gap, window = (format_value("time", plan.number(name)) for name in ("gap", "window"))
    ends = [
        (faster, slower)
        for faster, slower in pairwise(steps)
        if faster.pause_rate > 0 and slower.pause_rate == 0
    ]
    where = (
        f"From {ends[0][0].limit_bps / 1e9:.3g} to {ends[0][1].limit_bps / 1e9:.3g} Gbit/s of F1 "
        "the PAUSEs from S1 to S0 end"
        if ends
        else "The PAUSEs from S1 to S0 don't end from one step to the next in this run"
    )
    return [
        (
            "pauses",
            f"{where}. Measured over the last {window} of each step; at its begin F1 rests for "
            f"{gap}, or what waits from the step before would count. A little above the share S1's "
            "queue grows slowly, so that it takes a part of the step until XOFF is reached.",
        )
    ]


PAGE = RunPage((received, pauses, steps, queues), headlines, about, story)

_NUMBERS = {
    "limit_bps": "rate of F1's limiter",
    "f1_bps": "F1's received rate",
    "f0_bps": "F0's received rate",
    "pause_rate": "PAUSE frames a second from S1 to S0",
}
_MOST_STEPS = 100
"""Of those that have a name for people."""


class Fig5(Experiment):
    """Section 4.2's experiment."""

    name = "fig5"
    title = "How fast a congested flow may send without PAUSE"
    source = "PCN (NSDI'20), section 4.2 and Fig. 5"
    schemes = (PFC,)
    page = PAGE
    number_texts: Mapping[str, NumberText] = {
        f"{name}_{index}": NumberText(f"{text}, step {index + 1}")
        for name, text in _NUMBERS.items()
        for index in range(_MOST_STEPS)
    }

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        return _PARAMETERS

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        if scheme not in self.schemes:
            raise ExperimentError(
                f"{self.name} has rate limiters and PFC alone: leave --scheme out, or give pfc"
            )
        filled = complete(values, _PARAMETERS)
        rate, step_s, gap_s, window_s = (
            float(filled[name] or 0) for name in ("rate", "step", "gap", "window")
        )
        if gap_s + window_s >= step_s:
            raise ExperimentError(
                f"gap={gap_s:g} and window={window_s:g} don't fit into step={step_s:g}"
            )
        payload, bursting = round(filled["payload"] or 0), round(filled["bursting"] or 0)
        try:
            topology = compact(
                senders=LONG_SENDERS + bursting,
                rate_bps=rate,
                delay_s=float(filled["delay"] or 0),
                xoff_bytes=float(filled["xoff"] or 0),
                mtu_bytes=payload + HEADER_BYTES,
            )
        except TopologyError as error:
            raise ExperimentError(str(error)) from error
        limits = [float(limit) for limit in np.linspace(rate / 2, 0, round(filled["points"] or 0))]
        f0 = dataclasses.replace(topology.flows[0], rate_bps=rate / 2)
        f1 = tuple(
            FlowSpec(
                _F1_IDS + index,
                "h1",
                "r1",
                index * step_s + gap_s,
                rate_bps=limit,
                duration_s=step_s - gap_s,
                group=F1,
            )
            for index, limit in enumerate(limits)
            if limit > 0
        )
        others = tuple(FlowSpec(index, f"h{index}", "r1") for index in range(2, 2 + bursting))
        return Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            values=filled,
            scheme_parameters={},
            topology=dataclasses.replace(topology, flows=(f0, *f1, *others)),
            bottleneck=P0_S0,
            duration_s=len(limits) * step_s + _TAIL_S,
            payload_bytes=payload,
            sampling=Sampling((P2_S1, P0_S0), counters_s=_BIN_S / 2, flows_s=_BIN_S / 2),
            live=LiveLimits(1.75 * rate, *_K, _STALL_S),
        )

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        steps, share, rate = points(plan, recording), share_bps(plan), plan.number("rate")
        payload = plan.payload_bytes / plan.frame_bytes
        above = [point.pause_rate > 0 for point in steps if point.limit_bps > share]
        below = [point for point in steps if point.limit_bps <= share]
        most = max(point.f1_bps for point in steps) * payload / 1e9
        quiet = max((point.limit_bps for point in steps if point.pause_rate == 0), default=None)
        step = steps[0].limit_bps - steps[1].limit_bps

        def next_below(measured: float | None) -> Verdict:
            if quiet is None:
                return "not comparable"
            return "met" if share - step <= quiet <= share else "not met"

        expected = share * payload / 1e9
        most_text = "F1 receives at most, payload (met: within 5% of theory)"
        quiet_text = (
            "fastest F1 without PAUSE from S1 to S0 (theory: frames; met: the next step below it)"
        )
        above_text = "steps above that with PAUSE from S1 to S0, of all"
        below_text = "F0 where F1 is below, least, of its 20 Gbit/s (met: 98%)"
        hurt_text = "F0 at F1's fastest, of its 20 Gbit/s: damaged (met: 75% and less)"
        worst, hurt = (
            min(point.f0_bps for point in below) / (rate / 2),
            steps[0].f0_bps / (rate / 2),
        )
        quiet_gbps = None if quiet is None else quiet / 1e9
        return [
            *clean(recording),
            SHARE.row(most_text, most, near(expected, 0.05), "payload", theory=expected),
            SHARE.row(quiet_text, quiet_gbps, next_below, "payload", theory=share / 1e9),
            SHARE.row(
                above_text, sum(above) / len(above), at_least(1), "steps above", theory=1, unit=""
            ),
            SHARE.row(below_text, worst, at_least(0.98), "f0 below", theory=1, unit=""),
            SHARE.row(hurt_text, hurt, at_most(0.75), unit=""),
        ]

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(
            run.keys,
            {
                f"{name}_{index}": value
                for index, point in enumerate(points(plan, recording))
                for name, value in dataclasses.asdict(point).items()
            },
        )
