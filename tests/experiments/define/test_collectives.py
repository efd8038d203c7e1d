"""Collective operations: every rank has at the end what the operation gives it; parts add up; what
isn't one."""

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from pcn.experiments.define import collectives
from pcn.experiments.define.collectives import (
    CHUNKED,
    Message,
    collective,
    messages,
    names,
    repeated,
)
from pcn.topologies.flow_order import in_order

RANKS = st.integers(2, 17)


def _ranks(name: str, ranks: int) -> int:
    """The next power of two where the algorithm needs one."""
    return (
        1 << (ranks - 1).bit_length()
        if "ing" in name.partition(":")[2].replace("ring", "")
        else ranks
    )


def _reached(schedule: list[Message], ranks: int) -> list[set[int]]:
    """From which ranks data may have come to each rank: a message brings what came with those that
    its sender waited for, its own before included."""
    brings: list[set[int]] = []
    has = [{rank} for rank in range(ranks)]
    for message in schedule:
        arrived = set().union(
            *(brings[index] for index in message.after if message.src in schedule[index][:2])
        )
        brings.append({message.src, *arrived})
        has[message.dst] |= brings[-1]
    return has


@given(st.sampled_from(names()), RANKS, st.integers(1, 5), st.integers(100, 10_000))
def test_every_rank_receives_from_all_whose_data_it_ends_with(name, ranks, chunks, size):
    ranks = _ranks(name, ranks)
    schedule = messages(name, ranks, size, chunks if name in CHUNKED else 1)
    has = _reached(schedule, ranks)
    if name == "pipeline:forward":
        assert has == [set(range(rank + 1)) for rank in range(ranks)]
    else:
        assert has == [set(range(ranks))] * ranks


@given(st.sampled_from(names()), RANKS, st.integers(1, 5), st.integers(100, 10_000))
def test_messages_carry_the_bytes_that_the_operation_needs(name, ranks, chunks, size):
    ranks = _ranks(name, ranks)
    schedule = messages(name, ranks, size, chunks if name in CHUNKED else 1)
    total = sum(message.size for message in schedule)
    assert min(message.size for message in schedule) > 0
    if name.startswith("pipeline"):
        assert total == size * (ranks - 1) * (2 if name.endswith("gpipe") else 1)
    elif name.startswith("allreduce"):
        assert total == 2 * (ranks - 1) * size
    elif name.startswith("alltoall"):  # a rank keeps its own part
        sent = Counter(
            {
                dst: sum(message.size for message in schedule if message.dst == dst)
                for dst in range(ranks)
            }
        )
        assert sum(sent.values()) == total
        assert total == (ranks - 1) * size
    else:
        assert total == (ranks - 1) * size


@given(st.sampled_from(names()), RANKS, st.integers(1, 4))
def test_repetition_waits_for_all_that_its_rank_sends_and_receives(name, ranks, times):
    once = messages(name, _ranks(name, ranks), 1000)
    schedule = repeated(once, times)
    assert len(schedule) == times * len(once)
    flows = collectives.flows(
        schedule, [f"h{rank}" for rank in range(17 * 2)], "collective", 1e-6, 5
    )
    assert len(in_order(flows)) == len(
        schedule
    )  # none waits for itself, or for one that is missing
    for number, message in enumerate(schedule):
        time, place = divmod(number, len(once))
        if time and not once[place].after:
            ends = {repetition for index in message.after for repetition in (index // len(once),)}
            assert ends == {time - 1}
            assert all(message.src in schedule[index][:2] for index in message.after)


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("allreduce", "allreduce:ring"),
        ("AllReduce:Tree", "allreduce:tree"),
        ("alltoall", "alltoall:direct"),
        ("allreduce:rings", ""),
        ("W1", ""),
        ("", ""),
        (":ring", ""),
    ],
)
def test_collective_has_one_full_name(name, full):
    assert collective(name) == full


@pytest.mark.parametrize(
    ("name", "ranks", "size", "chunks", "reason"),
    [
        ("allreduce:ring", 1, 100, 1, "at least 2 ranks, not 1"),
        ("allreduce:halving-doubling", 12, 100, 1, "a power of two ranks, not 12: 8 or 16"),
        ("allreduce:ring", 8, 7, 1, "7 bytes make no 8 parts"),
        ("allreduce:tree", 8, 7, 8, "7 bytes make no 8 parts"),
        ("allreduce:ring", 8, 100, 2, "allreduce:ring has no chunks; allreduce:tree"),
    ],
)
def test_collective_that_is_impossible_is_refused(name, ranks, size, chunks, reason):
    with pytest.raises(ValueError, match=reason):
        messages(name, ranks, size, chunks)


def test_operation_of_too_many_messages_is_refused(monkeypatch):
    assert collectives.MOST_MESSAGES == 4_194_304
    monkeypatch.setattr(collectives, "MOST_MESSAGES", 1000)
    assert len(messages("alltoall:direct", 32, 10_000)) == 32 * 31
    with pytest.raises(ValueError, match="more than 1,000 messages"):
        messages("alltoall:direct", 33, 10_000)


def test_too_many_repetitions_are_refused():
    with pytest.raises(ValueError, match="more than 4,194,304"):
        repeated(messages("allreduce:ring", 8, 100), 10**6)
