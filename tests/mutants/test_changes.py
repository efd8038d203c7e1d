"""What a mutant is: a small change of code, never of comments and strings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mutants
from changes import changes

C_TEXT = """/* a < b */
#include <a.h>
    if (a < b && c != 0) call(x, 1); // one
    puts("x + 1");
    while (left < right) {
        count += 2;
    }
"""
PYTHON_TEXT = '''def f(a, b):
    """a < b"""
    if a < b and not b:  # b + 1
        self.x = min(a, 5)
    return "a + b"
'''


def said(path: str, text: str) -> set[str]:
    return {change.said(text).partition(":")[2].rpartition("[")[2] for change in changes(path, text)}


def test_changes_of_c() -> None:
    found = changes("a.c", C_TEXT)
    assert said("a.c", C_TEXT) == {
        "< -> <=]", "&& -> ||]", "!= -> ==]", "0 -> 1]", "1 -> 2]", "1 -> 0]", "+= -> -=]", "2 -> 3]",
        "count += 2; -> ;]", "if (a < b && c != 0) call(x, 1); -> ;]", 'puts("x + 1"); -> ;]',
    }  # fmt: skip
    assert all(C_TEXT[change.offset :].startswith(change.old) for change in found)
    assert all(change.applied(C_TEXT).count("\n") == C_TEXT.count("\n") for change in found)


def test_changes_of_python() -> None:
    assert said("a.py", PYTHON_TEXT) == {
        "< -> <=]", "and -> or]", "not -> -]", "min( -> max(]", "5 -> 6]", "self.x = min(a, 5) -> pass]",
    }  # fmt: skip


def test_a_change_says_where_it_is() -> None:
    change = next(one for one in changes("a.c", C_TEXT) if one.old == " < ")
    assert change.said(C_TEXT) == "a.c:3: if (a < b && c != 0) call(x, 1); // one [< -> <=]"
    assert "if (a <= b && c" in change.applied(C_TEXT)


@pytest.mark.parametrize("path", mutants.files())
def test_every_change_of_ours_fits_its_file(path: str) -> None:
    text = (mutants.ROOT / path).read_text()
    found = changes(path, text)
    assert len(found) == len(set(found))
    assert all(text[change.offset :].startswith(change.old) for change in found)


def test_tasks_are_the_same_each_time_and_of_all_files() -> None:
    paths = ["hosts/algorithms/pcn.py", "virtualnet/csrc/pfc.c"]
    made = mutants.tasks("HEAD", paths, 5, 1)
    assert [task.arguments["path"] for task in made] == [path for path in paths for _ in range(5)]
    assert made == mutants.tasks("HEAD", paths, 5, 1)
    assert made != mutants.tasks("HEAD", paths, 5, 2)
