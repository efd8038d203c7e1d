"""When `pcn watch` looks: on a clock that only looks move."""

from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from pcn.looks import Looks

TAKES = st.floats(0, 3)


class Slow:
    """A clock, and an observer whose looks take these times in turn; it looks first when it is
    made."""

    def __init__(self, takes: list[float]):
        self.now = 100.0
        self.began: list[float] = []
        self._takes = iter(takes)

    def make(self):
        self.look()
        return self

    def look(self):
        self.began.append(self.now)
        self.now += next(self._takes)


@given(st.lists(TAKES, min_size=2, max_size=8), st.floats(0.1, 2))
def test_look_begins_a_time_after_the_one_before(takes, every_s):
    """Where that took longer: a tenth of a second after its end, so that looks leave time to
    others."""
    slow = Slow(takes)
    looks = Looks(lambda: cast(Any, slow.make()), every_s, lambda: slow.now)
    for _ in takes[1:]:
        slow.now += looks.wait_s
        looks.look()
    for before, after, took in zip(slow.began, slow.began[1:], takes, strict=False):
        assert after - before == pytest.approx(max(every_s, took + 0.1))
