"""Where results go: made whole in a hidden directory beside their place, then moved there in one step.

A result that is already there is kept: it moves to `NAME.1`, what was there to `NAME.2`, and so on; the newest is
always `NAME`. A run that fails or is interrupted leaves nothing. One that is killed leaves its hidden directory, which
the next run into the same place removes: a running one is known by its lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from experiments.errors import ExperimentError
from topologies import signals


@contextmanager
def result_directory(place: Path) -> Iterator[Path]:
    """A new directory to write results into; when the block ends well, it becomes `place`.

    Raises ExperimentError when `place` can't be written, or when it is something else than an earlier result (it is
    never touched then).
    """
    if place.exists() and not is_result(place):
        raise ExperimentError(f"{place} is there and isn't a result of an earlier run: choose another --out")
    missing = [parent for parent in place.parents if not parent.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with signals.deferred(), _locked(place.parent):
            _remove_dead(place)
            work = Path(tempfile.mkdtemp(prefix=_work_prefix(place), dir=place.parent))
            lock = _lock(work)
    except OSError as error:
        _remove_empty(missing)
        raise ExperimentError(
            f"can't write results into {place.parent}: {error.strerror}. Choose another --out"
        ) from None
    try:
        work.chmod(0o755)
        yield work
        with signals.deferred(), _locked(place.parent):
            _move_aside(place)
            work.rename(place)
    finally:
        with signals.deferred():  # a second Ctrl-C
            shutil.rmtree(work, ignore_errors=True)
            os.close(lock)
            _remove_empty(missing)


def is_result(directory: Path) -> bool:
    """Whether this is a directory that a run wrote, or one that holds nothing but such directories."""
    if not directory.is_dir():
        return False
    return (directory / "summary.json").is_file() or all(
        (inner / "summary.json").is_file() for inner in directory.iterdir()
    )


def _work_prefix(place: Path) -> str:
    """Long, as it names what may be deleted."""
    return f".{place.name}.pcn-run-"


def _remove_dead(place: Path) -> None:
    """The work directories of runs into `place` that were killed: nobody holds their lock."""
    for left in place.parent.glob(f"{glob.escape(_work_prefix(place))}*"):
        try:
            lock = _lock(left)
        except (BlockingIOError, NotADirectoryError):
            continue
        shutil.rmtree(left, ignore_errors=True)
        os.close(lock)


def _lock(directory: Path) -> int:
    """Locks a directory as long as this process lives or until the descriptor is closed. Raises BlockingIOError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_empty(directories: Sequence[Path]) -> None:
    """Those that a failed run made on the way to its place, the inner ones first."""
    for directory in directories:
        with contextlib.suppress(OSError):
            directory.rmdir()


def _move_aside(place: Path) -> None:
    if not place.exists():
        return
    if not any(place.iterdir()):
        place.rmdir()
        return
    earlier = [place]
    while earlier[-1].exists():
        earlier.append(place.with_name(f"{place.name}.{len(earlier)}"))
    for older, newer in pairwise(reversed(earlier)):
        newer.rename(older)


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Two runs that end at once must not rename the same earlier result."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
