"""Every bench of bench/ runs, for as short a time as its options allow; what it measures is its
own."""

import re
from pathlib import Path

import forks
import pytest

BENCH = Path(__file__).parents[1] / "bench"
SHORTEST = {
    "acknowledgements": "--repetitions 1 --duration 1e-5",
    "agents": "--seconds 0.1 1000",
    "catalog": "dumbbell",
    "hops": "--seconds 0.2",
    "inside": "dumbbell=200 --seconds 0.1",
    "parts": "--pods 2 --flows 1 --duration 1e-5 --parts 2",
    "pace": "fat-tree=1 --duration 1e-4",
    "switch": "forwarding --seconds 0.05 --runs 1 --sizes 64 --no-bmv2",
    "virtual": "incast --repetitions 1 --duration 1e-5",
    "ways": "dumbbell -k 1000 --runs 1 --set pairs=1 --set duration=1ms",
}
"""By bench: its words."""
MODULES = {"parts", "switch"}
"""Benches that `python -m` runs in the checkout."""
NEEDS_ROOT = {"agents", "catalog", "hops", "inside", "switch", "ways"}


def benches() -> dict[str, Path]:
    """Returns the file that begins each bench, by name."""
    files = {file.stem: file for file in BENCH.glob("*.py") if file.stem != "__init__"}
    return files | {file.parent.name: file for file in BENCH.glob("*/__main__.py")}


def test_no_bench_is_left_out():
    assert benches().keys() == SHORTEST.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.root] * (name in NEEDS_ROOT)) for name in SHORTEST],
)
def test_bench_prints_figures(name):
    command = ["-m", f"bench.{name}"] if name in MODULES else [str(benches()[name])]
    done = forks.run(*command, *SHORTEST[name].split(), cwd=BENCH.parent)
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d", done.stdout)
