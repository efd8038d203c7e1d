"""The judge of blame and savings: its short form, and its correlation against SciPy's."""

import importlib

import pytest
import savings
from hypothesis import assume, given, strategies as st
from savings import Root

SHARES = st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), min_size=3, max_size=40)


@given(SHARES)
def test_correlation_is_spearmans(shares):
    stats = importlib.import_module("scipy.stats")
    # Equal ranks have no correlation.
    assume(all(len(set(column)) > 1 for column in zip(*shares, strict=True)))
    roots = [Root("s0:1", blame, saving) for blame, saving in shares]
    expected = stats.spearmanr(*zip(*shares, strict=True)).statistic
    assert savings.correlation([roots[:1], roots[1:]]) == pytest.approx(expected)


def test_root_that_is_blamed_alone_is_not_counted():
    first, second = Root("a", 0.5, 0.4), Root("b", 0.2, 0.1)
    swapped = [Root("a", 0.5, 0.1), Root("b", 0.2, 0.4)]
    assert savings.first_saves_most([[first, second], [first], swapped]) == (1, 2)


def test_roots_of_an_in_cast_are_blamed_for_what_pause_took():
    roots = savings.roots(1)
    assert len(roots) > 1
    blame = [root.blame for root in roots]
    assert blame == sorted(blame, reverse=True)
    assert 0 < sum(blame) < 1
    # The first one is congested and not PAUSEd: the flow gains where it is fast.
    assert 0.1 < roots[0].saving < 1
