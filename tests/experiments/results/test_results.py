"""What a run writes: series, summary, figures, report, and where."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fluid import fluid
from rich.console import Console
from summary_shape import mismatches

from pcn.cli import run as pcn
from pcn.controller.texts import marks_text
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.series import Series
from pcn.experiments.draw.topology_drawing import topology_svg
from pcn.experiments.page.check_rows import number
from pcn.experiments.page.report import render
from pcn.experiments.page.terminal import show
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results import summary
from pcn.experiments.results.atomic_folder import remove_dead, result_directory
from pcn.experiments.results.judged_run import Result
from pcn.lab import journal as records

DUMBBELL = SCENARIOS["dumbbell"]
PLAN = DUMBBELL.plan("pcn", 1, {"duration": 30e-3})
RECORDING = fluid(PLAN)
RESULT = Result(DUMBBELL, PLAN, RECORDING, "live")


def built() -> summary.Summary:
    return summary.build(RESULT)


def test_series_survive_parquet(tmp_path):
    with (tmp_path / "series.parquet").open("wb") as file:
        RECORDING.series.write(file)
    table = pq.read_table(tmp_path / "series.parquet")
    assert table.column_names == ["time_s", "entity", "metric", "value"]
    back = Series.read(tmp_path / "series.parquet")
    for key in RECORDING.series:
        for written, read_back in zip(RECORDING.series.get(*key), back.get(*key), strict=True):
            assert (written == read_back).all()


def test_an_empty_series_is_a_table_without_rows(tmp_path):
    with (tmp_path / "series.parquet").open("wb") as file:
        Series().write(file)
    assert list(Series.read(tmp_path / "series.parquet")) == []


def test_series_come_back_in_the_order_of_time():
    series = Series()
    for time in (3.0, 1.0, 2.0):
        series.add(time, "s0:4", "pn", time * 10)
    assert series.get("s0:4", "pn")[1].tolist() == [10, 20, 30]
    assert series.get("s0:4", "none")[0].size == 0


def test_summary_matches_its_schema():
    document = json.loads(summary.dumps(built()))
    assert mismatches(document) == []
    assert document["packets"]["lost"] == 0
    assert document["ports"]["s0:4"]["utilisation"] == pytest.approx(1, abs=0.02)
    assert sum(flow["received_bytes"] for flow in document["flows"]) > 0
    assert document["parameters"]["w_min"] == 0.025


def test_ue_stands_beside_ce():
    """Of a thousand packets of each flow: 100 CE, 300 UE."""
    flows = tuple(
        flow._replace(received_packets=1000, marked_packets=100, marked_ue_packets=300)
        for flow in RECORDING.flows
    )
    result = Result(DUMBBELL, PLAN, replace(RECORDING, flows=flows), "live")
    flow = summary.build(result)["flows"][0]
    assert (flow["marked_fraction"], flow["marked_ue_fraction"]) == (0.1, 0.3)
    assert "10.0%, UE 30.0%" in render([result])
    assert marks_text(0.1, 0.0) == "10.0%"


def test_the_schema_names_what_is_wrong():
    document = built()
    document["extra"] = 1
    document["packets"]["lost"] = "none"
    del document["flows"][1]["fct_s"]
    document["steady"]["jain"] = math.nan
    problems = " | ".join(mismatches(document))
    for part in (
        "extra is unknown",
        "packets.lost",
        "flows[1].fct_s is missing",
        "steady.jain is nan",
    ):
        assert part in problems


class Page(HTMLParser):
    """Finds what would be loaded from elsewhere, and whether tags are closed."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset") and value and not value.startswith(("data:", "#")):
                self.outside.append(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]):
        pass

    def handle_endtag(self, tag: str):
        assert self.open.pop() == tag


def test_report_is_one_file_with_its_provenance():
    html = render([RESULT])
    page = Page()
    page.feed(html)
    assert page.open == []
    assert page.outside == []
    # a name, nothing to fetch
    assert set(re.findall(r"https?://[^\s\"']*", html)) == {"http://www.w3.org/2000/svg"}
    clock = "live on softswitch, every packet real, time stretched 400 times"
    for part in (clock, "3.11.2", "512 KB", "A note.", "prefers-color-scheme"):
        assert part in html


def test_the_report_s_data_are_those_of_the_charts():
    match = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', render([RESULT]), re.DOTALL
    )
    assert match
    data = json.loads(match[1])
    assert list(data["charts"]) == [chart.name for chart in RESULT.charts]
    line = data["charts"]["queue"]["panels"][0]["lines"][0]
    _, waiting = RECORDING.series.get("s0:4", "waiting_bytes")
    assert max(line["y"]) == pytest.approx(waiting.max() / 1e3, abs=1e-3)
    replay = data["replay"]
    assert len(replay["times"]) == 30
    assert len(replay["runs"][0]["queues"]["s0:4"]) == 30
    assert sum(flow[-1] for flow in replay["runs"][0]["flows"].values()) == pytest.approx(
        10, rel=0.05
    )


