"""The short form: some changed files of each format of flows."""

import random

import pytest
from fuzz_flows import SAMPLES, cases, judge
from fuzz_formats import limited


@pytest.mark.parametrize("name", SAMPLES)
def test_reader_reads_or_refuses_changed_flows(name):
    outcomes = set()
    for number in range(6 if name.endswith(".parquet") else 30):  # a process each reads Parquet
        case = cases(name, random.Random(f"{name} {number}"))
        with limited():
            outcomes.add(judge(name, case))
    assert outcomes == {"read", "refused"}
