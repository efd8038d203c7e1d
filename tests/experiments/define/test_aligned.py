"""Numbers of a column have their points below each other, and no digit that wasn't there."""

import re

import pytest
from hypothesis import given, strategies as st

from pcn.experiments.define.tables import aligned, aligned_rows, with_unit

CELLS = st.one_of(
    st.from_regex(r"[0-9]{1,3}(,[0-9]{3})*(\.[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["–", "12 / 20 [1, 2]", "", "3 ms"]),
)


@given(st.lists(CELLS, max_size=8))
def test_points_stand_below_each_other_and_texts_stay(cells):
    shown = aligned(cells)
    assert [cell.rstrip() for cell in shown] == [cell.rstrip() for cell in cells]
    numbers = [cell for cell in shown if re.fullmatch(r"[0-9][0-9,.]*\s*", cell)]
    if any(re.search(r"[0-9]", cell) for cell in cells if not re.fullmatch(r"[0-9][0-9,.]*", cell)):
        assert shown == cells, "units differ"
        return
    behind = {len(cell) - (cell.rstrip() + ".").index(".") for cell in numbers}
    assert len(behind) <= 1, "right-aligned, the points are as far from the end"


@pytest.mark.parametrize(
    ("cells", "heading", "shown"),
    [
        (["1 ms", "12.5 ms"], "mean, ms", ["1", "12.5"]),
        (["1 ms", "12.5 us"], "mean", ["1 ms", "12.5 us"]),
        (["1", "2"], "mean", ["1", "2"]),
        (["1 ms", "–"], "mean, ms", ["1", "–"]),
        (["0 of 9", "3 of 9"], "mean, of 9", ["0", "3"]),
    ],
)
def test_unit_of_all_cells_stands_in_the_heading(cells, heading, shown):
    name, texts = with_unit("mean", cells)
    assert (name, [text.rstrip() for text in texts]) == (heading, shown)


def test_names_of_rows_stay_as_they_are():
    assert aligned_rows([["1", "1"], ["1.25", "1.25"]]) == [
        ["1", "1\N{PUNCTUATION SPACE}\N{FIGURE SPACE}\N{FIGURE SPACE}"],
        ["1.25", "1.25"],
    ]
    assert aligned_rows([]) == []
