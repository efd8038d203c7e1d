"""The soak: growth is detected, and what isn't growth. docs/trust.md has its command."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import soak


def samples(memory_kb: list[int], files: list[int], threads: list[int]) -> list[soak.Sample]:
    return [
        soak.Sample(number, float(number), "s0", *values)
        for number, values in enumerate(zip(memory_kb, files, threads, strict=True))
    ]


ROUNDS = 16
STEADY = [10] * ROUNDS
LEAK = list(range(10, 10 + ROUNDS))


@pytest.mark.parametrize(
    ("memory_kb", "files", "threads", "texts"),
    [
        (STEADY, STEADY, STEADY, []),
        (STEADY, LEAK, STEADY, ["s0: files has grown from 17 to 22"]),
        (STEADY, STEADY, LEAK, ["s0: threads has grown from 17 to 22"]),
        (
            [level * 1000 for level in LEAK],
            STEADY,
            STEADY,
            ["s0: memory_kb has grown from 17000 to 22000"],
        ),
        ([level * 100 for level in LEAK], STEADY, STEADY, []),
        ([9000] * 4 + [20_000] * 12, STEADY, STEADY, []),  # it has grown warm
        ([9000] * 11 + [20_000] * 5, STEADY, STEADY, []),  # once
        (
            [9000] * 9 + [20_000] * 3 + [30_000] * 4,
            STEADY,
            STEADY,
            [],
        ),  # twice, not in each quarter
        (STEADY, [10, 12] * 8, STEADY, []),
        (STEADY[:3], LEAK[:3], STEADY[:3], []),
    ],
)
def test_what_has_grown(memory_kb, files, threads, texts):
    assert list(soak.grown(samples(memory_kb, files, threads), {})) == texts


def test_program_of_several_switches_may_keep_memory_for_each():
    several = samples([level * 1000 for level in LEAK], STEADY, STEADY)
    assert list(soak.grown(several, {"s0": 5})) == []
    assert list(soak.grown(several, {"s0": 4})) == ["s0: memory_kb has grown from 17000 to 22000"]


def test_each_program_is_judged_by_itself():
    whole = samples(STEADY, STEADY, STEADY) + [
        soak.Sample(number, 0.0, "h0", 1, 1, 2**number) for number in range(16)
    ]
    assert list(soak.grown(whole, {})) == ["h0: threads has grown from 128 to 4096"]


def test_a_sample_is_of_the_program():
    before = soak.sample(1, 2.0, "this", os.getpid())
    with Path(__file__).open():
        after = soak.sample(2, 3.0, "this", os.getpid())
    assert (after.files - before.files, after.program, after.round) == (1, "this", 2)
    assert before.threads >= 1
    assert before.memory_kb > 1000
