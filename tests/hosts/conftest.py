"""Two agents at the ends of a veth pair, slow and slower."""

from collections.abc import Iterator

import pytest
from agent_pair import Pair


@pytest.fixture
def bare_pair(tmp_path) -> Iterator[Pair]:
    """Without agents yet."""
    pair = Pair(tmp_path)
    try:
        pair.up()
        yield pair
    finally:
        pair.down()


@pytest.fixture
def slow_pair(bare_pair: Pair) -> Pair:
    """With both agents, 4000 times slower: a packet lasts 34 ms, and the longest PAUSE longer than
    a hang would."""
    bare_pair.start_agents("--param", "period_s=1e-4", "--dilation", "4000")
    return bare_pair


@pytest.fixture
def pair(bare_pair: Pair) -> Pair:
    """With both agents: 1 Gbit/s, a hundred times slower."""
    bare_pair.start_agents("--param", "period_s=1e-3")
    return bare_pair
