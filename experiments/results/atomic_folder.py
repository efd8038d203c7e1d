"""Where results go: made whole in a hidden directory beside their place, then moved there in one
step.

The place may be below another user's folder, as where root works in a user's clone: he may rename
all that is above the files, and put links there. So what is written here goes by names below
descriptors (`owner_only.held`), never by the place's own name: what he changes meanwhile isn't
followed.

A result that is already there is kept: it moves to `NAME.1`, what was there to `NAME.2`, and so on;
the newest is always `NAME`. What several runs have together is kept together: a run whose place is
inside a comparison moves all of that. A run that fails or is interrupted before its numbers are
written leaves nothing. One that is killed leaves its hidden directory, and a link to it in the
cache, by which the next run, or `pcn down`, finds and removes it. A running one is known by its
lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO

from pcn.base import owner_only, signals
from pcn.base.errors import NO_ROOM
from pcn.experiments.data.errors import ExperimentError
from pcn.softswitch.cache.objects import BuildError, cache_dir, writing
from pcn.topologies import extras

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
_LEVELS = 8
"""Of folders in a result: a comparison of comparisons has three. Its owner chose a folder's depth,
and what is cleared is walked by calls."""
log = logging.getLogger("pcn.experiments")
_LOCKED_S, _AGAIN_S = 5.0, 0.01
"""For how long a lock is awaited, of which a run takes two, while others rename results; how often
it is tried."""


@contextmanager
def result_directory(place: Path, replaces: bool = True) -> Iterator[Path]:
    """Yields a new directory to write results into; when the block ends well, it becomes `place`,
    where nothing may be unless it `replaces` that.

    Raises ExperimentError when `place` can't be written, or when it is something else than an
    earlier result (it is never touched then).
    """
    if place.exists() and not is_result(place):
        raise ExperimentError(
            f"{place} is there and isn't a result of an earlier run: choose another --out"
        )
    undo = contextlib.ExitStack()
    undo.callback(remove_empty, [parent for parent in place.parents if not parent.exists()])
    names: dict[Path, Path] = {}
    try:
        earlier = (_comparison(place) if replaces else None) or place
        folder, work = _work_directory(earlier, undo)
        names = {work: place, folder: earlier.parent}
        yield work
        with signals.deferred(), _locked(folder):
            if replaces:
                _move_aside(folder / earlier.name)
            with owner_only.held(
                folder / place.parent.relative_to(earlier.parent), owner_only.PUBLIC
            ) as parent:
                work.rename(parent / place.name)
    except owner_only.NotPrivateError as error:
        raise ExperimentError(error.line("choose another --out")) from None
    except OSError as error:
        file = Path(error.filename or "/")
        path = next(
            (
                name / file.relative_to(held)
                for held, name in names.items()
                if file.is_relative_to(held)
            ),
            None,
        )
        if error.errno is None or not (path or error.errno in NO_ROOM):
            raise
        raise ExperimentError(
            f"can't write {path or place}: {os.strerror(error.errno)}. Choose another --out"
        ) from None
    finally:
        with signals.deferred():  # a second Ctrl-C
            undo.close()


def _comparison(place: Path) -> Path | None:
    """Returns the outermost folder of several runs that `place` is inside, if any; none that this
    process works in."""
    here = Path.cwd()
    around = (
        folder for folder in reversed(place.parents) if not here.is_relative_to(folder.resolve())
    )
    return next((folder for folder in around if (folder / COMPARISON).is_file()), None)


def _work_directory(place: Path, undo: contextlib.ExitStack) -> tuple[Path, Path]:
    """Returns the folder of `place`, held, and a new directory below it, to which a link in the
    cache leads; `undo` removes that, unless it was renamed. Raises ExperimentError."""
    try:
        folder = undo.enter_context(owner_only.held(place.parent, owner_only.PUBLIC))
        with signals.deferred(), _locked(folder):
            remove_dead()
            # A folder around the result that others can't enter: nobody but this user can rename
            # what is in it.
            around = undo.enter_context(owner_only.scratch(folder, f".{place.name}{_WORK}"))
            work = around / "result"
            work.mkdir()
            work.chmod(owner_only.PUBLIC)
            if runs := _runs():
                link = runs / f"{os.getpid()}-{around.stat().st_ino}"
                undo.callback(link.unlink, missing_ok=True)
                with writing(runs):
                    link.symlink_to(around.readlink())
    except BuildError as error:
        raise ExperimentError(str(error)) from None
    except owner_only.NotPrivateError as error:
        raise ExperimentError(error.line("choose another --out")) from None
    except OSError as error:
        raise ExperimentError(
            f"can't write results into {place.parent}: {error.strerror}. Choose another --out"
        ) from None
    return folder, work


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Yields a new file of this name for the block to write, never what a link of that name leads
    to: where that fails, nothing of the file stays. Its folder is the same all the while
    (`owner_only.held`). Raises ExperimentError where another user's link leads there."""
    with held(path.parent) as folder:
        new = folder / path.name
        new.unlink(missing_ok=True)
        try:
            with os.fdopen(owner_only.new_file(new), "wb") as file:
                yield file
        except BaseException as error:
            new.unlink(missing_ok=True)
            # None as of a write
            if isinstance(error, OSError) and error.filename in (
                None,
                str(new),
            ):
                error.filename = str(path)
            raise


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yields a new file for the block to write. It then takes the place of `path`, which stays as
    it is if that fails. Raises as `whole`."""
    new = path.with_name(f"{path.name}.new")
    with whole(new) as file:
        yield file
    with held(path.parent) as folder:
        (folder / new.name).replace(folder / path.name)


@contextmanager
def held(folder: Path, make: bool = False) -> Iterator[Path]:
    """Yields a name by which a folder stays the same one (`owner_only.held`), with `make` also one
    that was missing. Raises ExperimentError where another user's link leads there; OSError."""
    try:
        with owner_only.held(folder, owner_only.PUBLIC if make else None) as same:
            yield same
    except owner_only.NotPrivateError as error:
        raise ExperimentError(error.line("choose another folder")) from None


