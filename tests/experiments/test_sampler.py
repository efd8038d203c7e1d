"""Which registers of a port become series: the queue's, and those that marking points name, somebody's own too."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller import marking
from experiments.sampler import queue_registers

OWN = """
TABLE, CLONE_SESSIONS, SAMPLED = "mine_config", (), ("mine",)


def configure(topology, switch, port, dilation, parameters):
    raise NotImplementedError
"""


def test_a_port_s_registers_are_the_queue_s_and_those_that_marking_points_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = ["mine", "others", "tcd_state", "pn", "waiting_bytes", "waiting_packets"]
    assert queue_registers(there) == ["waiting_bytes", "waiting_packets", "pn", "tcd_state"]
    monkeypatch.setattr(marking, "_from_files", {})
    (tmp_path / "mine.py").write_text(OWN)
    marking.find(str(tmp_path / "mine.py"))
    assert queue_registers(there) == ["waiting_bytes", "waiting_packets", "pn", "tcd_state", "mine"]
    assert queue_registers(["pn"]) == ["pn"]
