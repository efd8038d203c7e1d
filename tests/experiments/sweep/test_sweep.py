"""`pcn sweep`: tasks, its arguments, its table and picture, runs that fail."""

import shlex

import pyarrow.parquet as pq
import pytest
from sweep_tasks import SHORT, task_for

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.draw.line_looks import looks
from pcn.experiments.papers import find_experiment
from pcn.experiments.run.progress import RunProgress
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep import parameter_sweep
from pcn.experiments.sweep.executor import duration, progress_text
from pcn.experiments.sweep.task import Task, execute

pytestmark = pytest.mark.long


def test_a_task_is_known_by_what_is_run_and_not_by_its_limits():
    task = task_for("square", number=3)
    assert task.identity == Task(task.function, task.arguments, task.keys, {"limit_s": 5}).identity
    assert task.identity != task_for("square", number=4).identity
    assert task.label == "function square, number 3"


def test_what_a_task_comes_to_or_why_it_failed():
    done, again = (execute(task_for("square", number=3)) for _ in range(2))
    assert (done.value, done.error, done.digest) == (9, "", again.digest)
    failed = execute(task_for("fail", message="no"))
    assert (failed.value, failed.error, failed.digest) == (None, "RuntimeError: no", "")
    assert "raise RuntimeError(message)" in failed.traceback
    assert execute(Task("sweep_functions:nosuch", {}, {})).error.startswith("AttributeError: ")
    assert "not JSON compliant" in execute(task_for("square", number=1e200)).error


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.4, "3 s"), (59.9, "60 s"), (61, "1 min"), (3599, "1 h 0 min"), (4200, "1 h 10 min")],
)
def test_how_long_it_will_take(seconds, text):
    assert duration(seconds) == text
    assert (
        progress_text(412, 3000, 3, seconds, "pcn") == f"412 of 3,000, 3 failed, {text} left; pcn"
    )


# ---- pcn sweep ----


def test_a_scenario_with_seeds_and_settings(tmp_path, capsys):
    out = tmp_path / "sweep"
    words = ["--clock", "virtual", "--jobs", "1", "--out", str(out)]
    command = ["sweep", "dumbbell", "--scheme", "pcn,pfc", *SHORT, *words]
    assert pcn([*command, "--seeds", "1:2", "--set", "w_min=0.01,0.025"]) == 0
    printed = capsys.readouterr()
    assert "dumbbell: 6 runs" in printed.err  # w_min is none of PFC's
    assert "PCN, duration 2 ms, w_min 0.025" in printed.out
    compare = shlex.split(printed.out.splitlines()[-1].partition(": ")[2])
    assert compare == ["pcn", "compare", str(out), "--out", f"{out}/compared"]
    assert pcn(compare[1:]) == 0
    capsys.readouterr()
    table = pq.read_table(out / "runs.parquet").to_pylist()
    assert [(row["scheme"], row["w_min"], row["seed"]) for row in table] == [
        *(("pcn", w_min, seed) for w_min in (0.01, 0.025) for seed in (1, 2)),
        ("pfc", None, 1),
        ("pfc", None, 2),
    ]
    assert all(row["lost"] == 0 and row["error"] == "" for row in table)
    lines = (out / "means.csv").read_text().splitlines()
    assert lines[0] == "scheme,duration,w_min,number,mean,standard_error,seeds"
    assert any(line.startswith("pfc,0.002,,utilisation,") and line.endswith(",2") for line in lines)
    assert (out / "sweep.png").read_bytes().startswith(b"\x89PNG")
    # one seed more: the others are there
    assert pcn([*command, "--seeds", "1:3", "--set", "w_min=0.01,0.025", "--show", "jain"]) == 0
    printed = capsys.readouterr()
    assert "note: 6 of 9 runs were done before" in printed.err
    assert "utilisation" not in printed.out


