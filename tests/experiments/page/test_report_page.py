"""The report in a real browser: offline, no complaint, plots that answer the pointer, a slider that
replays the run."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import forks
import jinja2
import numpy as np
import pytest
from browser import Browser
from jinja2 import Environment
from pages import drawn

from pcn.experiments.data import parquet
from pcn.experiments.data.records import parse_port
from pcn.experiments.data.series import Series
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.page.figures_page import page, sections
from pcn.experiments.page.report import _span, environment, render, scheme_title
from pcn.experiments.papers import FIGURES, SCENARIOS
from pcn.experiments.papers.pcn.scenarios.victim_setting import burst_s
from pcn.experiments.results.judged_run import judge
from pcn.experiments.results.utilisation import utilisation
from pcn.experiments.run.execute import execute
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.runner import run
from pcn.experiments.sweep.figures import run_figure, write
from pcn.experiments.sweep.store import Store
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec, parse_spec
from pcn.topologies.lookup import find_topology
from pcn.topologies.picture import load

SCHEMES = ("pfc", "pcn")
CHARTS = 6
BY_SIZE = "[data-chart=slowdown_by_size]"
WITHIN = (
    "[...document.querySelectorAll('table')].every(table => table.offsetWidth <= "
    "table.parentElement.clientWidth)"
)
"""No table is cut, or has to be scrolled."""


NETWORK_LINES = """
JSON.stringify([...document.querySelectorAll('#topology path[data-a]')].map(path => [
    [...path.dataset.a.split(' '), ...path.dataset.b.split(' ')], path.getAttribute('stroke'),
    path.querySelector('title').textContent]))
