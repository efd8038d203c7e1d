"""Which registers of a port become series: the queue's, and those that marking points name, a
user's too; and that PAUSEs of all classes that flows have are counted."""

import time
from collections.abc import Iterable
from dataclasses import replace

from pcn.controller import marking
from pcn.controller.constants import index
from pcn.controller.control_plane import Counter
from pcn.experiments.run.sampler import Clock, Sampler, queue_registers
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import FlowSpec

MARKING_POINT = """
TABLE, CLONE_SESSIONS, SAMPLED = "mine_config", (), ("mine",)


def configure(topology, switch, port, dilation, parameters):
    raise NotImplementedError
"""


def test_a_port_s_registers_are_the_queue_s_and_those_that_marking_points_name(
    tmp_path, monkeypatch
):
    there = ["mine", "others", "tcd_state", "pn", "waiting_bytes", "waiting_packets"]
    queue = ["waiting_bytes", "waiting_packets", "pn"]
    assert queue_registers(there, ["red_ecn"]) == queue
    assert queue_registers(there, ["tcd_port"]) == [*queue, "tcd_state"]
    monkeypatch.setattr(marking, "_from_files", {})
    (tmp_path / "mine.py").write_text(MARKING_POINT)
    points = ["tcd_port", str(tmp_path / "mine.py")]
    assert queue_registers(there, points) == [*queue, "tcd_state", "mine"]
    assert queue_registers(["pn"], points) == ["pn"]


class Counted:
    """A switch's client, for what it counted: packets by counter and cell."""

    def __init__(self):
        self.packets: dict[tuple[str, int], int] = {}

    def counters(self) -> list[str]:
        return ["transmitted", "pause_sent", "resume_sent"]

    def read_counters(self, name: str, cells: Iterable[int]) -> dict[int, Counter]:
        return {cell: Counter(self.packets.get((name, cell), 0), None) for cell in cells}

    def read_registers(self, name: str, cells: Iterable[int]) -> dict[int, int]:
        return {cell: self.packets.get((name, cell), 0) for cell in cells}


def test_pauses_of_all_classes_of_flows_are_counted():
    flows = tuple(FlowSpec(number, "h0", "r0", traffic_class=number) for number in (3, 5))
    switches = {"s0": Counted(), "s1": Counted()}
    sampler = Sampler(
        replace(dumbbell(pairs=1), flows=flows), switches, [], Clock(time.monotonic(), 1)
    )
    s0 = switches["s0"].packets
    s0["pause_sent", index(1, 5)] = 100  # before the run
    sampler.counters()
    s0 |= {
        ("pause_sent", index(1, 3)): 2,
        ("pause_sent", index(1, 5)): 104,
        ("pause_sent", index(1, 6)): 9,
    }
    s0["resume_sent", index(1, 5)] = 3
    sampler.counters()
    assert sampler.pauses == {
        "s0->h0": (0, 0, 0, 2, 0, 4, 0, 0),
        **dict.fromkeys(("s0->s1", "s1->r0", "s1->s0"), (0,) * 8),
    }
    assert [list(sampler.series.get("s0->h0", metric)[1]) for metric in ("pause", "resume")] == [
        [0, 6],
        [0, 3],
    ]
