"""The short form: some changed traces."""

import random

import pytest
from fuzz_formats import limited
from fuzz_traces import SAMPLES, cases, judge


@pytest.mark.parametrize("name", SAMPLES)
def test_reader_reads_or_refuses_changed_trace(name):
    outcomes = set()
    for number in range(50):
        case = cases(name, random.Random(f"{name} {number}"))
        with limited():
            outcomes.add(judge(name, case))
    assert outcomes == {"read", "refused"}
