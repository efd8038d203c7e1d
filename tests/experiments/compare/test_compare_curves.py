"""Curves over time of a comparison: means of seeds, one colour for a run."""

from dataclasses import replace

from compared_runs import stored_run

from pcn.experiments.compare import figures
from pcn.experiments.compare.groups import grouped
from pcn.experiments.results.over_time import PAUSE, QUEUE


def test_curves_over_time_have_one_colour_in_all_pictures():
    """A run that sends no PAUSE has its line all the same; where none sends any, there is no
    chart."""
    still, busy = ([0.0, 1.0], [0.0, 0.0]), ([0.0, 1.0], [5.0, 7.0])
    runs = [
        replace(stored_run(1, scheme, load=load), curves={QUEUE: busy, PAUSE: pause})
        for scheme, load, pause in (("pcn", 0.3, still), ("pcn", 0.6, busy))
    ]
    queue, pause = figures.figures(grouped(runs))["over_time"]
    assert (
        [line.label for line in queue.lines]
        == [line.label for line in pause.lines]
        == ["PCN, load 0.3", "PCN, load 0.6"]
    )
    (alone,) = figures.figures(grouped(runs[:1]))["over_time"]
    assert alone.title == "Largest queue"


def test_curves_over_time_are_means_of_all_seeds():
    """Runs of other lengths: one that has ended has no queue."""
    curves = [([0.0, 1.0, 2.0], [0.0, 10.0, 20.0]), ([0.0, 2.0, 4.0], [4.0, 8.0, 16.0])]
    runs = [replace(stored_run(seed), curves={QUEUE: curve}) for seed, curve in enumerate(curves)]
    (chart,) = figures.figures(grouped(runs))["over_time"]
    (line,) = chart.lines
    assert line.x.tolist() == [0.0, 1.0, 2.0, 4.0]
    assert line.y.tolist() == [2.0, 8.0, 14.0, 8.0]
    assert (line.low.tolist(), line.high.tolist()) == (
        [0.0, 6.0, 8.0, 0.0],
        [4.0, 10.0, 20.0, 16.0],
    )
    assert "mean of 2 seeds" in chart.x_label
    assert "no 95% interval" in chart.x_label
