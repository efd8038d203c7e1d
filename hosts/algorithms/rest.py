"""Parameters of schemes whose switches detect a RESUME by a port's rest, as a Tofino does (docs/tofino.md)."""

from __future__ import annotations

from dataclasses import dataclass

from .parameters import Parameters, parameter


@dataclass(frozen=True)
class RestParameters(Parameters):
    """The marking point's parameter: the longest frame, from which switches derive the shortest pause."""

    largest_frame_bytes: float = parameter(
        1518, "size", "by time: what takes longer than this frame is a pause", name="largest_frame", least=64, most=1e6
    )
