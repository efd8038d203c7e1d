"""What the run is held against: the paper's figure, the theory's, the measured one, and a verdict from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from experiments.recording import Recording

Verdict = Literal["met", "ordered", "not met", "not comparable"]
"""met: within the band. ordered: not within it, yet better than the next scheme in the paper, or of the order that the
theory says. not comparable: the run has no such figure."""


@dataclass(frozen=True)
class Check:
    """One row. `claim` is the number in the list of claims, or empty; values are in `unit`, or None.

    `known` is a section of docs/ (PAGE#ANCHOR) that tells why runs like this one are off here, as far as it is known.
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
        return self.known if self.verdict in ("ordered", "not met") else ""


_CONTROL = "PAUSE, RESUME and CNP frames lost"


def clean(recording: Recording) -> list[Check]:
    """What holds for every run of whatever: nothing lost, nothing left."""
    lost = sum(flow.sent_packets - flow.received_packets for flow in recording.flows)
    left = len(recording.left_inside)
    control = recording.lost_control
    return [
        Check("", "packets lost", 0, 0, lost, "packets", at_most(abs(lost), 0)),
        *([] if control is None else [Check("", _CONTROL, 0, 0, control, "frames", at_most(control, 0))]),
        Check("", "switch registers not back at 0 after the drain", None, 0, left, "registers", at_most(left, 0)),
    ]


def at_most(measured: float | None, limit: float, ordered_below: float | None = None) -> Verdict:
    """met up to `limit`, ordered below `ordered_below`."""
    if measured is None:
        return "not comparable"
    if measured <= limit:
        return "met"
    return "ordered" if ordered_below is not None and measured < ordered_below else "not met"


def at_least(measured: float | None, limit: float, ordered_above: float | None = None) -> Verdict:
    """met from `limit` on, ordered above `ordered_above`."""
    if measured is None:
        return "not comparable"
    if measured >= limit:
        return "met"
    return "ordered" if ordered_above is not None and measured > ordered_above else "not met"


def near(measured: float | None, value: float, tolerance: float, ordered_factor: float = 2.0) -> Verdict:
    """met within `tolerance` (a share of `value`), ordered within a factor of `ordered_factor`."""
    if measured is None:
        return "not comparable"
    if abs(measured - value) <= tolerance * abs(value):
        return "met"
    return "ordered" if value / ordered_factor <= measured <= value * ordered_factor else "not met"
