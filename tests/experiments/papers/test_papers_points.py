"""Charts of figures have the paper's own numbers beside ours, wherever it states them."""

from __future__ import annotations

from typing import Any

import pytest

from pcn.experiments.define.charts import Chart
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.page import plots
from pcn.experiments.papers import FIGURES
from pcn.experiments.papers.pcn.claims import COMPARED, DEADLOCKS, LONG_INTERVALS, PARKING_LOT


def charts(name: str, **keys: Any) -> dict[str, Chart]:
    """A figure's charts of runs in which all schemes have the same numbers."""
    numbers = {"s0_s1_gbps": 40.0, "s1_r1_gbps": 20.0, "f1_gbps": 10.0, "f0_gbps": 10.0}
    numbers |= {"utilisation": 0.97, "stands_still": 0.5, "from_start": 0.9}
    runs = [Outcome({"scheme": scheme, **keys, "seed": 1}, numbers) for scheme in COMPARED]
    drawn = FIGURES[name].charts(Outcomes(runs))
    plots.alone(drawn, name)
    return {chart.title: chart for chart in drawn}


def test_throughput_stands_beside_the_papers() -> None:
    chart = charts("fig18", flows=16, every_us=5000)["S1 to R1 then, and in the paper"]
    here, paper = chart.lines
    assert list(chart.bars) == [label(scheme) for scheme in COMPARED]
    assert here.y.tolist() == [20.0] * len(COMPARED)
    assert paper.y.tolist() == [LONG_INTERVALS[scheme] for scheme in COMPARED]


def test_utilisation_has_the_papers_line_of_each_scheme() -> None:
    lines = {line.label: line for line in charts("fig19", bottlenecks=2)["Link 1"].lines}
    for scheme in COMPARED:
        line = lines[f"{label(scheme)}, the paper"]
        assert set(line.y.tolist()) == {PARKING_LOT[scheme]}
        assert (line.scheme, line.stroke) == (scheme, "dotted")


def test_deadlocks_have_the_papers_shares() -> None:
    (chart,) = charts("fig21", reading="two links").values()
    paper = next(line for line in chart.lines if line.label == "the paper")
    names = [chart.bars[int(place)] for place in paper.x]
    stated = {label(scheme): 100 * share for scheme, share in DEADLOCKS.paper.items()}
    assert dict(zip(names, paper.y.tolist(), strict=True)) == pytest.approx(
        {name: share for name, share in stated.items() if name in chart.bars}
    )
    assert names
