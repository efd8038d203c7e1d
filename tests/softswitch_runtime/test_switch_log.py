"""The switch's log on a disk that gets full: lines that have no room are counted, and the switch
goes on."""

import logging
import os
import re
import tempfile
from pathlib import Path

from disk import Steps, play_steps
from hypothesis import given, settings
from others import in_child

from pcn.softswitch.log_file import LogFile

_NOTE = re.compile(r"lines lost here: (\d+): \[Errno 27\] File too large")


@settings(settings.get_profile("few"))
@given(Steps)
def test_switch_log_counts_every_line_it_loses(steps):
    """All lines in the log are whole, and between them the log states how many are missing."""

    def play() -> int:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        log = LogFile(handle, None)
        log.setFormatter(logging.Formatter("%(message)s"))

        def write(number: int):
            log.handle(
                logging.LogRecord("x", logging.INFO, "", 0, f"line {number} {'x' * 50}", None, None)
            )

        written = play_steps(path, steps, write, lambda: None)
        log.close()
        return written

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s0.log"
        written = in_child(play)
        lines = path.read_text().splitlines()
    following = 0
    for line in lines:
        if note := _NOTE.fullmatch(line):
            following += int(note[1])
        elif line == f"line {following} {'x' * 50}":
            following += 1
        else:
            raise AssertionError(lines)
    assert following == written
