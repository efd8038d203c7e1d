"""Fig. 2: which of its runs have several seeds, and what is made of these."""

from collections import defaultdict

import pytest

from pcn.experiments.define.draws import NOTHING, draws
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.figures.fig2 import Fig2

FIGURE = Fig2()


def run_of_seed(seed: int, full_s: float | None, tree_s: float, **keys: str) -> Outcome:
    curves = {kind: ([0.0, 1.0], [float(seed), 40.0]) for kind in ("trunk", "f0")}
    return Outcome({**keys, "seed": seed}, {"full_s": full_s, "tree_s": tree_s}, curves)


def test_runs_that_draw_have_ten_seeds_and_others_one():
    seeds = defaultdict(list)
    for run in FIGURE.runs(FIGURE.schemes):
        setting = tuple(value for name, value in run.keys.items() if name != "seed")
        plan = FIGURE.plan(run.scheme, run.seed, run.arguments)
        seeds[setting, draws(FIGURE, run, plan) != NOTHING].append(run.seed)
    assert {tuple(numbers) for (_, drawn), numbers in seeds.items() if drawn} == {
        tuple(range(1, 11))
    }
    assert {tuple(numbers) for (_, drawn), numbers in seeds.items() if not drawn} == {(1,)}
    assert len({setting for setting, _ in seeds}) == len(seeds) == 13


def test_a_panel_has_the_first_seed_and_the_others_pale_below_it():
    runs = [run_of_seed(seed, 0.01, 0.0, scheme="qcn") for seed in (1, 2, 3)]
    (panel,) = FIGURE.charts(Outcomes(runs))
    for colour in ("other0", "flow0"):
        lines = [line for line in panel.lines if line.colour == colour]
        assert [(line.y[0], line.pale) for line in lines] == [(2, True), (3, True), (1, False)]
        assert len({line.label for line in lines}) == 2


def test_rows_are_means_over_seeds_and_a_link_that_stays_empty_counts_to_the_end():
    tenth = "a tenth of the samples"
    runs = [
        run_of_seed(1, 0.01, 0.0, scheme="qcn"),
        run_of_seed(2, 0.02, 0.0, scheme="qcn"),
        run_of_seed(1, 0.01, 0.001, open=tenth),
        run_of_seed(2, None, 0.003, open=tenth),
    ]
    rows = {row.what.partition(" (met")[0]: row for row in FIGURE.checks(Outcomes(runs))}
    measured = {name: row.measured for name, row in rows.items()}
    assert measured == {
        "QCN: the tree lasts": 0,
        "QCN: throughput is lost": pytest.approx(15),
        f"QCN, {tenth}: throughput is lost, to the run's end": pytest.approx(80),
        f"QCN, {tenth}: the tree lasts": pytest.approx(2),
    }
    assert rows["QCN: throughput is lost"].verdict == "met"


def test_story_has_the_range_of_the_seeds():
    runs = [
        run_of_seed(1, 0.01, 0.0, scheme="qcn"),
        run_of_seed(2, 0.0225, 0.0, scheme="qcn"),
        run_of_seed(1, 0.05, 0.0, scheme="timely"),
    ]
    *_, seeds = FIGURE.story(Outcomes(runs))
    assert seeds == "Among the seeds throughput is lost for 10 to 22.5 ms with QCN (tree: 0 ms)."
    *_, last = FIGURE.story(Outcomes([runs[0], runs[2]]))
    assert "seeds" not in last
