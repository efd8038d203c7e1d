"""A check compares a run: the paper's figure, the theory's, the measured one, and a verdict from
them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from pcn.experiments.data.recording import Recording

Verdict = Literal["met", "trend", "not met", "not comparable"]
"""met: within the band. trend: not within it, yet better than the next scheme in the paper, or of
the theory's
    order. not comparable: the run has no such figure."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Check:
    """One row. `claim` is the number in the list of claims, or empty; values are in `unit`, or
    None.

    `known` is a section of docs/ (PAGE#ANCHOR) that explains why runs like this one deviate.
    """

    claim: str
    what: str
    paper: float | None
    theory: float | None
    measured: float | None
    unit: str
    verdict: Verdict
    known: str = ""

    @property
    def explained(self) -> str:
        """`known`, where there is something to explain."""
        return self.known if self.verdict in ("trend", "not met") else ""


Rule = Callable[[float | None], Verdict]
"""The verdict on a measured value; None: the run has none."""


def row(
    claim: str,
    text: str,
    measured: float | None,
    rule: Rule,
    unit: str = "",
    paper: float | None = None,
    theory: float | None = None,
    known: str = "",
) -> Check:
    """Returns a row judged by its rule."""
    return Check(claim, text, paper, theory, measured, unit, rule(measured), known)


@dataclass(frozen=True)
class Claim:
    """A row of docs/claims.md that runs are compared with: its number, the unit, and what the paper
    has, by scheme or by what it is of."""

    id: str
    unit: str = ""
    paper: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, of: str) -> float:
        return self.paper[of]

    def __contains__(self, of: str) -> bool:
        return of in self.paper

    def row(
        self,
        text: str,
        measured: float | None,
        rule: Rule,
        of: str = "",
        *,
        paper: float | None = None,
        theory: float | None = None,
        unit: str | None = None,
        known: str = "",
    ) -> Check:
        """Returns a row judged by its rule, beside the paper's figure `of` this, or `paper`."""
        stated = self.paper.get(of, paper)
        return row(
            self.id,
            text,
            measured,
            rule,
            self.unit if unit is None else unit,
            stated,
            theory,
            known,
        )


_CONTROL = "PAUSE, RESUME and CNP frames lost"


def clean(recording: Recording) -> list[Check]:
    """Returns what holds for every run of whatever: nothing lost that wasn't repeated, nothing
    left."""
    lost = sum(
        flow.sent_packets - flow.repeated_packets - flow.received_packets
        for flow in recording.flows
    )
    repeats = any(flow.repeated_packets for flow in recording.flows)
    left = len(recording.left_inside)
    control = recording.lost_control
    return [
        row(
            "",
            "packets lost, and not repeated" if repeats else "packets lost",
            lost,
            exactly_none,
            "packets",
            0,
            0,
        ),
        *([] if control is None else [row("", _CONTROL, control, exactly_none, "frames", 0, 0)]),
        row(
            "",
            "switch registers not back at 0 after the drain",
            left,
            exactly_none,
            "registers",
            theory=0,
        ),
    ]


def exactly_none(measured: float | None) -> Verdict:
    """Returns a rule, met at 0 alone: packets that come twice are no result either."""
    return at_most(0)(None if measured is None else abs(measured))


def at_most(limit: float, trend_below: float | None = None) -> Rule:
    """Returns a rule: `met` up to `limit`, `trend` below `trend_below`."""

    def judge(measured: float | None) -> Verdict:
        if measured is None:
            return "not comparable"
        if measured <= limit:
            return "met"
        return "trend" if trend_below is not None and measured < trend_below else "not met"

    return judge


def at_least(limit: float, trend_above: float | None = None) -> Rule:
    """Returns a rule: `met` from `limit` on, `trend` above `trend_above`."""

    def judge(measured: float | None) -> Verdict:
        if measured is None:
            return "not comparable"
        if measured >= limit:
            return "met"
        return "trend" if trend_above is not None and measured > trend_above else "not met"

    return judge


def near(value: float, tolerance: float, trend_factor: float = 2.0) -> Rule:
    """Returns a rule: `met` within `tolerance` (a share of `value`), `trend` within a factor of
    `trend_factor`."""

    def judge(measured: float | None) -> Verdict:
        if measured is None:
            return "not comparable"
        if abs(measured - value) <= tolerance * abs(value):
            return "met"
        return "trend" if value / trend_factor <= measured <= value * trend_factor else "not met"

    return judge


def between(least: float, most: float, trend_above: float, trend_below: float = math.inf) -> Rule:
    """Returns a rule: `met` from `least` to `most`, `trend` between the other two."""

    def judge(measured: float | None) -> Verdict:
        if measured is None:
            return "not comparable"
        if least <= measured <= most:
            return "met"
        return "trend" if trend_above < measured < trend_below else "not met"

    return judge


def or_trend(rule: Rule, trend: bool) -> Rule:
    """Returns a rule: `trend` where `rule` isn't met but the comparison with other runs, `trend`,
    holds."""

    def judge(measured: float | None) -> Verdict:
        verdict = rule(measured)
        return "trend" if verdict == "not met" and trend else verdict

    return judge
