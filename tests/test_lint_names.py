"""lint/names.py counts names that don't name what they hold."""

import ast

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
VAGUE = {"made", "one", "other", "found", "each", "_kept", "who", "asked", "Told"}


def test_names_counts_what_is_bound(tmp_path):
    path = tmp_path / "file.py"
    path.write_text(TEXT)
    total, which = names.share([path])
    assert (total, which.total(), set(which)) == (12, len(VAGUE), VAGUE)
    assert {name for name, _ in names.names(ast.parse(TEXT))} == {*VAGUE, "port", "flow", "file"}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("file.c", "/* one\n */ flow_t *other = a->own; // told\n", [(2, "other"), (2, "own")]),
        ("file.h", '#define fail(what) puts("what" #what)\n', [(1, "what"), (1, "what")]),
        ("file.js", "'one'; ports.map((one) => one.port); // one\n", [(1, "one"), (1, "one")]),
        ("file.js", "`one ${ports.map((one) => `one ${own}`)} other`\n", [(1, "one"), (1, "own")]),
        ("file.html.j2", "<p>one</p>\n{% for one in two %}{{ port }}{% endfor %}\n", [(2, "one")]),
        ("file.c", "int none, ones, found_at;\n", []),
    ],
)  # fmt: skip
def test_names_reads_c_javascript_and_templates(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_text(text)
    assert [(line, word) for word, line in names.vague(path)] == expected


def test_names_prints_where_they_are(tmp_path, capsys):
    path = tmp_path / "file.py"
    path.write_text("port = 1\nfound = port\n")
    assert names.main([str(path)]) == 0
    assert capsys.readouterr().out == f"{path}:2: found\n"


def test_names_fails_at_a_vague_name(tmp_path, monkeypatch, capsys):
    assert names.main([]) == 0
    path = tmp_path / "file.py"
    path.write_text("found = 1\n")
    monkeypatch.setattr(names, "files", lambda: [path])
    assert names.main([]) == 1
    assert capsys.readouterr().err.startswith("1 of 1 names are vague: found 1. ")
