"""Skipped tests are named at the end, with the command that runs them: so every skip goes through
`needs`."""

import re
import subprocess
from pathlib import Path

import needs
import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
pytest_plugins = ["pytester"]


def test_every_skip_names_the_command_that_runs_the_test():
    paths = (
        path for folder in ("tests", "judges", "examples") for path in (ROOT / folder).rglob("*.py")
    )
    others = [path for path in paths if path.name not in ("needs.py", Path(__file__).name)]
    skipping = [
        path
        for path in others
        if re.search(r"\b(skip|skipif|importorskip|xfail)\(", path.read_text())
    ]
    assert skipping == []


def test_lack_of_a_debian_package_fails_and_of_others_skips():
    with pytest.raises(pytest.fail.Exception, match="no nosuch: make test installs it"):
        needs.program("nosuch", needs.Need("no nosuch", "make test installs it"))
    with pytest.raises(pytest.skip.Exception):
        needs.program("nosuch", needs.BMV2)


def test_nothing_depends_on_ci():
    """A newcomer's run is CI's."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    paths = [
        path
        for path in map(ROOT.joinpath, listed.splitlines())
        if path.suffix in (".py", ".sh", ".ini", "")
    ]
    pattern = re.compile(r"""environ.{0,8}["']CI["']|\$\{?CI\b|export CI\b""")
    texts = {
        path: path.read_text(errors="replace")
        for path in paths
        if path.is_file() and path != Path(__file__)
    }
    assert [str(path) for path, text in texts.items() if pattern.search(text)] == []


@pytest.mark.parametrize("workers", [0, 1])
def test_the_end_names_what_was_skipped_by_reason(pytester: pytest.Pytester, monkeypatch, workers):
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
