"""The short form: some changed files of each format."""

import random

import pytest
from fuzz_formats import SAMPLES, cases, judge, limited


@pytest.mark.parametrize("name", SAMPLES)
def test_reader_reads_or_refuses_changed_file(name):
    outcomes = set()
    for number in range(50):
        text = cases(name, random.Random(f"{name} {number}"))
        with limited():
            outcomes.add(judge(name, text))
    assert outcomes == {"read", "refused"}
