"""What a mutant is: a small change of code, never of comments and strings."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mutants
from changes import changes
from compiled_code import code, same

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


def edits(path: str, text: str) -> set[str]:
    return {
        change.described(text).partition(":")[2].rpartition("[")[2]
        for change in changes(path, text)
    }


def test_changes_of_c():
    mutations = changes("a.c", C_TEXT)
    assert edits("a.c", C_TEXT) == {
        (
            "< -> <=]"
        ), "&& -> ||]", "!= -> ==]", "0 -> 1]", "1 -> 2]", "1 -> 0]", "+= -> -=]", "2 -> 3]",
        "count += 2; -> ;]", "if (a < b && c != 0) call(x, 1); -> ;]", 'puts("x + 1"); -> ;]',
    }  # fmt: skip
    assert all(C_TEXT[change.offset :].startswith(change.old) for change in mutations)
    assert all(change.applied(C_TEXT).count("\n") == C_TEXT.count("\n") for change in mutations)


def test_changes_of_python():
    assert edits("a.py", PYTHON_TEXT) == {
        (
            "< -> <=]"
        ), "and -> or]", "not -> -]", "min( -> max(]", "5 -> 6]", "self.x = min(a, 5) -> pass]",
    }  # fmt: skip


def test_change_names_its_place():
    change = next(change for change in changes("a.c", C_TEXT) if change.old == " < ")
    assert change.described(C_TEXT) == "a.c:3:11: if (a < b && c != 0) call(x, 1); // one [< -> <=]"
    assert "if (a <= b && c" in change.applied(C_TEXT)


@pytest.mark.parametrize("path", mutants.files())
def test_every_change_of_ours_fits_its_file(path):
    text = (mutants.ROOT / path).read_text()
    mutations = changes(path, text)
    assert len(mutations) == len(set(mutations))
    assert all(text[change.offset :].startswith(change.old) for change in mutations)


def test_changes_are_drawn_the_same_each_time_and_of_all_files():
    paths = ["hosts/algorithms/pcn.py", "virtualnet/csrc/links/pfc.c"]
    mutations = mutants.drawn("HEAD", paths, 5, 1)
    assert [change.path for change in mutations] == paths * 5
    assert mutations[:4] == mutants.drawn("HEAD", paths, 2, 1)
    assert mutations == mutants.drawn("HEAD", paths, 5, 1)
    assert mutations != mutants.drawn("HEAD", paths, 5, 2)
    assert mutants.drawn("HEAD", paths, 0, 1) == []


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("x = 1  # one", "x = (1)", True),
        ("x = 1", "x = 2", False),
        ("def f(a: A | None) -> B | None: ...", "def f(a: A & None) -> B & None: ...", True),
        ("def f(a: A = 1): ...", "def f(a: A = 2): ...", False),
        ("class C:\n    x: ClassVar[int] = 1", "class C:\n    x: int = 1", False),
    ],
)
def test_mutants_distinguish_equal_code_from_other_code(tmp_path, first, second, alike):
    (tmp_path / "a.py").write_text(first)
    before = code(tmp_path, "a.py")
    (tmp_path / "a.py").write_text(second)
    after = code(tmp_path, "a.py")
    assert before is not None
    assert after is not None
    assert same(before, after) == alike


def test_what_does_not_compile_is_no_code(tmp_path):
    (tmp_path / "a.py").write_text("x = \n")
    assert code(tmp_path, "a.py") is None


def test_compiled_p4_is_the_same_wherever_its_lines_are():
    place = Path("a.json")
    compiled = {
        place: (
            '{"op": "<", "source_info": {"line": 3}, "of": [{"source_info": {"line": 4}, "value": '
            "1}]}"
        )
    }
    assert same(compiled, {place: '{"op": "<", "source_info": {"line": 9}, "of": [{"value": 1}]}'})
    assert not same(
        compiled, {place: '{"op": "<=", "source_info": {"line": 3}, "of": [{"value": 1}]}'}
    )


def test_files_are_as_they_were_afterwards(tmp_path):
    file = tmp_path / "a"
    file.write_text("before")

    def interrupted():
        with mutants.replaced({file: "after"}):
            assert file.read_text() == "after"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert file.read_text() == "before"
