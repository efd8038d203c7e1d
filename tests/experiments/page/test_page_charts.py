"""Charts of pages in a real browser: each mark is a value, legends hide, a part of an axis is shown
in all charts that have it, by pointer and by keys alone."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import browser
import numpy as np
import pytest
from browser import Browser
from hypothesis import given, strategies as st
from pages import drawn

from pcn.experiments.compare.figures import shown_ms
from pcn.experiments.define.charts import Chart, Line, curve, standard_error
from pcn.experiments.define.looks import LOOKS
from pcn.experiments.draw.line_looks import looks
from pcn.experiments.draw.pictures import draw
from pcn.experiments.page import plots
from pcn.experiments.page.figures_page import Section, page
from pcn.experiments.papers import FIGURES

OVER = [0.0, 1.0, 2.0, 3.0, 4.0]
CHARTS = [
    Chart(
        "Queue",
        "Time (ms)",
        "KB",
        [
            Line("PCN", np.arange(0.0, 40.0, 0.25), np.arange(160.0) % 37, scheme="pcn"),
            Line("DCQCN", np.arange(0.0, 40.0, 0.25), np.arange(160.0) % 29, scheme="dcqcn"),
        ],
        level=20.0,
        level_text="capacity",
    ),
    Chart("PAUSE", "Time (ms)", "1/ms", [curve("PCN", OVER, [9, 8, 7, 6, 5], "pcn")]),
    Chart(
        "Flows",
        "Flows",
        "Jain's index",
        [
            curve("PCN", [4, 16, 64], [1, 0.9, 0.8], "pcn", points=True),
            curve(
                "DCQCN", [4, 16, 64], [0.7, 0.6, 0.2], "dcqcn", points=True,
                seeds=[[0.6, 0.8], [0.5, 0.7], [0.1, 0.3]],
            ),
        ],
        log_x=True,
    ),
    Chart(
        "Bars",
        "",
        "ms",
        [
            curve("PCN", [0, 1], [3, 0], "pcn", seeds=[[2, 4], [0, 0]]),
            curve("DCQCN", [0, 1], [5, 2], "dcqcn", seeds=[[4, 6], [1, 3]]),
        ],
        bars=["small", "large"],
    ),
    Chart(
        "Rows",
        "Effect",
        "",
        [curve("", [0, 1, 2], [3, -1, 2], seeds=[[2, 4], [-2, 0], [1, 3]])],
        rows=["w_min", "T", "load"],
        level=1.0,
    ),
]  # fmt: skip
PLOT = "$('[data-chart=fig10-%d]')"
KEY = "%s.dispatchEvent(new KeyboardEvent('keydown', {key: %r, bubbles: true, cancelable: true}))"
TIP = "JSON.stringify([...$('#tip').children].map(line => line.textContent))"


def write(place: Path, charts: Sequence[Chart]) -> Path:
    summary = {"runs": [], "wall_s": 0.0, "checks": []}
    report = place / "report.html"
    section = Section(FIGURES["fig10"], summary, None, charts)
    report.write_text(page([section]), encoding="utf-8")
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("charts"), CHARTS)


@pytest.fixture
def chromium(report: Path) -> Iterator[Browser]:
    with browser.page() as running:
        running.open(report, 1280)
        drawn(running)
        yield running
        assert running.complaints == []


def evaluated(chromium: Browser, expression: str):
    return json.loads(chromium.ask(f"JSON.stringify({expression})"))


def texts(chromium: Browser, plot: int) -> list[str]:
    return evaluated(
        chromium, f"[...{PLOT % plot}.querySelectorAll('text')].map(text => text.textContent)"
    )


def heights_of(chromium: Browser, plot: int, selector: str) -> list[float]:
    return evaluated(
        chromium,
        f"[...{PLOT % plot}.querySelectorAll('{selector}')].map(part => part.getBBox().height)",
    )


def ticks(
    chromium: Browser, plot: int, anchor: str, rows: bool = False
) -> list[tuple[float, float]]:
    """Returns positions and values of an axis's texts: `middle` of x, `end` of y."""
    place = "x" if anchor == "middle" else "y"
    texts = evaluated(
        chromium,
        f"[...{PLOT % plot}.querySelectorAll('text[text-anchor={anchor}]:not(.axis)')]"
        f".filter(text => text.parentElement.tagName === 'svg')"
        f".map(text => [+text.getAttribute('{place}'), text.textContent])",
    )
    return [
        (at - (0 if anchor == "middle" else 4), float(text.replace(",", "")))
        for at, text in texts
        if re.fullmatch(r"-?[\d.,]+", text)
    ]


def scale(ends: Sequence[tuple[float, float]], log: bool = False):
    """Returns the function from a position to a value, of two texts of the axis."""
    (first, low), (last, high) = ends[0], ends[-1]
    if log:
        low, high = np.log(low), np.log(high)

    def value(at: float) -> float:
        linear = low + (at - first) / (last - first) * (high - low)
        return float(np.exp(linear) if log else linear)

    return value


