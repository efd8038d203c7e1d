"""Charts of figures have the paper's own numbers beside ours, wherever it states them."""

import pytest

from pcn.experiments.define.charts import Chart
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.page import plots
from pcn.experiments.papers import FIGURES
from pcn.experiments.papers.pcn.claims import (
    COMPARED,
    DEADLOCKS,
    H0_MEAN,
    LONG_INTERVALS,
    PARKING_LOT,
    PCN,
    PREVENTED,
    WORKLOAD_1,
    WORKLOAD_1_QCN,
)
from pcn.experiments.papers.pcn.figures import hadoop


def charts(name: str, **keys) -> dict[str, Chart]:
    """A figure's charts of runs in which all schemes have the same numbers."""
    numbers = {"s0_s1_gbps": 40.0, "s1_r1_gbps": 20.0, "f1_gbps": 10.0, "f0_gbps": 10.0}
    numbers |= {"utilisation": 0.97, "stands_still": 0.5, "from_start": 0.9}
    runs = [Outcome({"scheme": scheme, **keys, "seed": 1}, numbers) for scheme in COMPARED]
    drawn = FIGURES[name].charts(Outcomes(runs))
    plots.alone(drawn, name)
    return {chart.title: chart for chart in drawn}


def test_throughput_stands_beside_the_papers():
    chart = charts("fig18", flows=16, every_us=5000)["S1 to R1 then, and in the paper"]
    here, paper = chart.lines
    assert list(chart.bars) == [label(scheme) for scheme in COMPARED]
    assert here.y.tolist() == [20.0] * len(COMPARED)
    assert paper.y.tolist() == [LONG_INTERVALS[scheme] for scheme in COMPARED]


def of_seeds(name: str, numbers: dict[str, dict[str, tuple[float, float | None]]], **keys):
    """Returns a figure's charts of two seeds' runs, by title: numbers by scheme."""
    runs = [
        Outcome(
            {"scheme": scheme, **keys, "seed": seed + 1},
            {number: values[seed] for number, values in of_scheme.items()},
        )
        for scheme, of_scheme in numbers.items()
        for seed in (0, 1)
    ]
    drawn = FIGURES[name].charts(Outcomes(runs))
    plots.alone(drawn, name)
    return {chart.title: chart for chart in drawn}


def test_burst_tolerance_has_the_papers_factors():
    """Ratios of the means, as its checks have them, and each seed's; only what the paper states."""
    kinds = [f"{kind}_ms {group}" for kind in ("mean", "p99") for group in hadoop.GROUPS]
    pcn = {"pause_per_s": (10.0, 30.0), **dict.fromkeys(kinds, (1.0, 2.0))}
    dcqcn = {"pause_per_s": (20.0, 80.0), **dict.fromkeys(kinds, (2.0, 6.0))}
    drawn = of_seeds("fig12", {PCN: pcn, "dcqcn": dcqcn})
    pause, ahead = (
        drawn["PAUSE frames, PCN's over theirs"],
        drawn["H0: completion time, theirs over PCN's"],
    )
    for chart, ours, seeds, paper in (
        (pause, 0.4, [0.5, 0.375], 1 - PREVENTED["dcqcn"]),
        (ahead, 8 / 3, [2.0, 3.0], H0_MEAN["dcqcn"]),
    ):
        here, stated = chart.lines
        assert list(chart.bars) == [label("dcqcn")]
        assert here.y.tolist() == pytest.approx([ours])
        assert here.seeds == [seeds]
        assert stated.y.tolist() == pytest.approx([paper])
    assert list(drawn["H2 to H15: completion time, theirs over PCN's"].bars) == ["DCQCN, 99%"]


def test_realistic_workloads_have_the_papers_factors():
    numbers = ("pause", "mean_ms all", "p99_ms all", "flows_per_s")
    by_scheme = {
        PCN: dict.fromkeys(numbers, (2.0, 2.0)),
        "qcn": dict.fromkeys(numbers, (1.0, 4.0)),
        "dcqcn": {**dict.fromkeys(numbers, (1.0, 4.0)), "mean_ms all": (4.0, None)},
    }
    drawn = of_seeds("fig14", by_scheme, workload="W1")
    pause = drawn["W1: PAUSE, PCN's over theirs"]
    here, stated = pause.lines
    assert list(pause.bars) == [label("dcqcn")]
    assert (here.y.tolist(), here.seeds) == ([1.25], [[2.0, 0.5]])
    assert stated.y.tolist() == [1 - WORKLOAD_1["dcqcn pause"]]
    here, stated = drawn["W1: 99%, theirs over PCN's"].lines
    assert (here.seeds, stated.y.tolist()) == ([[0.5, 2.0]], [WORKLOAD_1_QCN["qcn p99_ms all"]])
    assert "W1: mean, theirs over PCN's" not in drawn, "QCN's isn't stated, DCQCN's lacks a seed"


def test_utilisation_has_the_papers_line_of_each_scheme():
    lines = {line.label: line for line in charts("fig19", bottlenecks=2)["Link 1"].lines}
    for scheme in COMPARED:
        line = lines[f"{label(scheme)}, the paper"]
        assert set(line.y.tolist()) == {PARKING_LOT[scheme]}
        assert (line.scheme, line.stroke) == (scheme, "dotted")


def test_deadlocks_have_the_papers_shares():
    (chart,) = charts("fig21", reading="two links").values()
    paper = next(line for line in chart.lines if line.label == "the paper")
    names = [chart.bars[int(place)] for place in paper.x]
    stated = {label(scheme): 100 * share for scheme, share in DEADLOCKS.paper.items()}
    assert dict(zip(names, paper.y.tolist(), strict=True)) == pytest.approx(
        {name: share for name, share in stated.items() if name in chart.bars}
    )
    assert names
