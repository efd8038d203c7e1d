"""Of schemes whose switches tell a RESUME by a port's rest, as a Tofino does (docs/tofino.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .parameters import Parameters, parameter


@dataclass(frozen=True)
class RestParameters(Parameters):
    """Of the marking point: how long a frame can be, from which switches know what a pause is."""

    largest_frame_bytes: float = parameter(
        1518, "size", "by time: what takes longer than this frame is a pause", name="largest_frame", least=64, most=1e6
    )
