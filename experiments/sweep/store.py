"""What has been run: a file with a line of JSON a task, in the order in which they ended.

    done.jsonl   identity, version, experiment, keys, files, value, error, traceback, digest, host,
                 wall_s, cpu_s, max_rss_bytes

A task that failed and was run again has several lines; the last one holds. A crash leaves whole
lines, and at most one that isn't, which is cut off. One process writes; workers need no file system
in common.

With `--fresh` lines go to `done.jsonl.new`, which takes the other's place once every task is over.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path

from pcn.base import inputs
from pcn.base.errors import NO_ROOM
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.results.atomic_folder import held, remove_empty
from pcn.experiments.sweep.task import Done, Task, digest

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = (
    "base", "experiments", "hosts/virtual", "virtualnet", "softswitch", "hosts", "topologies",
    "controller",
    "p4src/compiled",
)  # fmt: skip
_KINDS = (".py", ".c", ".h", ".json", ".txtpb")
FILE = "done.jsonl"


@cache
def version() -> str:
    """Returns a digest (16 hex digits) of the sources that decide a result."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in _KINDS):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """Tasks that are over, in `place`. `fresh`: none of those that are there counts, and `complete`
    replaces them; what an interrupted sweep with `fresh` has done counts.

    Raises ExperimentError where there are runs of another version of the sources, or no room."""

    def __init__(self, place: Path, fresh: bool = False) -> None:
        self.place = place
        self._kept = self._path = place / FILE
        self._made = [folder for folder in (place, *place.parents) if not folder.exists()]
        if (
            place.exists()
            and not self._path.is_file()
            and (not place.is_dir() or any(place.iterdir()))
        ):
            raise ExperimentError(
                f"{place} has no {FILE}, so it isn't a sweep's folder: choose another --out"
            )
        try:
            with held(place, make=True):
                pass
            if fresh and self._kept.is_file():
                self._path = place / f"{FILE}.new"
            os.close(self._open(os.O_CREAT))
        except OSError as error:
            raise ExperimentError(f"can't write into {place}: {error.strerror}") from None
        try:
            self.done = {record.identity: record for record in self._read()}
        except ExperimentError:
            if self._path == self._kept:
                raise
            self._truncate(0)
            self.done = {}

    def add(self, task: Task, done: Done) -> None:
        """Keeps one. Raises ExperimentError."""
        row = {
            "version": version(),
            "experiment": str(task.arguments.get("experiment", "")),
            "keys": dict(task.keys),
            "files": digest(files)[:16] if (files := task.arguments.get("files")) else "",
            **asdict(done),
        }
        file = self._open()
        try:
            end = os.fstat(file).st_size
            try:
                _write(file, json.dumps(row, allow_nan=False).encode() + b"\n")
            except BaseException:
                os.ftruncate(file, end)
                raise
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise ExperimentError(
                f"can't write {self._path}: {error.strerror}. What is in it stays"
            ) from None
        finally:
            os.close(file)
        self.done[task.identity] = done

    def complete(self) -> None:
        """Puts these tasks in the place of those that were there before a sweep with `fresh`."""
        with held(self.place) as folder:
            (folder / self._path.name).replace(folder / self._kept.name)
        self._path = self._kept

    def remove(self) -> None:
        """Forgets all of them, but none that `fresh` has left out, and leaves no empty folder
        behind that wasn't there before."""
        with held(self.place) as folder:
            (folder / self._path.name).unlink(missing_ok=True)
        remove_empty([self.place, *self._made])

    def _open(self, flags: int = 0) -> int:
        with held(self.place) as folder:
            flags |= os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            return os.open(folder / self._path.name, flags, 0o644)

    def _truncate(self, size: int) -> None:
        file = self._open()
        try:
            os.ftruncate(file, size)
        finally:
            os.close(file)

    def _read(self) -> Iterator[Done]:
        names = [field.name for field in fields(Done)]
        with held(self.place) as folder:
            whole, end, torn = inputs.read_bytes(folder / self._path.name).rpartition(b"\n")
        if torn:
            self._truncate(len(whole) + len(end))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                row = json.loads(line)
                outdated = row["version"] != version()
                done = Done(**{name: row[name] for name in names})
                ours = _is_ours(done)
            except (ValueError, LookupError, TypeError, RecursionError):
                outdated = ours = False
            if outdated:
                raise ExperimentError(
                    f"{self.place} has runs of another version of the sources: give --fresh to run "
                    "them anew, or another --out"
                )
            if not ours:
                raise ExperimentError(
                    f"{self._path}:{number}: no run of a sweep: give --fresh, or another --out"
                )
            yield done


def _is_ours(done: Done) -> bool:
    texts = (done.identity, done.error, done.traceback, done.digest, done.host)
    numbers = (done.wall_s, done.cpu_s, done.max_rss_bytes)
    plain = all(isinstance(text, str) for text in texts) and all(
        type(number) in (int, float) for number in numbers
    )
    return plain and (bool(done.error) or digest(done.value) == done.digest)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
