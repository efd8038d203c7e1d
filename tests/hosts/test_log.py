"""The agent's log: whole lines in order; a full disk ends the log, not the agent."""

from __future__ import annotations

import errno
import json
from pathlib import Path

from hosts.clock import DilatedClock
from hosts.log import EventLog


def test_events_are_lines_in_order_at_nominal_times(tmp_path: Path) -> None:
    path, clock = tmp_path / "h0.jsonl", DilatedClock(400)
    clock.set_epoch(0.0)
    log = EventLog(path, clock)
    for number in range(5000):  # more than one write
        log.write(number * 1e-6, "rate", flow=number)
    log.close()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["flow"] for event in events] == list(range(5000))
    assert log.errno == 0


def test_a_full_disk_ends_the_log_and_says_so() -> None:
    log = EventLog(Path("/dev/full"), DilatedClock(400))
    for _ in range(2):
        log.write(0.0, "rate", flow=1)
        log.flush()
        assert log.errno == errno.ENOSPC
    log.close()
