"""Pages for readers: links go to files and headings that there are, and lines have at most 120 characters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.documents import anchor

ROOT = Path(__file__).resolve().parent.parent
PAGES = [*ROOT.glob("*.md"), ROOT / "softswitch/README.md", *(ROOT / "docs").rglob("*.md")]
GENERATED = ROOT / "docs/results.md"


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def running_text(page: Path) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_links_go_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^()\s]+)\)", running_text(page)):
        if re.match(r"\w+:", link):
            continue
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if place:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert place in {anchor(heading) for heading in headings}, link


def test_lines_are_short(page: Path) -> None:
    if page != GENERATED:
        long = [line for line in page.read_text().splitlines() if len(line) > 120 and not line.startswith(("|", "  |"))]
        assert not long, long
