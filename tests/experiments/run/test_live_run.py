"""`pcn run` for real: a short run's files, a run that is refused, and one that is interrupted.
These leave nothing.

What a run measures is judged elsewhere (`make run`). Here stands only what holds on any machine at
any load.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import results_format
from summary_shape import mismatches
from waiting import LIMIT_S, wait_until

from pcn.base.errors import LabError
from pcn.experiments.data.series import Series
from pcn.experiments.run import calibrate
from pcn.experiments.runner import run
from pcn.lab import journal as records

pytestmark = [pytest.mark.root, pytest.mark.long]
K, DURATION_S = 400, 3e-3
PAIRS = 2
FLOWS, HOSTS, SWITCHES = PAIRS + 1, 2 * PAIRS, 2
BOTTLENECK = f"s0:{PAIRS + 1}"
# The dumbbell, and one that takes any lateness of the machine.
DUMBBELL = "from pcn.cli import main; main()"
PATIENT = (
    """
import dataclasses, math
from pcn.experiments.papers import SCENARIOS

class Patient(type(SCENARIOS["dumbbell"])):
    def plan(self, scheme, seed, values):
        plan = super().plan(scheme, seed, values)
        live = dataclasses.replace(plan.live, stall_s=math.inf, most_lag=math.inf, kept_share=0.0)
        return dataclasses.replace(plan, live=live)