"""
GLANCE = """
JSON.stringify([...document.querySelectorAll('.glance tr')].map(row =>
    [...row.cells].map(cell => cell.textContent)))
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The victim in virtual time: both schemes side by side, PFC alone, and one scheme's run over
    another seed's, as those of two clocks."""
    folder = tmp_path_factory.mktemp("pages")
    scenario = SCENARIOS["victim"]
    results = []
    for scheme in SCHEMES:
        plan = scenario.plan(scheme, 1, {"before": 1e-3, "duration": 5e-3})
        results.append(judge(scenario, plan, run_virtual(plan, Silent()), "virtual", "softswitch"))
    compared = scenario.checks(Outcomes(result.outcome for result in results))
    (folder / "both.html").write_text(render(results, compared), encoding="utf-8")
    plan = scenario.plan("pcn", 2, {"before": 1e-3, "duration": 5e-3, "phases": 1.0})
    live = judge(scenario, plan, run_virtual(plan, Silent()), "live", "softswitch")
    (folder / "over.html").write_text(render([live, results[1]]), encoding="utf-8")
    (folder / "one.html").write_text(render(results[:1]), encoding="utf-8")
    dumbbell = SCENARIOS["dumbbell"]
    many = dumbbell.plan("pcn", 1, {"pairs": 8, "duration": 5e-3})
    result = judge(dumbbell, many, run_virtual(many, Silent()), "virtual", "softswitch")
    (folder / "many.html").write_text(render([result]), encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


def open_report(chromium: Browser, page: Path, width: int, dark: bool = False) -> None:
    """Opens a page, and all that it folds."""
    chromium.open(page, width, dark=dark)
    chromium.ask("document.querySelectorAll('details.fold').forEach(fold => { fold.open = true; })")
    drawn(chromium)


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page() as running:
        yield running


def test_the_page_of_figures_has_the_same_look_and_cards(chromium: Browser, tmp_path: Path) -> None:
    write(run_figure(FIGURES["fig10"], [], Store(tmp_path / "runs")), tmp_path / "fig10")
    report = tmp_path / "report.html"
    report.write_text(page(sections(tmp_path)), encoding="utf-8")
    for width, display in ((1400, "table-row"), (400, "block")):
        open_report(chromium, report, width)
        assert chromium.complaints == []
        assert chromium.ask("document.documentElement.scrollWidth") <= width
        assert chromium.ask(WITHIN)
        rows = (
            "[...document.querySelectorAll('.checks tbody tr')].map(row => "
            "getComputedStyle(row).display)"
        )
        assert set(chromium.ask(rows)) == {display}
        marks = "document.querySelectorAll('.plot .point').length"
        assert chromium.ask(marks) == len(FIGURES["fig10"].charts(Outcomes([]))[0].lines[0].x)


def held(run: int) -> str:
    return f"document.querySelectorAll('.replay')[{run}].querySelectorAll('.link.held').length"


OUTSIDE = """
JSON.stringify([...document.querySelectorAll('.plot text')].filter(text => {
    const own = text.getBoundingClientRect(), plot = text.closest('.plot').getBoundingClientRect();
    return own.width && (own.left < plot.left - 1 || own.right > plot.right + 1
        || own.top < plot.top - 2 || own.bottom > plot.bottom + 2);
}).map(text => text.textContent))
"""
"""Texts that a plot cuts."""


@pytest.mark.parametrize(("page", "panels"), [("one", 1), ("both", 2), ("over", 1)])
@pytest.mark.parametrize(("width", "dark"), [(400, True), (1400, False)])
def test_it_opens_offline_without_complaint_at_every_size(
    chromium: Browser, pages: dict[str, Path], page: str, panels: int, width: int, dark: bool
) -> None:
    open_report(chromium, pages[page], width, dark=dark)
    assert chromium.complaints == []
    assert [address for address in chromium.addresses if not address.startswith("data:")] == [
        pages[page].as_uri()
    ]
    assert chromium.ask("document.querySelectorAll('.plot svg').length") == CHARTS * panels
    assert chromium.ask(
        "[...document.querySelectorAll('.plot')].every(plot => plot.querySelector('g path[d]'))"
    )
    # nothing sticks out sideways
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask(WITHIN)
    assert json.loads(chromium.ask(OUTSIDE)) == [], "names of axes and marks are whole"
    background = chromium.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark


def test_report_of_traffic_shows_network_and_flows_by_size(
    chromium: Browser, tmp_path: Path
) -> None:
    traffic = Traffic(TrafficSpec("fat-tree", "W1"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 1, {"count": 2100}), Silent())
        results.append(judge(traffic, plan, recording, "virtual", "softswitch"))
    report = tmp_path / "report.html"
    report.write_text(render(results), encoding="utf-8")
    for width in (400, 1400):
        open_report(chromium, report, width)
        assert chromium.complaints == []
        assert chromium.ask("document.documentElement.scrollWidth") <= width
        assert chromium.ask("document.querySelectorAll('.plot svg').length") == 4 * len(SCHEMES) + 3
        ticks = chromium.ask(
            f"[...document.querySelectorAll('{BY_SIZE} text')].map(text => text.textContent)"
        )
        assert sum(text.endswith((" B", " KB", " MB")) for text in ticks) >= 3 * 2
    axes = "[...document.querySelectorAll('[data-chart=under_way]')].map(plot => plot.scale.end)"
    assert len(set(chromium.ask(axes))) == 1, "runs are compared on one axis"
    assert (
        chromium.ask(f"document.querySelector('{BY_SIZE}').previousElementSibling.textContent")
        == "Slowdown, 50%"
    )
    lines = [
        chromium.ask(
            f"document.querySelectorAll('{BY_SIZE}')[{panel}].querySelectorAll('g[clip-path] > "
            "path').length"
        )
        for panel in range(3)
    ]
    assert lines == [len(SCHEMES)] * 3
    assert chromium.ask(WITHIN)
    assert chromium.ask("document.querySelectorAll('svg.network').length") == 1
    told = chromium.ask("document.getElementById('topology').textContent")
    assert told.count(f"{load.STEPS[0][0]:.0%} to {load.STEPS[1][0]:.0%}") == 1, "one legend"
    titles = chromium.ask(
        "[...document.querySelectorAll('svg.network path title')].map(title => title.textContent)"
    )
    used = utilisation(results[0])
    assert (
        f"h0 - e0: 40 Gbit/s, 5 us each way; {used['e0:1']:.0%} used from e0, "
        f"{used['h0:0']:.0%} from h0"
    ) in titles
    assert max(used.values()) > 0.1
    rows = chromium.ask("document.querySelectorAll('#tables table:last-of-type tbody tr').length")
    assert rows >= 6 + len(SCHEMES)
    for place, result in enumerate(results):
        chromium.ask(f"document.querySelector('[data-load=\"{place}\"]').click()")
        loads, lines = utilisation(result), json.loads(chromium.ask(NETWORK_LINES))
        for ports, stroke, text in lines:
            share = max(loads.get(port, 0.0) for port in ports)
            assert stroke in {load.colour(share - 1e-3), load.colour(share + 1e-3)}
            assert abs(int(re.search(r"(\d+)% used", text)[1]) - share * 100) <= 1  # type: ignore[index]


def test_page_of_50000_flows_stays_small(chromium: Browser, tmp_path: Path) -> None:
    """On 568 nodes, with flows of every group; each of them is in flows.parquet, not on the
    page."""
    sizes = [500] * 48_600 + [20_000] * 600 + [200_000] * 600 + [1_100_000] * 200
    random.Random(1).shuffle(sizes)
    hosts = random.Random(2).choices(range(512), k=len(sizes))
    lines = [
        f"h{host},h{(host + 1 + place % 511) % 512},{size},{place * 1e-7:.7f}"
        for place, (size, host) in enumerate(zip(sizes, hosts, strict=True))
    ]
    file = tmp_path / "flows.csv"
    file.write_text("\n".join(["src,dst,size_bytes,start_s", *lines]))
    traffic = Traffic(parse_spec("clos", flows=str(file)))
    plan, recording = execute(traffic.plan("pcn", 1, {}), Silent())
    assert sum(flow.fct_s is not None for flow in recording.flows) == 50_000
    report = tmp_path / "report.html"
    text = render([judge(traffic, plan, recording, "virtual", "softswitch")])
    report.write_text(text, encoding="utf-8")
    open_report(chromium, report, 1280)
    assert "50,000 flows" in chromium.ask("document.body.textContent")
    assert chromium.ask("document.querySelectorAll('*').length") <= 2000
    assert report.stat().st_size <= 200_000


def test_first_screen_has_a_table_and_a_picture_and_the_rest_folds(
    chromium: Browser, tmp_path: Path
) -> None:
    """A row a scheme, units in the heads, points below each other; axes of slowdown have 1; the
    page of one run stays small, and a sheet or four print it."""
    traffic = Traffic(TrafficSpec("fat-tree", "W1"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 1, {"count": 300}), Silent())
        results.append(judge(traffic, plan, recording, "virtual", "softswitch"))
    report = tmp_path / "report.html"
    report.write_text(render(results), encoding="utf-8")
    chromium.open(report, 1280)
    drawn(chromium)
    rows = json.loads(chromium.ask(GLANCE))
    heads, *cells = rows
    assert [row[0] for row in cells] == [result.name for result in results]
    assert "mean completion time, ms" in heads
    for place, head in enumerate(heads[1:], 1):
        column = [row[place] for row in cells]
        assert all(re.fullmatch(r"[\d,.]+\s*|–", cell) for cell in column), (head, column)
        behind = {len(cell) - (cell + ".").index(".") for cell in column if "." in cell}
        assert len(behind) <= 1, "points stand below each other"
    shown = "document.querySelectorAll('.plot svg').length"
    panels = chromium.ask(f"document.querySelectorAll('{BY_SIZE}').length")
    assert chromium.ask(shown) == panels > 0
    last = f"[...document.querySelectorAll('{BY_SIZE}')].at(-1).getBoundingClientRect().bottom"
    assert chromium.ask(last) < 1000, "the first screen"
    labels = f"[...document.querySelectorAll('{BY_SIZE} text')].map(text => text.textContent)"
    assert chromium.ask(labels).count("1") == panels
    pdf = base64.b64decode(chromium.call("Page.printToPDF")["data"])
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 4
    chromium.ask("document.getElementById('unfold').click()")
    drawn(chromium)
    assert chromium.ask(shown) == chromium.ask("document.querySelectorAll('.plot').length")
    ticks = (
        "[...document.querySelectorAll('[data-chart=slowdown] text')].map(text => text.textContent)"
    )
    assert chromium.ask(ticks).count("1") == len(SCHEMES)
    open_report(chromium, report, 390)
    assert json.loads(chromium.ask(OUTSIDE)) == [], "on a phone, too"
    report.write_text(render(results[:1]), encoding="utf-8")
    assert report.stat().st_size < 200_000
    open_report(chromium, report, 1280)
    assert chromium.ask("document.querySelectorAll('*').length") < 2000
    chromium.open(report, 1280)
    chromium.ask("location.hash = '#flows'")
    drawn(chromium)
    assert chromium.ask("document.querySelector('#flows details').open")
    assert chromium.complaints == []


TIP = """
((plot, x) => {
    plot.scrollIntoView({block: 'center'});
    const box = plot.getBoundingClientRect(), {inner} = plot.scale;
    const at = {clientX: box.left + plot.scale.x(x), clientY: box.top + (inner.top + inner.bottom) / 2};
    plot.dispatchEvent(new PointerEvent('pointermove', at));
    return JSON.stringify([...document.getElementById('tip').children].map(line => line.textContent));
})(document.querySelectorAll('.plot')[%d], %r)
"""  # noqa: E501


def tip(chromium: Browser, plot: int, x: float) -> list[str]:
    """Returns the lines of the tip with the pointer over an x of a plot."""
    lines: list[str] = json.loads(chromium.ask(TIP % (plot, x)))
    return lines


def plain(text: str) -> float:
    return float(text.replace(",", ""))


def test_tip_over_bins_has_the_flows_own_numbers(chromium: Browser, tmp_path: Path) -> None:
    """Percentile, range and count of the bin under the pointer, wherever in it, by flows.parquet
    alone."""
    words = [
        "--clock",
        "virtual",
        "--topology",
        "fat-tree",
        "--workload",
        "W1",
        "--set",
        "count=2100",
        "-q",
    ]
    done = forks.run(
        "pcn", "run", "traffic", *words, "--scheme", "pfc,pcn", "--out", str(tmp_path / "run")
    )
    assert (done.returncode, done.stderr) == (0, "")
    tables = {}
    for scheme, name in (("pfc", "PFC alone"), ("pcn", "PCN")):
        table = parquet.read(tmp_path / "run" / scheme / "flows.parquet")
        order = np.argsort(table["size_bytes"], kind="stable")
        tables[name] = (
            np.array(table["size_bytes"], float)[order],
            np.array(table["slowdown"], float)[order],
        )
    open_report(chromium, tmp_path / "run/report.html", 1400)
    panels = json.loads(
        chromium.ask(
            "JSON.stringify([...document.querySelectorAll('.plot')].map((plot, place) => "
            "[plot.dataset.chart, place, plot.previousElementSibling?.textContent])"
            ".filter(([chart]) => chart === 'slowdown_by_size'))"
        )
    )
    assert [title for _, _, title in panels] == [
        f"Slowdown, {percent}%" for percent in (50, 95, 99)
    ]
    units = {"B": 1.0, "KB": 1e3, "MB": 1e6}
    bins: dict[tuple[str, str], slice] = {}
    seen = 0
    for _, plot, title in panels:
        last, ended = "", dict.fromkeys(tables, 0)
        for number in range(99):
            texts = [tip(chromium, plot, number + aside) for aside in (-0.28, 0.0, 0.28)]
            head, *rows = texts[1]
            if head == last:
                break
            assert texts[0] == texts[1] == texts[2]
            last = head
            ends = [
                float(value) * units[unit]
                for value, unit in re.findall(r"([\d.]+) (B|KB|MB)", head)
            ]
            for row in rows:
                match = re.fullmatch(r"(.+): ([\d.,]+), ([\d,]+) flows", row)
                assert match
                name, count = match[1], int(plain(match[3]))
                # Each bin has a median; one of few flows has no 99%
                place = bins.setdefault((name, head), slice(ended[name], ended[name] + count))
                ended[name] = place.stop
                sizes, slowdowns = (column[place] for column in tables[name])
                assert sizes.size == count
                assert sizes.max() <= ends[-1] * 1.001
                assert len(ends) == 1 or sizes.min() > ends[0] * 0.999
                expected = np.percentile(slowdowns, float(title.split()[-1].removesuffix("%")))
                assert plain(match[2]) == pytest.approx(expected, rel=6e-4)
                seen += 1
    assert seen > 60
    assert sum(place.stop - place.start for place in bins.values()) == 2 * 2100


def test_tip_over_time_has_recorded_values(chromium: Browser, tmp_path: Path) -> None:
    """A sampled queue is not interpolated between two samples, by series.parquet alone."""
    place = tmp_path / "run"
    run("dumbbell", scheme="pcn", clock="virtual", settings=["duration=20ms"], out=place)
    times, waiting = Series.read(place / "series.parquet").get("s0:4", "waiting_bytes")
    open_report(chromium, place / "report.html", 1400)
    plot = chromium.ask(
        "[...document.querySelectorAll('.plot')].findIndex(plot => plot.dataset.chart === 'queue')"
    )
    for at in np.linspace(0.31, 19.7, 40):
        head, *rows = tip(chromium, plot, float(at))
        (row,) = (row for row in rows if row.startswith("waiting"))
        now = re.search(r"at ([\d.]+) ms", row)
        nearest = int(
            np.argmin(
                np.abs(times * 1e3 - (float(now[1]) if now else plain(head.removesuffix(" ms"))))
            )
        )
        assert plain(row.split(": ")[1].split()[0]) == pytest.approx(
            waiting[nearest] / 1e3, rel=6e-4, abs=0.5
        )
        assert abs(times[nearest] * 1e3 - at) <= 0.13


def test_report_distinguishes_what_it_draws(chromium: Browser, tmp_path: Path) -> None:
    """Ports by line and legend in all panels, groups in charts and table alike, whichever flows
    come first."""
    traffic = Traffic(TrafficSpec("fat-tree", "WebSearch"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 3, {"count": 120}), Silent())
        results.append(judge(traffic, plan, recording, "virtual", "softswitch"))
    report = tmp_path / "report.html"
    report.write_text(render(results), encoding="utf-8")
    open_report(chromium, report, 1400)
    legend = (
        "Object.fromEntries([...document.querySelectorAll('#{}  .legend button[data-label]')]"
        ".map(element => [element.textContent,"
        "(line => `${{getComputedStyle(line).stroke}} ${{line.getAttribute('stroke-dasharray')}}`)"
        "(element.querySelector('line'))]))"
    )
    ports = chromium.ask(f"JSON.stringify({legend.format('queues')})")
    looks = json.loads(ports)
    assert len(looks) == len(set(looks.values())) > 4
    drawn = json.loads(
        chromium.ask(
            "JSON.stringify([...document.querySelectorAll('#queues g[clip-path] > path.line')].map("
            "line => `${getComputedStyle(line).stroke} ${line.getAttribute('stroke-dasharray')}`))"
        )
    )
    assert len(drawn) == 8
    assert set(drawn) == set(looks.values())
    groups = json.loads(chromium.ask(f"JSON.stringify({legend.format('under_way')})"))
    dots = json.loads(
        chromium.ask(
            "JSON.stringify([...document.querySelectorAll('.flows tbody tr')].map(row => "
            "[row.cells[0].textContent,"
            "getComputedStyle(row.querySelector('.dot')).borderTopColor]))"
        )
    )
    assert len(dots) > 4
    for name, colour in dots:
        (look,) = (look for group, look in groups.items() if group.split(",")[0] == name.split()[1])
        assert look.rsplit(" ", 1)[0] == colour


SHEET = 718
"""Pixels of A4 between Chromium's margins."""
CUT = """
[...document.querySelectorAll('h1, p, th, td, figure, svg, .tile, dd')].filter(element => {
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
TOLD_LEFT = """
JSON.stringify([...document.querySelectorAll('.on-screen')].map(text => {
    const list = text.previousElementSibling;
    const rows = [...list.querySelectorAll('dt, tbody tr')];
    const hidden = rows.filter(row => getComputedStyle(row).display === 'none');
    return [parseInt(text.textContent), hidden.length];
}))
"""
"""Of each list that is cut: how much more the screen has, by its text and by what isn't shown."""


def printed(chromium: Browser) -> None:
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
    chromium: Browser, pages: dict[str, Path], tmp_path: Path, dark: bool
) -> None:
    """Tables keep their columns, in black on white; plots are drawn for the sheet; then the screen
    is as before. What folds isn't printed: four sheets at most. Opened, all parts of four schemes
    are eight: charts of runs side by side, and of long lists the beginning, with how much more the
    file has."""
    place = tmp_path / "traffic"
    words = [
        "--clock",
        "virtual",
        "--topology",
        "fat-tree",
        "--workload",
        "W1",
        "--set",
        "count=1200",
        "--explain",
        "-q",
    ]
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
        widths = "[...document.querySelectorAll('.plot svg')].map(svg => svg.viewBox.baseVal.width)"
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
            shown = (
                "[...document.querySelectorAll('.plot svg')].map(svg => "
                "svg.getBoundingClientRect().width)"
            )
            assert chromium.ask(shown) == pytest.approx(chromium.ask(widths), rel=0.05), (
                "letters have their size"
            )
        beside = chromium.ask(f"({SIDE_BY_SIDE})(document.querySelectorAll('section .runs'))")
        assert all(count > 1 for count in beside), "charts of several runs"
        cut = chromium.ask(TOLD_LEFT)
        assert all(told == hidden for told, hidden in json.loads(cut)), (file, cut)
        assert 1 <= sheets(chromium) <= 8, file
        chromium.call("Emulation.setEmulatedMedia", media="")
        chromium.call(
            "Emulation.setDeviceMetricsOverride",
            width=1400,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        chromium.ask("dispatchEvent(new Event('afterprint'))")
        assert chromium.ask(widths) == screen


def test_every_flow_has_a_colour(chromium: Browser, pages: dict[str, Path]) -> None:
    """Nine flows, and eight links with PAUSE: more than there are colours."""
    open_report(chromium, pages["many"], 1400, dark=True)
    assert chromium.complaints == []
    strokes = chromium.ask(
        "[...document.querySelectorAll('.plot g path.line')]"
        ".map(path => getComputedStyle(path).stroke)"
    )
    assert len(strokes) > 12
    assert "none" not in strokes
    for selector, edge, fill in (
        (".topology circle", "stroke", "fill"),
        (".dot", "borderTopColor", "backgroundColor"),
    ):
        pair = f"(style => `${{style.{edge}}} ${{style.{fill}}}`)(getComputedStyle(element))"
        colours = chromium.ask(
            f"[...document.querySelectorAll('{selector}')].map(element => {pair})"
        )
        assert len(colours) == len(set(colours)) == 9, "a colour that comes again is hollow"
        assert not [colour for colour in colours if colour.startswith("rgb(0, 0, 0)")]
    rates = chromium.ask(
        "[...document.querySelectorAll('.topology .rate')].map(rate => getComputedStyle(rate).fill)"
    )
    assert len(rates) == 9
    assert len(set(rates)) == 6


def test_the_slider_replays_the_tree(chromium: Browser, pages: dict[str, Path]) -> None:
    open_report(chromium, pages["both"], 1400)
    told = chromium.ask("document.querySelector('.load').textContent")
    assert told.startswith("Colours of links that aren't red stay, whatever the moment")
    assert chromium.ask("document.querySelectorAll('.load .swatch').length") == len(load.STEPS)
    # the page opens at the moment with most pauses: S1 stops S0 and all bursting hosts, S0 stops H0
    # and H1
    assert chromium.ask(held(0)) >= 15
    names = (
        "[...document.querySelectorAll('.replay')[0].querySelectorAll('.held')].map(l => "
        "l.dataset.a + l.dataset.b)"
    )
    assert "s0s1" in chromium.ask(names)
    opened = chromium.ask("document.getElementById('now').textContent")

    chromium.ask("document.getElementById('time').focus()")
    before = float(chromium.ask("document.getElementById('time').value"))
    chromium.key("ArrowRight")
    assert float(chromium.ask("document.getElementById('time').value")) == before + 1
    assert chromium.ask("document.getElementById('now').textContent") != opened

    at = (
        "document.querySelectorAll('.replay')[{}].querySelector('[data-flow=\"flow "
        "0\"]').textContent"
    )
    chromium.key("Home")
    assert chromium.ask(held(0)) == chromium.ask(held(1)) == 0
    assert chromium.ask(at.format(0)) == "F0 20.0"
    chromium.key("End")
    assert chromium.ask("document.getElementById('time').value") == chromium.ask(
        "document.getElementById('time').max"
    )
    assert chromium.ask(held(0)) == 0
    assert chromium.complaints == []


MOMENT = """
(replay => JSON.stringify({
    now: document.getElementById('now').textContent,
    held: [...replay.querySelectorAll('.link.held')].map(link => `${link.dataset.a} ${link.dataset.b}`),
    paused: [...replay.querySelectorAll('.link.paused')].map(link => `${link.dataset.a} ${link.dataset.b}`),
    queues: Object.fromEntries([...replay.querySelectorAll('.gauge')]
        .map(port => [port.dataset.port, port.querySelector('.note').textContent])),
    ways: [...replay.querySelectorAll('[data-way]')].filter(arrow => arrow.getAttribute('visibility') === 'visible')
        .map(arrow => arrow.dataset.way),
    rings: [...replay.querySelectorAll('[data-root]')].filter(ring => ring.getAttribute('visibility') === 'visible')
        .map(ring => ring.dataset.root),
    named: [...replay.querySelectorAll('.gauge .root')].map(name => name.textContent),
    rates: Object.fromEntries([...replay.querySelectorAll('text.rate')]
        .map(flow => [flow.dataset.flow, flow.textContent])),
    lines: [...document.querySelectorAll('.plot')].filter(plot => plot.now)
        .map(plot => plot.scale.start + (plot.now.getAttribute('x1') - plot.scale.inner.left)
            / (plot.scale.inner.right - plot.scale.inner.left) * (plot.scale.end - plot.scale.start)),
}))(document.querySelector('.replay'))
"""  # noqa: E501


ARROWS = """
[...document.querySelectorAll('.replay [data-way]')].map(arrow => {
    const { matrix } = arrow.transform.baseVal.consolidate(), to = arrow.dataset.way.split('->')[1];
    const name = [...arrow.closest('.replay').querySelectorAll('.name')].find(text => text.textContent === to);
    const far = x => { const at = new DOMPoint(x, 0).matrixTransform(matrix);
        return Math.hypot(at.x - name.getAttribute('x'), at.y - name.getAttribute('y')); };
    return far(9) < far(-7);
})
"""  # noqa: E501
"""Whether each arrow's tip is nearer than its end to the node that its way goes to."""
ROOTS = {"dumbbell": "s0:4", "victim": "s1:2"}


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [("dumbbell", ["duration=20ms"]), ("victim", ["duration=4ms", "before=500us"])],
)
def test_replay_shows_one_moment_of_what_was_recorded(
    chromium: Browser, tmp_path: Path, scenario: str, settings: list[str]
) -> None:
    """By series.parquet alone: links, queues, rates and the plots' lines are of the time that the
    page names."""
    place = tmp_path / "run"
    run(scenario, scheme="pfc", clock="virtual", settings=settings, out=place)
    series = Series.read(place / "series.parquet")
    topology = find_topology(f"pcn-json:{place / 'topology.json'}").build()
    open_report(chromium, place / "report.html", 1400)
    count = int(chromium.ask("document.getElementById('time').max")) + 1
    first = json.loads(chromium.ask(MOMENT))
    peers = {
        str(port): topology.peer(port.node, port.port).node
        for port in map(parse_port, first["queues"])
    }
    ways = [
        topology.link_name(end.node, end.port)
        for link in topology.links
        for end in (link.a, link.b)
    ]
    assert first["held"] or first["paused"], "it opens where PAUSE is"

    def read(entity: str, metric: str, time_s: float) -> float:
        times, values = series.get(entity, metric)
        return (
            float(values[max(int(np.searchsorted(times, time_s + 1e-9, "right")) - 1, 0)])
            if times.size
            else 0.0
        )

    assert set(chromium.ask(ARROWS)) == {True}, "each points to whom it stops"
    before: float | None = None
    most, roots = 0.0, set[str]()
    for number in range(count):
        chromium.ask(
            f"(s => {{ s.value = {number}; s.dispatchEvent(new Event('input')); "
            f"}})(document.getElementById('time'))"
        )
        shown = json.loads(chromium.ask(MOMENT))
        now = float(shown["now"].removesuffix(" ms")) / 1e3
        for place_ms in shown["lines"]:
            assert place_ms / 1e3 == pytest.approx(now, abs=2e-5)
        for port, text in shown["queues"].items():
            waiting = read(port, "waiting_bytes", now)
            assert text == (
                f"{waiting / 1e6:.1f} MB" if waiting >= 1e6 else f"{waiting / 1e3 + 1e-9:.0f} KB"
            )
            most = max(most, waiting)
        root = [
            port
            for port, peer in peers.items()
            if read(port, "waiting_bytes", now)
            and not read(f"{peer}->{(node := port.partition(':')[0])}", "xoff", now)
            and any(read(way, "xoff", now) for way in ways if way.startswith(f"{node}->"))
        ]
        assert shown["rings"] == root
        assert shown["named"] == [f"root {port}" for port in root]
        roots |= set(root)
        held, paused = set[str](), set[str]()
        for link in topology.links:
            both = [topology.link_name(end.node, end.port) for end in (link.a, link.b)]
            name = f"{link.a.node} {link.b.node}"
            if any(read(way, "xoff", now) for way in both):
                held.add(name)
            elif before is not None and any(
                read(way, "pause", now) - read(way, "pause", before) for way in both
            ):
                paused.add(name)
        assert set(shown["held"]) == held
        if before is not None:
            assert set(shown["paused"]) == paused
            moved = {
                way
                for way in ways
                if read(way, "xoff", now) or read(way, "pause", now) - read(way, "pause", before)
            }
            assert set(shown["ways"]) == moved
            for flow, text in shown["rates"].items():
                packets = read(flow, "received_packets", now) - read(
                    flow, "received_packets", before
                )
                assert float(text.split()[-1]) == pytest.approx(
                    packets * 1058 * 8e-9 / (now - before), abs=0.06
                )
        before = now
    assert most > 0
    assert ROOTS[scenario] in roots


