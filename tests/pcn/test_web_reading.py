"""What a reader does with a saved replay, in a real browser: searches, clicks a line, selects and
goes back, reads it on a phone, in the dark and on paper."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser
from pages import drawn, go, load_saved

from pcn.experiments.data.records import Records
from pcn.experiments.results.stored_run import read_run
from pcn.experiments.runner import run
from pcn.web.recorded import one_file, recorded

SEARCH = """
(field => {{ field.focus(); field.value = {!r}; field.dispatchEvent(new Event('input')); }})(
    $('#search'))
"""
MIDDLE_OF_ARC = """
(path => {
    const at = path.getPointAtLength(path.getTotalLength() * 0.8).matrixTransform(path.getScreenCTM());
    return JSON.stringify([at.x, at.y]);
})($$('#network .hit').find(element => element.textContent.startsWith('s0 - s1')))
"""  # noqa: E501
CUT = """
['ports', 'flows'].filter(id => {
    const table = document.getElementById(id), place = table.parentElement;
    return table.getBoundingClientRect().right > place.getBoundingClientRect().right + 1;
}).join(', ')
"""
HEIGHTS = """
JSON.stringify($$('#network g[data-node] text').map(text =>
    parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a))
"""
COLOURS = """
JSON.stringify([
    getComputedStyle($('#network path:not([data-a]):not(.hit)')).stroke,
    ...$$('#network .line:not(.paused)').map(element => getComputedStyle(element).stroke),
    getComputedStyle($('#network text.legend')).fill,
])
"""
HIDDEN_ON_PAPER = (".controls", ".tools", "#actions", "#command", "#unchoose")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("reading") / "pfc"
    queues = Records(queues_s=100e-6)
    settings = ["duration=4ms"]
    run("victim", scheme="pfc", clock="virtual", settings=settings, out=place, records=queues)
    return place


@pytest.fixture(scope="module")
def file(place: Path) -> Path:
    file = place.parent / "page.html"
    file.write_text(one_file(recorded(place)), encoding="utf-8")
    return file


@pytest.fixture
def page(chromium: Browser, file: Path) -> Iterator[Browser]:
    load_saved(chromium, file, 1280, 800)
    yield chromium
    assert chromium.complaints == []


def text(page: Browser, of: str) -> str:
    return page.ask(f"document.getElementById('{of}').innerText")


def search(page: Browser, words: str):
    page.ask(SEARCH.format(words))
    drawn(page)


def enter(page: Browser, words: str):
    search(page, words)
    page.key("Enter")
    drawn(page)


def test_search_marks_a_node_and_shows_all_again(page: Browser):
    search(page, "h13")
    assert text(page, "found") == '"h13" leaves 1 of 20 ports and 0 of 3 flows; Esc shows all'
    # it isn't that nothing was recorded
    note = "no port of this name has a queue in any frame; the search hides 2 ports that have"
    assert text(page, "heat-note") == note
    page.key("Enter")
    drawn(page)
    marked = "$$('#network .marked').map(group => group.dataset.node).join()"
    assert page.ask(marked) == "h13"
    assert text(page, "series-title") == "h13"
    assert page.ask("$$('#ports tbody tr').length") == 20
    assert text(page, "found") == ""
    assert text(page, "heat-note") == (
        "2 ports; the strongest colour is 8,309.5 KB, s1:2 at 0.300 ms"
    )


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("flow 0", "Flow 0"),
        ("Flow 1", "Flow 1"),
        ("s0:3", "s0:3, towards s1"),
        ("h0:0", "h0"),
        ("S1", "s1"),
        ("burst", "Flow bursts"),
    ],
)
def test_search_finds_names_as_the_page_writes_them(page: Browser, words, title):
    enter(page, words)
    assert text(page, "series-title") == title


def test_search_reports_that_nothing_has_the_name(page: Browser):
    enter(page, "h13")
    enter(page, "zzz")
    assert text(page, "found") == 'no node, port or flow is called "zzz"'
    assert text(page, "series-title") == "This moment"
    assert page.ask("$$('#network .marked').length") == 0
    search(page, "s")
    assert "zzz" not in text(page, "found")


def test_click_on_a_line_shows_the_direction_that_is_held(page: Browser):
    x, y = json.loads(page.ask(MIDDLE_OF_ARC))
    page.click(x, y)  # nearer to s1, whose own direction is idle
    drawn(page)
    assert text(page, "series-title") == "s0:3, towards s1"
    assert "s1 holds it since 0.300 ms" in text(page, "facts")
    assert "The other direction: s1:1" in text(page, "facts")
    enter(page, "s1:1")
    # its rate, and PAUSE that it sends; no queue, which would be a line at 0
    assert page.ask("$$('#plots canvas').length") == 2
    assert "In all: no queue; PAUSE never holds it" in text(page, "facts")


def test_card_of_a_host_states_that_it_is_held(page: Browser, place: Path):
    enter(page, "h13")
    spell = "It may not send: s1 holds it by s1:15 on and off since 0.200 ms, without a break since"
    assert text(page, "facts").startswith(f"{spell} 0.700 ms")
    assert "pauses h13" in text(page, "ports")
    log = text(page, "log")
    assert re.search(r"0\.200 ms\s+h13 is paused", log)
    assert ":0 " not in log
    frames = list(read_run(place).frames())
    assert f"samples, {frames[0]['over_s'] * 1e3:.3f} ms apart" in text(page, "log-note")


def test_escape_ends_the_search_and_then_the_selection(page: Browser):
    before = text(page, "facts")
    page.ask("$('#ports tbody button').click()")
    drawn(page)
    assert text(page, "unchoose") == "← this moment"
    search(page, "s0")
    page.key("Escape")
    drawn(page)
    assert page.ask("$('#search').value") == ""
    assert text(page, "series-title") != "This moment"
    page.key("Escape")
    drawn(page)
    assert (text(page, "series-title"), text(page, "facts")) == ("This moment", before)


def test_legend_of_a_chart_has_the_shown_frame(page: Browser, place: Path):
    frames = list(read_run(place).frames())
    enter(page, "s0:3")
    for number in (12, 20):
        go(page, number)
        port = next(port for port in frames[number]["ports"] if port["port"] == "s0:3")
        legends = text(page, "plots")
        assert f"{frames[number]['time_s'] * 1e3:.3f} ms" in legends
        assert f"{port['rate_bps'] / 1e9:.3f} Gbit/s" in legends
        assert f"{port['queue_bytes'] / 1e3:,.3f} KB" in legends


def test_captions_are_sentences_and_words_are_explained(page: Browser):
    page.ask(
        "(of => { of.value = 'pause'; of.dispatchEvent(new Event('change')); })($('#heat-of'))"
    )
    drawn(page)
    assert text(page, "heat-note").endswith(
        "ports; where one has colour, PAUSE holds it: it may not send"
    )
    legend = text(page, "legend")
    assert "PFC: a switch with a long queue sends PAUSE (XOFF) to its neighbour" in legend


def test_phone_shows_whole_columns_and_names_that_can_be_read(chromium: Browser, file: Path):
    load_saved(chromium, file, 390, 800)
    assert chromium.ask(CUT) == ""
    assert min(json.loads(chromium.ask(HEIGHTS))) >= 9
    assert chromium.ask("document.documentElement.scrollWidth") <= 390
    assert chromium.ask("$('#legend').clientHeight < $('#network').clientHeight")
    assert chromium.complaints == []


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_dark_drawing_has_contrast_with_its_card(chromium: Browser, file: Path):
    load_saved(chromium, file, 1280, 800, dark=True)
    card = luminance(chromium.ask("getComputedStyle($('.drawing')).backgroundColor"))
    colours = json.loads(chromium.ask(COLOURS))
    assert len(colours) > 2
    for colour in colours:
        assert (luminance(colour) + 0.05) / (card + 0.05) >= 3
    assert chromium.complaints == []


def test_paper_has_whole_tables_and_no_controls(page: Browser):
    page.call("Emulation.setEmulatedMedia", media="print")
    try:
        for selector in HIDDEN_ON_PAPER:
            shown = f"$$('{selector}')"
            seen = f"{shown}.filter(element => element.offsetParent)"
            assert page.ask(f"{seen}.length") == 0, selector
        cut = "element => element.scrollHeight > element.clientHeight + 1"
        lists = f"$$('.scroll, #log').filter({cut})"
        assert page.ask(f"{lists}.length") == 0
        assert page.ask("$$('#ports tbody tr').length") == 20
        assert page.ask("$$('#log li').length") > 10
    finally:
        page.call("Emulation.setEmulatedMedia", media="")
