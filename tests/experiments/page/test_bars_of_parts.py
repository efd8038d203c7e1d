"""Bars of parts on the pages of explained runs: as wide as the data have them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pyarrow.parquet as pq
import pytest
from browser import Browser

from pcn.cli import run
from pcn.experiments.data.parts import PART_TEXTS
from pcn.experiments.traffic.slowest import FLOWS
from pcn.hosts.explain_log import PARTS

# Of each row of a table: the text that names it, and by part the share of the bar.
BARS = """$$('h3').filter(h => h.textContent.includes(TITLE)).map(h =>
  [...h.nextElementSibling.querySelectorAll('tbody tr')].map(row => {
    const bar = row.querySelector('.parts'), whole = bar.getBoundingClientRect().width;
    return [row.cells[0].textContent, Object.fromEntries([...bar.children].map(part =>
      [part.classList[1], part.getBoundingClientRect().width / whole]))];
  }))"""


@pytest.fixture(scope="module")
def explained(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("explained") / "out"
    command = ["run", "traffic", "--clock", "virtual", "--topology", "star", "--set", "count=60"]
    assert run([*command, "--scheme", "pcn,pfc", "--explain", "-q", "--out", str(out)]) == 0
    return out


@pytest.fixture
def chromium() -> Iterator[Browser]:
    with browser.page() as running:
        yield running


def bars(chromium: Browser, title: str) -> list[list[tuple[str, dict[str, float]]]]:
    return chromium.ask(BARS.replace("TITLE", json.dumps(title)))


def test_bars_of_slowest_flows_are_those_of_the_file(chromium: Browser, explained: Path):
    flows: list[dict[str, Any]] = pq.read_table(explained / "pcn" / "flows.parquet").to_pylist()
    by_slowdown = sorted(
        (flow for flow in flows if flow["fct_ps"]), key=lambda flow: -flow["slowdown"]
    )
    chromium.open(explained / "pcn" / "report.html", 1400)
    assert chromium.complaints == []
    (rows,) = bars(chromium, "slowest flows")
    assert [name.partition(":")[0] for name, _ in rows] == [
        str(flow["id"]) for flow in by_slowdown[:FLOWS]
    ]
    for (_, shares), flow in zip(rows, by_slowdown, strict=False):
        expected = {name: flow[f"{name}_ps"] / flow["fct_ps"] for name in PARTS}
        assert shares == pytest.approx(
            {name: share for name, share in expected.items() if share}, abs=2e-3
        )


def test_bars_by_size_are_those_of_the_summaries(chromium: Browser, explained: Path):
    chromium.open(explained / "report.html", 1400)
    assert chromium.complaints == []
    assert len(bars(chromium, "slowest flows")) == 2  # a table a run
    (rows,) = bars(chromium, "where the time went")
    for scheme, name in (("pcn", "PCN"), ("pfc", "PFC alone")):
        measures = json.loads((explained / scheme / "summary.json").read_text())["measures"]
        shares = dict(rows)[f"{name}, all"]
        expected = {part: measures[f"{part}_ms all"] / measures["mean_ms all"] for part in PARTS}
        assert shares == pytest.approx(
            {part: share for part, share in expected.items() if share}, abs=2e-3
        )


def test_bars_have_the_parts_that_their_headings_have(chromium: Browser, explained: Path):
    """The colour of a segment is the one beside its column's name, and no two parts look equal."""
    chromium.open(explained / "pcn" / "report.html", 1400)
    looks = """$$('th .part').map(part => [part.classList[1],
      getComputedStyle(part).backgroundColor + getComputedStyle(part).backgroundImage])"""
    by_part = dict(chromium.ask(looks))
    assert len(set(by_part.values())) == len(by_part) > 3
    segments = chromium.ask(looks.replace("th .part", ".parts .part"))
    assert all(by_part[name] == look for name, look in segments)


@pytest.mark.parametrize("width", [390, 1280])
def test_key_names_and_defines_the_parts_of_the_bars(chromium: Browser, explained: Path, width):
    """On a phone it is in sight without scrolling sideways; at 1280 pixels the table is, too."""
    chromium.open(explained / "pcn" / "report.html", width)
    of_section = "$('#parts .parts-key')"
    texts = chromium.ask(f"[...{of_section}.children].map(entry => entry.textContent)")
    (rows,) = bars(chromium, "where the time went")
    drawn = {name for _, shares in rows for name in shares}
    assert texts[:-1] == [
        f"{name.replace('_', ' ')}: {PART_TEXTS[name]}" for name in PARTS if name in drawn
    ]
    right = chromium.ask(f"{of_section}.getBoundingClientRect().right")
    assert right <= width
    tables = "$$('#parts .scroll, #slowest .scroll')"
    if width == 1280:
        assert chromium.ask(f"{tables}.every(part => part.scrollWidth <= part.clientWidth)")