def test_glance_at_victim_has_what_all_flows_got(chromium: Browser, tmp_path: Path) -> None:
    """F0 and F1, the bursts' mean and the last of them, by series.parquet and summary.json
    alone."""
    settings = ["--set", "duration=6ms", "--set", "before=1ms"]
    words = ["run", "victim", "--clock", "virtual", "-q", "--scheme", "pfc,dcqcn,pcn", *settings]
    assert forks.run("pcn", *words, "--out", str(tmp_path / "run")).returncode == 0
    open_report(chromium, tmp_path / "run/report.html", 1400)
    heads, *rows = json.loads(chromium.ask(GLANCE))
    columns = dict(zip(heads, zip(*rows, strict=True), strict=True))

    def shown(name: str) -> tuple[str, ...]:
        (column,) = (cells for head, cells in columns.items() if head.startswith(name))
        return column

    plan = SCENARIOS["victim"].plan("pfc", 1, {"duration": 6e-3, "before": 1e-3})
    for column, scheme in enumerate(("pfc", "dcqcn", "pcn")):
        series = Series.read(tmp_path / "run" / scheme / "series.parquet")
        for flow in (0, 1):
            first, last = np.interp(
                [0.0, burst_s(plan)], *series.get(f"flow {flow}", "received_packets")
            )
            rate = (last - first) * 1058 * 8 / burst_s(plan) / 1e9
            assert float(shown(f"F{flow} during the bursts")[column].split()[0]) == pytest.approx(
                rate, rel=6e-3
            )
        flows = json.loads((tmp_path / "run" / scheme / "summary.json").read_text())["flows"]
        bursts = [flow["fct_s"] * 1e3 for flow in flows if flow["id"] > 1]
        for name, value in (("mean", np.mean(bursts)), ("last", max(bursts))):
            text = shown(f"flow completion time of the bursts, {name}")[column]
            assert float(text.split()[0]) == pytest.approx(value, rel=6e-3)


