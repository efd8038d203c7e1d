"""What a run of the victim scenario comes to: the tree of pauses, who lost what, and how long it
took to mend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.recording_numbers import completion_times_s, mean
from pcn.experiments.papers.pcn.scenarios.victim_setting import (
    BURSTS,
    attainable_bps,
    burst_s,
    fair_bps,
)
from pcn.topologies.compact import P0_S0

TRUNK = "s1->s0"
TO_LONG_SENDERS = ("s0->h0", "s0->h1")
TREE = (TRUNK, *TO_LONG_SENDERS)
"""PAUSE frames over these links are the congestion tree: from S1, its root, to S0 and on to H0 and
H1."""
BIN_S = 0.1e-3
"""Rates are of bins this long: what the paper calls instantaneous is not finer."""
SMOOTH_S = 1e-3
RECOVERED = 0.95
"""Of the fair share, over SMOOTH_S: the flow has its share again; of the link's rate: the link is
full again."""
FIT_FROM, FIT_TO = 0.9, 0.15
"""The way back to fairness is fitted between these shares of the largest distance from it."""

TEXTS = {
    "pause_trunk": NumberText("PAUSE frames from S1 to S0", "less"),
    "pause_senders": NumberText("PAUSE frames to H0 and H1", "less"),
    "tree_s": NumberText("time with PAUSE to S0, H0 or H1", "less"),
    "spread_s": NumberText("time with PAUSE to H0 or H1", "less"),
    "f0_burst_bps": NumberText("F0's rate during the bursts", "more"),
    "f0_last_third_bps": NumberText("F0's rate in the last third of the bursts"),
    "f1_burst_bps": NumberText("F1's rate during the bursts", "more"),
    "f0_lost_burst_bytes": NumberText(
        "what F0 lost during the bursts, of the ideal or its limiter's rate"
    ),
    "f0_lost_bytes": NumberText("what F0 lost in all, of the ideal or its limiter's rate", "less"),
    "trunk_after": NumberText("used share of the link from S0 to S1 after the bursts"),
    "full_s": NumberText("time until the link from S0 to S1 is full again", "less"),
    "shared_s": NumberText("time until F0 and F1 have their fair shares again", "less"),
    "half_life_s": NumberText("half-life of the difference between F0's and F1's rates"),
    "jain_after": NumberText("fairness of F0 and F1 afterwards, Jain's index"),
    "burst_end_s": NumberText("end of the bursts' last flow"),
    "burst_fct_mean_s": NumberText("completion time of the bursts' flows, mean", "less"),
    "burst_fct_max_s": NumberText("completion time of the bursts' flows, last", "less"),
    "f0_marked_burst": NumberText("marked share of F0's packets during the bursts"),
    "f1_marked_burst": NumberText("marked share of F1's packets during the bursts"),
    "f0_rate_before_bps": NumberText("F0's allowed rate before the bursts"),
    "f0_rate_least_bps": NumberText("F0's least allowed rate after that"),
}
"""What these numbers are called."""


@dataclass(frozen=True)
class Measures:
    """Of one run, from time 0 on. Rates are of frames, as PAUSE and links count them; None: there
    is no such thing."""

    pause_trunk: int
    pause_senders: int
    tree_s: float
    spread_s: float
    f0_burst_bps: float
    f0_last_third_bps: float
    f1_burst_bps: float
    f0_lost_burst_bytes: float
    f0_lost_bytes: float
    trunk_after: float
    full_s: float | None
    shared_s: float | None
    half_life_s: float | None
    jain_after: float
    burst_end_s: float | None
    burst_fct_mean_s: float | None
    burst_fct_max_s: float | None
    f0_marked_burst: float | None
    f1_marked_burst: float | None
    f0_rate_before_bps: float
    f0_rate_least_bps: float


def measure(plan: Plan, recording: Recording) -> Measures:
    burst, end = burst_s(plan), plan.duration_s
    series, fair, limit = recording.series, fair_bps(plan), plan.number("limit")
    f0, f1 = (received(plan, recording, entity) for entity in ("flow 0", "flow 1"))
    lost_burst = (attainable_bps(plan)[0] - _mean(f0, 0.0, burst)) * burst / 8
    fct = completion_times_s(flow for flow in recording.flows if flow.group == BURSTS)
    rates = [allowed(plan, recording, entity) for entity in ("flow 0", "flow 1")]
    least = series_math.step_at(*rates[0], np.arange(0.0, end - BIN_S, BIN_S / 4))
    sent = [_mean(flow, plan.steady_from_s, end) for flow in (f0, f1)]
    return Measures(
        pause_trunk=pauses(recording, (TRUNK,), end),
        pause_senders=pauses(recording, TO_LONG_SENDERS, end),
        tree_s=paused_s(plan, recording, TREE),
        spread_s=paused_s(plan, recording, TO_LONG_SENDERS),
        f0_burst_bps=_mean(f0, 0.0, burst),
        f0_last_third_bps=_mean(f0, burst * 2 / 3, burst),
        f1_burst_bps=_mean(f1, 0.0, burst),
        f0_lost_burst_bytes=lost_burst,
        f0_lost_bytes=lost_burst + (min(fair, limit) - _mean(f0, burst, end)) * (end - burst) / 8,
        trunk_after=series_math.utilisation(
            *series.get(str(P0_S0), "transmitted_bytes"), plan.number("rate"), burst, end
        ),
        full_s=_recovered([_sum(f0, f1)], RECOVERED * plan.number("rate"), end),
        shared_s=_recovered([f0, f1], RECOVERED * fair, end),
        half_life_s=_half_life(rates[0], rates[1], end),
        jain_after=series_math.jain(sent),
        burst_end_s=float(fct.max()) if fct.size else None,
        burst_fct_mean_s=mean(fct),
        burst_fct_max_s=float(fct.max()) if fct.size else None,
        f0_marked_burst=_marked(recording, "flow 0", burst),
        f1_marked_burst=_marked(recording, "flow 1", burst),
        f0_rate_before_bps=series_math.step_mean(*rates[0], max(plan.start_s, -SMOOTH_S), 0.0),
        f0_rate_least_bps=float(np.min(least)),
    )


def received(plan: Plan, recording: Recording, entity: str) -> tuple[Array, Array]:
    """Returns what has arrived of a flow, in bits of frames: a counter series."""
    times, packets = recording.series.get(entity, "received_packets")
    return times, packets * plan.frame_bytes * 8


def allowed(plan: Plan, recording: Recording, entity: str) -> tuple[Array, Array]:
    """Returns the rate that algorithm and limiter allow a long flow: a step series."""
    return series_math.capped(recording.series.get(entity, "rate_bps"), plan.number("limit"))


def paused_s(plan: Plan, recording: Recording, links: tuple[str, ...]) -> float:
    """Returns the time after 0, in bins, in which a PAUSE went over one of the links or held when
    they were read."""
    edges = np.arange(0.0, plan.duration_s + BIN_S / 2, BIN_S)
    held = np.zeros(edges.size - 1, dtype=bool)
    for link in links:
        sent = series_math.counter_at(*recording.series.get(link, "pause"), edges)
        xoff = series_math.step_at(*recording.series.get(link, "xoff"), edges[:-1])
        # a reading falls anywhere into a bin: half a frame tells on which side of the edge it was
        held |= (np.diff(sent) >= 0.5) | (xoff > 0)
    return float(np.count_nonzero(held) * BIN_S)


def pauses(recording: Recording, links: Sequence[str], end_s: float) -> int:
    """Returns how many PAUSE frames went over the links from time 0 to `end_s`."""
    span = np.array([0.0, end_s])
    counts = (series_math.counter_at(*recording.series.get(link, "pause"), span) for link in links)
    return round(sum(float(last - first) for first, last in counts))


def _mean(flow: tuple[Array, Array], start_s: float, end_s: float) -> float:
    return series_math.counter_rate(*flow, start_s, end_s)


def _marked(recording: Recording, entity: str, end_s: float) -> float | None:
    span = np.array([0.0, end_s])
    counts = (
        recording.series.get(entity, metric) for metric in ("marked_packets", "received_packets")
    )
    marked, packets = (
        float(np.diff(series_math.counter_at(*series, span))[0]) for series in counts
    )
    return marked / packets if packets else None


def _sum(f0: tuple[Array, Array], f1: tuple[Array, Array]) -> tuple[Array, Array]:
    times = np.union1d(f0[0], f1[0])
    return times, series_math.counter_at(*f0, times) + series_math.counter_at(*f1, times)


def _recovered(
    flows: Sequence[tuple[Array, Array]], least_bps: float, end_s: float
) -> float | None:
    """Returns from when on all flows had `least_bps` over SMOOTH_S again, after one had not. 0 if
    all always had it."""
    starts = np.arange(0.0, end_s - SMOOTH_S + BIN_S / 2, BIN_S)
    rates = [
        (series_math.counter_at(*flow, starts + SMOOTH_S) - series_math.counter_at(*flow, starts))
        / SMOOTH_S
        for flow in flows
    ]
    enough = np.min(rates, axis=0) >= least_bps
    if enough.all():
        return 0.0
    first = int(np.argmin(enough))
    return float(starts[first + int(np.argmax(enough[first:]))]) if enough[first:].any() else None


def _half_life(f0: tuple[Array, Array], f1: tuple[Array, Array], end_s: float) -> float | None:
    """Returns in which time half the difference between the rates that the algorithm sets goes,
    while it shrinks."""
    starts = np.arange(0.0, end_s - BIN_S, BIN_S)
    means = [
        np.array([series_math.step_mean(*flow, start, start + BIN_S) for start in starts])
        for flow in (f0, f1)
    ]
    apart = (means[0] - means[1]) / 2
    largest = float(apart.max())
    if largest <= 0:
        return None
    begin = int(np.flatnonzero(apart >= FIT_FROM * largest)[-1])
    small = np.flatnonzero(apart[begin:] <= FIT_TO * largest)
    if not small.size or small[0] < 3:
        return None
    part = slice(begin, begin + int(small[0]))
    slope = float(np.polyfit(starts[part], np.log(apart[part]), 1)[0])
    return math.log(0.5) / slope if slope < 0 else None
