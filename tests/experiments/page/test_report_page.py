"""A report in a real browser: offline, no complaint at any width, its parts and what folds."""

import base64
import json
import random
import re
from pathlib import Path

import pytest
from browser import Browser
from pages import drawn
from report_pages import BY_SIZE, GLANCE, OUTSIDE, SCHEMES, open_report

from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.page.figures_page import page, sections
from pcn.experiments.page.report import render
from pcn.experiments.papers import FIGURES
from pcn.experiments.results.judged_run import Result
from pcn.experiments.results.utilisation import utilisation
from pcn.experiments.run.execute import execute
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep.figures import run_figure, write
from pcn.experiments.sweep.store import Store
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec, parse_spec
from pcn.topologies.picture import load

CHARTS = 6
WITHIN = "$$('table').every(table => table.offsetWidth <= table.parentElement.clientWidth)"
"""No table is cut, or has to be scrolled."""


NETWORK_LINES = """
JSON.stringify($$('#topology path[data-a]').map(path => [
    [...path.dataset.a.split(' '), ...path.dataset.b.split(' ')], path.getAttribute('stroke'),
    path.querySelector('title').textContent]))
"""


def test_the_page_of_figures_has_the_same_look_and_cards(chromium: Browser, tmp_path):
    write(run_figure(FIGURES["fig10"], [], Store(tmp_path / "runs")), tmp_path / "fig10")
    report = tmp_path / "report.html"
    report.write_text(page(sections(tmp_path)), encoding="utf-8")
    for width, display in ((1400, "table-row"), (400, "block")):
        open_report(chromium, report, width)
        assert chromium.complaints == []
        assert chromium.ask("document.documentElement.scrollWidth") <= width
        assert chromium.ask(WITHIN)
        rows = "$$('.checks tbody tr').map(row => getComputedStyle(row).display)"
        assert set(chromium.ask(rows)) == {display}
        marks = "$$('.plot .point').length"
        assert chromium.ask(marks) == len(FIGURES["fig10"].charts(Outcomes([]))[0].lines[0].x)


