"""NP-ECN by time in the embedded switch, on the dumbbell with real packets, whose bottleneck is
paused from outside."""

import os
import uuid

import pytest
from live_marks import PAUSES, count


@pytest.mark.root
def test_it_marks_what_the_counter_marks(tmp_path):
    """Each pause of 1 ms is seen. How far the two agree depends here on how late the switch's
    thread is, which looks like one more pause: test_virtual_np_ecn_time.py and the data-plane tests
    have clocks that aren't late."""
    seen = count(3000, tmp_path, name=f"n{os.getpid()}-{uuid.uuid4().hex[:8]}")
    assert seen.shown >= PAUSES
    assert seen.packets >= seen.marked > seen.time_alone
    assert seen.marked + seen.counter_alone <= seen.packets
