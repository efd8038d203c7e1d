"""A switch's PFC watchdog.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.errors import TopologyError
from pcn.topologies.lossless import CLASSES

DROP, FORWARD = ACTIONS = ("drop", "forward")


@dataclass(frozen=True)
class Watchdog:
    """Looks every `poll_s` at each lossless class of each port: one that was paused, had packets
    and sent none for `detection_s` is in a storm, until no PAUSE has held it for `restoration_s`. A
    PAUSE counts that held the class at any time since the last look. Meanwhile the port drops the
    class's packets ("drop"), or ignores its PAUSE ("forward"). `ports`, `classes`: these alone;
    empty: all, and all lossless ones."""

    action: str = DROP
    detection_s: float = 0.2
    restoration_s: float = 0.2
    poll_s: float = 0.1
    ports: tuple[int, ...] = ()
    classes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise TopologyError(
                f"a PFC watchdog with the action {self.action!r}: choose from "
                f"{' and '.join(ACTIONS)}"
            )
        if not (
            0 < self.poll_s <= 1000
            and 0 <= self.detection_s <= 1000
            and 0 <= self.restoration_s <= 1000
        ):
            raise TopologyError("a PFC watchdog has a period above 0, and times up to 1,000 s")
        if not all(0 <= number < CLASSES for number in self.classes):
            raise TopologyError(
                f"a PFC watchdog of classes {self.classes}: 0 to {CLASSES - 1} are possible"
            )

    def applies(self, port: int) -> bool:
        """Returns whether the port has the watchdog."""
        return not self.ports or port in self.ports