def test_picture_of_a_sweep_speaks_in_words_and_units():
    """No axis has a variable's name alone, nor seconds where milliseconds suit."""
    dumbbell = find_experiment("dumbbell")
    outcomes = [
        Outcome(
            {"scheme": "pcn", "duration": duration, "xoff": xoff, "seed": 1},
            {"capacity_reached_s": duration / 2, "queue_kb": xoff / 2e3, "jain": duration},
        )
        for duration in (2e-3, 4e-3)
        for xoff in (256_000, 512_000)
    ]
    decided = dict.fromkeys(parameter_sweep.groups(outcomes), "marks")
    time, queue, jain = parameter_sweep.charts(dumbbell, outcomes, decided)
    assert time.title == "time until the flows' rates sum to the\nbottleneck's"
    assert (time.x_label, time.y_label) == ("duration (ms)\nhow long the flows send", "ms")
    assert [line.label for line in time.lines] == ["PCN, xoff 256 KB", "PCN, xoff 512 KB"]
    assert len(set(looks(time.lines))) == 2, "lines of one scheme differ"
    assert [list(line.x) for line in time.lines] == [[2, 4], [2, 4]]
    assert [list(line.y) for line in time.lines] == [[1, 2], [1, 2]]
    assert queue.title == "mean queue in the steady state"
    # Runs of a scheme without what was varied are a line beside the others, of their own mean
    alone = [
        Outcome({"scheme": scheme, "seed": 1} | keys, {"jain": jain})
        for scheme, keys, jain in (
            ("dcqcn", {"g": 0.1}, 1.0),
            ("dcqcn", {"g": 0.2}, 2.0),
            ("dctcp", {}, 3.0),
        )
    ]
    decided = dict.fromkeys(parameter_sweep.groups(alone), "marks")
    (beside,) = parameter_sweep.charts(dumbbell, alone, decided)
    assert beside.x_label == "g\nDCQCN: how fast alpha follows the CNPs"
    assert [list(line.y) for line in beside.lines] == [[1, 2], [3, 3]]
    figure = find_experiment("fig14")
    frames = [
        Outcome({"scheme": name, "seed": 1}, {"pause": 1.0 * place})
        for place, name in enumerate(("pcn", "qcn"))
    ]
    (pause,) = parameter_sweep.charts(
        figure, frames, dict.fromkeys(parameter_sweep.groups(frames), "")
    )
    assert pause.title == "pause", "a figure's is of all its run"
    assert (queue.y_label, list(queue.lines[1].y)) == ("KB", [256, 256])
    assert (jain.title, jain.y_label) == ("fairness in the steady state, Jain's index", "")


def test_a_run_that_fails_is_a_row(tmp_path, monkeypatch, capsys):
    def broken(plan: Plan, progress: RunProgress, *rest) -> Recording:
        if plan.values.get("w_min") == 0.5:
            raise ExperimentError("half is too much")
        return run_virtual(plan, progress, *rest)

    monkeypatch.setattr("pcn.experiments.run.virtual.run_virtual", broken)
    out = tmp_path / "sweep"
    command = [
        "sweep", "dumbbell", "--scheme", "pcn,pfc", *SHORT, "--set", "w_min=0.01,0.5", "--jobs",
        "1",
    ]  # fmt: skip
    assert pcn([*command, "--out", str(out)]) == 1
    rows = pq.read_table(out / "runs.parquet").to_pylist()
    assert [bool(row["error"]) for row in rows] == [False, True, False]
    output = capsys.readouterr()
    assert "PCN, duration 0.002, w_min 0.5" not in output.out
    assert (
        "1 of 3 runs failed: scheme pcn, duration 0.002, w_min 0.5, seed 1: half is too much. "
        in output.err
    )
    assert "Traceback" not in output.err


def test_run_beyond_its_time_limit_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pcn.virtualnet.progress.Progress._EVERY_S", 0.0)
    command = [
        "sweep", "dumbbell", "--scheme", "pcn", "--set", "duration=50ms", "--limit", "1us",
        "--jobs", "1",
    ]  # fmt: skip
    assert pcn([*command, "--out", str(tmp_path)]) == 1
    assert "it took longer than 1e-06 s (--limit)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "no experiment 'nosuch'"),
        (["fig19", "--set", "x=1"], "fig19 is a figure, whose runs are fixed: leave out --set"),
        (["fig13", "--scheme", "qcn-t"], "fig13: no runs of qcn-t"),
        (["dumbbell", "--set", "w_min=0.01,0.01"], "w_min=0.01 is given twice"),
        (["dumbbell", "--set", "w_mon=1"], "no parameter 'w_mon'; did you mean 'w_min'?"),
        (["dumbbell", "--scheme", "pfc", "--set", "w_min=0.5"], "w_min is a parameter of pcn"),
        (["dumbbell", "--scheme", "nosuch"], "no scheme 'nosuch'"),
        (["dumbbell", "--seeds", f"{2**63}"], f"seed {2**63}: from 0 to 2^63 - 1 are possible"),
    ],
)
def test_sweep_refuses_impossible_arguments(words, message, tmp_path, capsys):
    assert pcn(["sweep", *words, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seeds", ["", "x", "3:1", "1,,2", "1:2:3"])
def test_seeds_that_are_none(seeds, capsys):
    assert pcn(["sweep", "dumbbell", "--seeds", seeds]) == 2
    assert "write them as 1:20 or 1,2,5" in capsys.readouterr().err


def test_sweep_refuses_more_seeds_than_memory_has(capsys):
    assert pcn(["sweep", "dumbbell", "--seeds", "1:99999999999"]) == 2
    assert "1,000,000 are the most" in capsys.readouterr().err


def test_sweep_prints_remarks_of_plans_once(tmp_path, capsys, monkeypatch):
    """Before anything runs; those of a combination that can't be planned come with its failure."""
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    words = [
        "sweep", "traffic", "--topology", "star", "--scheme", "dcqcn-ns3", "--seeds", "1:2",
        "--set", "count=5,6",
    ]  # fmt: skip
    assert (
        pcn([*words, "--set", "rate_bps=10G", "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    )
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text.count("its timers are for hosts of 40") == 1
    assert text.index("its timers are for hosts of 40") < text.index("traffic: 4 runs")
