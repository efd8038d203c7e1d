"""Data-plane tests on the engine of virtual time: some cases; the judge's own parts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from dataplane import compare
from dataplane.compare import judge
from dataplane.engine_switch import EngineSwitch
from records import Case

from pcn.softswitch.native import NativeError
from pcn.virtualnet.native import switch_library

CASES = (
    "np_ecn.CongestedPortMarks",
    "pause.StopsItsClassAlone",
    "qcn_in.TheLargestAlone",
    "xoff.FrameOvertakesData",
)
"""Marks, a class that goes round, the packet generator, PAUSE frames."""


def test_engine_s_queues_do_what_the_switch_s_do_to_the_bit() -> None:
    words = [sys.executable, compare.__file__, *CASES]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (
        0,
        ["4 cases, 4 equal to the bit"],
    ), done.stderr


def test_case_that_differs_is_shown_and_one_that_should_is_named() -> None:
    case = Case(("0.1 into 1: 00", "0.2 out of 2: 00"), {"marked": {35: 1}})
    later = replace(case, frames=(case.frames[0], "0.3 out of 2: 00"))
    known = {"c.D": "a reason"}
    assert judge({"a.B": case}, {"a.B": case}, {}) == (["1 cases, 1 equal to the bit"], True)
    lines, right = judge({"a.B": case, "c.D": case}, {"a.B": later, "c.D": later}, known)
    assert not right
    assert lines[0] == "2 cases, 0 equal to the bit"
    assert "out of 2, frame 0 of 1 and 1: 0.2 out of 2: 00 | 0.3 out of 2: 00" in lines[2]
    assert lines[3] == "c.D: a reason"
    assert judge({"c.D": case}, {"c.D": later}, known)[1]
    assert not judge({"c.D": case}, {"c.D": case}, known)[1]
    assert not judge({"a.B": case}, {}, {})[1]


def test_engine_refuses_what_it_has_not() -> None:
    with EngineSwitch(switch_library(), manual=True) as switch:
        with pytest.raises(NativeError, match="none with an interface"):
            switch.port_add(1, "lo")
        with pytest.raises(NativeError, match="at once"):
            switch.set_reentry(1000)
    with pytest.raises(NativeError, match="manual clock alone"):
        EngineSwitch(switch_library())
