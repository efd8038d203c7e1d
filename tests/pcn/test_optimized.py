"""Under PYTHONOPTIMIZE=2 docstrings are gone: no data may be in them."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

from distributions import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTIONS = {"topologies/lookup.py"}
"""Show a docstring to a user, and go on without it."""


def test_run_is_the_same_without_docstrings(tmp_path):
    """RP and NP in C among it, whose sources are compiled with the names of structs."""
    words = (
        "run", "dumbbell", "--clock", "virtual", "--set", "pairs=1", "--set", "duration=1ms",
        "--quiet",
    )  # fmt: skip
    digests = set()
    for level in ("", "2"):
        out = tmp_path / f"level{level}"
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONOPTIMIZE": level}
        done = subprocess.run(
            [sys.executable, "-m", "pcn", *words, "--out", str(out)],
            env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        digests.add(json.dumps(json.loads((out / "summary.json").read_text())["flows"]))
    assert len(digests) == 1


def test_product_reads_no_docstring():
    readers = set()
    for package in (*PACKAGES, "pcn"):
        for path in (ROOT / package).rglob("*.py"):
            nodes = ast.walk(ast.parse(path.read_text()))
            names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
            if names & {"__doc__", "getdoc"}:
                readers.add(str(path.resolve().relative_to(ROOT)))
    assert readers == DESCRIPTIONS
