"""Pages for everybody: axe-core finds no violation, by keys alone all is reached, on a phone
nothing scrolls sideways, and lines of a chart differ for any eyes."""

import base64
import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
from axe import violations
from browser import Browser
from pages import drawn, load_saved
from PIL import Image

from pcn.cli import run as pcn
from pcn.experiments.compare.groups import grouped
from pcn.experiments.compare.stored_results import read
from pcn.experiments.compare.write import PAGE, write
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.explain import keep
from pcn.experiments.page.figures_page import Section, page
from pcn.experiments.papers import FIGURES
from pcn.experiments.runner import run
from pcn.web.recorded import one_file, recorded

ROUTER = Path(__file__).resolve().parents[3] / "examples/router"
SCHEMES = ("pcn", "dcqcn", "pfc", "hpcc", "dctcp", "timely", "qcn")
KINDS = ("one", "several", "compared", "figures", "live", "explained", "coverage")
EYES = ("none", "achromatopsia", "deuteranopia", "protanopia", "tritanopia")
TABBED = "el => el.tabIndex >= 0 && !el.disabled && el.checkVisibility()"


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """A page of each kind."""
    place = tmp_path_factory.mktemp("accessible")
    settings = ["duration=4ms", "before=1ms"]
    run("victim", scheme="pfc,pcn", settings=settings, out=place / "run", seed=1)
    run("victim", scheme="pfc,pcn", settings=settings, out=place / "again", seed=2)
    runs = [stored for name in ("run", "again") for stored in read(place / name)]
    write(grouped(runs), place / "compared")
    lines = [
        curve(scheme, [1, 2, 4], [number, number + 2.0, 3.0], scheme, points=True)
        for number, scheme in enumerate(SCHEMES)
    ]
    charts = [Chart("Queue", "Flows", "KB", lines, log_x=True)]
    summary = {"runs": [], "wall_s": 0.0, "checks": []}
    figures, live = place / "figures.html", place / "live.html"
    figures.write_text(page([Section(FIGURES["fig10"], summary, None, charts)]), encoding="utf-8")
    live.write_text(one_file(recorded(place / "run/pfc")), encoding="utf-8")
    words = [str(place / "run/pfc"), "--worst", "2", "-q"]
    assert pcn(["explain", *words]) == 0
    words = [str(ROUTER), "--clock", "virtual", "--send", "h1,h3", "-q"]
    assert pcn(["p4", "run", *words, "--coverage", str(place / "coverage.html")]) == 0
    return {
        "one": place / "run/pfc/report.html",
        "several": place / "run/report.html",
        "compared": place / "compared" / PAGE,
        "figures": figures,
        "live": live,
        "explained": place / "run/pfc/explain" / keep.PAGE,
        "coverage": place / "coverage.html",
    }


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page(offline=False) as running:
        yield running
        assert running.complaints == []


def shown(chromium: Browser, kind: str, place: Path, width: int, dark: bool = False):
    """Opens a page with all of its parts."""
    if kind == "live":
        load_saved(chromium, place, width, dark=dark)
        return
    chromium.open(place, width, dark=dark)
    chromium.ask("$$('details').forEach(part => { part.open = true; })")
    drawn(chromium)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
@pytest.mark.parametrize("kind", KINDS)
def test_page_has_no_violation_of_axe(chromium: Browser, pages: dict[str, Path], kind, width, dark):
    shown(chromium, kind, pages[kind], width, dark)
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert violations(chromium) == []


def test_axe_finds_what_is_wrong(chromium: Browser, pages: dict[str, Path]):
    shown(chromium, "figures", pages["figures"], 1280)
    chromium.ask("$('main').append(document.createElement('button'))")
    assert [rule for rule, _ in violations(chromium)] == ["button-name"]


@pytest.mark.parametrize("kind", ["several", "compared", "figures"])
def test_tab_reaches_all_in_the_order_of_the_page(chromium: Browser, pages: dict[str, Path], kind):
    shown(chromium, kind, pages[kind], 1280)
    chromium.ask(f"window.all = [...document.querySelectorAll('*')].filter({TABBED})")
    count = chromium.ask("all.length")
    assert count > 3
    reached = []
    for _ in range(min(count, 60)):
        chromium.key("Tab")
        reached.append(chromium.ask("all.indexOf(document.activeElement)"))
    assert reached == list(range(len(reached)))


def picture(chromium: Browser, box: list[float]) -> np.ndarray[Any, Any]:
    left, top, width, height = box
    clip = {"x": left, "y": top, "width": width, "height": height, "scale": 2}
    shot = chromium.call(
        "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
    )["data"]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(shot))).convert("L"), dtype=float)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", EYES)
def test_names_in_a_legend_look_different_in_grey(
    chromium: Browser, pages: dict[str, Path], eyes, dark
):
    """By dash and mark: of any two samples a part of the pixels differs clearly, without colour."""
    shown(chromium, "figures", pages["figures"], 1280, dark)
    chromium.call("Emulation.setEmulatedVisionDeficiency", type=eyes)
    boxes = json.loads(
        chromium.ask(
            "JSON.stringify($$('div.legend button[data-label] svg')"
            ".map(svg => svg.getBoundingClientRect())"
            ".map(box => [box.x + scrollX, box.y + scrollY, 34, 12]))"
        )
    )
    assert len(boxes) == len(SCHEMES)
    samples = [picture(chromium, box) for box in boxes]
    chromium.call("Emulation.setEmulatedVisionDeficiency", type="none")
    for first, second in itertools.combinations(samples, 2):
        assert (np.abs(first - second) > 40).mean() > 0.02


HELD = {
    "one": ("svg.topology", "$$('.link.held')"),
    "live": ("#network svg", "$$('#network .line.paused')"),
}
"""By page: the drawing, and what of it PAUSE holds."""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", ["achromatopsia", "deuteranopia"])
@pytest.mark.parametrize("kind", HELD)
def test_held_links_are_seen_without_colour(
    chromium: Browser, pages: dict[str, Path], kind, eyes, dark
):
    """In grey, too, each page's drawing of a moment with PAUSE differs from that of one without, by
    more than the shade of a line: a part of the pixels goes from background to line."""
    shown(chromium, kind, pages[kind], 1280, dark)
    drawing, held = HELD[kind]
    slider = "time" if kind == "one" else "slider"
    assert chromium.ask(f"{held}.length") >= 15, "it opens where most is held"
    chromium.call("Emulation.setEmulatedVisionDeficiency", type=eyes)
    box = json.loads(
        chromium.ask(
            "(box => JSON.stringify([box.x + scrollX, box.y + scrollY, box.width, box.height]))"
            f"($('{drawing}').getBoundingClientRect())"
        )
    )
    with_pause = picture(chromium, box)
    chromium.ask(
        f"(slider => {{ slider.value = 0; slider.dispatchEvent(new Event('input')); }})"
        f"(document.getElementById('{slider}'))"
    )
    drawn(chromium)
    assert chromium.ask(f"{held}.length") == 0
    without = picture(chromium, box)
    chromium.call("Emulation.setEmulatedVisionDeficiency", type="none")
    back = np.median(without)
    new = (np.abs(without - back) < 20) & (np.abs(with_pause - back) > 60)
    assert new.mean() > 0.003, new.mean()
