"""lint/names.py counts names that don't name what they hold."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lint import names

TEXT = """
def made(one, port, *other):
    for flow in port:
        found = [each for each in flow]
    with open(port) as file, open(one) as _kept:
        pass
    lambda who: (asked := who)
class Told: ...
"""
VAGUE = {"made", "one", "other", "found", "each", "_kept", "who", "asked"}


def test_names_counts_what_is_bound(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(TEXT)
    total, vague, which = names.share([path])
    assert (total, vague, set(which)) == (12, len(VAGUE), VAGUE)
    assert {name for name, _ in names.names(ast.parse(TEXT))} == {
        *VAGUE,
        "port",
        "flow",
        "file",
        "Told",
    }


def test_names_prints_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file.py"
    path.write_text("port = 1\nfound = port\n")
    assert names.main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}:2: found\n"


def test_names_fails_above_its_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert names.main([]) == 0
    monkeypatch.setattr(names, "LIMIT", 0.0)
    assert names.main([]) == 1
    assert "names are vague" in capsys.readouterr().err
