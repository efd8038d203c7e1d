"""What one sees in a run of the dumbbell, in words that its own figures fill."""

from __future__ import annotations

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.parameters import format_value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import (
    Steady,
    capacity_reached,
    drained,
    draining_rate,
    initial_rate,
    queue_swing,
    rate_swing,
)
from pcn.experiments.define import theory
from pcn.experiments.papers.pcn.claims import CAPACITY, DRAINED, PCN, PFC
from pcn.hosts.algorithms import find_scheme

_MARKING = {
    "dcqcn": (
        "A port marks by RED: the more packets of its class one leaves behind, the more likely."
    ),
    "qcn": (
        "A port changes no packet: it samples some and may send their sources a message. Those "
        "count here."
    ),
    "pcn": (
        "A port marks a packet that found another of its class waiting there, unless a pause held "
        "it up."
    ),
    "pcn_time": (
        "A port marks a packet that found others waiting, unless it began to wait before a pause "
        "ended."
    ),
}
"""By program; a user's program has a generic text."""
_AS_THEORY = 0.95
"""From this share of theory's figure on a run counts as having it."""


def about(plan: Plan) -> list[tuple[str, str]]:
    """Returns (figure that it belongs to, paragraph), whatever the scheme."""
    return [*_setting(plan), *_checks(plan)]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    """Returns (figure that it belongs to, paragraph)."""
    return [
        *_rates(plan, recording, steady),
        *_queue(plan, recording, steady),
        *_pause(plan, recording, steady),
        *_marked(plan, recording),
    ]


def _setting(plan: Plan) -> list[tuple[str, str]]:
    senders = len({flow.src for flow in plan.topology.flows})
    rate = format_value("rate", plan.capacity_bps)
    text = (
        f"{senders} hosts send over one link of {rate} from {plan.bottleneck.node} to "
        f"{plan.topology.peer(plan.bottleneck.node, plan.bottleneck.port).node}; the first of them "
        f"has two flows, {len(plan.topology.flows)} flows in all. Every NIC and link runs at "
        f"{rate}, so at the start {senders} times as much arrives as can leave. A fair share is "
        f"{format_value('rate', plan.capacity_bps / len(plan.topology.flows))} a flow. Each hop "
        "runs the compiled P4 program. Dots mark the ends of the flows, in the colours of the "
        "plots."
    )
    return [("topology", text)]


