"""lint/prose.py finds listed words where a reader meets them."""

import pytest

from lint import prose


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("page.md", "One.\nThe switch tells the host.\n", [(2, "tells")]),
        ("page.md", "Run `ask` or\n```\ntold\n```\nas you are told.\n", [(5, "told")]),
        ("page.md", "Untold saylors masked it.\n", []),
        ("page.md", "Sent FOR EVER, of its own\naccord.\n", [(1, "FOR EVER"), (1, "of its own")]),
        ("code.py", '"""Module.\n\nNobody asks.\n"""\n', [(3, "Nobody"), (3, "asks")]),
        ("code.py", 'def told() -> None:\n    """What it hears."""\n', [(2, "hears")]),
        ("code.py", 'print("no host says so")\nsaid = "told"\n', [(1, "says")]),
        ("code.py", 'print(f"{said} was told")\n', [(1, "told")]),
        ("test_code.py", "def test_agent_is_told() -> None: ...\n", [(1, "told")]),
        ("lab/code.py", 'def rate() -> int:\n    """The rate."""\n', [(2, "The")]),
        ("lab/code.py", 'def rate() -> int:\n    """Returns the rate."""\n', []),
        ("lab/code.py", 'def rate() -> None:\n    """The rate."""\n', []),
        ("lab/code.py", '@cached_property\ndef rate(self) -> int:\n    """The rate."""\n', []),
        ("lab/code.py", 'def rate() -> int:\n    """PAUSE frames."""\n', [(2, "PAUSE")]),
        ("lab/code.py", 'def reset() -> None:\n    """Forget it."""\n', [(2, "Forget")]),
        ("lab/code.py", '@x.command()\ndef run() -> None:\n    """Run it."""\n', []),
        ("lab/code.py", 'raise Error(f"{x}: there are 2")\n', [(1, "there are")]),
        ("lab/code.py", 'print("there are 2")\n', []),
        ("tests/code.py", 'def rate() -> int:\n    """The rate."""\n', []),
    ],
)
def test_prose_finds_listed_words_at_their_lines(name, text, expected):
    assert [
        (finding.line, finding.text) for finding in prose.findings(name, text, prose.words())
    ] == expected


def test_command_refuses_a_file_with_listed_words(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("The port hears a PAUSE.\n")
    assert prose.main([str(page)]) == 1
    assert "page.md:1: 'hears': receives, detects" in capsys.readouterr().out
    page.write_text("The port receives a PAUSE.\n")
    assert prose.main([str(page)]) == 0
