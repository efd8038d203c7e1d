"""Pages for readers: links and paths are right, maps of files complete, lines of at most 120
characters."""

import importlib
import re
from pathlib import Path

import pytest
from distributions import PACKAGES

from pcn.experiments.results.documents import anchor

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *ROOT.glob("*.md"),
    ROOT / "softswitch/README.md",
    ROOT / "judges/README.md",
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "results"),
]
FOLDERS = (*PACKAGES, "pcn", "p4src", "docs", "tests", "judges", "ptf-tests", "examples")


@pytest.fixture(params=PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def page(request) -> Path:
    return request.param


def running_text(page: Path) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_links_go_somewhere(page: Path):
    for link in re.findall(r"\]\(([^()\s]+)\)", running_text(page)):
        if re.match(r"\w+:", link):
            continue
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        if place:
            headings = re.findall(r"^#+ (.+)$", target.read_text(), re.MULTILINE)
            assert place in {anchor(heading) for heading in headings}, link


def test_lines_are_short(page: Path):
    long = [
        line
        for line in page.read_text().splitlines()
        if len(line) > 120 and not line.startswith(("|", "  |"))
    ]
    assert not long, long


def test_files_that_it_names_are_there(page: Path):
    """Of full paths: X, PAPER, NAME and the like stand for names; the notebook may name files that
    are gone."""
    if page.parent.name != "notebook":
        for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/.-]+\.\w+)`", page.read_text()):
            assert re.search(r"\b[A-Z]+\b", name) or (ROOT / name).exists(), name


@pytest.mark.parametrize(
    ("page_name", "folder"), [("switch", "softswitch"), ("virtualnet", "virtualnet")]
)
def test_maps_have_every_file(page_name, folder):
    text = (ROOT / f"docs/{page_name}.md").read_text()
    inside = text[text.index("## Inside") :].split("\n## ")[0]
    files = {
        path.name for path in (ROOT / folder / "csrc").glob("**/*.c") if "tools" not in path.parts
    }
    assert files
    assert files <= set(re.findall(r"\w+\.c\b", inside))


def test_walks_go_through_functions_that_are_there():
    """Each row of ARCHITECTURE.md's walks names a file, and a function or class in it."""
    rows = re.findall(
        r"^\| `([\w./]+)`: `(\w+)` \|", (ROOT / "docs/ARCHITECTURE.md").read_text(), re.M
    )
    assert len(rows) > 25
    for path, name in rows:
        source = (ROOT / path).read_text()
        definition = rf"^(?!.*;$).*\b(?:def |class )?{name}\("
        assert re.search(definition, source, re.MULTILINE), f"{path} has no {name}"


def test_python_s_modules_have_the_names_that_its_page_gives_them():
    """Of rows with one module, names with a dot: a module in it, and what that has."""
    rows = re.findall(r"^\| `(pcn[\w.]*)` \| (.*) \|$", (ROOT / "docs/python.md").read_text(), re.M)
    named = [(top, *pair) for top, text in rows for pair in re.findall(r"`(\w+)\.(\w+)`", text)]
    assert len(named) > 5
    for top, module, name in named:
        assert hasattr(importlib.import_module(f"{top}.{module}"), name)
