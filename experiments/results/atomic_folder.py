"""Where results go: made whole in a hidden directory beside their place, then moved there in one step.

A result that is already there is kept: it moves to `NAME.1`, what was there to `NAME.2`, and so on; the newest is
always `NAME`. What several runs have together is kept together: a run whose place is inside a comparison moves all of
that. A run that fails or is interrupted before its numbers are written leaves nothing. One that is killed
leaves its hidden directory, and a link to it in the cache, by which the next run, or `pcn down`, finds and removes it.
A running one is known by its lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

from pcn.experiments.data.errors import ExperimentError
from pcn.softswitch import private, signals
from pcn.softswitch.cache.objects import BuildError, cache_dir, writing
from pcn.topologies import extras
from pcn.topologies.errors import NO_ROOM

SUMMARY, SERIES = "summary.json", "series.parquet"
"""Of a run."""
TOPOLOGY = "topology.json"
"""Its network, with its flows where they have series each."""
PATHS = "paths.csv"
"""Its flows' ways, on request."""
COMPARISON = "comparison.json"
"""Of several runs, each in a separate directory."""
FIGURE = "figure.json"
COMPARED = "numbers.csv"
"""Of results side by side."""
_NUMBERS = (SUMMARY, SERIES, COMPARISON, FIGURE, COMPARED)
"""What makes a directory a result: one of these is in it."""
_OPTIONAL = {"figures": "PNG and SVG", "parquet": "Parquet files"}
"""What an extra writes."""
_WORK = ".pcn-run-"
"""In the names of work directories: long, as it names what may be deleted."""


@contextmanager
def result_directory(place: Path, replaces: bool = True) -> Iterator[Path]:
    """Yields a new directory to write results into; when the block ends well, it becomes `place`, where nothing may be
    unless it `replaces` that.

    Raises ExperimentError when `place` can't be written, or when it is something else than an earlier result (it is
    never touched then).
    """
    if place.exists() and not is_result(place):
        raise ExperimentError(f"{place} is there and isn't a result of an earlier run: choose another --out")
    undo = contextlib.ExitStack()
    undo.callback(remove_empty, [parent for parent in place.parents if not parent.exists()])
    try:
        earlier = (_comparison(place) if replaces else None) or place
        work = _work_directory(earlier, undo)
        yield work
        with signals.deferred(), _locked(earlier.parent):
            if replaces:
                _move_aside(earlier)
            private.make_folder(place.parent)
            work.rename(place)
    except OSError as error:
        inside = error.filename is not None and Path(error.filename).is_relative_to(work)
        if error.errno is None or not (inside or error.errno in NO_ROOM):
            raise
        what = place / Path(error.filename).relative_to(work) if inside else place
        raise ExperimentError(f"can't write {what}: {os.strerror(error.errno)}. Choose another --out") from None
    finally:
        with signals.deferred():  # a second Ctrl-C
            undo.close()


def _comparison(place: Path) -> Path | None:
    """Returns the outermost folder of several runs that `place` is inside, if any; none that this process works in."""
    here = Path.cwd()
    around = (folder for folder in reversed(place.parents) if not here.is_relative_to(folder.resolve()))
    return next((folder for folder in around if (folder / COMPARISON).is_file()), None)


def _work_directory(place: Path, undo: contextlib.ExitStack) -> Path:
    """Returns a new one, locked, with a link in the cache; `undo` removes it, unless it was renamed. Raises
    ExperimentError."""
    try:
        private.make_folder(place.parent)
        with signals.deferred(), _locked(place.parent):
            remove_dead()
            work = Path(tempfile.mkdtemp(prefix=f".{place.name}{_WORK}", dir=place.parent)).absolute()
            undo.callback(shutil.rmtree, work, ignore_errors=True)
            work.chmod(0o755)
            undo.callback(os.close, _lock(work))
            if runs := _runs():
                link = runs / f"{os.getpid()}-{work.name}"
                undo.callback(link.unlink, missing_ok=True)
                with writing(runs):
                    link.symlink_to(work)
    except BuildError as error:
        raise ExperimentError(str(error)) from None
    except OSError as error:
        raise ExperimentError(
            f"can't write results into {place.parent}: {error.strerror}. Choose another --out"
        ) from None
    return work


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Yields a new file of this name for the block to write, never what a link of that name leads to: where that fails,
    nothing of the file stays."""
    path.unlink(missing_ok=True)
    try:
        with os.fdopen(private.new_file(path), "wb") as file:
            yield file
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # as of a write
            error.filename = str(path)
        raise


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yields a new file for the block to write. It then takes the place of `path`, which stays as it is if that
    fails."""
    new = path.with_name(f"{path.name}.new")
    with whole(new) as file:
        yield file
    new.replace(path)


def left_out(pictures: bool = True) -> str:
    """Returns a line on what results lack here and how it comes, if anything; `pictures`: whether these are wanted."""
    lacking = [extra for extra in _OPTIONAL if not extras.installed(extra) and (pictures or extra != "figures")]
    what = " and no ".join(_OPTIONAL[extra] for extra in lacking)
    return what and f"results have no {what} here: {extras.remedy(*lacking)} adds them"


def is_result(directory: Path) -> bool:
    """Returns whether this is a directory that a run wrote, or one that holds nothing but such directories."""
    return directory.is_dir() and (has_numbers(directory) or all(is_result(inner) for inner in directory.iterdir()))


def has_numbers(directory: Path) -> bool:
    return any((directory / name).is_file() for name in _NUMBERS)


def remove_dead() -> list[str]:
    """Removes the work directories of killed runs, whose lock is free. Returns what was removed."""
    removed: list[str] = []
    runs = _runs()
    for link in runs.iterdir() if runs else ():
        with contextlib.suppress(OSError):
            work, pid = link.readlink(), link.name.partition("-")[0]
            if _WORK in work.name and work.is_dir() and not work.is_symlink():
                lock = _lock(work)
                if os.fstat(lock).st_uid == os.geteuid():
                    shutil.rmtree(work, ignore_errors=True)
                    removed.append(str(work))
                os.close(lock)
            elif Path("/proc", pid).exists():
                continue  # it may see a file system that isn't here
            link.unlink(missing_ok=True)
    return removed


def _runs() -> Path | None:
    """Has a link to the work directory of each run of this user. None in a cache that can only be read: what is in it
    is enough for a run. Raises BuildError."""
    try:
        path = cache_dir("runs")
    except BuildError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in (errno.EROFS, errno.EACCES):
            return None
        raise
    return path if os.access(path, os.W_OK) else None


def _lock(directory: Path) -> int:
    """Locks a directory as long as this process lives or until the descriptor is closed. Raises BlockingIOError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def remove_empty(directories: Sequence[Path]) -> None:
    """Those of these that are empty, in this order: what a failed run made on the way to its place, the inner first."""
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
