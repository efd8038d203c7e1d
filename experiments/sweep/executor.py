"""Runs the tasks that a store hasn't got yet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.run.progress import RunProgress
from pcn.experiments.sweep import cluster, pool
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Done, Ends, Task, execute


@dataclass(frozen=True)
class Means:
    """What a sweep is carried out with. Raises ExperimentError where these don't go together."""

    jobs: int = 1
    """Tasks at a time; one: in this process."""
    scheduler: str | None = None
    """Of Dask, tls://HOST:PORT: tasks are its workers', and `jobs` has no effect."""
    memory_bytes: int | None = None
    """What a process of ours may have; one that has more ends, and its task has failed."""
    tls: cluster.Tls | None = None
    """Certificates of the scheduler and this process. Without TLS, on tcp://HOST:PORT, everyone who
    reaches scheduler or workers runs code as their users."""

    def __post_init__(self) -> None:
        if self.tls and not self.scheduler:
            raise ExperimentError(
                "--tls-ca, --tls-cert and --tls-key are for a --scheduler: add that, or leave them "
                "out"
            )
        if self.scheduler and self.scheduler.startswith("tls://") != (self.tls is not None):
            raise ExperimentError(
                f"--scheduler {self.scheduler}: tls://HOST:PORT, --tls-ca, --tls-cert and "
                "--tls-key go together"
            )


def sweep(tasks: Sequence[Task], store: Store, means: Means, progress: RunProgress) -> list[Done]:
    """Returns all of them, in their order. Tasks in the store aren't run again, except failed ones.

    A task that fails leaves the others alone. Whatever ends the sweep, what was over stays in the
    store."""
    todo = [
        task for task in tasks if task.identity not in store.done or store.done[task.identity].error
    ]
    failed, began = 0, time.monotonic()
    if todo:
        with contextlib.closing(_carry_out(todo, means)) as ends:
            for number, (task, done) in enumerate(ends, start=1):
                store.add(task, done)
                failed += bool(done.error)
                left_s = (time.monotonic() - began) / number * (len(todo) - number)
                progress.advance(
                    number / len(todo), progress_text(number, len(todo), failed, left_s, task.label)
                )
    return [store.done[task.identity] for task in tasks]


def _carry_out(tasks: Sequence[Task], means: Means) -> Ends:
    if means.scheduler is not None:
        yield from cluster.carry_out(tasks, means.scheduler, means.tls)
    elif means.jobs == 1 and means.memory_bytes is None:
        for task in tasks:
            yield task, execute(task)
    else:
        yield from pool.carry_out(tasks, min(means.jobs, len(tasks)), means.memory_bytes)


def progress_text(number: int, all_of_them: int, failed: int, left_s: float, label: str) -> str:
    """Formats how far a sweep is: 412 of 3,000, 3 failed, 1 h 10 min left; scheme pcn, seed 88"""
    parts = [f"{number:,} of {all_of_them:,}"]
    if failed:
        parts.append(f"{failed:,} failed")
    if number < all_of_them:
        parts.append(f"{duration(left_s)} left")
    return f"{', '.join(parts)}; {label}"


def duration(seconds: float) -> str:
    """Returns a time as text, in at most two units."""
    minutes = round(seconds / 60)
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
