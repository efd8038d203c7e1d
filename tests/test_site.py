"""The documentation site: built from all pages, it needs nothing from elsewhere; a dead link or an
orphan ends it."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import browser
import pytest
from waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site() -> Iterator[ModuleType]:
    """docs/site.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("documentation_site", ROOT / "docs/site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site") / "docs"
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site.py", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "site"


def test_site_has_every_page_and_command(built: Path, site: ModuleType) -> None:
    pages = [path.relative_to(ROOT) for path in site.pages() if path.suffix == ".md"]
    assert len(pages) > 40
    for page in pages:
        place = built / (
            page.parent / "index.html" if page.name == "README.md" else page.with_suffix(".html")
        )
        assert place.is_file(), page
    for name, text in site.commands().items():
        assert (built / "commands" / f"{name}.html").is_file()
        assert f"Usage: pcn {name}" in text
    assert "--clock" in (built / "commands/run.html").read_text()
    text = (built / "api/pcn.lab.observe.html").read_text()
    assert "Looks at a network" in text


def test_site_shows_figures_that_are_drawn(site: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("".join(f"<!-- figures/{name}.png: T -->\n" for name in ("a", "b")))
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures/b.png").touch()
    assert site.with_pictures(page) == "\n![T](figures/b.png)\n"


def test_site_loads_nothing_from_elsewhere(built: Path) -> None:
    """Of what a page loads by itself: links may go anywhere."""
    for page in built.rglob("*.html"):
        matches = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=\"?(https?:|//)", page.read_text()
        )
        assert not matches, page


def test_site_opens_and_searches_on_a_file_system(built: Path) -> None:
    with browser.page() as chromium:
        for page, width in (
            ("index.html", 400),
            ("docs/choices.html", 400),
            ("docs/commands.html", 1920),
        ):
            chromium.open(built / page, width)
            assert chromium.complaints == []
            assert chromium.ask("document.documentElement.scrollWidth") <= width
            assert all(
                address.startswith(("file:", "data:", "blob:")) for address in chromium.addresses
            )
        chromium.ask(
            "(field => { field.focus(); field.value = 'congestion tree'; field.dispatchEvent(new "
            "Event('keyup')); "
            "field.dispatchEvent(new InputEvent('input', {bubbles: true})); })"
            "(document.querySelector('input[data-md-component=search-query]'))"
        )
        results = "document.querySelectorAll('.md-search-result__item').length"
        wait_until(lambda: chromium.ask(results) > 0, "results of a search")


def test_site_with_dead_links_and_orphans_is_refused(site: ModuleType, tmp_path: Path) -> None:
    site.stage(tmp_path)
    page = tmp_path / "pages/docs/glossary.md"
    for source in (tmp_path / "pages").rglob("*.md"):  # to build them all takes seconds
        if source not in (page, page.with_name("commands.md")):
            source.write_text("# Short\n")
    page.write_text(page.read_text() + "\n[a page](nosuch.md), [a heading](commands.md#nosuch)\n")
    (tmp_path / "pages/docs/orphan.md").write_text("# Orphan\n")
    done = site.build(tmp_path, "--strict")
    assert done.returncode != 0
    output = done.stderr + done.stdout
    assert "'nosuch.md'" in output
    assert "commands.md#nosuch" in output
    assert "docs/orphan.md" in output
