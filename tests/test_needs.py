"""Skipped tests are named at the end, with the command that runs them: so every skip goes through `needs`."""

from __future__ import annotations

import re
from pathlib import Path

import needs
import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
pytest_plugins = ["pytester"]


def test_every_skip_names_the_command_that_runs_the_test() -> None:
    paths = (path for folder in ("tests", "judges", "examples") for path in (ROOT / folder).rglob("*.py"))
    others = [path for path in paths if path.name not in ("needs.py", Path(__file__).name)]
    said = [path for path in others if re.search(r"\b(skip|skipif|importorskip|xfail)\(", path.read_text())]
    assert said == []


def test_ci_fails_where_debian_has_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no nosuch: apt-get install nosuch"):
        needs.program("nosuch", needs.Need("no nosuch", "apt-get install nosuch"))
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="CI must not skip this"):
        needs.program("nosuch", needs.Need("no nosuch", "apt-get install nosuch"))
    with pytest.raises(pytest.skip.Exception):
        needs.program("nosuch", needs.BMV2)


@pytest.mark.parametrize("workers", [0, 1])
def test_the_end_names_what_was_skipped_by_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    pytester.makepyfile(
        """
        import needs
        import pytest

        @pytest.mark.parametrize("number", range(3))
        def test_one(number):
            needs.missing(needs.BMV2)

        def test_another():
            needs.missing(needs.P4C)
        """
    )
    done = pytester.runpytest_subprocess("-q", "-n", str(workers))
    done.stdout.fnmatch_lines(["*4 tests skipped*", f"   3 {needs.BMV2}", f"   1 {needs.P4C}"])
