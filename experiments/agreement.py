"""Whether the live run and the virtual one of the same plan agree in the steady state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments import analysis
from experiments.charts import Chart, overlay
from experiments.checks import Check, Verdict, near
from experiments.result import Result

TOLERANCE = 0.1
_FRAMES = 5
"""Queues that differ by no more agree, too: 10% of a queue of a few frames is none."""


def charts(runs: Sequence[Result]) -> tuple[Chart, ...]:
    """A scheme's charts, with the runs of its clocks, where there are two, over each other."""
    first, *others = runs
    if not others:
        return first.charts
    (second,) = others
    return tuple(
        overlay((first.clock, one), (second.clock, other))
        for one in first.charts
        for other in second.charts
        if one.name == other.name
    )


def agreement(live: Result, virtual: Result) -> list[Check]:
    """The live run's figures, measured, against the virtual one's, in theory's place: over the plan's last third."""
    return list(_rows(live, virtual))


def _rows(live: Result, virtual: Result) -> Iterator[Check]:
    name = live.plan.scheme
    both = (live, virtual)
    for what, unit, scale, slack, values in (
        ("sum of the sending rates", "Gbit/s", 1e9, 0.0, [_sending(one) for one in both]),
        ("bottleneck utilisation", "", 1.0, 0.0, [one.steady.utilisation for one in both]),
        ("Jain's index of the goodputs", "", 1.0, 0.0, [one.steady.jain for one in both]),
        (
            "mean queue",
            "KB",
            1e3,
            float(_FRAMES * live.plan.frame_bytes),
            [one.steady.queue_bytes_mean for one in both],
        ),
    ):
        known = [value / scale for value in values if value is not None]
        if len(known) < len(both):
            continue
        measured, expected = known
        met = (
            f"met: within {TOLERANCE:.0%}"
            + (f" or {_FRAMES} frames" if slack else "")
            + "; trend: within a factor of two"
        )
        close: Verdict = near(expected, TOLERANCE)(measured)
        verdict = "met" if abs(measured - expected) <= slack / scale else close
        yield Check(
            "", f"{name}: {what}, last third, live against virtual ({met})", None, expected, measured, unit, verdict
        )


def _sending(result: Result) -> float | None:
    """None of groups of flows, whose rates aren't recorded."""
    steady = result.steady
    if not steady.goodput_bps:
        return None
    return analysis.mean_between(result.recording, result.plan.topology, steady.from_s, steady.to_s)
