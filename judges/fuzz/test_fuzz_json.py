"""Mutants of programs' JSON (fuzz_json.py): refused by one line that names a place, or run."""

import contextlib
import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import fuzz_json
import json_mutants
import needs
import pytest
import sanitizers

pytestmark = pytest.mark.long


def test_mutated_document_has_each_node_once():
    """Else places that stand in one another multiply, and one mutant changes the next."""
    for seed in range(50):
        document = json.loads(json_mutants.bases()[0])
        with contextlib.suppress(RecursionError):
            json_mutants.mutate(document, random.Random(seed))
        todo, seen = (
            [document],
            {
                id(replacement)
                for replacement in json_mutants.OTHERS
                if isinstance(replacement, list | dict)
            },
        )
        while todo:
            node = todo.pop()
            if isinstance(node, list | dict):
                assert id(node) not in seen, seed
                seen.add(id(node))
                todo += node.values() if isinstance(node, dict) else node


def test_mutant_is_refused_by_a_line_or_becomes_c():
    results = Counter(
        fuzz_json.check(json_mutants.mutant(seed), random.Random(seed), run=False)
        for seed in range(1, 21)
    )
    assert min(results["refused"], results["generated"]) > 3, results


def test_mutant_that_is_not_refused_runs():
    """Under the sanitizers: it is compiled and loaded, takes entries and forwards frames."""
    environment = sanitizers.environment() or needs.missing(needs.SANITIZERS)
    words = [sys.executable, Path(fuzz_json.__file__), "run", "1", str(fuzz_json.MUTANTS)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "'ran'" in done.stdout


def test_program_to_start_from_runs():
    """Else the fuzzing would look at nothing but refusals."""
    for text in json_mutants.bases():
        assert fuzz_json.check(text, random.Random(1)) == "ran"
