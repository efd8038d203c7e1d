"""The best run of each number: tested against the next, among all comparisons of the table."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from compared_runs import group, stored_run

from pcn.experiments.compare import tables
from pcn.experiments.compare.groups import Group


def test_best_run_is_tested_against_the_next():
    """By pairs, the difference is of all seeds; the worst run decides nothing."""
    name = "mean_slowdown S"
    best, near, far = (
        (1.1, 1.2, 1.3, 1.4, 1.5),
        (1.2, 1.3, 1.4, 1.51, 1.6),
        (9.0, 1.0, 5.0, 7.0, 3.0),
    )
    compared = [
        group(run, *values, flows="x", number=name)
        for run, values in (("far", far), ("near", near), ("best", best))
    ]
    ((label, *row),) = tables.best(compared).rows
    assert label == "mean slowdown, flows of size S, up to 10 KB"
    assert [row[place] for place in (0, 2, 5)] == ["best", "near", "yes"]
    assert row[4].startswith("-7.3%, ")
    assert row[6].startswith("-74%, ")  # against the first group, "far"
    sure, seeds, how, cut, slowdown = tables.best(compared).notes
    assert cut.startswith(tables.CUT)
    assert "all 3 comparisons of two runs in 1 row together" in sure
    assert seeds.startswith("Means over 5 seeds; ")
    assert "paired, seed by seed" in how
    assert slowdown.startswith("Slowdown: completion time over that")
    twin = group("twin", *best, flows="x", number=name)
    assert tables.best([*compared, twin]).rows[0][1:7:5] == ["best, twin", "equal"]
    alone = [group("a", 1.0, number=name), group("b", 2.0, number=name)]
    assert tables.best(alone).rows[0][1:] == [*("a", "1", "b", "2", "-50%"), "not tested: one seed"]
    assert tables.best([group("a", 1.0), group("b", 2.0)]).rows == [], "neither is better"


def test_numbers_without_spread_are_not_tested():
    """Where the seed decides nothing a difference isn't by chance, and has no star."""
    name = "mean_slowdown S"
    steady = [group("a", *[1.1] * 5, number=name), group("b", *[2.9] * 5, number=name)]
    table = tables.best(steady)
    assert table.rows[0][1:] == ["a", "1.1", "b", "2.9", "-62%", "equal in all 5 seeds"]
    assert table.notes[0].startswith("Equal in all seeds: ")
    assert "isn't testable" in table.notes[0]
    assert not any("seeds; in brackets" in note or "Holm" in note for note in table.notes)
    table = tables.numbers(steady)
    assert table.rows[0][1:] == ["1.1", "2.9\n+164%"]
    assert table.notes == [tables.best(steady).notes[0]]
    row = next(row for row in tables.as_json(steady)["numbers"] if row["runs"] == "b")
    assert row["test"] == "equal in all seeds"
    assert row["relative_difference"] == pytest.approx(2.9 / 1.1 - 1)
    lacking = ("low", "high", "standard_error", "difference_low", "difference_high")
    assert {row[column] for column in (*lacking, "beyond_spread")} == {None}
    # Beside one with a spread there is a test, and Holm's correction is over the tests alone.
    varied = group("c", 5.1, 5.2, 5.3, 5.4, 5.5, number=name)
    table = tables.best([*steady, varied])
    assert table.rows[0][6:] == ["equal in all 5 seeds", "–"]
    assert "all 2 comparisons of two runs in 1 row" in table.notes[0]
    equal = [group(run, *[1.1] * 5, number=name) for run in "ab"]
    assert not any("Equal in all" in note for note in tables.best([*equal, varied]).notes)
    assert [cell.endswith(tables.MARK) for cell in tables.numbers([*steady, varied]).rows[0]] == [
        *(False, False, False, True)
    ]


