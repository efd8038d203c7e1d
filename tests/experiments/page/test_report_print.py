"""A report on paper: its sheets, its colours, and the screen as it was before."""

import base64
import json
import re
from pathlib import Path

import forks
import pytest
from browser import Browser
from report_pages import OUTSIDE, open_report

SHEET = 718
"""Pixels of A4 between Chromium's margins."""
CUT = """
$$('h1, p, th, td, figure, svg, .tile, dd').filter(element => {
    const box = element.getBoundingClientRect();
    const cut = element.matches('td, th') && element.scrollWidth > element.clientWidth + 1;
    return box.width && (cut || box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(element => element.outerHTML.slice(0, 200))
"""


SIDE_BY_SIDE = """
(parts => [...parts].filter(part => part.querySelectorAll('.plot').length > 1).map(part => {
    const tops = [...part.children].map(figure => figure.getBoundingClientRect().top);
    return tops.filter(top => top === tops[0]).length;
}))
"""
"""Of each part with several charts, how many stand in its first row."""
LEFT_COUNTS = """
JSON.stringify($$('.on-screen').map(text => {
    const list = text.previousElementSibling;
    const rows = [...list.querySelectorAll('dt, tbody tr')];
    const hidden = rows.filter(row => getComputedStyle(row).display === 'none');
    return [parseInt(text.textContent), hidden.length];
}))
"""
"""Of each list that is cut: how much more the screen has, by its text and by what isn't shown."""


def printed(chromium: Browser):
    """Lays the page out as it is printed."""
    chromium.call(
        "Emulation.setDeviceMetricsOverride",
        width=SHEET,
        height=1000,
        deviceScaleFactor=1,
        mobile=False,
    )
    chromium.call("Emulation.setEmulatedMedia", media="print")
    chromium.ask("dispatchEvent(new Event('beforeprint'))")


def sheets(chromium: Browser) -> int:
    """How many sheets of A4 a page is, as it opens."""
    printed = chromium.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(printed)))


@pytest.mark.parametrize("dark", [False, True])
def test_sheet_of_paper_has_all_of_the_page(
    chromium: Browser, pages: dict[str, Path], tmp_path, dark
):
    """Tables keep their columns, in black on white; plots are drawn for the sheet; then the screen
    is as before. What folds isn't printed: four sheets at most. Opened, all parts of four schemes
    are eight: charts of runs side by side, and of long lists the beginning, with how much more the
    file has."""
    place = tmp_path / "traffic"
    words = [
        "--clock", "virtual", "--topology", "fat-tree", "--workload", "W1", "--set", "count=1200",
        "--explain", "-q",
    ]  # fmt: skip
    done = forks.run(
        "pcn", "run", "traffic", *words, "--scheme", "pfc,dcqcn,pcn,hpcc", "--out", str(place)
    )
    assert (done.returncode, done.stderr) == (0, "")
    compared = tmp_path / "compared"
    folders = [str(place / name) for name in ("pfc", "dcqcn", "pcn", "hpcc")]
    assert forks.run("pcn", "compare", *folders, "--out", str(compared)).returncode == 0
    for file in (*pages.values(), place / "report.html", compared / "comparison.html"):
        chromium.open(file, 1400, dark=dark)
        assert 1 <= sheets(chromium) <= 4, file
        open_report(chromium, file, 1400, dark=dark)
        widths = "$$('.plot svg').map(svg => svg.viewBox.baseVal.width)"
        screen = chromium.ask(widths)
        printed(chromium)
        assert chromium.ask(CUT) == [], file
        assert json.loads(chromium.ask(OUTSIDE)) == [], "names of axes are whole"
        assert (
            chromium.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        ink = chromium.ask("getComputedStyle(document.body).color")
        assert sum(map(int, ink[4:-1].split(","))) < 200
        if screen:
            assert max(chromium.ask(widths)) <= SHEET
            shown = "$$('.plot svg').map(svg => svg.getBoundingClientRect().width)"
            assert chromium.ask(shown) == pytest.approx(chromium.ask(widths), rel=0.05), (
                "letters have their size"
            )
        beside = chromium.ask(f"({SIDE_BY_SIDE})($$('section .runs'))")
        assert all(count > 1 for count in beside), "charts of several runs"
        cut = chromium.ask(LEFT_COUNTS)
        assert all(counted == hidden for counted, hidden in json.loads(cut)), (file, cut)
        assert 1 <= sheets(chromium) <= 8, file
        chromium.call("Emulation.setEmulatedMedia", media="")
        chromium.call(
            "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip
        chromium.ask("dispatchEvent(new Event('afterprint'))")
        assert chromium.ask(widths) == screen
