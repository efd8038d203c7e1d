"""Checks of several runs in the terminal: one table where it fits, else one a run; no column is
left out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from pcn.experiments.define.checks import Check
from pcn.experiments.page.terminal import show, stdout


def summary(names: list[str], what: str = "packets lost") -> dict[str, Any]:
    def rows(number: int) -> list[dict[str, Any]]:
        checks = [
            Check("1.1", what, None, 12.5, 12.5 + number, "packets", "met"),
            Check("1.2", "share of a flow", 1.0, None, number / 7, "", "trend"),
        ]
        return [asdict(check) for check in checks]

    counts = {"lost": 0, "sent": 1}
    runs = {
        name: {"checks": rows(number), "packets": counts, "latency": {}}
        for number, name in enumerate(names)
    }
    return {"scenario": "none", "runs": runs, "checks": [], "wall_s": 1.0}


@pytest.mark.parametrize(("width", "tables"), [(200, 1), (80, 3)])
def test_checks_of_runs_are_one_table_where_it_fits(
    width: int,
    tables: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Any,
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    names = ["a_long_name_of_a_run", "another_long_name_of_a_run", "third"]
    show(tmp_path, summary(names), stdout())
    text = capsys.readouterr().out
    assert text.count("paper") == tables
    assert text.count("met") + text.count("trend") == 6
    if tables == 1:
        (line,) = (line for line in text.splitlines() if "packets lost" in line)
        assert line.split()[-6:] == ["12.5", "met", "13.5", "met", "14.5", "met"]
        assert all(name in text for name in names)


def test_runs_with_other_checks_have_a_table_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    both = summary(["a", "b"])
    both["runs"]["b"]["checks"] = summary(["b"], "flows lost")["runs"]["b"]["checks"]
    show(tmp_path, both, stdout())
    text = capsys.readouterr().out
    assert text.count("paper") == 2
    assert "packets lost" in text
    assert "flows lost" in text
