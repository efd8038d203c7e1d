"""The short form: some changed files of each kind."""

import random

import pytest
from fuzz_formats import limited
from fuzz_switches import SAMPLES, cases, judge


@pytest.mark.parametrize("name", SAMPLES)
def test_reader_reads_or_refuses_changed_file_of_switches(name):
    outcomes = set()
    for number in range(30):
        case = cases(name, random.Random(f"{number} {name}"))
        with limited():
            outcomes.add(judge(name, case))
    assert outcomes == {"read", "refused"}
