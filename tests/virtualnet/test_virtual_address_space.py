"""A run where address space is limited (ulimit -v): the same results in less of it, or the reason and the way out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RUN = """
import resource, sys
from networks import PFC_ONLY, chain
from topologies.model import FlowSpec
from lab.virtual import VirtualNetwork
from virtualnet import VirtualError
from lab.virtual.native import engine

more, delay_s = int(sys.argv[1]), float(sys.argv[2])
engine()
with VirtualNetwork(chain(), PFC_ONLY) as network:  # all that is loaded later is there
    pass
if more:
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, used + more))
try:
    with VirtualNetwork(chain(delay_s=delay_s), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(until_s=0.1)
        print(network.totals().digest)
except VirtualError as error:
    print(error)
"""


def run(more_bytes: int, delay_s: float = 1e-6) -> str:
    """What a run comes to that may have `more_bytes` of address space beside Python and the libraries; 0: no limit."""
    words = [sys.executable, "-c", RUN, str(more_bytes), str(delay_s)]
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("more_bytes", [3 << 30, 1 << 30, 200 << 20])
def test_run_in_limited_address_space_has_the_same_digest(more_bytes: int) -> None:
    assert run(more_bytes) == run(0)


def test_run_names_what_has_no_address_space() -> None:
    expected = "no address space for links: Cannot allocate memory; raise its limit (ulimit -v)"
    assert run(16 << 20) == expected


def test_run_names_the_limit_when_packets_do_not_fit() -> None:
    """Links with a delay of 20 ms hold 23,000 packets each: without a limit they fit."""
    assert run(0, delay_s=20e-3).isdecimal()
    expected = r".* us: more than \d+ packets are inside the network; raise the limit of address space \(ulimit -v\)"
    assert re.fullmatch(expected, run(80 << 20, delay_s=20e-3))
