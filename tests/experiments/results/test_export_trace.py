"""`--export trace`: a separate reader of trace events, against the other files of the run; and
speedscope."""

import base64
import json
import shutil
import subprocess
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import browser
import needs
import pyarrow.parquet as pq
import pytest
from waiting import wait_until

from pcn.cli import run as pcn
from pcn.hosts.explain_log import PARTS, SENDER_PARTS

RUN = [
    "run", "traffic", "--clock", "virtual", "--topology", "star", "--workload", "W1", "--pattern",
    "incast", "-q",
]  # fmt: skip
SET = ["--set", "count=80", "--set", "xoff_bytes=20KB", "--scheme", "dcqcn", "--queues", "5us"]
US = 1_000_000
Span = tuple[int, int, dict[str, Any]]


class Trace:
    """What the format requires: an object with `traceEvents`, of which each has a phase, a name and
    a process; complete ones (X) a time and a length, counters (C) numbers, metadata (M) names of
    processes and tracks."""

    def __init__(self, text: str):
        document = json.loads(text, parse_float=Decimal)
        assert set(document) == {"displayTimeUnit", "traceEvents"}
        assert document["displayTimeUnit"] in ("ms", "ns")
        self.processes: dict[int, str] = {}
        self.tracks: dict[tuple[int, int], str] = {}
        self.spans = defaultdict(list)
        """By track: names, begin and end in ps, arguments."""
        self.counters = defaultdict(list)
        events = document["traceEvents"]
        for event in events:
            if event["ph"] == "M":
                names = self.processes if event["name"] == "process_name" else self.tracks
                key = (
                    event["pid"]
                    if event["name"] == "process_name"
                    else (event["pid"], event["tid"])
                )
                assert key not in names
                names[key] = event["args"]["name"]
        for event in events:
            assert event["name"]
            assert event["pid"] in self.processes
            if event["ph"] == "X":
                begin, length = int(event["ts"] * US), int(event["dur"] * US)
                assert begin == event["ts"] * US  # no digit beyond a ps
                assert begin >= 0 <= length
                track = self.tracks[event["pid"], event["tid"]]
                self.spans[track].append(
                    (event["name"], (begin, begin + length, event.get("args", {})))
                )
            elif event["ph"] == "C":
                (value,) = event["args"].values()
                self.counters[event["name"]].append((int(event["ts"] * US), value))
            else:
                assert event["ph"] == "M"
        for spans in self.spans.values():
            self._nest(sorted((span for _, span in spans), key=lambda span: (span[0], -span[1])))

    @staticmethod
    def _nest(spans: list[Span]):
        """Spans of a track lie in each other or behind each other."""
        outer: list[int] = []
        for begin, end, _ in spans:
            while outer and outer[-1] <= begin:
                outer.pop()
            assert not outer or end <= outer[-1]
            outer.append(end)


@pytest.fixture(scope="module")
def export_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trace") / "out"
    assert (
        pcn([*RUN, *SET, "--series", "flows=worst:5", "--export", "trace", "--out", str(folder)])
        == 0
    )
    return folder


@pytest.fixture(scope="module")
def trace(export_folder: Path) -> Trace:
    return Trace((export_folder / "trace.json").read_text())