def test_one_run_lies_pale_and_wide_below_the_other(
    chromium: Browser, pages: dict[str, Path]
) -> None:
    open_report(chromium, pages["over"], 1400)
    queues = "[...document.querySelectorAll('.plot[data-chart=queues] g path.line')]"
    width, opacity = (
        f"{queues}.map(path => +path.getAttribute('stroke-{name}'))"
        for name in ("width", "opacity")
    )
    wide, pale = chromium.ask(width), chromium.ask(opacity)
    assert len(wide) == 4
    assert wide[0] > 2 * wide[2]
    assert pale == [pale[0], pale[0], 1, 1]
    assert pale[0] < 0.5
    legend = chromium.ask("document.querySelector('#queues .legend').innerText")
    assert all(text in legend for text in ("S1 to R1, live", "S1 to R1, virtual"))
    assert chromium.ask("document.querySelectorAll('.replay').length") == 2


def test_play_runs_to_the_end_by_itself(chromium: Browser, pages: dict[str, Path]) -> None:
    open_report(chromium, pages["one"], 1000)
    chromium.ask("document.getElementById('time').focus()")
    chromium.key("End")
    chromium.key("ArrowLeft")
    chromium.ask("document.getElementById('play').click()")
    done = (
        "new Promise(done => { const watch = setInterval(() => { const time = "
        "document.getElementById('time');"
        "if (time.value === time.max) { clearInterval(watch); done(true); } }, 20); })"
    )
    answer = chromium.call(
        "Runtime.evaluate", expression=done, awaitPromise=True, returnByValue=True
    )
    assert answer["result"]["value"] is True