SCENARIOS["dumbbell"] = Patient()
"""
    + DUMBBELL
)


@pytest.fixture
def mark() -> Iterator[str]:
    """For the environment of what a test starts. Afterwards no process has it, and no network is
    left."""
    mark = f"PCN_TEST_MARK={uuid.uuid4().hex}"
    yield mark
    wait_until(lambda: not marked(mark), "the end of all processes")
    assert not records.directory("dumbbell").exists()
    assert not (records.RUN_DIR / "dumbbell.lock").exists()


def marked(mark: str) -> list[str]:
    """Command lines of the processes that have the mark in their environment."""
    commands = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (path / "environ").read_bytes():
                commands.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


def start(
    mark: str,
    out: Path,
    k: float = K,
    duration_s: float = DURATION_S,
    clock: str = "live",
    program: str = PATIENT,
    schemes: str = "pcn",
) -> subprocess.Popen[str]:
    settings = [
        "--scheme", schemes, "--clock", clock, "--set", f"duration={duration_s}s", "--set",
        f"pairs={PAIRS}", "--dilation", f"{k:g}", "--out", str(out),
    ]  # fmt: skip
    name, _, value = mark.partition("=")
    return subprocess.Popen(
        [sys.executable, "-c", program, "run", "dumbbell", *settings],
        env={**os.environ, name: value},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@dataclass(frozen=True)
class Both:
    """What a run on both clocks has come to."""

    out: Path
    output: list[str]
    live: dict[str, Any]
    virtual: dict[str, Any]


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> Both:
    """Beside a network of its name that is up, and is left alone."""
    out = tmp_path_factory.mktemp("both") / "results" / "both"
    with records.owned("dumbbell"):
        process = start("PCN_TEST_MARK=both", out, clock="live,virtual")
        output, errors = process.communicate(timeout=LIMIT_S)
        assert records.is_held("dumbbell")
    assert process.returncode == 0, errors
    assert records.names() == []
    assert marked("PCN_TEST_MARK=both") == []
    live, virtual = (
        json.loads((out / clock / "summary.json").read_text()) for clock in ("live", "virtual")
    )
    return Both(out, [*output.splitlines(), *errors.splitlines()], live, virtual)


def test_a_short_run_loses_nothing_and_writes_everything(both: Both):
    assert "note: a network named dumbbell is up already: this run's is dumbbell-2" in both.output
    assert any("Report:" in line for line in both.output)
    assert [path.name for path in both.out.parent.iterdir()] == ["both"]
    out, summary = both.out / "live", both.live
    files = {"summary.json", "series.parquet", "topology.json", "report.html", "logs"}
    assert {path.name for path in out.iterdir()} == files
    page = (out / "report.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert 'src="http' not in page
    assert len(list((out / "logs").iterdir())) == 2 * HOSTS + SWITCHES + 1  # and of their process
    assert results_format.kinds(Series.read(out / "series.parquet")) <= results_format.series()

    assert mismatches(summary) == []
    assert summary["digest"] is None
    assert (summary["k"], summary["clock"], summary["target"]) == (K, "live", "softswitch")
    assert summary["packets"]["lost"] == 0
    assert summary["packets"]["received"] == summary["packets"]["sent"] > 100
    verdicts = {check["what"]: check["verdict"] for check in summary["checks"]}
    assert verdicts["switch registers not back at 0 after the drain"] == "met"
    assert [flow["id"] for flow in summary["flows"]] == list(range(1, FLOWS + 1))
    assert all(0 < flow["received_bytes"] == flow["sent_bytes"] for flow in summary["flows"])
    assert sum(flow["goodput_bps"] for flow in summary["flows"]) > 0
    # Two senders at line rate on one link: packets wait there, and are marked there.
    bottleneck = summary["ports"][BOTTLENECK]
    assert 0 < bottleneck["marked"] <= bottleneck["transmitted"]
    assert 0 < bottleneck["queue_bytes_mean"] < bottleneck["queue_bytes_max"]

    series = Series.read(out / "series.parquet")
    times, waiting = series.get(BOTTLENECK, "waiting_bytes")
    assert (times[1:] >= times[:-1]).all()
    assert waiting.max() == bottleneck["queue_bytes_max"]


def test_a_run_on_both_clocks_lays_one_over_the_other(both: Both):
    assert "live against virtual" in " ".join(" ".join(both.output).split())
    out = both.out
    assert {path.name for path in out.iterdir()} == {
        "live",
        "virtual",
        "comparison.json",
        "report.html",
    }
    together = json.loads((out / "comparison.json").read_text())
    assert [(run["clock"], run["k"]) for run in together["runs"].values()] == [
        ("live", K),
        ("virtual", 1.0),
    ]
    alone = {"live": both.live, "virtual": both.virtual}
    for clock, summary in together["runs"].items():
        assert mismatches(alone[clock]) == []
        assert summary["steady"] == alone[clock]["steady"]
        assert summary["packets"]["lost"] == 0
    # Three milliseconds, of a machine that may be late, have nothing to agree in.
    (used,) = [check for check in together["checks"] if "utilisation" in check["what"]]
    assert (used["measured"], used["theory"]) == tuple(
        summary["steady"]["utilisation"] for summary in alone.values()
    )
    assert all(summary["ports"][BOTTLENECK]["queue_bytes_max"] > 0 for summary in alone.values())
    assert (out / "report.html").read_text().count('data-chart="queue"') == 1


def test_live_run_has_windows_that_marks_and_telemetry_cut(mark: str, tmp_path):
    """DCTCP's by the marks of switches, HPCC's by what they write into packets: all windows fall,
    and nothing is lost."""
    out = tmp_path / "windows"
    process = start(mark, out, schemes="dctcp,hpcc")
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, errors
    for scheme in ("dctcp", "hpcc"):
        summary = json.loads((out / scheme / "summary.json").read_text())
        assert summary["packets"]["lost"] == 0
        assert summary["packets"]["received"] == summary["packets"]["sent"] > 100
        assert bool(summary["ports"][BOTTLENECK]["marked"]) is (scheme == "dctcp")
        series = Series.read(out / scheme / "series.parquet")
        for number in range(1, FLOWS + 1):
            _, window = series.get(f"flow {number}", "window_bytes")
            assert (window[1:] < window[:-1]).any()


def test_too_small_a_k_is_refused(mark: str, tmp_path):
    process = start(mark, tmp_path / "results" / "fast", 2, duration_s=50e-3, program=DUMBBELL)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1
    (error,) = [line for line in errors.splitlines() if line.startswith("pcn: ")]
    assert "can't carry k=2" in error
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_the_middle_leaves_nothing(mark: str, tmp_path):
    process = start(mark, tmp_path / "results" / "cut", duration_s=12e-3)
    assert process.stderr is not None
    for line in process.stderr:
        if "%" in line:  # a fifth of the run is over
            break
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGINT, errors
    assert errors.splitlines()[-1] == "pcn: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_shows_before_anything_is_measured(mark: str, tmp_path, monkeypatch):
    def too_late(*_) -> float:
        pytest.fail("the calibration came first")

    monkeypatch.setattr(calibrate, "choose", too_late)
    with monkeypatch.context() as patch:
        patch.setattr(
            shutil,
            "which",
            lambda tool: None if tool == "simple_switch_grpc" else f"/usr/bin/{tool}",
        )
        with pytest.raises(LabError, match="simple_switch_grpc is not installed"):
            run("dumbbell", clock="live", target="bmv2", out=tmp_path / "results")
    assert list(tmp_path.iterdir()) == []
