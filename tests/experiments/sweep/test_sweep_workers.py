"""Processes of this machine that run a sweep: killed, left behind, gone on with."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sockets import Door, doors
from sweep_tasks import ROOT, TESTS, task_for
from sweep_workers import alive, workers
from waiting import wait_until

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import execute


def test_workers_of_our_own(tmp_path):
    """A task that fails, or ends its process, or wants too much memory, costs no other; values are
    as they are here."""
    good = [task_for("square", number=number / 7) for number in range(20)]
    bad = [
        task_for("fail", message="no"),
        task_for("die"),
        task_for("kill"),
        task_for("hog", megabytes=500),
    ]
    tasks = [*good[:5], *bad, *good[5:]]
    outcomes = sweep(tasks, Store(tmp_path), Means(jobs=2, memory_bytes=400_000_000), Silent())
    by_task = dict(zip((task.identity for task in tasks), outcomes, strict=True))
    assert [by_task[task.identity].digest for task in good] == [
        execute(task).digest for task in good
    ]
    assert [by_task[task.identity].error for task in bad] == [
        "RuntimeError: no",
        "its process ended, twice: exit code 3",
        "its process ended, twice: SIGKILL; was memory short? Fewer --jobs leave more",
        "its process ended, twice: it needs more memory than 0.4 GB; --memory gives it more",
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"done.jsonl"}, (
        "no worker's folder is left"
    )
    assert not workers(os.getpid())


def test_task_whose_worker_is_killed_once_is_run_again(tmp_path):
    (tmp_path / "waits").mkdir()

    class Killing(Silent):
        def advance(self, share: float, text: str):
            if share < 1:
                wait_until(lambda: any((tmp_path / "waits").iterdir()), "the second task")
                (pid_file,) = (tmp_path / "waits").iterdir()
                os.kill(int(pid_file.name), signal.SIGKILL)

    tasks = [task_for("square", number=1), task_for("first_waits", place=str(tmp_path / "waits"))]
    outcomes = sweep(tasks, Store(tmp_path / "sweep"), Means(jobs=2), Killing())
    assert [(done.value, done.error) for done in outcomes] == [(1, ""), (2, "")]


def test_task_that_leaves_a_child_behind_leaves_none(tmp_path):
    (child, _) = sweep(
        [task_for("start", program="sleep"), task_for("square", number=1)],
        Store(tmp_path),
        Means(jobs=2),
        Silent(),
    )
    wait_until(lambda: not alive(child.value), "its end")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["false"], r"a process for runs ended at its start: exit code 1"),
        (["nosuch"], r"can't start a process for runs: No such file or directory"),
    ],
)
def test_sweep_without_workers_ends(command, message, tmp_path, monkeypatch):
    place = tmp_path / "bin"
    place.mkdir()
    (place / "setpriv").symlink_to(f"/bin/{command[0]}")
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(ExperimentError, match=message):
        sweep(
            [task_for("square", number=1)],
            Store(tmp_path / "sweep"),
            Means(memory_bytes=1 << 30),
            Silent(),
        )
    assert not workers(os.getpid())


def lines(place: Path) -> int:
    """Runs that a store has."""
    path = place / "done.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@contextlib.contextmanager
def sweeping(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep in a separate process with two workers, one of which has a task that goes on until it
    is ended."""
    place, waits = tmp_path / "sweep", tmp_path / "waits"
    waits.mkdir()
    tasks = [
        task_for("square", number=1),
        task_for("square", number=2),
        *(task_for("wait", place=str(waits), n=n) for n in (1, 2)),
    ]
    script = f"""
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.run_task import run_tasks
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.task import Task
rows = {[(task.function, task.arguments, task.keys) for task in tasks]!r}
tasks = [Task(*row) for row in rows]
sweep(tasks, Store(__import__("pathlib").Path({str(place)!r})), Means(jobs=2), Silent())
"""
    (tmp_path / "script.py").write_text(script)
    paths = os.pathsep.join([str(ROOT), str(TESTS)])
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], env={**os.environ, "PYTHONPATH": paths}
    ) as process:
        try:
            wait_until(lambda: len(list(waits.iterdir())) == 2 and lines(place) == 2, "two waits")
            yield process
        finally:
            process.kill()


def test_a_sweep_that_is_killed_goes_on(tmp_path):
    """Its workers end by themselves; what was over stays, and nothing else."""
    with sweeping(tmp_path) as process:
        pids = workers(process.pid)
        assert len(pids) == 2
        process.kill()
    wait_until(lambda: not any(alive(pid) for pid in pids), "the end of the workers")
    assert {path.name for path in (tmp_path / "sweep").iterdir()} == {"done.jsonl"}
    tasks = [task_for("square", number=number) for number in (1, 2)]
    assert [
        outcome.value for outcome in sweep(tasks, Store(tmp_path / "sweep"), Means(), Silent())
    ] == [1, 4]


def test_sweep_opens_no_socket_that_others_reach(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "door"))
        assert set(doors([os.getpid()])) >= {
            Door("tcp", *server.getsockname()),
            Door("unix", str(tmp_path / "door"), 0),
        }, "it would be seen"
    with sweeping(tmp_path) as process:
        pids = [process.pid, *workers(process.pid)]
        assert len(pids) == 3
        assert doors(pids) == []