def test_the_pointer_shows_values_and_the_buttons_another_view(
    chromium: Browser, pages: dict[str, Path]
) -> None:
    open_report(chromium, pages["both"], 1400)
    plot = "document.querySelector('.plot[data-chart=throughput]')"
    chromium.ask(f"{plot}.scrollIntoView({{block: 'center'}})")
    box = chromium.ask(
        f"(({{left, top, width, height}}) => [left, top, width, "
        f"height])({plot}.getBoundingClientRect())"
    )
    assert chromium.ask("document.getElementById('tip').hidden")
    chromium.move_to(box[0] + box[2] * 0.5, box[1] + box[3] * 0.5)
    assert not chromium.ask("document.getElementById('tip').hidden")
    text = chromium.ask("document.getElementById('tip').innerText")
    assert " ms" in text.splitlines()[0]
    assert "F0:" in text
    chromium.move_to(2, 2)
    assert chromium.ask("document.getElementById('tip').hidden")

    ticks = f"[...{plot}.querySelectorAll('text')].map(text => text.textContent).join()"
    around = chromium.ask(ticks)
    chromium.ask("document.querySelector('[data-view=\"1\"]').click()")
    assert chromium.ask(ticks) != around
    assert (
        chromium.ask("document.querySelector('[data-view=\"1\"]').getAttribute('aria-pressed')")
        == "true"
    )
    assert chromium.complaints == []


