"""The README's picture is drawn from runs of today's code, and moves."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import browser
import pytest

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/tree.svg"
MOST_BYTES = 30_000


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """docs/picture.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("tree_picture", ROOT / "docs/picture.py")
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_picture_is_that_of_the_runs(program: ModuleType):
    drawn = program.picture(program.results())
    assert drawn == PICTURE.read_text(), "run: .venv/bin/python docs/picture.py docs/tree.svg"
    assert len(drawn) < MOST_BYTES
    ElementTree.fromstring(drawn)


def test_picture_moves_and_has_the_tree_where_it_stands():
    """Under PFC alone h0 and h1 are held at some moment, under PCN they never are."""
    held = """
    (time => {
      document.getAnimations().forEach(motion => { motion.pause(); motion.currentTime = time; });
      return $$('svg svg').map(half =>
        [...half.querySelectorAll('.link')].filter(line =>
          getComputedStyle(line).strokeWidth === '5px').length) })
    """
    with browser.page() as chromium:
        chromium.open(PICTURE, 1280)
        assert chromium.complaints == []
        counts = [chromium.ask(f"{held}({seconds * 1000 + 100})") for seconds in range(11)]
        most = [max(column) for column in zip(*counts, strict=True)]
        assert most[0] == 17, "14 hosts, s0, h0 and h1"
        assert 0 < most[1] <= 14
        assert [0, 0] in counts
        reduced = {"name": "prefers-reduced-motion", "value": "reduce"}
        chromium.call("Emulation.setEmulatedMedia", features=[reduced])
        assert chromium.ask("document.getAnimations().length") == 0
        still = held.replace("document.getAnimations()", "[]")
        assert chromium.ask(f"{still}(0)")[0] == 17
