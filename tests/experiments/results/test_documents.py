"""What reports quote of docs/: the sections are there, and their figures are those of runs."""

import re

import pytest

from pcn.experiments.data.steady_state import (
    drained,
    draining_rate,
    queue_swing,
    rate_swing,
    steady_state,
)
from pcn.experiments.define.checks import Check, Verdict
from pcn.experiments.page.terminal import show_checks, stdout
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.papers.pcn.scenarios.dumbbell import OUT_OF_STEP
from pcn.experiments.papers.pcn.scenarios.victim_checks import DCQCN_ALPHA, NOTIFIED
from pcn.experiments.results.documents import DOCS, anchor, html, plain, section
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual


@pytest.mark.parametrize("link", [OUT_OF_STEP, DCQCN_ALPHA, NOTIFIED])
def test_what_rows_link_to_is_there(link):
    linked = section(link)
    assert linked.text
    assert (DOCS.parent / linked.page).is_file()
    assert f"#{anchor(linked.heading)}" == link[link.index("#") :]


@pytest.mark.parametrize("link", ["choices.md#nowhere", "nowhere.md#nowhere"])
def test_a_section_that_is_not_there_has_a_name_alone(link):
    linked = section(link)
    assert (linked.heading, linked.text) == ("nowhere", "")


def test_markdown_becomes_html_that_needs_no_other_file():
    rendered = html(
        "**a** `b<c` [claims.md](claims.md), [as before](x.md#y), [below](#z) ![picture](p.png)\n\n"
        "| h |\n| --: |\n| 1 |"
    )
    assert "<strong>a</strong> <code>b&lt;c</code> docs/claims.md, as before, " in rendered
    assert '<a href="#z">below</a>' in rendered
    assert "<td" in rendered
    assert "img" not in rendered
    assert "<p>" not in plain("one *line*")
    assert "<script" not in html("<script>1</script>")


@pytest.mark.parametrize(
    ("row", "settings"),
    [
        ("in step, hardly any delay", {"phases": 0.0, "rtt": 10e-6, "T": 500e-6}),
        ("in step: `phases=0`", {"phases": 0.0, "T": 500e-6}),
        ("as it runs", {"T": 500e-6}),
    ],
)
def test_the_table_of_choices_is_what_runs_come_to(row, settings):
    (line,) = re.findall(rf"^\| {row}.*$", section(OUT_OF_STEP).text, re.MULTILINE)
    stands = [float(number) for number in re.findall(r"\| ([\d.]+) (?:Gbit/s|ms|KB)", line)]
    plan = SCENARIOS["dumbbell"].plan("pcn", 1, settings)
    recording = run_virtual(plan, Silent())
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    rate = draining_rate(recording, plan.topology, plan.bottleneck, plan.capacity_bps)
    empty = drained(recording, plan.bottleneck)
    assert rate is not None
    assert empty is not None
    swings = (queue_swing(recording, plan.bottleneck, steady), rate_swing(recording, steady))
    assert stands == pytest.approx(
        [rate / 1e9, empty * 1e3, swings[0] / 1e3, swings[1] / 1e9], rel=0.005
    )


def test_only_what_is_off_is_explained(capsys):
    def row(claim: str, verdict: Verdict) -> Check:
        return Check(claim, "what", 1, 1, 2, "", verdict, OUT_OF_STEP)

    rows = [
        row("0.1", "met"),
        row("0.2", "trend"),
        row("0.3", "not met"),
        row("0.4", "not comparable"),
    ]
    assert [bool(row.explained) for row in rows] == [False, True, True, False]
    show_checks("checks", [vars(row) for row in rows], stdout())
    printed = capsys.readouterr().out
    assert (
        'Known: 0.2, 0.3 as docs/choices.md explains under "Flows that aren\'t notified in step"'
        in printed
    )
    assert printed.count("known") == 2
