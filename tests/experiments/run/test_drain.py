"""A live run's drain: it ends when nothing is inside a switch, and returns what stays there."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from pcn.controller.constants import index
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.run import live
from pcn.experiments.run.progress import Silent

ACKNOWLEDGEMENT = index(4, 7)


class Switch:
    """A switch's client. `waiting`: what the cell of class 7 at port 4 has, at each reading; the
    last one stays."""

    def __init__(self, *waiting: int):
        self._waiting = list(waiting)

    def registers(self) -> list[str]:
        return ["waiting_bytes", "waiting_packets"]

    def read_register(self, _name: str, _cell: int) -> int:
        return 0

    def read_registers(self, name: str, cells: Iterable[int] | None = None) -> dict[int, int]:
        if name != "waiting_packets":
            return {}
        now = self._waiting.pop(0) if len(self._waiting) > 1 else self._waiting[0]
        return {ACKNOWLEDGEMENT: now, index(1): 0}


def drained(switch: Switch, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    monkeypatch.setattr(live, "_QUIET_S", 0.05)
    scenario = SCENARIOS["dumbbell"]
    plan = scenario.plan("pcn", 1, {"duration": 1e-3})
    record = SimpleNamespace(
        dilation=1.0,
        enough_k=None,
        topology={"switches": [], "hosts": []},
        board="nowhere",
        is_inside=False,
    )
    network = SimpleNamespace(hosts={})
    lab: Any = SimpleNamespace(agents={}, switches={"s0": switch}, network=network, record=record)
    return live._Run(plan, lab, 1.0, Silent()).drain()


def test_drain_waits_for_acknowledgements_that_are_inside_a_switch(monkeypatch):
    assert drained(Switch(2, 1, 0), monkeypatch) == {}


def test_drain_returns_what_stays_inside(monkeypatch):
    assert drained(Switch(2, 1), monkeypatch) == {"s0:4 class 7 waiting_packets": 1}


def test_note_names_few_of_the_cells_that_are_not_back_at_0():
    assert list(live._left({})) == []
    assert list(live._left({"s0:4 class 7 held_bytes": 1106})) == [
        "Not back at 0 after the drain: s0:4 class 7 held_bytes is 1,106."
    ]
    (many,) = live._left({f"s{number}:1 class 3 pn": 1 for number in range(1000)})
    assert many.endswith("s4:1 class 3 pn is 1, and 995 more.")
