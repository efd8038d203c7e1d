"""Networks in a container, and in an unprivileged user's namespaces, where the system refuses
real-time priority."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from containers import Container, container, rootless

pytestmark = [pytest.mark.root, pytest.mark.long]
LIMIT_S = 300
SESSION = """
set -e
pcn() { "$0" -m pcn "$@"; }
pcn up dumbbell --set pairs=1 -n contained -k 3000 --logs logs >&2
cat logs/*.log >&2
pcn flow start h0 r0 -n contained --size 20KB >&2
until pcn flow list -n contained --json | grep -q done; do sleep 0.1; done
pcn flow list -n contained --json
pcn down contained >&2
ls /run/pcn-lab >&2
"""


@pytest.fixture(params=[container, rootless], ids=["container", "rootless"])
def contained(request) -> Iterator[Container]:
    with request.param() as container:
        yield container


def _run(here: Container, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*here.prefix, *words], cwd=here.folder, env=here.environment, capture_output=True,
        text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip


def test_network_of_pcn_up_stays_up(contained: Container):
    """Its holder raises its priority once the record states that it is up."""
    done = _run(contained, "bash", "-c", SESSION, sys.executable)
    assert done.returncode == 0, done.stderr
    assert "done" in [flow["state"] for flow in json.loads(done.stdout)]
    notes = [line for line in done.stderr.splitlines() if "real-time priority" in line]
    assert [note.partition(":")[0] for note in notes] == ["note", "softswitch"], done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("lacking", ["net_admin", "sys_admin"])
def test_container_without_a_capability_gets_a_line_that_names_it(lacking):
    with container() as here:
        words = ("setpriv", "--bounding-set", f"-{lacking}", sys.executable, "-m", "pcn")
        done = _run(here, *words, "up", "dumbbell", "-k", "3000")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert f"--cap-add {lacking.upper()}" in done.stderr


def test_live_run_reports_that_its_priority_is_normal(contained: Container):
    words = (
        "run", "dumbbell", "--set", "pairs=1", "--set", "duration=1ms", "-k", "3000", "--out",
        "here",
    )  # fmt: skip
    done = _run(contained, sys.executable, "-m", "pcn", *words)
    assert done.returncode == 0, done.stderr
    summary = json.loads((contained.folder / "here" / "summary.json").read_text())
    assert (done.stdout + done.stderr).count("real-time priority") == 1
    assert any(note.startswith("Priority: ") for note in summary["notes"])
