"""Whether the live run and the virtual one of the same plan agree in the steady state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pcn.experiments.data.steady_state import mean_between
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, overlay
from pcn.experiments.define.checks import Check, Verdict, near
from pcn.experiments.results.judged_run import Result

TOLERANCE = 0.1
_FRAMES = 5
"""Queues that differ by no more agree, too: 10% of a queue of a few frames is none."""


def charts(runs: Sequence[Result]) -> tuple[Chart, ...]:
    """Returns a scheme's charts, with the runs of its clocks, where there are two, over each
    other."""
    first, *others = runs
    if not others:
        return first.charts
    (second,) = others
    return tuple(
        overlay((first.clock, below), (second.clock, above))
        for below in first.charts
        for above in second.charts
        if below.name == above.name
    )


def agreement(live: Result, virtual: Result) -> list[Check]:
    """Returns the live run's figures, measured, against the virtual one's, in theory's place: over
    the plan's last third; of flows that are recorded by groups alone, whose network is empty by
    then, their completion times."""
    return list(_rows(live, virtual))


@dataclass(frozen=True)
class _Figure:
    """`values` of both runs, in units of `scale`. Those that differ by no more than `slack` agree,
    too."""

    name: str
    unit: str
    scale: float
    values: tuple[float, float]
    slack: float = 0.0


def _rows(live: Result, virtual: Result) -> Iterator[Check]:
    figures = _steady(live, virtual) if live.steady.goodput_bps else _completion(live, virtual)
    for figure in figures:
        measured, expected = (value / figure.scale for value in figure.values)
        met = (
            f"met: within {TOLERANCE:.0%}"
            + (f" or {_FRAMES} frames" if figure.slack else "")
            + "; trend: within a factor of two"
        )
        close: Verdict = near(expected, TOLERANCE)(measured)
        verdict = "met" if abs(measured - expected) <= figure.slack / figure.scale else close
        text = f"{live.plan.scheme}: {figure.name}, live against virtual ({met})"
        yield Check("", text, None, expected, measured, figure.unit, verdict)


def _steady(*both: Result) -> Iterator[_Figure]:
    live, virtual = both
    slack = float(_FRAMES * live.plan.frame_bytes)
    yield _Figure(
        "sum of the sending rates, last third", "Gbit/s", 1e9, (_sending(live), _sending(virtual))
    )
    for name, unit, scale, attribute, allowed in (
        ("bottleneck utilisation", "", 1.0, "utilisation", 0.0),
        ("Jain's index of the goodputs", "", 1.0, "jain", 0.0),
        ("mean queue", "KB", 1e3, "queue_bytes_mean", slack),
    ):
        values = (getattr(live.steady, attribute), getattr(virtual.steady, attribute))
        yield _Figure(f"{name}, last third", unit, scale, values, allowed)


def _completion(*both: Result) -> Iterator[_Figure]:
    arrived = [
        float(sum(flow.fct_s is not None for flow in result.recording.flows)) for result in both
    ]
    yield _Figure("flows that have arrived", "flows", 1.0, (arrived[0], arrived[1]))
    live, virtual = (
        recording_numbers.completion_times_s(result.recording.flows) for result in both
    )
    if live.size and virtual.size:
        yield _Figure(
            "mean completion time", "ms", 1e-3, (float(live.mean()), float(virtual.mean()))
        )
        ends = (float(np.percentile(live, 99)), float(np.percentile(virtual, 99)))
        yield _Figure("99% completion time", "ms", 1e-3, ends)


def _sending(result: Result) -> float:
    steady = result.steady
    return mean_between(result.recording, result.plan.topology, steady.from_s, steady.to_s)