def rows_of(export_folder: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(export_folder / f"{table}.parquet").to_pylist()
    return rows


def test_tracks_of_ports_are_their_pauses(export_folder: Path, trace: Trace):
    stops = defaultdict(list)
    for row in rows_of(export_folder, "events"):
        of = stops[f"{row['node']}:{row['port']} class {row['class']}"]
        if row["event"] == "paused" and (not of or len(of[-1]) == 2):
            of.append([row["time_s"]])
        elif row["event"] in ("resumed", "expired") and of and len(of[-1]) == 1:
            of[-1].append(row["time_s"])
    stops = {name: spans for name, spans in stops.items() if spans}
    assert trace.processes == {1: "ports", 2: "flows"}
    assert set(stops) == {name for (process, _), name in trace.tracks.items() if process == 1}
    assert sum(map(len, stops.values())) > 10
    for name, spans in stops.items():
        assert {label for label, _ in trace.spans[name]} == {"PAUSEd"}
        times = sorted([begin, end] for _, (begin, end, _) in trace.spans[name])
        assert times == [
            pytest.approx([time * 1e12 for time in span], abs=2) for span in sorted(spans)
        ]


def test_counters_are_the_queues(export_folder: Path, trace: Trace):
    queues = defaultdict(list)
    for row in rows_of(export_folder, "queues"):
        queues[f"{row['port']} queue"].append((row["time_s"], row["queue_bytes"]))
    assert set(trace.counters) == {
        name for name, values in queues.items() if any(value for _, value in values)
    }
    for name, points in trace.counters.items():
        expected = [
            (round(time * 1e12), value)
            for place, (time, value) in enumerate(queues[name])
            if not place or value != queues[name][place - 1][1]
        ]
        assert points == [(pytest.approx(time, abs=2), value) for time, value in expected]


def test_tracks_of_flows_sum_to_their_completion_times(export_folder: Path, trace: Trace):
    rows = rows_of(export_folder, "flows")
    series = {
        row["entity"]
        for row in rows_of(export_folder, "series")
        if row["entity"].startswith("flow ")
    }
    assert len(series) == 5
    assert len(rows) == len([1 for process, _ in trace.tracks if process == 2]) == 80
    for row in rows:
        name = f"flow {row['id']} {row['src']} > {row['dst']}"
        (life, (begin, end, arguments)), *phases = trace.spans[name]
        assert life == name
        assert end - begin == row["fct_ps"]
        assert begin == pytest.approx(row["start_s"] * 1e12, abs=1e3)
        assert {part: arguments[f"{part}_ps"] for part in PARTS} == {
            part: row[f"{part}_ps"] for part in PARTS
        }
        assert bool(phases) == (f"flow {row['id']}" in series)
        if not phases:
            continue
        assert [phases[0][1][0], phases[-1][1][1]] == [begin, end]
        assert all(earlier[1][1] == later[1][0] for earlier, later in pairwise(phases))
        sums = dict.fromkeys(PARTS, 0)
        for label, (first, until, of) in phases:
            assert sum(of.values()) == until - first
            assert label == "last packet under way" or of[f"{label}_ps"] == max(of.values())
            for part, ps in of.items():
                sums[part.removesuffix("_ps")] += ps
        assert sums == {part: row[f"{part}_ps"] for part in PARTS}
        sending = [label for label, _ in phases if label in SENDER_PARTS]
        assert all(first != second for first, second in pairwise(sending))


def test_trace_changes_no_result(export_folder: Path, tmp_path):
    assert pcn([*RUN, *SET, "--out", str(tmp_path / "out")]) == 0
    digests = [
        json.loads((place / "summary.json").read_text())["digest"]
        for place in (export_folder, tmp_path / "out")
    ]
    assert digests[0] == digests[1]


def speedscope() -> Path:
    """The page of npm's speedscope."""
    folder = ""
    if shutil.which("npm"):
        folder = subprocess.run(
            ["npm", "root", "-g"], capture_output=True, text=True, check=True
        ).stdout.strip()
    page = Path(folder, "speedscope", "dist", "release", "index.html")
    if not page.is_file():
        needs.missing(needs.SPEEDSCOPE)
    return page


def test_speedscope_shows_each_track(export_folder: Path, trace: Trace, tmp_path):
    page = speedscope()
    content = base64.b64encode((export_folder / "trace.json").read_bytes()).decode()
    script = tmp_path / "profile.js"
    script.write_text(f'speedscope.loadFileFromBase64("trace.json", "{content}")')
    with browser.page(offline=False) as chromium:
        chromium.open(f"file://{page}#localProfilePath={script}", 1400)
        wait_until(lambda: chromium.ask("document.title").startswith("trace.json"), "the trace")
        shown = chromium.ask("document.body.innerText")
    assert f"(1/{len(trace.tracks)})" in shown
    assert trace.tracks[1, 1] in shown