def middles(chromium: Browser, plot: int, selector: str) -> list[tuple[float, float]]:
    """Returns the middles of elements, in the coordinates of the drawing."""
    return [
        tuple(pair)
        for pair in evaluated(
            chromium,
            f"[...{PLOT % plot}.querySelectorAll('{selector}')].map(element => element.getBBox())"
            ".map(box => [box.x + box.width / 2, box.y + box.height / 2])",
        )
    ]


def test_points_and_their_seeds_are_where_their_values_are(chromium: Browser):
    x, y = scale(ticks(chromium, 2, "middle"), log=True), scale(ticks(chromium, 2, "end"))
    marks = [(x(at), y(high)) for at, high in middles(chromium, 2, ".point")]
    values = [
        (at, value) for line in CHARTS[2].lines for at, value in zip(line.x, line.y, strict=True)
    ]
    assert np.allclose(marks, values, rtol=0.02, atol=0.02)
    seeds = [y(high) for _, high in middles(chromium, 2, ".seed")]
    assert np.allclose(
        seeds, [seed for some in CHARTS[2].lines[1].seeds for seed in some], atol=0.01
    )
    ends = heights_of(chromium, 2, ".end")
    per_unit = abs(1 / (y(1.0) - y(0.0)))
    errors = [2 * standard_error(some) * per_unit for some in CHARTS[2].lines[1].seeds]
    assert np.allclose(ends, errors, atol=0.3)


def test_bars_have_the_height_of_their_values(chromium: Browser):
    y = scale(ticks(chromium, 3, "end"))
    bars = heights_of(chromium, 3, ".bar")
    heights = [abs(y(height) - y(0.0)) for height in bars]
    assert np.allclose(heights, [3, 0, 5, 2], atol=0.08)
    assert "0" in evaluated(
        chromium, f"[...{PLOT % 3}.querySelectorAll('.bars text')].map(text => text.textContent)"
    )


def test_rows_go_from_zero_to_their_values(chromium: Browser):
    x = scale(ticks(chromium, 4, "middle"))
    bars = evaluated(
        chromium,
        f"[...{PLOT % 4}.querySelectorAll('.bar')].map(bar => bar.getBBox())"
        ".map(box => [box.x, box.x + box.width])",
    )
    assert np.allclose(
        [[x(left), x(right)] for left, right in bars], [[0, 3], [-1, 0], [0, 2]], atol=0.03
    )


def test_marks_on_lines_are_values_of_these(chromium: Browser):
    x, y = scale(ticks(chromium, 0, "middle")), scale(ticks(chromium, 0, "end"))
    paths = evaluated(
        chromium,
        f"[...{PLOT % 0}.querySelectorAll('.point')].map(point => point.getAttribute('d'))",
    )
    assert len(paths) == 2
    # A disc begins at its left, at the height of its middle
    discs = re.findall(r"M([\d.]+) ([\d.]+)a", paths[0])
    assert len(discs) > 3
    line = CHARTS[0].lines[0]
    for left, high in discs:
        at, value = x(float(left) + 4), y(float(high))
        place = int(np.argmin(np.abs(line.x - at)))
        assert abs(line.x[place] - at) < 0.1
        assert value == pytest.approx(line.y[place], abs=0.3)


def test_name_in_the_legend_hides_its_lines_everywhere(chromium: Browser):
    count = "$$('path.line, .bars').length"
    before = chromium.ask(count)
    button = "$('div.legend button[data-label=DCQCN]')"
    chromium.ask(f"{button}.focus()")
    chromium.key("Enter")
    assert chromium.ask(f"{button}.getAttribute('aria-pressed')") == "false"
    assert chromium.ask(count) == before - 3
    assert max(value for _, value in ticks(chromium, 3, "end")) <= 4.2, "the axis is of the others"
    chromium.key("Enter")
    assert chromium.ask(count) == before


def test_part_of_an_axis_is_shown_in_all_charts_that_have_it(chromium: Browser):
    whole = [texts(chromium, plot) for plot in range(4)]
    chromium.ask(f"{PLOT % 0}.focus()")
    for _ in range(3):
        chromium.ask(KEY % (PLOT % 0, "+"))
    part = [texts(chromium, plot) for plot in range(4)]
    assert part[0] != whole[0]
    assert part[1] != whole[1]
    assert part[2:] == whole[2:]
    shared = [[value for _, value in ticks(chromium, plot, "middle")] for plot in (0, 1)]
    assert shared[0] == shared[1]
    low, high = shared[0][0], shared[0][-1]
    assert 10 < low < high < 30
    chromium.ask(KEY % (PLOT % 0, ">"))
    assert ticks(chromium, 1, "middle")[0][1] > low
    chromium.ask("$('button.whole:not([hidden])').click()")
    again = [texts(chromium, plot) for plot in range(4)]
    assert again == whole