def test_span_names_hosts_so_that_from_and_to_are_clear() -> None:
    assert _span(["h0"]) == "h0"
    assert _span(["h0", "h1", "h0"]) == "h0 and h1"
    assert _span(["h0", "h1", "h2", "h3"]) == "h0, h1, h2 and h3"
    assert _span([f"h{i}" for i in range(9)]) == "9 hosts (h0, h1, ... h8)"
    assert all(" to " not in _span([f"h{i}" for i in range(count)]) for count in range(1, 20))


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn-tcd", "ibcc", "aimd"])
def test_title_calls_a_scheme_as_the_rest_of_the_page_does(scheme: str) -> None:
    assert scheme_title(scheme).partition(":")[0] == label(scheme)


def test_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And again where the cache has a damaged one or another jinja2's, or can't be written."""
    compiled: list[str] = []

    def compiles(cache: Path) -> int:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        before = len(compiled)
        assert (
            environment.__wrapped__().get_template("comparison.html.j2").name
            == "comparison.html.j2"
        )
        return len(compiled) - before

    generate = Environment._generate

    def noted(self: Environment, *rest: Any, **more: Any) -> str:
        compiled.append(generate(self, *rest, **more))
        return compiled[-1]

    monkeypatch.setattr(Environment, "_generate", noted)
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    (cached,) = (tmp_path / "pcn-lab").iterdir()
    cached.write_bytes(cached.read_bytes()[:-4] + bytes(4))
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    monkeypatch.setattr(jinja2, "__version__", "another")
    assert [compiles(tmp_path), compiles(tmp_path)] == [1, 0]
    assert compiles(cached / "no folder") == 1


@pytest.mark.parametrize("name", ["one", "both"])
def test_page_of_single_runs_names_the_way_to_an_interval(
    pages: dict[str, Path], name: str
) -> None:
    text = pages[name].read_text(encoding="utf-8")
    named = "one run has no interval. <code>pcn sweep victim --seeds 1:5</code>"
    assert text.count(named) == 1


LIMITS = """
[...document.querySelectorAll('#flows table')].map(table => [...table.querySelectorAll('tbody tr')]
    .map(row => row.querySelector('[data-name="its own limiter"]'))
    .filter(cell => cell).map(cell => cell.textContent))
"""


def test_flows_have_their_own_limiters_beside_their_shares(
    chromium: Browser, pages: dict[str, Path]
) -> None:
    """F0's share alone doesn't distinguish a victim from a flow that its limiter holds."""
    open_report(chromium, pages["both"], 1400)
    plans = [SCENARIOS["victim"].plan(scheme, 1, {}) for scheme in SCHEMES]
    expected = []
    for plan in plans:
        limits = {flow.group or flow.id: flow.rate_bps for flow in plan.topology.flows}
        texts = ["–" if of is None else f"{of / 1e9:g} Gbit/s" for of in limits.values()]
        expected.append(texts if any(of is not None for of in limits.values()) else [])
    assert chromium.ask(LIMITS) == expected
    assert expected[SCHEMES.index("pfc")][:2] == ["20 Gbit/s"] * 2
