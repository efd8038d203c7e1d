"""Folders of results, in which a file was changed with regard to its structure: each is read, or
refused by a line.

    python judges/fuzz/fuzz_results.py SECONDS [--seed N]

A folder may be another user's: `pcn compare` reads summary.json, comparison.json and a sweep's
done.jsonl, `pcn view` the series, the queues and the network of a run; a sweep goes on from its
done.jsonl, and a figure is drawn again from its outcomes.json. A reader may raise LabError and
nothing else, ends within `LIMIT_S`, and in the memory of `MOST_BYTES`. What is read is used:
tables, page, CSV and, of some cases, pictures; the live page.
"""

import atexit
import contextlib
import functools
import io
import json
import random
import shutil
import sys
import tempfile
import zlib
from dataclasses import asdict
from pathlib import Path

from fuzz_flows import of_bytes
from fuzz_formats import of_lines, of_tree, run
from rich.console import Console

from pcn.base.errors import LabError
from pcn.cli import run as pcn
from pcn.experiments.compare import tables
from pcn.experiments.compare.figures import figures
from pcn.experiments.compare.groups import grouped
from pcn.experiments.compare.stored_results import read
from pcn.experiments.compare.write import render
from pcn.experiments.define.checks import Check
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.draw.pictures import pictures
from pcn.experiments.page.terminal import show_table
from pcn.experiments.sweep import figures as kept_figures
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Done, Task, digest
from pcn.web.recorded import one_file, recorded

_RUN = (
    *("run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "-q"),
    *(
        "--set", "count=12", "--scheme", "pcn,pfc", "--queues", "50us", "--latency", "--series",
        "flows=all",
    ),
)  # fmt: skip
_DRAWN = 40
"""A picture takes as long as a hundred tables: one case in 40 has them."""
_TASKS = [
    Task("pcn.experiments.runner:run", {"scheme": scheme}, {"scheme": scheme, "seed": 1})
    for scheme in ("pcn", "pfc")
]
_OUTCOME = Outcome(
    {"scheme": "pcn", "seed": 1, "load": 0.5},
    {"mean slowdown": 1.5, "none": None},
    {"slowdown": ([1.0, 2.0], [3.0, 4.0])},
    (Check("2.4", "an order", None, 1.0, 1.5, "", "met"),),
)


@functools.cache
def _folder() -> Path:
    """Results of two schemes, of a sweep and of a figure, in a folder each."""
    place = Path(tempfile.mkdtemp(prefix="results-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    assert pcn([*_RUN, "--out", str(place / "run")]) == 0
    store = Store(place / "sweep")
    for task in _TASKS:
        value = json.loads(json.dumps(asdict(_OUTCOME)))
        store.add(task, Done(task.identity, value, digest=digest(value)))
    (place / "figure").mkdir()
    (place / "figure" / kept_figures.OUTCOMES).write_text(json.dumps([asdict(_OUTCOME)] * 2))
    return place


@functools.cache
def _sample(name: str) -> bytes:
    return (_folder() / name).read_bytes()


def cases(name: str, draw: random.Random) -> str | bytes:
    if name.endswith("parquet"):
        return of_bytes(_sample(name), draw)
    text = _sample(name).decode()
    if draw.random() < 0.2:
        return of_lines(text, draw, draw.choice((" ", ",", ":")))
    if name.endswith("jsonl"):
        rows = json.loads(
            of_tree([json.loads(line) for line in text.splitlines()], draw, as_json=True)
        )
        return "".join(f"{json.dumps(row)}\n" for row in rows)
    return of_tree(json.loads(text), draw, as_json=True)


def judge(name: str, case: str | bytes) -> str:
    """`read`, or `refused`. Anything else that a reader raises goes through, and so does
    TimeoutError."""
    data = case if isinstance(case, bytes) else case.encode("utf-8", "surrogatepass")
    outcome = "refused"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(_folder() / Path(name).parts[0], Path(folder, "made")))
        path = place.joinpath(*Path(name).parts[1:])
        path.write_bytes(data)
        for use in _USES[name]:
            with contextlib.suppress(LabError):
                use(path.parent, zlib.crc32(data) % _DRAWN == 0)
                outcome = "read"
    return outcome


def _compare(place: Path, drawn: bool):
    groups = grouped(read(place))
    for table in tables.all_tables(groups):
        show_table(table, Console(file=io.StringIO()))
    tables.as_csv(groups)
    charts = figures(groups)
    for beside in charts.values() if drawn else ():
        pictures(beside)
    render(groups, charts)


def _view(place: Path, _drawn: bool):
    one_file(recorded(place))


def _continue(place: Path, _drawn: bool):
    store = Store(place)
    for task in _TASKS:
        done = store.done.get(task.identity)
        if done and not done.error:
            Outcome.from_json(done.value)


def _redraw(place: Path, _drawn: bool):
    kept_figures.stored_outcomes(place)


_USES = {
    "run/pcn/summary.json": (_compare, _view),
    "run/comparison.json": (_compare,),
    "sweep/done.jsonl": (_compare, _continue),
    "figure/outcomes.json": (_redraw,),
    "run/pcn/series.parquet": (_view,),
    "run/pcn/queues.parquet": (_view,),
    "run/pcn/topology.json": (_view,),
}
SAMPLES = tuple(_USES)


if __name__ == "__main__":
    sys.exit(run(__doc__, SAMPLES, cases, judge))
