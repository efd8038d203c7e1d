"""What charts show, however they are drawn: equal lines, single events, what is cut."""

import dataclasses
import warnings

import numpy as np
import pytest

from pcn.experiments.data import series_math
from pcn.experiments.define.charts import TIME, Chart, Line, View, curve, highest, shown
from pcn.experiments.draw.pictures import draw, pictures

X = np.array([0.0, 1.0, 2.0])


def chart(*values: float, top: float | None = None) -> Chart:
    lines = tuple(
        Line(f"s0 to h{i}", X, np.full(3, value), f"other{i}") for i, value in enumerate(values)
    )
    return Chart("PFC", TIME, "1/ms", lines, views=(View("whole", 0.0, 2.0, top),))


def test_equal_lines_of_one_run_are_one_with_all_their_names():
    ((first, second),) = shown([chart(1.0, 1.0, 0.0)])
    assert (first.label, second.label) == ("s0 to h0, s0 to h1", "s0 to h2")
    assert shown([chart(1.0, 1.0), chart(3.0, 3.0)])[1][0].label == "s0 to h0, s0 to h1"


def test_where_only_one_run_has_them_each_lies_on_a_wider_one():
    same, different = shown([chart(1.0, 1.0, 1.0), chart(1.0, 2.0, 1.0)])
    assert [line.label for line in same] == [line.label for line in different]
    widths = [line.width for line in same]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3
    assert [line.width for line in different] == [widths[1], widths[2], widths[2]]


def test_lines_without_values_or_of_another_stroke_stay_apart():
    original = chart(1.0, 1.0)
    first, second = original.lines
    empty = dataclasses.replace(first, x=np.empty(0), y=np.empty(0))
    assert len(shown([dataclasses.replace(original, lines=(empty, empty))])[0]) == 2
    assert (
        len(
            shown(
                [
                    dataclasses.replace(
                        original, lines=(first, dataclasses.replace(second, stroke="dashed"))
                    )
                ]
            )[0]
        )
        == 2
    )


@pytest.mark.parametrize("read_at", [0.95, 1.0, 1.05])
def test_one_event_is_one_event_wherever_readings_fall(read_at):
    """As a rate it would be 0.95 in one bin and 0.05 in the next."""
    times = np.array([0.0, read_at, read_at + 1, read_at + 2])
    starts, rates = series_math.binned_events(times, np.array([0.0, 1.0, 1.0, 3.0]), 1.0, 4.0)
    assert starts.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert rates.tolist() == [1.0, 0.0, 2.0, 0.0]


def test_events_of_no_series_are_none():
    assert series_math.binned_events(np.empty(0), np.empty(0), 1.0, 2.0)[1].tolist() == [0.0, 0.0]


def test_cut_view_states_the_highest_value():
    assert highest(chart(1.0, 30.0).lines, View("", 0.0, 2.0)) == 30.0
    assert highest(chart(1.0).lines, View("", 5.0, 6.0)) == 0.0
    free, cut = (pictures([chart(1.0, 30.0, top=top)])["svg"].decode() for top in (None, 10.0))
    assert "cut: up to 30" in cut
    assert "cut" not in free


def test_nothing_but_zeros_has_no_logarithm_and_is_drawn_all_the_same():
    zeros = Chart("PAUSE", "", "Frames", [curve("PCN", [0], [0.0])], bars=["W2"], log_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw([zeros]).draw_without_rendering()


@pytest.mark.parametrize("values", [(46.0, 405.0), (4.0, 90.0), (1.0, 1e5)])
def test_logarithmic_axis_has_plain_numbers(values):
    """Of less than a decade, too, where ticks between decades have labels."""
    figure = draw(
        [Chart("slowdown", "", "Slowdown", [curve("PCN", [0, 1], list(values))], log_y=True)]
    )
    figure.draw_without_rendering()
    axis = figure.axes[0].yaxis
    texts = [
        label.get_text() for label in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True))
    ]
    assert any(texts)
    assert all(float(text) > 0 for text in texts if text)
