"""Invariants of the engine's parts: checked where the environment has PCN_ASSERTIONS, and not computed elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BREAK = """
import ctypes
from networks import PFC_ONLY, chain
from lab.virtual import VirtualNetwork

with VirtualNetwork(chain(), PFC_ONLY) as network:
    network.run(until_s=1e-6)
    class_that_is_lossy = 5
    handle = ctypes.c_void_p(network._handle)
    network._library.vn_pfc_admitted(handle, network.link("h0", 0), class_that_is_lossy, 600_000)
    print("went on")
"""


def broken(assertions: str) -> subprocess.CompletedProcess[str]:
    """A process in which PFC has to pause a class that it doesn't protect."""
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "PCN_ASSERTIONS": assertions}
    return subprocess.run([sys.executable, "-c", BREAK], env=environment, capture_output=True, text=True, check=False)


def test_broken_invariant_ends_the_process_and_names_itself() -> None:
    done = broken("1")
    assert done.returncode < 0
    assert "links/pfc.h:" in done.stderr
    assert "doesn't hold" in done.stderr


def test_shipped_engine_computes_no_invariant() -> None:
    done = broken("")
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
