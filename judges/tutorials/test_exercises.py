"""The short form of exercises.py: its check of `basic` on the router of examples/. With a clone of
p4lang/tutorials, all of it."""

import os
import sys
from pathlib import Path

import needs
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from exercises import EXERCISES, each_reaches_each, play

from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.softswitch import p4c

CLONE = "P4_TUTORIALS"
"""In the environment: the folder of a clone."""
TUTORIALS = needs.Need(
    f"no clone of p4lang/tutorials in ${CLONE}; with one",
    f"make unit ARGS=judges/tutorials {CLONE}=DIR",
    optional=True,
)


def test_router_carries_what_the_basic_exercise_does():
    with VirtualP4(
        read_exercise(Path(__file__).resolve().parents[2] / "examples/router")
    ) as network:
        assert each_reaches_each(network).startswith("6 datagrams between 3 hosts arrive")


@pytest.mark.parametrize("name", EXERCISES)
def test_exercise_gives_the_frames_of_its_readme(name):
    clone = os.environ.get(CLONE)
    if clone is None:
        needs.missing(TUTORIALS)
    needs.program(p4c.COMPILER, needs.P4C)
    assert play(Path(clone), name)
