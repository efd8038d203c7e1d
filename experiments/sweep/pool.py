"""Worker processes of this machine: each has a pipe to the process that started it, and no socket
that others reach.

A worker sends None when it is up, then the end of each task that it receives. It ends with its
starter, whatever ends that one (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path

from pcn.base import signals
from pcn.base.python_process import python_command
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.sweep.task import Done, Ends, Task, execute

_LOOK_S = 0.1  # how often signals and the workers' memory are looked at
_TRIES = 2  # of a task whose worker ends: runs are deterministic, machines aren't
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def carry_out(tasks: Sequence[Task], jobs: int, memory_bytes: int | None) -> Ends:
    """Yields tasks with their outcomes, from `jobs` processes of at most `memory_bytes` each
    (default: an equal share of the machine's memory). All processes end with the generator, in any
    case. Raises ExperimentError where none can be started."""
    with (
        signals.deferred() as interrupt,
        contextlib.closing(_Pool(tasks, jobs, memory_bytes)) as pool,
    ):
        while pool.is_at_work():
            interrupt.check()
            yield from pool.look()


class _Pool:
    def __init__(self, tasks: Sequence[Task], jobs: int, memory_bytes: int | None) -> None:
        self._jobs = jobs
        self._most_bytes = memory_bytes or os.sysconf("SC_PHYS_PAGES") * _PAGE_BYTES // jobs
        self._waiting = deque(tasks)
        self._workers: list[_Worker] = []
        self._lost = Counter[str]()
        """How often a task's worker has ended."""

    def is_at_work(self) -> bool:
        return bool(self._waiting or self._workers)

    def look(self) -> list[tuple[Task, Done]]:
        """Returns what has ended since, after a while at most."""
        free = sum(worker.task is None for worker in self._workers)
        if len(self._workers) < self._jobs and free < len(self._waiting):
            self._workers.append(_Worker(self._jobs))
            return []
        heard = wait([worker.pipe for worker in self._workers], _LOOK_S)
        for worker in self._workers:
            if worker.pipe not in heard:
                worker.kill_above(self._most_bytes)
        answers = (self._hear(worker) for worker in list(self._workers) if worker.pipe in heard)
        return [answer for answer in answers if answer is not None]

    def _hear(self, worker: _Worker) -> tuple[Task, Done] | None:
        task = worker.task
        try:
            done = worker.receive()
        except (EOFError, OSError):
            return self._ended(worker)
        if self._waiting:
            worker.give(self._waiting.popleft())
        else:
            self._end(worker)
        return None if task is None or done is None else (task, done)

    def _ended(self, worker: _Worker) -> tuple[Task, Done] | None:
        task, why = worker.task, self._end(worker)
        if task is None:
            raise ExperimentError(f"a process for runs ended at its start: {why}")
        self._lost[task.identity] += 1
        if self._lost[task.identity] == _TRIES:
            return task, Done(task.identity, error=f"its process ended, twice: {why}")
        self._waiting.appendleft(task)
        return None

    def _end(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        return worker.end()

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process, and the task that it has."""

    def __init__(self, jobs: int) -> None:
        """`jobs`: the number of processes that share the machine."""
        # with all of virtual time, which a worker's tasks may do without
        from pcn.virtualnet.threads import (
            shared,
        )

        self.task: Task | None = None
        self.pipe, theirs = Pipe()
        self._above_bytes = 0
        # Modules of tasks are found where this process finds them.
        paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [
                        "setpriv",
                        "--pdeathsig",
                        "KILL",
                        *python_command(__name__, str(theirs.fileno())),
                    ],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **paths, **shared(jobs)},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the process that started it
                )
            except OSError as error:
                raise ExperimentError(
                    f"can't start a process for runs: {error.strerror}; fewer --jobs?"
                ) from None

    def give(self, task: Task) -> None:
        self.task = task
        with contextlib.suppress(OSError):  # it has ended, as `receive` finds
            self.pipe.send(task)

    def receive(self) -> Done | None:
        """Returns the end of its task; None: it is up. Raises EOFError or OSError once it has
        ended."""
        done: Done | None = self.pipe.recv()
        self.task = None
        return done

    def kill_above(self, most_bytes: int) -> None:
        """Kills it if it has more memory."""
        with contextlib.suppress(OSError):
            has = (
                int(Path(f"/proc/{self._process.pid}/statm").read_text(encoding="utf-8").split()[1])
                * _PAGE_BYTES
            )
            if has > most_bytes:
                self._above_bytes = most_bytes
                self._process.kill()

    def end(self) -> str:
        """Ends it and all that it started; how it had ended, if it had."""
        # The group's number is its own until it is waited for.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait()
        self.pipe.close()
        if self._above_bytes:
            return (
                f"it needs more memory than {self._above_bytes / 1e9:.3g} GB; --memory gives it "
                "more"
            )
        if code == -signal.SIGKILL:
            return "SIGKILL; was memory short? Fewer --jobs leave more"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def _work(pipe: Connection) -> None:
    pipe.send(None)
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(execute(pipe.recv()))


if __name__ == "__main__":
    _work(Connection(int(sys.argv[1])))