def left_out(pictures: bool = True) -> str:
    """Returns a line on what results lack here and how it comes, if anything; `pictures`: whether
    these are wanted."""
    lacking = [
        extra
        for extra in _OPTIONAL
        if not extras.installed(extra) and (pictures or extra != "figures")
    ]
    missing = " and no ".join(_OPTIONAL[extra] for extra in lacking)
    return missing and f"results have no {missing} here: {extras.remedy(*lacking)} adds them"


def is_result(directory: Path, levels: int = _LEVELS) -> bool:
    """Returns whether this is a directory that a run wrote, or one that holds nothing but such
    directories, at most `levels` deep."""
    return (
        levels > 0
        and directory.is_dir()
        and (
            has_numbers(directory)
            or all(is_result(inner, levels - 1) for inner in directory.iterdir())
        )
    )


def has_numbers(directory: Path) -> bool:
    return any((directory / name).is_file() for name in _NUMBERS)


def remove_dead() -> list[str]:
    """Removes the work directories of killed runs, whose lock is free. Returns what was removed."""
    removed: list[str] = []
    runs = _runs()
    for link in runs.iterdir() if runs else ():
        with contextlib.suppress(OSError, owner_only.NotPrivateError):
            work, (pid, _, number) = link.readlink(), link.name.partition("-")
            if _WORK in work.name and work.is_dir():
                with owner_only.held(work.parent) as folder:
                    lock = owner_only.lock(folder / work.name)
                    try:
                        there = os.fstat(lock)
                        if (there.st_uid, str(there.st_ino)) == (os.geteuid(), number):
                            owner_only.clear(lock)
                            (folder / work.name).rmdir()
                            removed.append(str(work))
                    finally:
                        os.close(lock)
            elif Path("/proc", pid).exists():
                continue  # it may see a file system that isn't here
            link.unlink(missing_ok=True)
    return removed


def _runs() -> Path | None:
    """Has a link to the work directory of each run of this user. None in a cache that can only be
    read: what is in it is enough for a run. Raises BuildError."""
    try:
        path = cache_dir("runs")
    except BuildError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in (
            errno.EROFS,
            errno.EACCES,
        ):
            return None
        raise
    return path if os.access(path, os.W_OK) else None


def remove_empty(directories: Sequence[Path]) -> None:
    """Those of these that are empty, in this order: what a failed run made on the way to its place,
    the inner first."""
    for directory in directories:
        with (
            contextlib.suppress(OSError, owner_only.NotPrivateError),
            owner_only.held(directory.parent) as folder,
        ):
            (folder / directory.name).rmdir()


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
    """Locks a folder: two runs that end at once must not rename the same earlier result. Any user
    who may read a folder may lock it without an end; so a run waits for the lock for longer than
    runs have it, and then goes on."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end = time.monotonic() + _LOCKED_S
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    log.warning("%s has been locked for %g s: going on", directory, _LOCKED_S)
                    break
                # flock waits without a limit, or not at all
                time.sleep(_AGAIN_S)
        yield
    finally:
        os.close(descriptor)
