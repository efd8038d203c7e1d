"""The page of `pcn explain`: its drawings have the data's widths, rings and bars."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pytest
from browser import Browser

from pcn.cli import run as pcn
from pcn.experiments.explain import answers, keep
from pcn.experiments.explain.again import KeptResult
from pcn.experiments.explain.over_time import BINS, UNDER_WAY, WAITS
from pcn.experiments.run.progress import Silent
from pcn.hosts.explain_log import PARTS, SENDER_PARTS
from pcn.topologies.picture.svg import WIDEST

FLOWS = 3

# Of each flow: its lines by their ports, as wide as they are shown; ports with rings; lines of its
# way; by part the share of its bar.
SHOWN = """$$('section.explained').map(flow => ({
  wide: Object.fromEntries([...flow.querySelectorAll('path.wide')].map(line =>
    [line.dataset.ports, parseFloat(getComputedStyle(line).strokeWidth)])),
  rings: [...flow.querySelectorAll('circle.ring')].flatMap(ring => ring.dataset.ports.split(' ')),
  texts: [...flow.querySelectorAll('text.ring')].map(text => text.textContent).filter(text => text),
  way: flow.querySelectorAll('path.way').length,
  roots: [...flow.querySelectorAll('.roots tbody tr')].map(row => row.cells[0].textContent),
  bar: Object.fromEntries([...flow.querySelector('.whole').children].map(part =>
    [part.classList[1], part.getBoundingClientRect().width /
      flow.querySelector('.whole').getBoundingClientRect().width])),
}))"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("kept") / "run"
    command = ["run", "traffic", "--topology", "fat-tree", "--workload", "websearch"]
    more = ["--set", "count=80", "--set", "xoff_bytes=60KB", "--scheme", "pfc"]
    assert pcn([*command, *more, "--clock", "virtual", "-q", "--out", str(out)]) == 0
    assert pcn(["explain", str(out), "--worst", str(FLOWS), "-q"]) == 0
    return out


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page() as running:
        yield running


@pytest.mark.parametrize("width", [390, 1400])
def test_page_has_widths_rings_and_bars_of_the_explanation(
    run_folder: Path, chromium: Browser, width
):
    explained = json.loads((run_folder / keep.FOLDER / keep.JSON).read_text())["flows"]
    chromium.open(run_folder / keep.FOLDER / keep.PAGE, width)
    assert chromium.complaints == []
    assert chromium.ask("document.documentElement.scrollWidth") <= width
    shown = chromium.ask(SHOWN)
    assert len(shown) == FLOWS
    for flow, drawn in zip(explained, shown, strict=True):
        shares = {ports: size / WIDEST for ports, size in drawn["wide"].items()}
        assert shares == pytest.approx(
            {ports: flow["through"][ports] for ports in shares}, abs=1e-4
        )
        assert set(shares) == {port for port, share in flow["through"].items() if share}
        roots = [item for item in flow["origins"] if not item["kind"] and item["share"] >= 0.01]
        assert sorted(drawn["rings"]) == sorted(item["port"] for item in roots)
        assert sorted(drawn["texts"]) == sorted(
            f"{item['port']} {item['share']:.1%}" for item in roots[:3]
        )
        assert drawn["way"] == len(flow["path"])
        assert (
            drawn["roots"][: len(roots)]
            == [item["port"] for item in flow["origins"]][: len(drawn["roots"])][: len(roots)]
        )
        assert drawn["bar"] == pytest.approx(
            {name: ps / flow["time_ps"] for name, ps in flow["parts_ps"].items() if ps}, abs=2e-3
        )
        hops = chromium.ask(
            f"$$('#flow-{flow['id']} .hops tbody tr').map(row => row.cells[0].textContent)"
        )
        assert hops == [hop["port"] for hop in flow["hops"]]
    assert any(drawn["rings"] for drawn in shown)
    links = "$$('.explanations a').map(link => link.hash)"
    assert chromium.ask(links) == [f"#flow-{flow['id']}" for flow in explained]


