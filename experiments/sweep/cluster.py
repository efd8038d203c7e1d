"""The workers of a Dask scheduler. Dask is loaded here alone, and only where it is used.

A scheduler's clients and workers send each other pickles, that is, code.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pcn.base import signals
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.sweep import store
from pcn.experiments.sweep.task import Done, Ends, Task, execute
from pcn.virtualnet import threads

_LOOK_S = 0.05  # how often it is looked whether a task has ended, or a signal came
_ANSWER_S = 30.0  # of a scheduler
_WORKERS_S = 30.0  # until one of them has come
_GONE_S = 60.0  # without any worker, until the sweep ends
_GONE_LOOK_S = 5.0  # how often that is asked
_QUESTIONS = 3  # times that a question is put to a scheduler which loses connections
_SILENT = logging.CRITICAL + 1
_LOST_S = 600.0  # a machine may stand still so long before it counts as gone
_CONFIGURATION = {
    "distributed.comm.timeouts.connect": _LOST_S,
    "distributed.comm.timeouts.tcp": _LOST_S,
}


class Tls(NamedTuple):
    """PEM files by which the other end is judged, and this one proves what it is."""

    ca: Path
    cert: Path
    key: Path


def carry_out(tasks: Sequence[Task], scheduler: str, tls: Tls | None) -> Ends:
    """Yields tasks with their outcomes, as workers of `scheduler` finish them. `scheduler`:
    tls://HOST:PORT, or tcp:// without `tls`.

    Raises ExperimentError where the scheduler doesn't answer, has no workers, loses all, or these
    have other sources or another Dask.
    """
    with _connected(scheduler, tls) as client:
        yield from _by(client, tasks)


def _execute(task: Task) -> Done:
    """Executes a task in a worker, with one thread unless the worker's environment sets another
    number."""
    os.environ.setdefault(threads.VARIABLE, "1")
    return execute(task)


def _by(client: Any, tasks: Sequence[Task]) -> Ends:
    from dask.distributed import as_completed

    with signals.deferred() as interrupt:
        futures = {
            client.submit(_execute, task, key=f"task-{task.identity}", pure=False): task
            for task in tasks
        }
        ended, number = as_completed(futures), itertools.count(1)
        attendance = _Attendance(client)
        while futures:
            interrupt.check()
            if not ended.has_ready():
                attendance.check()
                # dask's own wait has no limit, and would keep signals out
                time.sleep(_LOOK_S)
                continue
            for future in ended.next_batch(block=False):
                task = futures.pop(future)
                done = _result(client, task, future, interrupt)
                future.release()
                if done is not None:
                    yield task, done
                    continue
                again = client.submit(
                    _execute, task, key=f"task-{task.identity}-{next(number)}", pure=False
                )
                futures[again] = task
                ended.add(again)


class _Attendance:
    """Whether a scheduler has workers: they may die, all of them, and others may come."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._present_s = self._asked_s = time.monotonic()

    def check(self) -> None:
        """Raises ExperimentError where none has been there for long. What is done is kept."""
        now_s = time.monotonic()
        if now_s - self._asked_s < _GONE_LOOK_S:
            return
        self._asked_s = now_s
        if self._client.status != "running" or self._client.nthreads():
            self._present_s = now_s
        elif now_s - self._present_s >= _GONE_S:
            raise ExperimentError(
                f"all workers of {self._client.scheduler.address} have ended, and none came for "
                f"{_GONE_S:g} s: look at their logs, start some, and give the command again: runs "
                "that are done are kept"
            )


def _result(client: Any, task: Task, future: Any, interrupt: signals.Deferred) -> Done | None:
    """Returns what a future has come to; None: a dying worker took it along, and Dask gave it up.
    Else Dask has such a task computed again by itself. Runs are deterministic."""
    from dask.distributed import CancelledError, KilledWorker, TimeoutError as NotYet

    while True:
        interrupt.check()
        try:
            done: Done = future.result(timeout=1.0)
        except (
            NotYet,
            UnboundLocalError,
        ):  # the latter where Dask ended what it waits with for several callers
            continue
        except KilledWorker:
            return Done(
                task.identity, error="its workers ended, again and again: too little memory?"
            )
        except CancelledError:
            if client.status != "running":
                raise ExperimentError("the connection to Dask's scheduler was lost") from None
            return None
        return done


