"""The tutorial's lessons: each program runs as any user, and prints what its page shows."""

import re

import forks
import pytest

import examples
from examples import ROOT

LESSONS = sorted((ROOT / "docs/tutorial").glob("[0-9]*.md"))
PROGRAMS = {
    name: block for name, block in examples.python().items() if name.startswith("tutorial/")
}


def shown(name: str) -> str | None:
    """What a page shows below a program."""
    page, _, number = name.rpartition("-")
    text = (ROOT / "docs" / page).read_text()
    after = text.split("```python\n")[int(number)].partition("\n```\n")[2]
    match = re.match(r"\n```\n(.*?)^```$", after, re.M | re.DOTALL)
    return match[1] if match else None


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_of_lesson_prints_what_its_page_shows(name, tmp_path):
    for file, text in examples.files(name).items():
        (tmp_path / file).write_text(text)
    (tmp_path / "example.py").write_text(PROGRAMS[name])
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = forks.run("example.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout or PROGRAMS[name].startswith("# ")
    assert done.stdout == (shown(name) or "")


def test_lesson_has_exercise_and_solution():
    assert len(LESSONS) == 7
    for page in LESSONS:
        before, exercise, solution = re.split(
            r"^## (?:Exercise|Solution)$", page.read_text(), flags=re.M
        )
        assert "```python" in before
        assert exercise.strip()
        assert "```python" in solution
