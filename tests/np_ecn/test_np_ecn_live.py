"""NP-ECN by time in the embedded switch, on the dumbbell with real packets, whose bottleneck is paused from outside."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest
from live_marks import PAUSES, count

# What may wait at the bottleneck at one time: XOFF of three ports, and what their agents had on the way.
QUEUEFUL = 2500


@pytest.mark.root
def test_it_marks_what_the_counter_marks(tmp_path: Path) -> None:
    """Each pause of 1 ms is seen. A thread that is later than LATE_US, which a busy machine can't exclude, looks like
    one more: the queue that waits then leaves unmarked."""
    seen = count(8000, tmp_path, name=f"n{os.getpid()}-{uuid.uuid4().hex[:8]}")
    assert seen.shown >= PAUSES
    assert seen.marked - seen.time_alone + seen.counter_alone > seen.packets / 10  # by the counter
    # By recirculation, the first to leave may be the last that came: that one shows nothing yet.
    assert seen.time_alone <= seen.shown
    assert seen.counter_alone <= seen.packets / 20 + (seen.shown - PAUSES) * QUEUEFUL