@pytest.mark.parametrize(("page", "panels"), [("one", 1), ("both", 2), ("over", 1)])
@pytest.mark.parametrize(("width", "dark"), [(400, True), (1400, False)])
def test_it_opens_offline_without_complaint_at_every_size(
    chromium: Browser, pages: dict[str, Path], page, panels, width, dark
):
    open_report(chromium, pages[page], width, dark=dark)
    assert chromium.complaints == []
    assert [address for address in chromium.addresses if not address.startswith("data:")] == [
        pages[page].as_uri()
    ]
    assert chromium.ask("$$('.plot svg').length") == CHARTS * panels
    assert chromium.ask("$$('.plot').every(plot => plot.querySelector('g path[d]'))")
    # nothing sticks out sideways
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    assert chromium.ask(WITHIN)
    assert json.loads(chromium.ask(OUTSIDE)) == [], "names of axes and marks are whole"
    background = chromium.ask("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, background[4:-1].split(","))) < 200) == dark


def test_report_of_traffic_shows_network_and_flows_by_size(chromium: Browser, tmp_path):
    traffic = Traffic(TrafficSpec("fat-tree", "W1"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 1, {"count": 2100}), Silent())
        results.append(Result(traffic, plan, recording))
    report = tmp_path / "report.html"
    report.write_text(render(results), encoding="utf-8")
    for width in (400, 1400):
        open_report(chromium, report, width)
        assert chromium.complaints == []
        assert chromium.ask("document.documentElement.scrollWidth") <= width
        assert chromium.ask("$$('.plot svg').length") == 4 * len(SCHEMES) + 3
        ticks = chromium.ask(f"$$('{BY_SIZE} text').map(text => text.textContent)")
        assert sum(text.endswith((" B", " KB", " MB")) for text in ticks) >= 3 * 2
    axes = "$$('[data-chart=under_way]').map(plot => plot.scale.end)"
    assert len(set(chromium.ask(axes))) == 1, "runs are compared on one axis"
    assert chromium.ask(f"$('{BY_SIZE}').previousElementSibling.textContent") == "Slowdown, 50%"
    lines = [
        chromium.ask(f"$$('{BY_SIZE}')[{panel}].querySelectorAll('g[clip-path] > path').length")
        for panel in range(3)
    ]
    assert lines == [len(SCHEMES)] * 3
    assert chromium.ask(WITHIN)
    assert chromium.ask("$$('svg.network').length") == 1
    text = chromium.ask("$('#topology').textContent")
    assert text.count(f"{load.STEPS[0][0]:.0%} to {load.STEPS[1][0]:.0%}") == 1, "one legend"
    titles = chromium.ask("$$('svg.network path title').map(title => title.textContent)")
    used = utilisation(results[0])
    assert (
        f"h0 - e0: 40 Gbit/s, 5 us each way; {used['e0:1']:.0%} used from e0, "
        f"{used['h0:0']:.0%} from h0"
    ) in titles
    assert max(used.values()) > 0.1
    rows = chromium.ask("$$('#tables table:last-of-type tbody tr').length")
    assert rows >= 6 + len(SCHEMES)
    for place, result in enumerate(results):
        chromium.ask(f"$('[data-load=\"{place}\"]').click()")
        loads, lines = utilisation(result), json.loads(chromium.ask(NETWORK_LINES))
        for ports, stroke, text in lines:
            share = max(loads.get(port, 0.0) for port in ports)
            assert stroke in {load.colour(share - 1e-3), load.colour(share + 1e-3)}
            assert abs(int(re.search(r"(\d+)% used", text)[1]) - share * 100) <= 1


def test_page_of_50000_flows_stays_small(chromium: Browser, tmp_path):
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
    text = render([Result(traffic, plan, recording)])
    report.write_text(text, encoding="utf-8")
    open_report(chromium, report, 1280)
    assert "50,000 flows" in chromium.ask("document.body.textContent")
    assert chromium.ask("$$('*').length") <= 2000
    assert report.stat().st_size <= 200_000


def test_first_screen_has_a_table_and_a_picture_and_the_rest_folds(chromium: Browser, tmp_path):
    """A row a scheme, units in the heads, points below each other; axes of slowdown have 1; the
    page of one run stays small, and a sheet or four print it."""
    traffic = Traffic(TrafficSpec("fat-tree", "W1"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 1, {"count": 300}), Silent())
        results.append(Result(traffic, plan, recording))
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
    shown = "$$('.plot svg').length"
    panels = chromium.ask(f"$$('{BY_SIZE}').length")
    assert chromium.ask(shown) == panels > 0
    last = f"$$('{BY_SIZE}').at(-1).getBoundingClientRect().bottom"
    assert chromium.ask(last) < 1000, "the first screen"
    labels = f"$$('{BY_SIZE} text').map(text => text.textContent)"
    assert chromium.ask(labels).count("1") == panels
    pdf = base64.b64decode(chromium.call("Page.printToPDF")["data"])
    assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", pdf)) <= 4
    chromium.ask("$('#unfold').click()")
    drawn(chromium)
    assert chromium.ask(shown) == chromium.ask("$$('.plot').length")
    ticks = "$$('[data-chart=slowdown] text').map(text => text.textContent)"
    assert chromium.ask(ticks).count("1") == len(SCHEMES)
    open_report(chromium, report, 390)
    assert json.loads(chromium.ask(OUTSIDE)) == [], "on a phone, too"
    report.write_text(render(results[:1]), encoding="utf-8")
    assert report.stat().st_size < 200_000
    open_report(chromium, report, 1280)
    assert chromium.ask("$$('*').length") < 2000
    chromium.open(report, 1280)
    chromium.ask("location.hash = '#flows'")
    drawn(chromium)
    assert chromium.ask("$('#flows details').open")
    assert chromium.complaints == []
