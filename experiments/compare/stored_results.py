"""Runs that were kept, as folders have them: what was set, what came out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from pcn.base import inputs
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.stored_values import (
    reading,
    stored_curve,
    stored_json,
    stored_number,
    stored_text,
)
from pcn.experiments.define.outcomes import Curve
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.results.atomic_folder import COMPARISON, SUMMARY

STORE = "done.jsonl"
"""Of a sweep."""


@dataclass(frozen=True)
class StoredRun:
    """A run. `settings`: all that was chosen, the seed excepted, by name."""

    place: str
    seed: int
    scheme: str
    scenario: str
    settings: Mapping[str, Any]
    numbers: Mapping[str, float | None]
    curves: Mapping[str, Curve]
    samples: RunSamples = field(default_factory=RunSamples)


def read(place: Path) -> list[StoredRun]:
    """Returns the runs of a folder: of one run, of several, of a sweep, or a folder of such; or of
    the file that one of them is kept in. Raises ExperimentError."""
    if place.name in (SUMMARY, COMPARISON, STORE) and place.is_file():
        place = place.parent
    with reading(place):
        runs = list(_runs(place, set()))
    if not runs:
        raise ExperimentError(
            f"{place} has no result: neither {SUMMARY} nor {COMPARISON} nor a sweep's {STORE}"
        )
    return runs


def _runs(place: Path, seen: set[str]) -> Iterator[StoredRun]:
    """Yields the runs of each folder once: files may name one again and again, as links do."""
    real = os.path.realpath(place)
    if real in seen:
        return
    seen.add(real)
    if (place / SUMMARY).is_file():
        yield _of_summary(place, stored_json(place / SUMMARY))
    elif (place / STORE).is_file():
        for line in inputs.read_text(place / STORE).splitlines():
            row = json.loads(line)
            if not row["error"]:
                yield _of_sweep(place, row)
    elif (place / COMPARISON).is_file():
        for name in stored_json(place / COMPARISON)["runs"]:
            if (
                not Path(stored_text(name)).parts
                or Path(name).is_absolute()
                or ".." in Path(name).parts
            ):
                raise ValueError(f"{name!r} is no folder in it")
            yield from _runs(place / name, seen)
    elif place.is_dir():
        for inner in sorted(place.iterdir()):
            if inner.is_dir() and not inner.is_symlink():
                yield from _runs(inner, seen)


def _of_summary(place: Path, summary: Mapping[str, Any]) -> StoredRun:
    made_of = dict(parse_qsl(summary["reference"].partition("?")[2]))
    settings = {
        "scenario": summary["scenario"],
        **{name: value for name, value in made_of.items() if name != "digest"},
        "scheme": summary["scheme"],
        "clock": summary["clock"],
        "target": summary["target"],
        "k": summary["k"],
        **{
            name: value
            for name, value in summary.get("flow_control", {}).items()
            if value is not None
        },
        **summary["parameters"],
        "commit": summary["provenance"].get("commit", ""),
        "tree": summary["provenance"].get("tree", ""),
    }
    steady = summary["steady"] if summary["flows"] else {}
    numbers = {
        **summary["measures"],
        "duration_ms": summary["duration_s"] * 1e3,
        "packets lost": summary["packets"]["lost"],
        "pause_frames": summary["pfc"]["pause"],
        **{
            f"steady {name}": steady[name]
            for name in ("utilisation", "jain", "queue_bytes_mean")
            if steady
        },
        **{
            f"latency_{name.removesuffix('_s')}_us class {number}": None
            if value is None
            else value * 1e6
            for number, latencies in summary["latency"].items()
            for name, value in latencies.items()
            if name != "packets"
        },
    }
    seed, curves = summary["seed"], summary["curves"]
    if "samples" not in summary:
        raise ExperimentError(
            f"{place} is of an earlier version, without its flows by size: run it again"
        )
    contents = (settings, numbers, curves, summary["samples"])
    return _checked(place, seed, summary["scheme"], summary["scenario"], *contents)


def _of_sweep(place: Path, row: Mapping[str, Any]) -> StoredRun:
    keys, value = row["keys"], row["value"]
    scenario, _, query = str(row.get("experiment", "")).partition("?")
    made_of = dict(parse_qsl(query))
    digests = made_of.pop("digest", ""), row.get("files", "")
    files = " ".join(digest[:8] for digest in digests if digest)
    settings = {
        **made_of,
        **{name: key for name, key in keys.items() if name != "seed"},
        **({"files": files} if files else {}),
        "sources": row["version"],
    }
    scheme = str(keys.get("scheme", ""))
    if "samples" not in value:
        raise ExperimentError(
            f"{place} is a sweep of an earlier version, without its flows by size: the same `pcn "
            "sweep` with --fresh runs it anew"
        )
    contents = (settings, value["numbers"], value["curves"], value["samples"])
    return _checked(place, keys.get("seed", 1), scheme, scenario, *contents)


def _checked(
    place: Path,
    seed: Any,
    scheme: Any,
    scenario: Any,
    settings: Mapping[str, Any],
    numbers: Mapping[str, Any],
    curves: Mapping[str, Any],
    samples: Mapping[str, Any],
) -> StoredRun:
    """Returns what a file had, whatever wrote it. Raises ValueError and others where it isn't what
    a run writes."""
    if not isinstance(seed, int):
        raise ValueError(f"seed {seed!r}")
    return StoredRun(
        place=str(place),
        seed=seed,
        scheme=stored_text(scheme),
        scenario=stored_text(scenario),
        settings={stored_text(name): value for name, value in settings.items()},
        numbers={
            stored_text(name): None if value is None else float(stored_number(value))
            for name, value in numbers.items()
        },
        curves={
            stored_text(name): _floats(*stored_curve(*curve)) for name, curve in curves.items()
        },
        samples=RunSamples.from_json(samples),
    )


def _floats(x: Sequence[float], y: Sequence[float]) -> Curve:
    return list(map(float, x)), list(map(float, y))
