"""The agent's log: whole lines in order; lines that a full disk can't take are counted, and the
agent goes on."""

import errno
import json
import os
import tempfile
from pathlib import Path

from disk import Steps, play_steps
from hypothesis import given, settings
from others import in_child

from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog


def test_events_are_lines_in_order_at_nominal_times(tmp_path):
    path, clock = tmp_path / "h0.jsonl", DilatedClock(400)
    clock.set_epoch(0.0)
    log = EventLog(path, clock)
    for number in range(5000):  # more than one write
        log.write(number * 1e-6, "rate", flow=number)
    log.close()
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["flow"] for event in events] == list(range(5000))
    assert log.errno == 0


def test_log_that_can_t_be_written_counts_its_lines():
    log = EventLog(Path("/dev/full"), DilatedClock(400))
    for number in range(2):
        log.write(0.0, "rate", flow=1)
        log.flush()
        assert (log.errno, log.lost) == (errno.ENOSPC, number + 1)
    log.close()


@settings(settings.get_profile("few"))
@given(Steps)
def test_log_counts_every_line_it_loses(steps):
    """The disk gets full and free again at any byte; the file has whole lines in order, which state
    how many are missing where."""

    def play() -> list[int]:
        log = EventLog(path, DilatedClock(400))
        written = play_steps(
            path, steps, lambda number: log.write(0.0, "rate", flow=number), log.flush
        )
        log.close()
        return [written, log.lost, log.errno]

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "h0.jsonl"
        written, lost, number = in_child(play)
        events = [json.loads(line) for line in path.read_text().splitlines(keepends=True)]
    following = 0
    for event in events:
        if event["ev"] == "lost":
            assert event["lines"] > 0
            assert event["why"] == os.strerror(errno.EFBIG)
            following += event["lines"]
        else:
            assert event["flow"] == following
            following += 1
    assert following == written
    assert sum(event["lines"] for event in events if event["ev"] == "lost") == lost
    assert not lost or number == errno.EFBIG
