"""Colours and strokes of a report's plots: each flow, link and run has one, and none means two."""

import json
from pathlib import Path

from browser import Browser
from report_pages import SCHEMES, open_report

from pcn.experiments.page.report import render
from pcn.experiments.results.judged_run import Result
from pcn.experiments.run.execute import execute
from pcn.experiments.run.progress import Silent
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec


def test_report_distinguishes_what_it_draws(chromium: Browser, tmp_path):
    """Ports by line and legend in all panels, groups in charts and table alike, whichever flows
    come first."""
    traffic = Traffic(TrafficSpec("fat-tree", "WebSearch"))
    results = []
    for scheme in SCHEMES:
        plan, recording = execute(traffic.plan(scheme, 3, {"count": 120}), Silent())
        results.append(Result(traffic, plan, recording))
    report = tmp_path / "report.html"
    report.write_text(render(results), encoding="utf-8")
    open_report(chromium, report, 1400)
    legend = (
        "Object.fromEntries($$('#{}  .legend button[data-label]')"
        ".map(element => [element.textContent,"
        "(line => `${{getComputedStyle(line).stroke}} ${{line.getAttribute('stroke-dasharray')}}`)"
        "(element.querySelector('line'))]))"
    )
    ports = chromium.ask(f"JSON.stringify({legend.format('queues')})")
    looks = json.loads(ports)
    assert len(looks) == len(set(looks.values())) > 4
    drawn = json.loads(
        chromium.ask(
            "JSON.stringify($$('#queues g[clip-path] > path.line').map("
            "line => `${getComputedStyle(line).stroke} ${line.getAttribute('stroke-dasharray')}`))"
        )
    )
    assert len(drawn) == 8
    assert set(drawn) == set(looks.values())
    groups = json.loads(chromium.ask(f"JSON.stringify({legend.format('under_way')})"))
    dots = json.loads(
        chromium.ask(
            "JSON.stringify($$('.flows tbody tr').map(row => "
            "[row.cells[0].textContent,"
            "getComputedStyle(row.querySelector('.dot')).borderTopColor]))"
        )
    )
    assert len(dots) > 4
    for name, colour in dots:
        (look,) = (look for group, look in groups.items() if group.split(",")[0] == name.split()[1])
        assert look.rsplit(" ", 1)[0] == colour


def test_every_flow_has_a_colour(chromium: Browser, pages: dict[str, Path]):
    """Nine flows, and eight links with PAUSE: more than there are colours."""
    open_report(chromium, pages["many"], 1400, dark=True)
    assert chromium.complaints == []
    strokes = chromium.ask("$$('.plot g path.line').map(path => getComputedStyle(path).stroke)")
    assert len(strokes) > 12
    assert "none" not in strokes
    for selector, edge, fill in (
        (".topology circle", "stroke", "fill"),
        (".dot", "borderTopColor", "backgroundColor"),
    ):
        pair = f"(style => `${{style.{edge}}} ${{style.{fill}}}`)(getComputedStyle(element))"
        colours = chromium.ask(f"$$('{selector}').map(element => {pair})")
        assert len(colours) == len(set(colours)) == 9, "a colour that comes again is hollow"
        assert not [colour for colour in colours if colour.startswith("rgb(0, 0, 0)")]
    rates = chromium.ask("$$('.topology .rate').map(rate => getComputedStyle(rate).fill)")
    assert len(rates) == 9
    assert len(set(rates)) == 6


def test_one_run_lies_pale_and_wide_below_the_other(chromium: Browser, pages: dict[str, Path]):
    open_report(chromium, pages["over"], 1400)
    queues = "$$('.plot[data-chart=queues] g path.line')"
    width, opacity = (
        f"{queues}.map(path => +path.getAttribute('stroke-{name}'))"
        for name in ("width", "opacity")
    )
    wide, pale = chromium.ask(width), chromium.ask(opacity)
    assert len(wide) == 4
    assert wide[0] > 2 * wide[2]
    assert pale == [pale[0], pale[0], 1, 1]
    assert pale[0] < 0.5
    legend = chromium.ask("$('#queues .legend').innerText")
    assert all(text in legend for text in ("S1 to R1, live", "S1 to R1, virtual"))
    assert chromium.ask("$$('.replay').length") == 2
