"""Units and large numbers look the same wherever a person reads them: in a terminal, on a page, in
docs. Rates are Gbit/s, times us, digits are in threes."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OTHER_RATE = re.compile(r"\b[0-9.]* ?[kMGT](?:b/s|bps|bits/s)\b")
OTHER_TIME = re.compile("[\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]s")
QUOTED = re.compile(r"\"[^\"\n]*\"|`[^`\n]*`|\b[0-9]+[kMGT](?:bps|bits)\b")
"""What others' files and papers have, and what may be typed."""
PLACES = ("docs", "README.md", "pcn", "experiments", "lab", "hosts", "controller", "topologies")
PARSERS = {"docs/formats.md"}
"""Pages of formats whose own spelling of a unit is what they are about."""


def shown_files() -> list[str]:
    names = subprocess.run(
        ["git", "ls-files", *PLACES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    kinds = (".py", ".md", ".js", ".html", ".j2", ".json", ".ipynb")
    return [
        name
        for name in names
        if name.endswith(kinds) and (ROOT / name).is_file() and name not in PARSERS
    ]


def test_rates_and_times_have_one_spelling():
    names = shown_files()
    assert len(names) > 300
    others = []
    for name in names:
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
            rest = QUOTED.sub("", line) if name.endswith(".md") else line
            rates = [match[0] for match in OTHER_RATE.finditer(rest) if match[0][-2:] != "ps"]
            others += [f"{name}:{number}: {text}" for text in rates + OTHER_TIME.findall(rest)]
    assert others == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [("40 Gb/s", True), ("3.5 Mb/s", True), ("40 Gbit/s", False), ("10 us", False)],
)
def test_search_separates_spellings(text, refused):
    assert bool(OTHER_RATE.search(text)) is refused
