"""Data-plane tests on the engine: some cases; the judge's own parts."""

import subprocess
import sys
from dataclasses import replace

from dataplane import compare
from dataplane.compare import judge
from records import Case

CASES = (
    "np_ecn.CongestedPortMarks",
    "pause.StopsItsClassAlone",
    "qcn_in.TheLargestAlone",
    "xoff.FramePassesPausedPort",
)
"""Marks, a class that goes round, the packet generator, PAUSE frames, and a RESUME at the very
moment at which a class that is held is due."""


def test_engine_s_queues_do_what_the_switch_s_do_to_the_bit():
    words = [sys.executable, compare.__file__, *CASES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (
        0,
        ["4 cases, 4 equal to the bit"],
    ), done.stderr


def test_case_that_differs_is_shown():
    case = Case(("0.1 into 1: 00", "0.2 out of 2: 00"), {"marked": {35: 1}})
    later = replace(case, frames=(case.frames[0], "0.3 out of 2: 00"))
    assert judge({"a.B": case}, {"a.B": case}) == (["1 cases, 1 equal to the bit"], True)
    lines, right = judge({"a.B": case}, {"a.B": later})
    assert not right
    assert lines[0] == "1 cases, 0 equal to the bit"
    assert "out of 2, frame 0 of 1 and 1: 0.2 out of 2: 00 | 0.3 out of 2: 00" in lines[2]
    assert not judge({"a.B": case}, {})[1]
