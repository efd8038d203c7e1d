"""What has been run: a directory with one Parquet file a task, each written aside and renamed.

    parts/IDENTITY.parquet   one row: identity, version, keys and value (JSON), error, traceback, digest, host,
                             wall_s, cpu_s, max_rss_bytes

A crash leaves whole files only. One process writes; workers need no file system in common.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.errors import ExperimentError
from experiments.output import remove_empty, replacing
from experiments.sweep.task import Done, Task
from topologies.errors import NO_ROOM

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("experiments", "virtualnet", "softswitch", "hosts", "topologies", "controller", "p4src/compiled")
_KINDS = (".py", ".c", ".h", ".json", ".txtpb")
_TYPES = {"str": pa.string(), "float": pa.float64(), "int": pa.int64(), "Any": pa.string()}
_SCHEMA = pa.schema(
    [("version", pa.string()), ("keys", pa.string())] + [(one.name, _TYPES[str(one.type)]) for one in fields(Done)]
)


@cache
def version() -> str:
    """Of all that decides a result: a digest of the sources."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in _KINDS):
            digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Store:
    """Tasks that are over, in `place`. `fresh`: what is there is forgotten.

    Raises ExperimentError where there are runs of another version of the sources, or no room."""

    def __init__(self, place: Path, fresh: bool = False) -> None:
        self.place = place
        self._parts = place / "parts"
        self._made = [folder for folder in (place, *place.parents) if not folder.exists()]
        if fresh:
            self.remove()
        if place.exists() and not self._parts.is_dir() and (not place.is_dir() or any(place.iterdir())):
            raise ExperimentError(f"{place} is there and isn't a sweep's: choose another --out")
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
            for unfinished in self._parts.glob("*.new"):
                unfinished.unlink()
        except OSError as error:
            raise ExperimentError(f"can't write into {place}: {error.strerror}") from None
        self.done = {one.identity: one for one in self._read()}

    def add(self, task: Task, done: Done) -> None:
        """Keeps one. Raises ExperimentError."""
        row = {"version": version(), "keys": json.dumps(dict(task.keys)), **asdict(done)}
        row["value"] = json.dumps(done.value)
        path = self._parts / f"{task.identity}.parquet"
        try:
            with replacing(path) as new:
                pq.write_table(pa.Table.from_pylist([row], _SCHEMA), new)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise ExperimentError(f"can't write {path}: {error.strerror}. What is in {self.place} stays") from None
        self.done[task.identity] = done

    def remove(self) -> None:
        """Forgets all of them, and leaves no empty folder behind that wasn't there before."""
        shutil.rmtree(self._parts, ignore_errors=True)
        remove_empty([self.place, *self._made])

    def _read(self) -> Iterator[Done]:
        names = [one.name for one in fields(Done)]
        for path in sorted(self._parts.glob("*.parquet")):
            (row,) = pq.read_table(path).to_pylist()
            if row["version"] != version():
                raise ExperimentError(
                    f"{self.place} has runs of another version of the sources: give --fresh to run them anew, "
                    "or another --out"
                )
            yield Done(**{name: row[name] for name in names} | {"value": json.loads(row["value"])})
