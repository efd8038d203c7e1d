"""The notebook in examples/: its cells run one after another, as in Jupyter, and show what their
texts state."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/python.ipynb"
MOST_BYTES = 45_000
RUN = """
import json, sys
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
def show():
    print("figure", sum(len(axes.lines) + len(axes.patches) for axes in plt.gcf().axes))
plt.show = show
names = {"__name__": "__main__"}
for number, source in enumerate(json.load(sys.stdin)):
    exec(compile(source, f"cell {number}", "exec"), names)
found = {
    "rates": names["rates"].iloc[-1].to_dict(),
    "goodputs": names["goodputs"].sum(axis=1).to_dict(),
    "queue_kb": names["bottleneck"].max(),
    "samples": len(names["bottleneck"]),
    "received": sum(names["received"].values()),
}
print(json.dumps(found))
"""


def notebook() -> dict[str, Any]:
    return json.loads(NOTEBOOK.read_text())


def outputs(document: dict[str, Any], kind: str) -> list[Any]:
    """What the cells show of a kind, in order."""
    return [
        output["data"][kind]
        for cell in document["cells"]
        for output in cell.get("outputs", ())
        if kind in output.get("data", ())
    ]


def test_notebook_is_stored_with_its_pictures():
    document = notebook()
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert len(outputs(document, "image/png")) == 3
    assert NOTEBOOK.stat().st_size < MOST_BYTES


@pytest.mark.long
def test_notebook_shows_what_its_cells_give_today(tmp_path):
    copy = tmp_path / "copy.ipynb"
    document = notebook()
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    copy.write_text(json.dumps(document))
    program = NOTEBOOK.parents[1] / "release/notebook.py"
    done = subprocess.run(
        [sys.executable, program, copy], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    rerun = json.loads(copy.read_text())
    for kind in ("text/plain", "text/html"):
        assert outputs(rerun, kind) == outputs(notebook(), kind), "run: make notebook"
    assert len(outputs(rerun, "image/png")) == 3


@pytest.mark.long
def test_notebook_runs_in_an_empty_folder(tmp_path):
    sources = [
        "".join(cell["source"]) for cell in notebook()["cells"] if cell["cell_type"] == "code"
    ]
    command = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", RUN]
    done = subprocess.run(
        command, cwd=tmp_path, input=json.dumps(sources), env={**os.environ,
        "PYTHONPATH": str(NOTEBOOK.parents[1])},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    figures = [line for line in done.stdout.splitlines() if line.startswith("figure")]
    assert len(figures) == 3
    assert all(int(line.split()[1]) > 0 for line in figures)
    printed = json.loads(done.stdout.splitlines()[-1])
    # All flows share the bottleneck of 10 Gbit/s; what arrives after the end counts, too.
    assert list(printed["rates"]) == ["flow 1", "flow 2", "flow 3", "flow 4"]
    assert set(printed["goodputs"]) == {"pcn-x", "dcqcn", "pfc"}
    assert all(5 < total < 10.5 for total in printed["goodputs"].values())
    assert printed["goodputs"]["dcqcn"] < printed["goodputs"]["pcn-x"]
    assert printed["samples"] == 2001
    assert printed["queue_kb"] > 10
    assert 10e-3 * 15e9 / 8 * 0.7 < printed["received"] < 10e-3 * 15e9 / 8
    assert {path.name for path in (tmp_path / "notebook").iterdir()} == {
        "pcn",
        "pcn-x",
        "dcqcn",
        "pfc",
    }
