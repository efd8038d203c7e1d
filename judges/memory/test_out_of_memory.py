"""Without memory the C of switch, engine and agents ends each call by an error of ours, and nothing
is corrupt."""

import subprocess
import sys
from pathlib import Path

import needs
import out_of_memory
import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("scenario", "step"), [("switch", 31), ("engine", 31), ("agent", 3)])
def test_refused_memory_is_an_error_and_no_crash(scenario, step, tmp_path):
    """Of a request in `step`, and of all from it on, under the sanitizers; a try with memory ends
    as the first did."""
    environment = out_of_memory.environment(tmp_path) or needs.missing(needs.SANITIZERS)
    words = [sys.executable, out_of_memory.__file__, scenario, str(step)]
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "tries ended by an error" in done.stdout