def _require_dask(client: Any, scheduler: str) -> None:
    """Raises ExperimentError where a worker or the scheduler has another version of Dask: messages
    of one are none of the other, and a worker dies of the first."""
    versions = client.get_versions(check=False)
    ours = versions["client"]["packages"]["distributed"]
    places = {
        "its scheduler": versions["scheduler"],
        **{f"worker {at}": of for at, of in versions["workers"].items()},
    }
    for place, reported in places.items():
        theirs = reported["packages"]["distributed"] if reported else None
        if theirs != ours:
            raise ExperimentError(
                f"--scheduler {scheduler}: {place} has Dask {theirs or 'of an unknown version'}, "
                f"this machine {ours}: they have to be equal"
            )


def _version() -> str:
    """Returns the version of a worker's sources. Dask sends the function by its name, so a worker
    reads its own."""
    return store.version()


@contextlib.contextmanager
def _configured() -> Iterator[None]:
    """Applies our Dask settings and silences its log (40 lines per lost worker), and its table of
    versions."""
    from dask import config
    from dask.distributed import versions

    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(_SILENT)
    try:
        with config.set(_CONFIGURATION), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=versions.VersionMismatchWarning)
            yield
    finally:
        logger.setLevel(before)


def _security(tls: Tls) -> Any:
    from dask.distributed import Security

    ca, cert, key = map(str, tls)
    security = Security(
        tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
    )
    try:
        security.get_connection_args("client")
    except OSError as error:  # an SSLError is one
        raise ExperimentError(
            f"--tls-ca {ca}, --tls-cert {cert}, --tls-key {key}: {error}"
        ) from None
    return security


@contextlib.contextmanager
def _connected(scheduler: str, tls: Tls | None) -> Iterator[Any]:
    with signals.deferred():
        from dask.distributed import (
            Client,
            TimeoutError as NoWorkers,  # not Python 3.10's own
        )

    with contextlib.ExitStack() as stack:
        stack.enter_context(_configured())
        security = tls and _security(tls)
        try:
            client = stack.enter_context(Client(scheduler, security=security, timeout=_ANSWER_S))
        except (OSError, ValueError) as error:
            raise ExperimentError(
                f"--scheduler {scheduler}: no Dask scheduler answers there ({error})"
            ) from None
        try:
            _answer(lambda: client.wait_for_workers(1, timeout=_WORKERS_S))
            _answer(lambda: _require_dask(client, scheduler))
            versions = _answer(lambda: client.run(_version))
        except NoWorkers:
            raise ExperimentError(
                f"--scheduler {scheduler}: it has no workers. Start some: dask worker {scheduler} "
                "--nthreads 1"
            ) from None
        except ImportError as error:
            raise ExperimentError(
                f"--scheduler {scheduler}: its workers lack our packages ({error})"
            ) from None
        except OSError as error:  # Dask's CommClosedError is one
            raise ExperimentError(
                f"--scheduler {scheduler}: its connection was lost, before any run ({error}): give "
                "the command again"
            ) from None
        strangers = sorted(
            address for address, version in versions.items() if version != store.version()
        )
        if strangers:
            raise ExperimentError(
                f"--scheduler {scheduler}: {', '.join(strangers)} has other sources than these"
            )
        yield client


def _answer(question: Callable[[], Any]) -> Any:
    """Returns the answer to a question that changes nothing. One whose connection is lost is put
    again, over a new one.

    In a scheduler on Python 3.14 the end of one TLS connection can end another, with its error
    (EPIPE of a read).
    """
    for _ in range(_QUESTIONS - 1):
        try:
            return question()
        except TimeoutError:
            raise
        except OSError:
            # its connection ends before a new one is made
            time.sleep(_LOOK_S)
    return question()
