"""What counts as words and signs of code: neither strings nor comments, but C in strings that write
it."""

import pytest

from lint import code_size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("x = y + 1  # z\n", 5),
        ('def f():\n    """Of x."""\n    return "a b"\n', 6),
        ("x = f'{y + 1} z'\n", 2),
        ("a(b,\n  c)\n", 6),
    ],
)
def test_words_of_python_leave_out_texts(text, count):
    assert code_size.of_python(text) == count


def test_c_that_python_writes_is_code():
    text = '"""Writes `x;`."""\nline = "x += 1;"\n'
    assert code_size.of_python(text) == 2
    assert code_size.of_python(text, writes_c=True) == 2 + 4


@pytest.mark.parametrize(
    ("text", "count"),
    [('puts("a b"); /* c\n d */ // e\n', 4), ("x->y <<= 0x1f & ~z;", 9), ("char c = '\\'';", 4)],
)
def test_words_of_c_leave_out_texts(text, count):
    assert code_size.of_c(text) == count


def test_files_that_programs_wrote_are_left_out():
    written = ("p4src/compiled/tna/a.py", "pcn/web/static/uPlot.iife.min.js", "a/b_pb2.py")
    assert all(code_size.WRITTEN.search(name) for name in written)
    assert not code_size.WRITTEN.search("p4src/v1model/generated.p4")
