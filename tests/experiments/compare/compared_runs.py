"""Results and groups of runs that the tests of comparisons share."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pcn.cli import run as pcn
from pcn.experiments.compare.groups import Group
from pcn.experiments.compare.stored_results import StoredRun
from pcn.experiments.define.samples import RunSamples

RUN = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "-q"]


@pytest.fixture(scope="session")
def results(tmp_path_factory) -> Path:
    """Two schemes with three seeds each, and one with another load."""
    folder = tmp_path_factory.mktemp("results")
    for seed in range(1, 4):
        more = [
            "--seed", str(seed), "--set", "count=60", "--scheme", "pcn,pfc", "--out",
            str(folder / f"both-{seed}"),
        ]  # fmt: skip
        assert pcn([*RUN, "--load", "0.9", *more]) == 0
    more = ["--set", "count=60", "--scheme", "pcn", "--out", str(folder / "low")]
    assert pcn([*RUN, "--load", "0.3", *more]) == 0
    return folder


def stored_run(
    seed: int, scheme: str = "pcn", number: float | None = 1.0, place: str = "a", **settings
) -> StoredRun:
    return StoredRun(
        place, seed, scheme, "traffic", {"scheme": scheme, **settings}, {"n": number}, {}
    )


def group(name: str, *values: float, flows: str = "", number: str = "n") -> Group:
    runs = [stored_run(seed, number=value) for seed, value in enumerate(values)]
    digests = [RunSamples(f"{flows} of {run.seed}" if flows else "") for run in runs]
    return Group(
        name,
        tuple(
            replace(run, numbers={number: run.numbers["n"]}, samples=run_samples)
            for run, run_samples in zip(runs, digests, strict=True)
        ),
    )


def rows_of(text: str) -> dict[tuple[str, str], Mapping[str, str]]:
    return {(row["number"], row["runs"]): row for row in csv.DictReader(io.StringIO(text))}
