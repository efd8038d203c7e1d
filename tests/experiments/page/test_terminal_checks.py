"""Checks of several runs in the terminal: one table where it fits, else one a run; no column is
left out. Other tables alike: no number is cut."""

from dataclasses import asdict
from typing import Any

import pytest

from pcn.experiments.define.checks import Check
from pcn.experiments.define.tables import Table
from pcn.experiments.page.terminal import show, show_table, stdout


def summary(names: list[str], compared: str = "packets lost") -> dict[str, Any]:
    def rows(number: int) -> list[dict[str, Any]]:
        checks = [
            Check("1.1", compared, None, 12.5, 12.5 + number, "packets", "met"),
            Check("1.2", "share of a flow", 1.0, None, number / 7, "", "trend"),
        ]
        return [asdict(check) for check in checks]

    counts = {"lost": 0, "sent": 1}
    runs = {
        name: {"checks": rows(number), "packets": counts, "latency": {}}
        for number, name in enumerate(names)
    }
    return {"scenario": "none", "runs": runs, "checks": [], "wall_s": 1.0}


@pytest.mark.parametrize("width", [200, 80, 40])
def test_checks_of_runs_are_one_table_at_any_width(width, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", str(width))
    names = ["a_long_name_of_a_run", "another_long_name_of_a_run", "third"]
    show(tmp_path, summary(names), stdout())
    text = capsys.readouterr().out
    assert text.count("packets lost") == text.count("share of a flow") == 1
    assert text.count("met") + text.count("trend") == 6
    assert all(name in text for name in names)
    lines = text.splitlines()[:-1]
    assert max(map(len, lines)) <= width
    if width == 200:
        (line,) = (line for line in lines if "packets lost" in line)
        assert line.split()[-6:] == ["12.5", "met", "13.5", "met", "14.5", "met"]
    else:
        values = " ".join(" ".join(lines).split())
        cells = (f"{name} {12.5 + place:g} met" for place, name in enumerate(names))
        assert "; ".join([*cells, "theory 12.5 (packets)"]) in values


@pytest.mark.parametrize("width", [200, 70])
def test_runs_with_other_checks_share_the_table(width, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", str(width))
    both = summary(["a", "b"])
    both["runs"]["b"]["checks"] = summary(["b"], "flows lost")["runs"]["b"]["checks"]
    both["checks"] = summary(["c"], "a less than b")["runs"]["c"]["checks"][:1]
    show(tmp_path, both, stdout())
    text = capsys.readouterr().out
    for compared in ("packets lost", "flows lost", "share of a flow", "a less than b"):
        assert text.count(compared) == 1
    assert text.count("across the runs") == 1


def test_check_is_three_lines_high_at_80_columns(monkeypatch, capsys, tmp_path):
    """The longest text of the victim's checks, which was twelve lines high."""
    monkeypatch.setenv("COLUMNS", "80")
    compared = (
        "F0 and F1 become equal: half-life of their difference (met: within 30%; trend: within a "
        "factor of two)"
    )
    show(tmp_path, summary(["pcn", "dcqcn", "pfc"], compared), stdout())
    lines = capsys.readouterr().out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("1.1"))
    last = next(place for place, line in enumerate(lines) if line.startswith("1.2"))
    assert last - first == 3


@pytest.mark.parametrize("width", [200, 80, 40])
def test_table_of_numbers_does_cut_none_at_any_width(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    columns = ["", "best", "its mean", "next", "its mean", "best against next", "beyond chance"]
    rows = [
        ["mean slowdown, flows of size S, up to 10 KB", "PCN", "1.621", "DCQCN", "2.497"],
        ["mean completion time, all flows, ms", "PFC alone", "12.07", "PCN", "1234"],
    ]
    ends = ["-35%\n(-2.75 to -1.5%)", "not tested: one seed"]
    show_table(Table("best", columns, [[*row, *ends] for row in rows]), stdout())
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for number in ("1.621", "2.497", "12.07", "1234", "(-2.75", "-1.5%)"):
        assert number in words or f"{number};" in words


def test_title_is_a_line_where_its_table_is_narrow(capsys):
    show_table(Table("settings that differ", ["", "PCN"], [["seeds", "1"]]), stdout())
    assert capsys.readouterr().out.splitlines()[0] == "settings that differ"