# Of a part: colours in the bar, and in its row over time, each in order.
COLOURS = """(name => {
  const style = (parent, space, tag, kind) => {
    const element = document.createElementNS(`http://www.w3.org/${space}`, tag);
    element.setAttribute('class', `${kind} ${name}`);
    return getComputedStyle($(parent).appendChild(element));
  };
  const bar = style('.parts.whole', '1999/xhtml', 'span', 'part');
  const phase = style('.life', '2000/svg', 'path', 'phase');
  const colours = text => [...new Set(text.match(/rgba?\\([^)]*\\)/g))]
    .filter(colour => colour !== 'rgba(0, 0, 0, 0)');
  const stripes = phase.fill.match(/#[^")]*/);
  return [colours(bar.backgroundImage === 'none' ? bar.backgroundColor : bar.backgroundImage),
    stripes ? $$(`${stripes[0]} rect`)
      .map(stripe => getComputedStyle(stripe).fill) : [phase.fill]];
})('%s')"""


@pytest.mark.parametrize("dark", [False, True])
def test_phases_have_the_colours_of_the_bar(run_folder: Path, chromium: Browser, dark):
    chromium.open(run_folder / keep.FOLDER / keep.PAGE, 1400, dark=dark)
    pairs = {name: chromium.ask(COLOURS % name) for name in PARTS}
    assert all(bar and bar == phase for bar, phase in pairs.values()), pairs
    # `pause_idle` is `paused`, striped
    assert len({tuple(bar) for bar, _ in pairs.values()}) == len(PARTS) - 1


def explained(place: Path, **options) -> list[Any]:
    kept_result = KeptResult(place)
    numbers = kept_result.slowest(FLOWS, Silent())
    return list(answers.of_flows(kept_result, numbers, options.get("span_s"), Silent()).flows)


def test_phases_fill_each_moment_and_sum_to_the_parts(run_folder: Path):
    for flow in explained(run_folder):
        over_time = flow.over_time
        length = (over_time.to_ps - over_time.from_ps) / BINS
        phases = {name: np.array(values) for name, values in over_time.phases_ps.items()}
        assert sum(phases.values()) == pytest.approx(length)
        for name in SENDER_PARTS:
            assert phases.get(name, np.zeros(1)).sum() == pytest.approx(flow.parts_ps[name])
        for name in WAITS:
            assert phases.get(name, np.zeros(1)).sum() == pytest.approx(flow.parts_ps[name])
        names = {*SENDER_PARTS, *WAITS}
        beyond = sum(ps for name, ps in flow.parts_ps.items() if name not in names)
        assert phases[UNDER_WAY].sum() == pytest.approx(beyond)
        assert [port.port for port in over_time.ports] == flow.path
        for port in over_time.ports:
            assert all(0 <= ps <= length * (1 + 1e-9) for ps in port.paused_ps)
            assert max(port.queue_bytes[-2:]) <= max(port.queue_bytes)
        # PAUSE of its host's port is at least what it took of the flow
        assert sum(over_time.ports[0].paused_ps) >= flow.parts_ps["paused"] * (1 - 1e-9)
        for hop, port in zip(flow.hops, over_time.ports[1:], strict=True):
            assert max(port.queue_bytes) >= hop.queue_bytes


def test_shares_that_pass_through_ports_reach_roots(run_folder: Path):
    """What comes through a port is rooted there or goes on: no root has more than comes to it."""
    for flow in explained(run_folder):
        assert all(0 < share <= 1 + 1e-9 for share in flow.through.values())
        for origin in flow.origins:
            assert origin.share <= flow.through[origin.port] + 1e-9


def test_explanation_of_a_port_leaves_no_page_of_earlier_flows(run_folder: Path):
    place = run_folder / keep.FOLDER
    before = (place / keep.PAGE).read_bytes()
    assert pcn(["explain", str(run_folder), "--at", "e0:1", "-q"]) == 0
    # The parts of all flows stay: they are of the same run.
    assert sorted(path.name for path in place.iterdir()) == [keep.JSON, keep.TEXT, keep.TABLE]
    assert pcn(["explain", str(run_folder), "--worst", str(FLOWS), "-q"]) == 0
    assert (place / keep.PAGE).read_bytes() == before