def test_dragging_shows_what_was_dragged_over(chromium: Browser):
    at = scale(ticks(chromium, 0, "middle"))
    chromium.ask(f"{PLOT % 0}.scrollIntoView({{block: 'center'}})")
    left, top, high = evaluated(
        chromium, f"(box => [box.left, box.top, box.height])({PLOT % 0}.getBoundingClientRect())"
    )
    for kind, x in (("mousePressed", 150), ("mouseMoved", 200), ("mouseReleased", 250)):
        button = {"button": "left", "buttons": 1, "clickCount": 1}
        chromium.call("Input.dispatchMouseEvent", type=kind, x=left + x, y=top + high / 2, **button)
    drawn(chromium)
    part = scale(ticks(chromium, 0, "middle"))
    edges = evaluated(
        chromium,
        f"(box => [box.x, box.x + box.width])({PLOT % 0}.querySelector('.frame').getBBox())",
    )
    assert [part(edge) for edge in edges] == pytest.approx([at(150), at(250)], abs=0.15)


def test_arrows_go_from_value_to_value_and_show_them(chromium: Browser):
    chromium.ask(f"{PLOT % 2}.focus()")
    heads = []
    for place in range(3):
        chromium.key("ArrowRight")
        head, *rows = json.loads(chromium.ask(TIP))
        heads.append(head)
        line = CHARTS[2].lines[1]
        error = standard_error(line.seeds[place])
        low, high = (f"{line.y[place] + aside * error:.4g}" for aside in (-1, 1))
        assert rows == [
            f"PCN: {CHARTS[2].lines[0].y[place]:.4g}",
            f"DCQCN: {line.y[place]:.4g} [{low}, {high}], mean of 2 seeds",
        ]
    assert heads == ["4", "16", "64"]
    chromium.key("Escape")
    assert chromium.ask("$('#tip').hidden")
    chromium.ask(f"{PLOT % 3}.focus()")
    chromium.key("ArrowRight")
    assert json.loads(chromium.ask(TIP))[0] == "small"


SCHEME_NAMES = st.sampled_from([*LOOKS, "own-1", "own-2", "own-3"])
COLOURS = st.one_of(
    st.integers(0, 5).map(lambda place: f"flow{place}"),
    st.integers(0, 9).map(lambda place: f"other{place}"),
)


@given(st.lists(SCHEME_NAMES, unique=True, max_size=9))
def test_schemes_of_a_chart_differ_for_any_eyes(names):
    chosen = looks([curve(name, [0.0], [0.0], name) for name in names])
    assert len({(look.mark, look.stroke) for look in chosen}) == len(chosen)


@given(st.lists(COLOURS, unique=True, max_size=9))
def test_flows_and_links_of_a_chart_differ_for_any_eyes(names):
    chosen = looks([Line(name, np.zeros(1), np.zeros(1), colour=name) for name in names])
    assert len({(look.mark, look.stroke) for look in chosen}) == len(chosen)


@given(
    st.lists(st.lists(st.floats(0, 1e4), min_size=2, max_size=20), min_size=1, max_size=4),
    st.floats(-50, 0),
)
def test_part_over_time_has_all_that_is_high(values, start):
    lines = [
        Line("", start * place + np.arange(len(some)), np.array(some))
        for place, some in enumerate(values)
    ]
    shown = shown_ms([Chart("", "Time (ms)", "", lines)])
    most = max(line.y.max() for line in lines)
    begin = max(line.x[0] for line in lines)
    if shown:
        assert shown[0] == begin
        for line in lines:
            high = line.x[line.y > 0.01 * most]
            assert high.size == 0 or high[-1] <= shown[1]


def test_numbers_of_a_page_are_those_of_the_chart():
    for chart, data in zip(CHARTS, plots.alone(CHARTS, "x").values(), strict=True):
        (panel,) = data["panels"]
        places: list[float] = []
        for line, given_line in zip(panel["lines"], chart.lines, strict=True):
            places = line.get("x", places)
            assert places == pytest.approx(list(given_line.x))
            assert line["y"] == pytest.approx(list(given_line.y))


BINNED = Chart(
    "Slowdown",
    "Flows up to",
    "Slowdown",
    [curve("PCN", [0, 1, 3, 5, 6], [2, 3, 5, 4, 6], "pcn", points=True)],
    ticks=[f"{size} KB" for size in range(7)],
    bins=[f"above {size} KB" for size in range(7)],
)
"""Without values in the bins 2 and 4."""


def test_line_over_bins_ends_beside_one_without_a_value(tmp_path):
    report = write(tmp_path, [BINNED])
    with browser.page() as chromium:
        chromium.open(report, 1280)
        drawn(chromium)
        path = chromium.ask(f"{PLOT % 0}.querySelector('path.line').getAttribute('d')")
        assert [part.count("L") for part in path.split("M")[1:]] == [1, 0, 1]
        assert chromium.ask(f"{PLOT % 0}.querySelectorAll('.point').length") == 5
        assert chromium.complaints == []
    (line,) = draw([BINNED]).axes[0].lines[:1]
    places = np.array(line.get_xdata(), float)
    assert np.isnan(places).tolist() == [False, False, True, False, True, False, False]
