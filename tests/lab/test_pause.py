"""When PAUSE is sent again. No clock."""

import math

import pytest
from hypothesis import given, strategies as st

from pcn.controller.constants import MAX_QUANTA
from pcn.lab.pause import _next

QUANTUM_S = 512 / 10e9


@given(st.floats(1e-9, 1.0))
def test_each_pause_is_followed_before_it_ends_and_the_last_ends_with_the_pause(left_s):
    quanta, wait_s = _next(left_s, QUANTUM_S)
    assert 1 <= quanta <= MAX_QUANTA
    if left_s > MAX_QUANTA * QUANTUM_S:
        assert (quanta, wait_s) == (MAX_QUANTA, pytest.approx(MAX_QUANTA * QUANTUM_S / 2))
    else:
        assert left_s <= quanta * QUANTUM_S * (1 + 1e-12) < left_s + 2 * QUANTUM_S
        assert wait_s >= left_s * (1 - 1e-12) or quanta == MAX_QUANTA


def test_pause_without_end_is_refreshed_without_end():
    assert _next(math.inf, QUANTUM_S) == (MAX_QUANTA, MAX_QUANTA * QUANTUM_S / 2)
