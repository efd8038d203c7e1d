"""NP-ECN by time in the embedded switch, on the dumbbell with real packets, whose bottleneck is paused from outside."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from controller import flows
from controller.lab import Lab, index
from controller.pause import pause
from topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root
K = 400
LIMIT_S = 60.0
PAUSES = 3


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_it_marks_what_the_counter_marks(tmp_path: Path) -> None:
    """Each pause of 1 ms is seen. A thread that is later than LATE_US looks like a pause, too, and what waits leaves
    unmarked. A busy machine can't exclude that it happens now and then."""
    topology = dumbbell()
    name = f"n{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(topology, log_dir=tmp_path, name=name, dilation=K, scheme="pcn-time") as lab:
        switch = lab.switches["s0"]

        def packets(counter: str) -> int:
            return switch.read_counter(counter, index(4)).packets

        for flow in topology.flows:
            flows.start(topology, lab.agents, flow.src, flow.dst)
        shown = set()
        for turn in range(1, PAUSES + 1):
            wait_until(lambda turn=turn: packets("transmitted") >= 2000 * turn)
            pause(lab, "s0", 4, duration_s=1e-3)
            before = packets("transmitted")
            wait_until(lambda before=before: packets("transmitted") > before)
            shown.add(switch.read_register("resumed", index(4)))
        wait_until(lambda: packets("transmitted") >= 2000 * (PAUSES + 1))
        transmitted, marked = packets("transmitted"), packets("marked")
        time_alone, counter_alone = packets("marked_by_time"), packets("marked_by_counter")
    assert len(shown - {0}) == PAUSES
    assert marked > transmitted / 10
    # By recirculation, the first to leave may be the last that came: that one shows nothing yet.
    assert time_alone <= PAUSES
    assert counter_alone <= transmitted / 4
