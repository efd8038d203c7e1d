"""The hosts' C: without a warning, and its tests again under the address and undefined-behaviour
sanitizers."""

import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest
import sanitizers

from pcn.hosts.native import CSRC, FLAGS
from pcn.softswitch.cache.objects import compiler

pytestmark = pytest.mark.long

TESTS = (
    *(
        "test_nic.py", "test_nic_model.py", "test_receiver.py", "test_sender.py", "test_trace.py",
        "test_loop.py",
    ),
    *("test_isolation.py", "test_bounds.py", "test_memory_link.py"),
)  # fmt: skip
LONGER = "long_runs or paced_flows or no_drift or nothing_that and (ibcc or qcn or red or tcd)"
"""Those of which shorter ones go the same ways in C, and schemes without C beside pcn-x, pfc and
timely."""


@pytest.mark.parametrize("source", sorted(path.name for path in CSRC.glob("*.c")))
def test_it_compiles_without_a_warning(source, tmp_path):
    flags = [flag for flag in FLAGS if flag not in ("-shared", "-lm")]
    command = [
        *compiler(), *flags, "-Werror", "-Wconversion", "-c", str(CSRC / source), "-o",
        str(tmp_path / "object"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_everything_under_the_sanitizers():
    environment = sanitizers.environment() or needs.missing(needs.SANITIZERS)
    folder = Path(__file__).parent
    paths = os.pathsep.join([str(folder), str(folder.parents[1])])
    few = {**environment, "PYTHONPATH": paths, "HYPOTHESIS_PROFILE": "few"}
    command = [
        sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-k", f"not ({LONGER})",
    ]  # fmt: skip
    command += [str(folder / name) for name in TESTS]
    done = subprocess.run(command, env=few, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
