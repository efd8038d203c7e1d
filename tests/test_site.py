"""The documentation site: built from all pages, it needs nothing from elsewhere; a dead link or an
orphan ends it."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import browser
import pytest
from axe import violations
from waiting import wait_until

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site() -> Iterator[ModuleType]:
    """docs/site.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("documentation_site", ROOT / "docs/site.py")
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("site") / "docs"
    done = subprocess.run(
        [sys.executable, ROOT / "docs/site.py", out], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "site"


def test_site_has_every_page_and_command(built: Path, site: ModuleType):
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


def test_results_have_an_index_with_the_pictures_that_are_drawn(site: ModuleType, tmp_path):
    results = tmp_path / "docs/results.md"
    (results.parent / "figures").mkdir(parents=True)
    (results.parent / "figures/a.png").touch()
    results.write_text("# Results\n\nAbout.\n\n## P\n\n### a\n\nA.\n\n### b-2\n\nB.\n")
    assert site.with_pictures(results) == (
        "# Results\n\nAbout.\n\n## P\n\n"
        "- [![a](figures/a.png){ width=240 }](results/a.md) [a](results/a.md): A.\n\n"
        "- [b-2](results/b-2.md): B.\n"
    )


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("results.md#b-2", "results/b-2.md"),
        ("../results.md#b", "../results/b.md"),
        ("docs/results.md#b", "docs/results/b.md"),
        ("../results.md", "../results.md"),
        ("other.md#b-2", "other.md#b-2"),
        ("other-results.md#b", "other-results.md#b"),
    ],
)
def test_a_link_to_a_figure_leads_to_its_page(link, page, site: ModuleType):
    assert site.linked(f"[b]({link})") == f"[b]({page})"


def test_site_loads_nothing_from_elsewhere(built: Path):
    """Of what a page loads by itself: links may go anywhere."""
    for page in built.rglob("*.html"):
        matches = re.findall(
            r"<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)=\"?(https?:|//)", page.read_text()
        )
        assert not matches, page


def test_site_opens_and_searches_on_a_file_system(built: Path):
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
            "($('input[data-md-component=search-query]'))"
        )
        results = "$$('.md-search-result__item').length"
        wait_until(lambda: chromium.ask(results) > 0, "results of a search")


@pytest.mark.parametrize("width", [1280, 390])
def test_site_has_no_violation_of_axe(built: Path, width):
    with browser.page() as chromium:
        for name in (
            "index",
            "docs/commands",
            "docs/results",
            "commands/run",
            "docs/tutorial/index",
        ):
            chromium.open(built / f"{name}.html", width)
            assert violations(chromium) == [], name


def test_search_finds_an_option_as_it_is_typed(built: Path):
    with browser.page() as chromium:
        chromium.open(built / "index.html", 1280)
        chromium.ask(
            "(field => { field.focus(); field.value = '--queues'; field.dispatchEvent(new "
            "Event('keyup')); "
            "field.dispatchEvent(new InputEvent('input', {bubbles: true})); })"
            "($('input[data-md-component=search-query]'))"
        )
        links = "$$('.md-search-result__link').map(element => element.href).join('\\n')"
        wait_until(lambda: "html" in chromium.ask(links), "results of a search")
        assert any("commands/run.html" in link for link in chromium.ask(links).splitlines()[:6])
        chromium.open(built / "docs/results.html", 1280)
        assert chromium.ask("document.documentElement.scrollHeight") < 8000


def test_site_with_dead_links_and_orphans_is_refused(site: ModuleType, tmp_path):
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
