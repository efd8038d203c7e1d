"""How long `pcn up` waits for its network."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from pcn.lab import journal, supervisor
from pcn.lab.log_folder import LogFolder

LIMIT_S = 0.3


@pytest.fixture
def process(monkeypatch) -> Iterator[subprocess.Popen[bytes]]:
    """One that lasts, as the one that holds a network."""
    monkeypatch.setattr(supervisor, "START_LIMIT_S", LIMIT_S)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_start_that_makes_progress_has_no_limit(
    process: subprocess.Popen[bytes], tmp_path, monkeypatch
):
    """Each look finds a node more, until the network is up; together they take longer than the
    limit."""
    owner = journal.Process.of(process.pid)
    record = journal.Record("x", owner, {}, "softswitch", 400.0, "pcn", "pcn", str(tmp_path))
    looks = round(3 * LIMIT_S / supervisor._POLL_S)

    def load(_name: str) -> journal.Record:
        node = f"h{len(record.nodes)}"
        record.nodes[node] = journal.NodeRecord(node, owner)
        record.state = "up" if len(record.nodes) == looks else "starting"
        return record

    monkeypatch.setattr(journal, "load", load)
    with LogFolder(tmp_path) as logs:
        assert supervisor._wait_up("x", process, logs) is record


def test_start_without_progress_ends_with_its_log_named(process: subprocess.Popen[bytes], tmp_path):
    with (
        LogFolder(tmp_path) as logs,
        pytest.raises(
            supervisor.SupervisorError,
            match=r"no progress for 0.3 s, after 0 nodes .*supervisor.log",
        ),
    ):
        supervisor._wait_up("not-there", process, logs)