def test_best_run_of_many_comparisons_is_tested_among_all_of_them():
    """A difference that holds by itself doesn't where the runs and numbers to choose from are
    many; a clear one does."""

    def run(name: str, of: Mapping[str, tuple[float, ...]]) -> Group:
        alone = group(name, *[0.0] * 5, flows="x")
        return replace(
            alone,
            runs=tuple(
                replace(run_data, numbers={number: values[seed] for number, values in of.items()})
                for seed, run_data in enumerate(alone.runs)
            ),
        )

    base = (1.0, 1.2, 1.4, 1.1, 1.3)
    near = tuple(
        value + more for value, more in zip(base, (0.01, 0.03, 0.02, 0.05, 0.01), strict=True)
    )
    clear = tuple(
        value + more for value, more in zip(base, (0.5, 0.501, 0.5, 0.499, 0.5), strict=True)
    )
    few = [
        run("a", {"mean_slowdown S": base, "p99_slowdown S": base}),
        run("b", {"mean_slowdown S": near, "p99_slowdown S": clear}),
    ]
    assert [row[6] for row in tables.best(few).rows] == ["yes", "yes"]
    many = [*few, *(run(name, {"mean_slowdown S": clear, "p99_slowdown S": near}) for name in "cd")]
    verdicts = {row[0].partition(",")[0]: row[6] for row in tables.best(many).rows}
    assert verdicts["mean slowdown"] == "by itself; not among 12"
    assert not tables.best(many).rows[0][7].endswith(tables.MARK)


def test_statistic_that_no_run_has_is_a_row_with_its_reason():
    numbers = {"mean_slowdown S": 2.0, "p99_slowdown S": None, "flows S": 58.0, "unfinished S": 0.0}
    compared = [
        Group(name, (replace(stored_run(1), numbers={**numbers, "mean_slowdown S": value}),))
        for name, value in (("a", 1.0), ("b", 2.0))
    ]
    assert tables.best(compared).rows[1] == [
        "99% slowdown, flows of size S, up to 10 KB",
        *["–"] * 5,
        "too few flows: 58 in a run, 100 needed",
    ]
    none = [Group("a", (replace(stored_run(1), numbers={"flows XL": 0.0}),))]
    assert tables._missing(none, "p99_slowdown XL") == "no such flows"
    late = [
        replace(of.runs[0], numbers={**of.runs[0].numbers, "unfinished S": 1.0}) for of in compared
    ]
    late_groups = [Group(run.scheme + str(place), (run,)) for place, run in enumerate(late)]
    assert tables.best(late_groups).rows[1][-1] == "flows unfinished"
    without_flows = Group("c", (replace(stored_run(1), scenario="dumbbell"),))
    assert tables.best([*compared, without_flows]).rows[1][6].startswith("too few flows: 58 in")


def test_number_that_a_seed_lacks_is_a_row_with_that_seed():
    """In-casts are drawn: a seed may have none. What isn't of flows has no reason but that."""

    def runs(name: str, best: float) -> Group:
        numbers = {"mean_slowdown S": best, "full_s": None}
        drawn = {"flows incast": 12.0, "mean_slowdown incast": 3.0, "unfinished incast": 0.0}
        runs = (
            replace(
                stored_run(seed), scenario="traffic", numbers=numbers | (drawn if seed != 3 else {})
            )
            for seed in range(1, 7)
        )
        return Group(name, tuple(runs))

    rows = {row[0]: row[6] for row in tables.best([runs("a", 1.0), runs("b", 2.0)]).rows}
    assert rows["mean slowdown, flows of in-casts"] == "no such flows in seed 3"
    several, alone = [runs("a", 1.0)], [Group("a", runs("a", 1.0).runs[:1])]
    assert tables._missing(several, "full_s") == "no value in seeds 1, 2, 3, 4, ..."
    assert tables._missing(alone, "full_s") == "no value in seed 1"


def test_text_of_a_number_decides_which_run_is_best():
    runs = [
        replace(stored_run(1, number=None), scenario="victim", numbers={"f0_burst_bps": rate})
        for rate in (3.5e9, 36.4e9)
    ]
    compared = [Group(name, (run,)) for name, run in zip(("pfc", "pcn"), runs, strict=True)]
    assert tables.best(compared).rows == [
        [
            *("F0's rate during the bursts, Gbit/s", "pcn", "36.4", "pfc", "3.5", "\u00d710"),
            "not tested: one seed",
        ]
    ]
