"""Who carries tasks out: this process, worker processes of this machine, or the workers of a Dask scheduler.

Dask is loaded here alone, and only where it is used.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from controller import signals
from experiments.errors import ExperimentError
from experiments.sweep import store
from experiments.sweep.task import Done, Task, execute

Ends = Generator[tuple[Task, Done], None, None]
Carry = Callable[[Sequence[Task]], Ends]
"""Carries tasks out; each with its end, as they end."""

_LOOK_S = 0.05  # how often it is looked whether a task has ended, or a signal came
_ANSWER_S = 30.0  # of a scheduler
_WORKERS_S = 30.0  # until one of them has come
_SILENT = logging.CRITICAL + 1
_LOST_S = 600.0  # a machine may stand still so long before it counts as gone
_CONFIGURATION = {
    "distributed.scheduler.allowed-failures": 1,  # a task whose worker died twice has failed
    "distributed.scheduler.worker-saturation": 1.0,  # a worker has one task: no other one dies with it
    "distributed.scheduler.worker-ttl": None,
    "distributed.worker.profile.enabled": False,
    # Of arrays that could be written to disk: tasks here keep theirs.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.comm.timeouts.connect": _LOST_S,
    "distributed.comm.timeouts.tcp": _LOST_S,
    # Until then a worker that ended may come back: on a busy machine that takes longer than Dask's 15 s.
    "distributed.deploy.lost-worker-timeout": _LOST_S,
}


@contextlib.contextmanager
def workers(jobs: int, scheduler: str | None, memory_bytes: int | None, scratch: Path) -> Iterator[Carry]:
    """One job: this process. More, or a limit of memory: so many of its own, which end with the block, however it ends,
    and may have `memory_bytes` each (an equal share of the machine's unless given). `scheduler`: Dask's, as
    tcp://HOST:PORT.

    Raises ExperimentError where the scheduler doesn't answer, has no workers, or these have other sources."""
    if scheduler is not None:
        with _connected(scheduler) as client:
            yield lambda tasks: _by(client, tasks)
    elif jobs == 1 and memory_bytes is None:
        yield _here
    else:
        with _own(jobs, memory_bytes, scratch) as client:
            yield lambda tasks: _by(client, tasks)


def _here(tasks: Sequence[Task]) -> Ends:
    for task in tasks:
        yield task, execute(task)


def _by(client: Any, tasks: Sequence[Task]) -> Ends:
    from dask.distributed import as_completed

    with signals.deferred() as interrupt:
        futures = {client.submit(execute, task, key=f"task-{task.identity}", pure=False): task for task in tasks}
        ended, number = as_completed(futures), itertools.count(1)
        while futures:
            interrupt.check()
            if not ended.has_ready():
                if client.cluster is not None and not client.cluster.workers:
                    raise ExperimentError("none of this sweep's workers could be started again; is there memory left?")
                time.sleep(_LOOK_S)
                continue
            for future in ended.next_batch(block=False):
                task = futures.pop(future)
                done = _result(client, task, future, interrupt)
                future.release()
                if done is not None:
                    yield task, done
                    continue
                again = client.submit(execute, task, key=f"task-{task.identity}-{next(number)}", pure=False)
                futures[again] = task
                ended.add(again)


def _result(client: Any, task: Task, future: Any, interrupt: signals.Deferred) -> Done | None:
    """What a future has come to; None: a dying worker took it along, and Dask gave it up. Else Dask has such a task
    computed again by itself. Runs are deterministic."""
    from dask.distributed import CancelledError, KilledWorker
    from dask.distributed import TimeoutError as NotYet

    while True:
        interrupt.check()
        try:
            found: Done = future.result(timeout=1.0)
        except (NotYet, UnboundLocalError):  # the latter where Dask ended what it waits with for several callers
            continue
        except KilledWorker:
            return Done(task.identity, error="its worker ended, twice: too little memory? --memory gives a run more")
        except CancelledError:
            if client.status != "running":
                raise ExperimentError("the connection to Dask's scheduler was lost") from None
            return None
        return found


@contextlib.contextmanager
def _own(jobs: int, memory_bytes: int | None, scratch: Path) -> Iterator[Any]:
    with contextlib.ExitStack() as stack:
        with signals.deferred() as interrupt, _interrupts_blocked():
            from dask.distributed import Client, LocalCluster

            stack.enter_context(_configured(scratch))
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            cluster = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                memory_limit=memory_bytes or "auto",
                dashboard_address="127.0.0.1:0",  # None would ask for port 8787, and warn where that is taken
                silence_logs=_SILENT,
            )
            stack.callback(cluster.close)
            stack.callback(_kill, cluster)
            client = stack.enter_context(Client(cluster))
            interrupt.check()
        yield client


def _version() -> str:
    """By its name, so that a worker tells its own."""
    return store.version()


@contextlib.contextmanager
def _configured(scratch: Path | None = None) -> Iterator[None]:
    """Dask as it is to be here. It says nothing: of a worker that ends it has 40 lines."""
    from dask import config

    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(_SILENT)
    try:
        with config.set(_CONFIGURATION | ({} if scratch is None else {"temporary-directory": str(scratch)})):
            yield
    finally:
        logger.setLevel(before)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C reaches the whole group: what is started here doesn't hear it, and is ended by who started it."""
    resource_tracker.ensure_running()  # it unblocks signals in the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals.SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill(cluster: Any) -> None:
    """At once: to be asked, a worker would have to end its run first."""
    import psutil

    for nanny in cluster.workers.values():
        nanny.auto_restart = False
        if nanny.pid is None:
            continue
        with contextlib.suppress(psutil.NoSuchProcess):
            worker = psutil.Process(nanny.pid)
            for process in (worker, *worker.children(recursive=True)):  # a compiler, perhaps
                process.kill()


@contextlib.contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    with signals.deferred():
        from dask.distributed import Client

    with contextlib.ExitStack() as stack:
        stack.enter_context(_configured())
        try:
            client = stack.enter_context(Client(scheduler, timeout=_ANSWER_S))
        except (OSError, ValueError) as error:
            raise ExperimentError(f"--scheduler {scheduler}: no Dask scheduler answers there ({error})") from None
        try:
            client.wait_for_workers(1, timeout=_WORKERS_S)
        except TimeoutError:
            raise ExperimentError(
                f"--scheduler {scheduler}: it has no workers. Start some: dask worker {scheduler} --nthreads 1"
            ) from None
        try:
            others = {address for address, theirs in client.run(_version).items() if theirs != store.version()}
        except ImportError as error:
            raise ExperimentError(f"--scheduler {scheduler}: its workers lack our packages ({error})") from None
        if others:
            raise ExperimentError(f"--scheduler {scheduler}: {', '.join(sorted(others))} has other sources than these")
        yield client