def _rates(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    return _RATES.get(plan.scheme, _rates_by_search)(plan, recording, steady)


def _rates_by_pcn(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    capacity, w_min = plan.capacity_bps, plan.number("w_min")
    reached = capacity_reached(recording, plan.topology, capacity)
    target = theory.aggregate_after_decrease(capacity, w_min)
    first = (
        "Each sender starts at line rate. PCN's receivers measure what arrives and send that rate "
        "back, so that the senders need no search: the sum falls to what the bottleneck carries "
        f"{_ms(reached)} after the start. "
        if reached is not None
        else (
            "Each sender starts at line rate. In this run the sum of the rates never came down to "
            "the capacity. "
        )
    )
    first += (
        f"The paper has {CAPACITY[PCN]:g} ms on its testbed (4 RTT) and {CAPACITY['qcn']:g} ms for "
        f"QCN, {CAPACITY['dcqcn']:g} for DCQCN, {CAPACITY['timely']:g} for TIMELY. One loop is "
        "enough in theory; the first CNPs come back after an RTT and a CNP period, "
        f"{_ms(plan.topology.max_rtt_s() + plan.number('T'))}."
    )
    second = (
        "While packets wait, all are marked and the receivers request (1 - w_min) of their "
        f"receiving rate: by equation 8 the sum then stays at {target / 1e9:.3g} Gbit/s, a little "
        "below the capacity, and the queue drains. "
    )
    after = draining_rate(recording, plan.topology, plan.bottleneck, capacity)
    if after is not None:
        second += (
            f"In this run it is {after / 1e9:.3g} Gbit/s on average until the queue is drained"
        )
        second += (
            ": the first packet of a flow comes anywhere in its NP's period, so that the first "
            "RecRate counts a part of a period only, and Algorithm 1 keeps the minimum while the "
            "flow is marked. "
            if after < _AS_THEORY * target and plan.number("phases")
            else ". "
        )
    second += (
        "Once the queue is empty each flow climbs by a share w_min of the line rate, "
        f"{w_min * capacity / 1e9:.3g} Gbit/s, until packets wait again. That saw-tooth is the "
        "steady state: in the last third a flow's rate keeps within "
        f"{rate_swing(recording, steady) / 1e9:.3g} Gbit/s for 90% of the time (mean of the flows)."
    )
    return [("rates", first), ("rates", second)]


def _rates_without_control(
    plan: Plan, recording: Recording, steady: Steady
) -> list[tuple[str, str]]:
    return [
        (
            "rates",
            "Nothing sets a rate here: every flow may send at line rate all the time, and the sum "
            "of what the NICs could send stays at "
            f"{len({flow.src for flow in plan.topology.flows})} times the capacity. PFC alone "
            "holds the senders back.",
        )
    ]


def _rates_by_search(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    reached = capacity_reached(recording, plan.topology, plan.capacity_bps)
    paper = CAPACITY.paper.get(plan.scheme)
    text = "Each sender starts at line rate. "
    if paper:
        text += (
            "It gets no target rate: it lowers its rate while it is notified of congestion, by "
            "half at most each time, and raises it step by step when it isn't. "
        )
    text += (
        "In this run the sum of the rates never came down to the capacity. "
        if reached is None
        else (
            f"The sum of the rates first came down to the capacity {_ms(reached)} after the start. "
        )
    )
    settled = (
        f"In the paper it settled there after {paper:g} ms, with PCN"
        if paper
        else "With PCN the paper has it there"
    )
    return [("rates", f"{text}{settled} after {CAPACITY[PCN]:g} ms (7.1).")]


_RATES = {PCN: _rates_by_pcn, PFC: _rates_without_control}


def _queue(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    _, queue = recording.series.get(str(plan.bottleneck), "waiting_bytes")
    peak = float(np.max(queue)) if queue.size else 0.0
    empty = drained(recording, plan.bottleneck)
    text = (
        "The line-rate start fills the queue up to "
        f"{format_value('size', round(peak / 1e3) * 1e3)}. "
    )
    mean = f"{steady.queue_bytes_mean / 1e3:.0f} KB on average in the last third"
    if plan.scheme == PFC:
        return [("queue", f"{text}It stays long: {mean}, as XOFF allows.")]
    if plan.scheme != PCN:
        stated = DRAINED.paper.get(plan.scheme)
        paper = f": {stated:g} ms" if stated else ""
        text += (
            f"It is down to five packets after {_ms(empty)} (the paper's testbed{paper}, with PCN "
            f"{DRAINED[PCN]:g} ms), and holds {mean}."
        )
        return [("queue", text)]
    text += (
        (
            f"It is down to five packets after {_ms(empty)}; the paper's testbed needed "
            f"{DRAINED[PCN]:g} ms. "
        )
        if empty is not None
        else (
            "It was not drained to five packets within this run; the paper's testbed needed "
            f"{DRAINED[PCN]:g} ms. "
        )
    )
    return [
        ("queue", text + _drain(plan, recording, peak, empty)),
        ("queue", _steady_queue(plan, recording, steady)),
    ]


def _drain(plan: Plan, recording: Recording, peak_bytes: float, empty: float | None) -> str:
    """Returns how long the queue of the start lasts, by appendix A.2.1 and by what was sent."""
    capacity, period = plan.capacity_bps, plan.number("T")
    loops = theory.loops_to_drain(initial_rate(plan.topology), capacity, plan.number("w_min"))
    text = (
        "Drained at exactly w_min of the capacity, as appendix A.2.1 has it, it would last "
        f"{loops} loops, {_ms(loops * period)}. "
    )
    after = draining_rate(recording, plan.topology, plan.bottleneck, capacity)
    if (
        after is not None
        and empty is not None
        and empty < _AS_THEORY * loops * period
        and after < capacity
    ):
        left = peak_bytes * 8 / (capacity - after)
        text += (
            f"The sum was {after / 1e9:.3g} Gbit/s here (see above), and with what that leaves of "
            f"the capacity {peak_bytes / 1e3:.0f} KB are gone in {_ms(left)}."
        )
    return text


def _steady_queue(plan: Plan, recording: Recording, steady: Steady) -> str:
    flows, w_min, period = len(recording.flows), plan.number("w_min"), plan.number("T")
    peaks = theory.queue_oscillation(flows, w_min, plan.capacity_bps, period)
    swing = queue_swing(recording, plan.bottleneck, steady)
    delay = format_value("time", steady.queue_bytes_mean * 8 / plan.capacity_bps)
    text = (
        f"In the last third (shaded) the queue holds {steady.queue_bytes_mean / 1e3:.1f} KB on "
        f"average ({steady.queue_bytes_mean / plan.frame_bytes:.0f} packets, {delay} of delay), "
        f"and keeps within {swing / 1e3:.0f} KB for 90% of the time. Equation 15 gives peaks of "
        f"{peaks / 1e3:.1f} KB for flows whose CNPs come in step and without delay"
    )
    if swing <= peaks / _AS_THEORY:
        return f"{text}."
    phases = (
        "each flow's periods have a separate phase"
        if plan.number("phases")
        else "all periods are in step"
    )
    return (
        f"{text}; here {phases}, and a CNP's content is a period and an RTT old, so that several "
        "increases come before the first decrease is felt."
    )


def _pause(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    total = sum(link.pause for link in recording.links.values())
    if total == 0:
        return [
            (
                "pause",
                (
                    "No switch had to send a PAUSE: the queue of the start stayed below XOFF on "
                    "every ingress port."
                ),
            )
        ]
    by_link = ", ".join(
        f"{name.replace('->', ' to ')} {link.pause}"
        for name, link in recording.links.items()
        if link.pause
    )
    last = max(
        (_last_change(*recording.series.get(name, "pause")) for name in recording.links),
        default=0.0,
    )
    text = (
        f"Switches sent {total:,} PAUSE frames ({by_link}), refreshes included; XOFF is "
        f"{format_value('size', plan.number('xoff'))} for each ingress "
        f"port and class. "
    )
    text += (
        (
            f"The last one came {_ms(last)} after the start, none in the last third: the rest is "
            "the scheme's work."
        )
        if steady.pause == 0
        else f"{steady.pause:,} of them fell into the last third."
    )
    return [("pause", text)]


def _marked(plan: Plan, recording: Recording) -> list[tuple[str, str]]:
    program = find_scheme(plan.scheme).program
    rule = _MARKING.get(program, f"A port marks by the program {program}.")
    shares = [
        f"{name} {port.marked / port.transmitted:.1%}"
        for name, port in recording.ports.items()
        if port.transmitted
    ]
    return [
        (
            "marked",
            f"{rule} Only the bottleneck {plan.bottleneck} "
            "is congested, so only it should mark for long. Marked, of what each port transmitted: "
            f"{', '.join(shares)}.",
        )
    ]


def _checks(plan: Plan) -> list[tuple[str, str]]:
    text = (
        "Verdicts are computed from this run. Met: within the band that the row names. Trend: "
        "outside it, yet better than the next scheme of the paper, or within a factor of two of "
        "the theory. Where it is known why a run is off, the row links to that. Claim numbers are "
        "those of docs/claims.md."
    )
    return [("checks", text)]


def _last_change(times: series_math.Array, totals: series_math.Array) -> float:
    changed = np.flatnonzero(np.diff(totals) > 0)
    return float(times[changed[-1] + 1]) if changed.size else 0.0


def _ms(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds * 1e3:.2g} ms"
