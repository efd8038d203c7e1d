"""Flows that a scenario starts."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.topologies import lossless
from pcn.topologies.ecn import GREEN
from pcn.topologies.numbers import number_needed


@dataclass(frozen=True, slots=True)  # there are hundreds of thousands
class FlowSpec:
    """A flow that a scenario starts: to the run's end, for `duration_s`, or of `size_bytes`
    payload.

    It may start before time 0. `rate_bps` limits it beside the scheme. Flows of one `group` are
    many and alike: results count them together. `traffic_class`: of its data; switches serve a
    higher one first. `colour`: "green", "yellow" or "red", of data of the classes 1 to 4; RED may
    have other thresholds for each (`Switch.ecn`). `after`: it starts when all flows with these ids
    have arrived whole, `start_s` later; in virtual time alone. With `after_s`, a time for each of
    these, it starts when that long has passed since each arrival, and not before `start_s`.
    `acknowledged`: those of `after` that count not when they have arrived, but when their senders
    have the last acknowledgement; without acknowledgements, as if nothing delayed one.
    """

    id: int
    src: str
    dst: str
    start_s: float = 0.0
    size_bytes: int | None = None
    rate_bps: float | None = None
    duration_s: float | None = None
    group: str = ""
    traffic_class: int = lossless.DATA_CLASS
    after: tuple[int, ...] = ()
    after_s: tuple[float, ...] = ()
    colour: str = GREEN
    acknowledged: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        try:
            _ = 0 + self.start_s + (self.size_bytes or 0)
            _ = 0 + (self.rate_bps or 0) + (self.duration_s or 0)
        except TypeError:
            names = ("start_s", "size_bytes", "rate_bps", "duration_s")
            raise number_needed(f"flow {self.id}", self, *names) from None