def test_the_drawing_has_every_node_and_flow():
    svg = topology_svg(PLAN.topology, PLAN.bottleneck, PLAN.sampling.queues)
    for node in (*PLAN.topology.hosts, *PLAN.topology.switches):
        assert f">{node.name}</text>" in svg
    assert svg.count("<circle") == len(PLAN.topology.flows)
    assert "bottleneck" in svg
    assert svg.count('class="gauge"') == 1
    assert svg.count('data-flow="flow ') == len(PLAN.topology.flows)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (7.5, "7.5"), (0.98765, "0.9877"), (12345.6, "12,346"), (100.0, "100")],
)
def test_numbers_for_people(value, text):
    assert number(value) == text


def test_the_terminal_shows_flows_checks_and_the_report(tmp_path):
    (tmp_path / "report.html").touch()
    console = Console(width=140, record=True, quiet=False, file=(tmp_path / "out").open("w"))
    show(tmp_path, built(), console)
    text = console.export_text()
    for part in ("h0", "Gbit/s", "packets lost", "not comparable", "report.html"):
        assert part in text


def write(place: Path, content: str | BaseException):
    """A run that writes a summary, or gets as far as that and fails."""
    with result_directory(place) as work:
        (work / "summary.json").write_text(str(content))
        if isinstance(content, BaseException):
            raise content


def test_earlier_results_move_aside(tmp_path):
    place = tmp_path / "dumbbell" / "pcn"
    for text in ("first", "second", "third"):
        write(place, text)
    assert (place / "summary.json").read_text() == "third"
    assert (tmp_path / "dumbbell" / "pcn.1" / "summary.json").read_text() == "second"
    assert (tmp_path / "dumbbell" / "pcn.2" / "summary.json").read_text() == "first"


@pytest.mark.parametrize("error", [ExperimentError("no"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_nothing_and_touches_nothing(tmp_path, error):
    place = tmp_path / "pcn"
    write(place, "first")
    with pytest.raises(type(error)):
        write(place, error)
    assert [path.name for path in tmp_path.iterdir()] == ["pcn"]
    assert (place / "summary.json").read_text() == "first"


def test_a_first_run_that_fails_leaves_no_empty_folders(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "results" / "dumbbell" / "pcn", KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []
    write(tmp_path / "results" / "dumbbell" / "pcn", "first")
    assert (tmp_path / "results" / "dumbbell" / "pcn" / "summary.json").read_text() == "first"


def test_what_is_no_result_is_never_moved(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ExperimentError, match="isn't a result"), result_directory(tmp_path):
        pass
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ExperimentError, match="can't write results"),
        result_directory(tmp_path / "file" / "pcn"),
    ):
        pass


@pytest.fixture
def killed(tmp_path, monkeypatch) -> Path:
    """Remains of a run that was killed. They weren't removed while it ran."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    script = (
        "import signal, sys; from pathlib import Path\n"
        "from pcn.experiments.results.atomic_folder import remove_dead, result_directory\n"
        "with result_directory(Path(sys.argv[1])) as work:\n"
        "    (work / 'logs').mkdir(); print(work.resolve().parent, flush=True); signal.pause()\n"
    )
    place = tmp_path / "results" / "pcn"
    command = [sys.executable, "-c", script, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            left = Path(run.stdout.readline().strip())
            with result_directory(place) as work:
                assert left.is_dir()
                (work / "summary.json").write_text("{}")
            assert remove_dead() == []
            assert left.is_dir()
        finally:
            run.kill()
    assert left.is_dir()
    return left


def test_what_a_killed_run_left_is_removed_by_the_next_wherever_it_writes(killed: Path, tmp_path):
    bystander = killed.parent / ".pcn-settings"
    bystander.mkdir()
    with result_directory(tmp_path / "elsewhere" / "pcn"):
        assert sorted(killed.parent.iterdir()) == sorted([bystander, killed.parent / "pcn"])
    assert list((tmp_path / "cache/pcn-lab/runs").iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_down(killed: Path, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "RUN_DIR", tmp_path / "no networks")
    assert pcn(["down"]) == 0
    assert f"removed what a killed run left, {killed}\n" in capsys.readouterr().out
    assert not killed.exists()
    assert remove_dead() == []


def test_a_link_to_something_else_is_no_reason_to_remove_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert remove_dead() == []
    (tmp_path / "precious").mkdir()
    (tmp_path / "cache/pcn-lab/runs/1-precious").symlink_to(tmp_path / "precious")
    assert remove_dead() == []
    assert (tmp_path / "precious").is_dir()
