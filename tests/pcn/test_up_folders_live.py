"""`pcn up` where other users may write: its sockets, its record, and the folder of its logs."""

import contextlib
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import forks
import pytest
from others import as_nobody, refused, shared_folder

from pcn.lab import journal as records

pytestmark = pytest.mark.root
ROOT = Path(__file__).resolve().parents[2]


def pcn(
    *arguments: str, cwd: Path = ROOT, umask: int | None = None
) -> subprocess.CompletedProcess[str]:
    if umask is None:
        return forks.run("pcn", *arguments, cwd=cwd)
    command = [sys.executable, "-c", "from pcn.cli import main; main()", *arguments]
    return subprocess.run(
        command, cwd=cwd, umask=umask, capture_output=True, text=True, check=False
    )


@contextlib.contextmanager
def up(*arguments: str, cwd: Path = ROOT, umask: int | None = None) -> Iterator[records.Record]:
    name = f"p{os.getpid()}"
    try:
        done = pcn(
            "up", "dumbbell", "--set", "pairs=1", "-n", name, *arguments, cwd=cwd, umask=umask
        )
        assert done.returncode == 0, done.stderr
        record = records.load(name)
        assert record is not None
        yield record
    finally:
        pcn("down", name)


def test_network_is_its_user_s_whatever_the_umask():
    with shared_folder() as shared, up("--logs", str(shared / "made" / "logs"), umask=0) as record:
        sockets = [Path(node.control.removeprefix("unix:")) for node in record.nodes.values()]
        assert {stat.S_IMODE(path.stat().st_mode) for path in sockets} == {0o600}
        logs = sorted((shared / "made" / "logs").iterdir())
        assert [path.name for path in logs] == sorted(
            [
                "supervisor.log", "s0.log", "s1.log", "switches.log",
                *(f"{host}.{kind}" for host in ("h0", "r0") for kind in ("log", "jsonl")),
            ]
        )  # fmt: skip

        def tries() -> set[str]:
            refusals = {refused(lambda path=path: path.open("ab")) for path in logs}
            refusals |= {
                refused((path.parent / "planted").touch)
                for path in (logs[0], logs[0].parent, sockets[0])
            }
            refusals.add(refused((record.directory / "record.json").read_bytes))
            for path in sockets:
                with socket.socket(socket.AF_UNIX) as client:
                    refusals.add(
                        refused(lambda path=path, client=client: client.connect(str(path)))
                    )
            return sorted(refusals)

        assert as_nobody(tries) == ["PermissionError"]


def test_logs_go_through_no_link_of_another_user():
    """He made the folders that they go to, with links of their names in each that the next minute
    may take."""
    with shared_folder() as shared:
        secret = shared / "secret"
        secret.write_text("root's")
        secret.chmod(0o600)
        name = f"p{os.getpid()}"

        def plant():
            now = time.time()
            for later in range(60):
                stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now + later))
                folder = shared / "results" / "up" / f"{name}-{stamp}"
                folder.mkdir(parents=True)
                for log in ("supervisor.log", "h0.jsonl", "h0.log", "s0.log"):
                    (folder / log).symlink_to(secret)

        as_nobody(plant)
        with up(cwd=shared) as record:
            logs = Path(record.log_dir)
            assert logs.stat().st_uid == 0
            assert logs.parent == shared / "results" / "up"
            assert (logs / "supervisor.log").stat().st_uid == 0
        assert secret.read_text() == "root's"


def test_logs_that_are_another_user_s_folder_are_refused():
    with shared_folder() as shared:
        as_nobody((shared / "logs").mkdir)
        done = pcn("up", "dumbbell", "-n", f"p{os.getpid()}", "--logs", str(shared / "logs"))
        owners = "belongs to nobody (uid 65534), not to root (uid 0)"
        assert done.returncode == 1
        assert (
            done.stderr.splitlines()[-1]
            == f"pcn: {shared}/logs {owners}: name another folder for the logs"
        )
        assert list((shared / "logs").iterdir()) == []


@pytest.mark.parametrize("name", ["../../x", "/tmp/x", "a\nb", "\x1b[31m", "", "X", "x" * 33])
def test_bad_name_makes_nothing(name, tmp_path):
    if not name:
        name = " "
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    done = pcn("up", "dumbbell", "-n", name, cwd=inner)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"pcn: network name {name!r}: up to 32 lower-case letters")
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b"]
    assert not list(Path("/tmp").glob("x-2*"))
