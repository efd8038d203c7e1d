"""What a report shows where the pointer is, and the other views of a plot."""

import json
import re
from pathlib import Path

import forks
import numpy as np
import pytest
from browser import Browser
from report_pages import open_report

from pcn.experiments.data import parquet
from pcn.experiments.data.series import Series
from pcn.experiments.runner import run

TIP = """
((plot, x) => {
    plot.scrollIntoView({block: 'center'});
    const box = plot.getBoundingClientRect(), {inner} = plot.scale;
    const at = {clientX: box.left + plot.scale.x(x), clientY: box.top + (inner.top + inner.bottom) / 2};
    plot.dispatchEvent(new PointerEvent('pointermove', at));
    return JSON.stringify([...$('#tip').children].map(line => line.textContent));
})($$('.plot')[%d], %r)
"""  # noqa: E501


def tip(chromium: Browser, plot: int, x: float) -> list[str]:
    """Returns the lines of the tip with the pointer over an x of a plot."""
    return json.loads(chromium.ask(TIP % (plot, x)))


def plain(text: str) -> float:
    return float(text.replace(",", ""))


def test_tip_over_bins_has_the_flows_own_numbers(chromium: Browser, tmp_path):
    """Percentile, range and count of the bin under the pointer, wherever in it, by flows.parquet
    alone."""
    words = [
        "--clock", "virtual", "--topology", "fat-tree", "--workload", "W1", "--set", "count=2100",
        "-q",
    ]  # fmt: skip
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
            "JSON.stringify($$('.plot').map((plot, place) => "
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


def test_tip_over_time_has_recorded_values(chromium: Browser, tmp_path):
    """A sampled queue is not interpolated between two samples, by series.parquet alone."""
    place = tmp_path / "run"
    run("dumbbell", scheme="pcn", clock="virtual", settings=["duration=20ms"], out=place)
    times, waiting = Series.read(place / "series.parquet").get("s0:4", "waiting_bytes")
    open_report(chromium, place / "report.html", 1400)
    plot = chromium.ask("$$('.plot').findIndex(plot => plot.dataset.chart === 'queue')")
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


def test_the_pointer_shows_values_and_the_buttons_another_view(
    chromium: Browser, pages: dict[str, Path]
):
    open_report(chromium, pages["both"], 1400)
    plot = "$('.plot[data-chart=throughput]')"
    chromium.ask(f"{plot}.scrollIntoView({{block: 'center'}})")
    box = chromium.ask(
        f"(({{left, top, width, height}}) => [left, top, width, "
        f"height])({plot}.getBoundingClientRect())"
    )
    assert chromium.ask("$('#tip').hidden")
    chromium.move_to(box[0] + box[2] * 0.5, box[1] + box[3] * 0.5)
    assert not chromium.ask("$('#tip').hidden")
    text = chromium.ask("$('#tip').innerText")
    assert " ms" in text.splitlines()[0]
    assert "F0:" in text
    chromium.move_to(2, 2)
    assert chromium.ask("$('#tip').hidden")

    ticks = f"[...{plot}.querySelectorAll('text')].map(text => text.textContent).join()"
    around = chromium.ask(ticks)
    chromium.ask("$('[data-view=\"1\"]').click()")
    assert chromium.ask(ticks) != around
    assert chromium.ask("$('[data-view=\"1\"]').getAttribute('aria-pressed')") == "true"
    assert chromium.complaints == []
