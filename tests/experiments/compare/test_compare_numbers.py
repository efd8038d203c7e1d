"""Numbers side by side: which differences are marked, words and units, rows of what a run lacks."""

import pytest
from compared_runs import group, rows_of

from pcn.experiments.compare import groups, tables
from pcn.experiments.compare.groups import Group


def test_numbers_that_differ_are_marked_and_equal_ones_named():
    compared = [group("a", 1.0, 1.1, 0.9), group("b", 2.0, 2.1, 1.9), group("c", 1.0, 3.0, 0.1)]
    table = tables.numbers(compared)
    ((name, first, far, near),) = table.rows
    assert (name, first) == ("n", "1 [0.9, 1.1]")
    assert far == "2 [1.9, 2.1]\n+100%, +77% to +123%*"
    assert not near.endswith("*")
    assert [note.partition(":")[0] for note in table.notes] == [
        "Means over the seeds, also of each seed's percentiles (tables by size have those of all "
        "seeds' flows together); in brackets least and largest of 3 seeds, no 95% interval.",
        "* in b, c",
        tables.CUT,
    ]
    assert "Welch's t-test, unpaired" in table.notes[1]
    assert tables.equal([compared[0], compared[0]]) == ["n"]
    nothing = [group("a", None), group("b", None)]
    assert (tables.equal(nothing), tables.unknown(nothing)) == ([], ["n"])
    assert tables.unknown(compared) == []
    none = tables.numbers([compared[0], compared[0]])
    assert (none.title, none.rows) == ("no number differs", [])


def test_groups_with_equal_flows_are_compared_in_pairs():
    """A difference that the seeds' spread hides, unless seed is compared with seed."""
    first = (0.34, 0.39, 0.36, 0.51, 0.42)
    second = tuple(
        value * factor for value, factor in zip(first, (1.08, 1.1, 1.09, 1.11, 1.08), strict=True)
    )
    marked = {}
    for flows in (("x", "x"), ("x", "y"), ("", "")):
        compared = [group("a", *first, flows=flows[0]), group("b", *second, flows=flows[1])]
        table = tables.numbers(compared)
        marked[flows] = table.rows[0][2].endswith("*")
        assert ("paired t-test" in table.notes[1]) is (flows == ("x", "x"))
        row = rows_of(tables.as_csv(compared))["n", "b"]
        assert row["test"] == ("paired" if flows == ("x", "x") else "welch")
        assert row["beyond_spread"] == str(marked[flows]).lower()
        assert float(row["difference_low"]) < 0.09 < float(row["difference_high"])
    assert marked == {("x", "x"): True, ("x", "y"): False, ("", ""): False}
    other_seeds = Group("b", group("b", *second, flows="x").runs[1:])
    assert not groups.pairs(group("a", *first, flows="x"), other_seeds)


def test_one_seed_marks_nothing_and_a_note_names_it():
    table = tables.numbers([group("a", 1.0), group("b", 2.0), group("c", 2.0, 3.0)])
    assert table.rows == [["n", "1", "2\n+100%", "2.5 [2, 3]\n+150%"]]
    assert table.notes[-1].startswith("a, b: one seed, so nothing shows")
    row = rows_of(tables.as_csv([group("a", 1.0), group("b", 2.0)]))["n", "b"]
    assert (
        row["mean"], row["relative_difference"], row["test"], row["beyond_spread"], row["low"],
    ) == (*("2.0", "1.0", "", "", ""),)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "value", "label", "text"),
    [
        ("f0_burst_bps", 36_434_262_500.0, "f0 burst, Gbit/s", "36.43"),
        ("tree_s", 0.00123456, "tree, ms", "1.235"),
        ("queue_bytes", 123_456.0, "queue, KB", "123.5"),
        ("mean_ms all", 0.123456, "mean completion time, all flows, us", "123.5"),
        ("p99.9_slowdown S", 2.5, "99.9% slowdown, flows of size S, up to 10 KB", "2.5"),
        ("largest_queue_kb", 12_345.0, "largest queue, MB", "12.35"),
        ("pause_frames", 12_345.0, "PAUSE frames", "12,345"),
        ("pause_frames leaf", 5.0, "PAUSE frames that switches leaf* sent", "5"),
        ("steady queue_bytes_mean", 691_403.2, "mean queue in the steady state, KB", "691.4"),
        ("pause_frames class 3", 2.5, "PAUSE frames, class 3", "2.5"),
    ],
)
def test_numbers_are_called_in_words_with_their_unit(number, value, label, text):
    table = tables.numbers(
        [group("a", value, number=number), group("b", 0.9 * value, number=number)]
    )
    assert table.rows[0][:2] == [label, text]


def test_one_unit_holds_for_all_of_a_row():
    compared = [group(name, value, number="full_s") for name, value in (("a", 0.0202), ("b", 4e-4))]
    assert tables.numbers(compared).rows == [["full, ms", "20.2", "0.4\n-98%"]]


def test_interval_of_a_difference_stays_above_all_and_shows_its_sign():
    wild = [group("a", 100.0, 1.0, 1.0, 200.0), group("b", 1.0, 1.0, 90.0, 1.0)]
    table = tables.numbers(wild)
    ((_, _, text),) = table.rows
    assert f"-100%{tables.CUT} to +" in text
    assert table.notes[-1].startswith(f"{tables.CUT}: the t-test's interval begins below -100%")
    close = [
        group(name, *values, flows="x")
        for name, values in (("a", (1000.0, 1001.0, 1002.0)), ("b", (999.7, 1000.7, 1001.7)))
    ]
    table = tables.numbers(close)
    assert "-0.03%" in table.rows[0][2]
    assert not any(tables.CUT in note for note in table.notes)
