"""The short form: some changed files of each kind, in folders of results."""

import random

import pytest
from fuzz_formats import limited
from fuzz_results import SAMPLES, cases, judge


@pytest.mark.parametrize("name", SAMPLES)
def test_reader_reads_or_refuses_changed_file_of_results(name):
    outcomes = set()
    least = 4 if name.endswith(".parquet") else 8  # a process each reads Parquet
    for number in range(24):  # of changed Parquet files few can be read
        case = cases(name, random.Random(f"{number} {name}"))
        with limited():
            outcomes.add(judge(name, case))
        if number >= least - 1 and len(outcomes) == 2:
            break
    assert outcomes == {"read", "refused"}
