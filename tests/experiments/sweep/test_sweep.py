"""Sweeps: what is kept, what is run again, what a failure costs; and the processes of this machine
that run them."""

from __future__ import annotations

import contextlib
import csv
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from sockets import Door, doors
from sweep_workers import alive, workers
from waiting import wait_until

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.draw.line_looks import looks
from pcn.experiments.papers import find_experiment
from pcn.experiments.run.progress import RunProgress, Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep import parameter_sweep, store as stores
from pcn.experiments.sweep.executor import Means, duration, progress_text, sweep
from pcn.experiments.sweep.run_task import run_tasks, task_of
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Task, execute

pytestmark = pytest.mark.long

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[2]


def task_for(name: str, **arguments: Any) -> Task:
    return Task(f"sweep_functions:{name}", arguments, {"function": name, **arguments})


def test_a_task_is_known_by_what_is_run_and_not_by_its_limits() -> None:
    task = task_for("square", number=3)
    assert task.identity == Task(task.function, task.arguments, task.keys, {"limit_s": 5}).identity
    assert task.identity != task_for("square", number=4).identity
    assert task.label == "function square, number 3"


def test_what_a_task_comes_to_or_why_it_failed() -> None:
    done, again = (execute(task_for("square", number=3)) for _ in range(2))
    assert (done.value, done.error, done.digest) == (9, "", again.digest)
    failed = execute(task_for("fail", message="no"))
    assert (failed.value, failed.error, failed.digest) == (None, "RuntimeError: no", "")
    assert "raise RuntimeError(message)" in failed.traceback
    assert execute(Task("sweep_functions:nosuch", {}, {})).error.startswith("AttributeError: ")
    assert "not JSON compliant" in execute(task_for("square", number=1e200)).error


class Telling(Silent):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def advance(self, share: float, text: str) -> None:
        self.texts.append(text)


def test_only_what_is_missing_or_failed_is_run(tmp_path: Path) -> None:
    tasks = [task_for("square", number=number) for number in range(4)]
    sweep(tasks[:2], Store(tmp_path), Means(), Silent())
    telling, mixed = Telling(), [tasks[3], task_for("fail", message="no"), *tasks[:3]]
    done = sweep(mixed, Store(tmp_path), Means(), telling)
    assert [outcome.value for outcome in done] == [9, None, 0, 1, 4], "in the order of the tasks"
    assert len(telling.texts) == 3
    assert telling.texts[-1] == "3 of 3, 1 failed; function square, number 2"
    again = Telling()
    assert sweep(mixed, Store(tmp_path), Means(), again)[0] == done[0]
    assert len(again.texts) == 1, "what failed"


@pytest.mark.parametrize("room", range(0, 300, 23))
def test_store_keeps_whole_lines_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    tasks = [task_for("square", number=number) for number in range(3)]
    sweep(tasks[:1], Store(tmp_path), Means(), Silent())
    left, real = room, os.write

    def write(file: int, data: bytes) -> int:
        nonlocal left
        if left == 0:
            raise OSError(28, "No space left on device")
        written = real(file, data[:left])
        left -= written
        return written

    with monkeypatch.context() as patched:
        patched.setattr(stores.os, "write", write)
        with pytest.raises(
            ExperimentError, match=r"can't write .*done.jsonl: No space left.*stays"
        ):
            sweep(tasks, Store(tmp_path), Means(), Silent())
    bytes_ = (tmp_path / "done.jsonl").read_bytes()
    assert bytes_.endswith(b"\n")
    assert len(bytes_.splitlines()) == len(Store(tmp_path).done) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"value": 1', '"value": 7'),
        ('"value": 1', '"value": NaN'),
        ('"error": ""', '"error": 5'),
        ('"wall_s": ', '"wall_s": true, "x": '),
        ("{", "[" * 100_000),
    ],
)
def test_store_refuses_by_line_what_no_sweep_wrote(tmp_path: Path, old: str, new: str) -> None:
    sweep(
        [task_for("square", number=number) for number in range(2)],
        Store(tmp_path),
        Means(),
        Silent(),
    )
    path = tmp_path / "done.jsonl"
    first, second = path.read_text().splitlines()
    assert old in second
    path.write_text(f"{first}\n{second.replace(old, new, 1)}\n")
    with pytest.raises(ExperimentError, match=r"done.jsonl:2: no run of a sweep: give --fresh"):
        Store(tmp_path)


@given(share=st.floats(0, 1))
def test_store_cuts_off_what_a_crash_left_of_a_line(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    place = tmp_path_factory.mktemp("crash")
    tasks = [task_for("square", number=number) for number in range(3)]
    sweep(tasks, Store(place), Means(), Silent())
    whole = (place / "done.jsonl").read_bytes()
    cut = whole[: round(share * len(whole))]
    (place / "done.jsonl").write_bytes(cut)
    assert len(Store(place).done) == cut.count(b"\n")
    telling = Telling()
    assert [outcome.value for outcome in sweep(tasks, Store(place), Means(), telling)] == [0, 1, 4]
    assert len(telling.texts) == 3 - cut.count(b"\n")
    assert len((place / "done.jsonl").read_bytes().splitlines()) == 3


def test_store_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("mine")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "done.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(ExperimentError, match="can't write into"):
        Store(tmp_path / "sweep")
    assert (tmp_path / "theirs").read_text() == "mine"


def test_other_sources_are_refused_and_fresh_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "mine")
    sweep([task_for("square", number=2)], store, Means(), Silent())
    monkeypatch.setattr(stores, "version", lambda: "another")
    with pytest.raises(ExperimentError, match="another version of the sources: give --fresh"):
        Store(tmp_path / "mine")
    assert Store(tmp_path / "mine", fresh=True).done == {}
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.tex").touch()
    with pytest.raises(ExperimentError, match="isn't a sweep's folder: choose another --out"):
        Store(tmp_path / "theirs", fresh=True)
    assert (tmp_path / "theirs" / "thesis.tex").exists()


def test_fresh_sweep_replaces_the_old_one_when_it_is_complete(tmp_path: Path) -> None:
    class Interrupted(Silent):
        def advance(self, share: float, text: str) -> None:
            raise KeyboardInterrupt

    tasks = [task_for("square", number=number) for number in range(2)]
    run_tasks(tasks, Store(tmp_path), Means(), Silent())
    (tmp_path / "runs.parquet").touch()
    bytes_ = (tmp_path / "done.jsonl").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks, Store(tmp_path, fresh=True), Means(), Interrupted())
    assert (tmp_path / "done.jsonl").read_bytes() == bytes_
    telling = Telling()
    done = run_tasks(tasks, Store(tmp_path, fresh=True), Means(), telling)
    assert [outcome.value for outcome in done] == [0, 1]
    assert len(telling.texts) == 1, "the one that the interrupted sweep hadn't done"
    assert {path.name for path in tmp_path.iterdir()} == {"done.jsonl", "runs.parquet"}
    assert (tmp_path / "done.jsonl").read_bytes() != bytes_
    assert len(Store(tmp_path).done) == 2


def test_the_version_is_of_all_sources_that_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in stores._SOURCES:
        assert any(path.suffix in stores._KINDS for path in (ROOT / folder).rglob("*")), folder
    monkeypatch.setattr(stores, "ROOT", tmp_path)
    seen = {stores.version.__wrapped__()}
    for name in (
        "hosts/algorithms/pcn.py",
        "virtualnet/csrc/api/net.c",
        "p4src/compiled/pcn.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True)
        for text in ("as it was", "changed"):
            (tmp_path / name).write_text(text)
            seen.add(stores.version.__wrapped__())
    assert len(seen) == 7
    (tmp_path / "hosts" / "README.md").touch()
    assert stores.version.__wrapped__() in seen


def test_a_scheme_from_outside_is_another_one_when_its_files_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its reference, a path, stays: what was run before must not pass for what it is now."""
    shutil.copytree(ROOT / "examples" / "aimd", tmp_path / "aimd")
    file = tmp_path / "aimd" / "aimd.py"
    command = [
        "sweep",
        "dumbbell",
        "--scheme",
        f"{file}:AIMD",
        *SHORT,
        "--jobs",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]

    assert pcn(command) == 0
    assert "were done before" not in capsys.readouterr().err
    assert pcn(command) == 0
    assert "1 of 1 runs were done before" in capsys.readouterr().err
    file.write_text(file.read_text() + "# another rule\n")
    words = [sys.executable, "-c", "from pcn.cli import main; main()", *command]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "dumbbell: 1 runs" in done.stderr
    assert "were done before" not in done.stderr


def test_files_that_aren_t_those_of_the_declaration_are_refused() -> None:
    task = task_of(find_experiment("dumbbell"), Run({"seed": 1}, "pcn", 1))
    assert task.arguments["files"] == {}
    stale = Task(
        task.function, {**task.arguments, "files": {"aimd.py": "0" * 12}}, task.keys, task.limits
    )
    assert "the files of pcn aren't those of when this run was declared" in execute(stale).error


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3.4, "3 s"), (59.9, "60 s"), (61, "1 min"), (3599, "1 h 0 min"), (4200, "1 h 10 min")],
)
def test_how_long_it_will_take(seconds: float, text: str) -> None:
    assert duration(seconds) == text
    assert (
        progress_text(412, 3000, 3, seconds, "pcn") == f"412 of 3,000, 3 failed, {text} left; pcn"
    )


def test_workers_of_our_own(tmp_path: Path) -> None:
    """A task that fails, or ends its process, or wants too much memory, costs no other; values are
    as they are here."""
    good = [task_for("square", number=number / 7) for number in range(20)]
    bad = [
        task_for("fail", message="no"),
        task_for("die"),
        task_for("kill"),
        task_for("hog", megabytes=500),
    ]
    tasks = [*good[:5], *bad, *good[5:]]
    outcomes = sweep(tasks, Store(tmp_path), Means(jobs=2, memory_bytes=400_000_000), Silent())
    by_task = dict(zip((task.identity for task in tasks), outcomes, strict=True))
    assert [by_task[task.identity].digest for task in good] == [
        execute(task).digest for task in good
    ]
    assert [by_task[task.identity].error for task in bad] == [
        "RuntimeError: no",
        "its process ended, twice: exit code 3",
        "its process ended, twice: SIGKILL; was memory short? Fewer --jobs leave more",
        "its process ended, twice: it needs more memory than 0.4 GB; --memory gives it more",
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"done.jsonl"}, (
        "no worker's folder is left"
    )
    assert not workers(os.getpid())


def test_task_whose_worker_is_killed_once_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "waits").mkdir()

    class Killing(Silent):
        def advance(self, share: float, text: str) -> None:
            if share < 1:
                wait_until(lambda: any((tmp_path / "waits").iterdir()), "the second task")
                (pid_file,) = (tmp_path / "waits").iterdir()
                os.kill(int(pid_file.name), signal.SIGKILL)

    tasks = [task_for("square", number=1), task_for("first_waits", place=str(tmp_path / "waits"))]
    outcomes = sweep(tasks, Store(tmp_path / "sweep"), Means(jobs=2), Killing())
    assert [(done.value, done.error) for done in outcomes] == [(1, ""), (2, "")]


def test_task_that_leaves_a_child_behind_leaves_none(tmp_path: Path) -> None:
    (child, _) = sweep(
        [task_for("start", program="sleep"), task_for("square", number=1)],
        Store(tmp_path),
        Means(jobs=2),
        Silent(),
    )
    wait_until(lambda: not alive(child.value), "its end")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["false"], r"a process for runs ended at its start: exit code 1"),
        (["nosuch"], r"can't start a process for runs: No such file or directory"),
    ],
)
def test_sweep_without_workers_ends(
    command: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    (place / "setpriv").symlink_to(f"/bin/{command[0]}")
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(ExperimentError, match=message):
        sweep(
            [task_for("square", number=1)],
            Store(tmp_path / "sweep"),
            Means(memory_bytes=1 << 30),
            Silent(),
        )
    assert not workers(os.getpid())


def lines(place: Path) -> int:
    """Runs that a store has."""
    path = place / "done.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@contextlib.contextmanager
def sweeping(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A sweep in a separate process with two workers, one of which has a task that goes on until it
    is ended."""
    place, waits = tmp_path / "sweep", tmp_path / "waits"
    waits.mkdir()
    tasks = [
        task_for("square", number=1),
        task_for("square", number=2),
        *(task_for("wait", place=str(waits), n=n) for n in (1, 2)),
    ]
    script = f"""
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.run_task import run_tasks
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.task import Task
tasks = [Task(*one) for one in {[(task.function, task.arguments, task.keys) for task in tasks]!r}]
sweep(tasks, Store(__import__("pathlib").Path({str(place)!r})), Means(jobs=2), Silent())
"""
    (tmp_path / "script.py").write_text(script)
    paths = os.pathsep.join([str(ROOT), str(TESTS)])
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], env={**os.environ, "PYTHONPATH": paths}
    ) as process:
        try:
            wait_until(lambda: len(list(waits.iterdir())) == 2 and lines(place) == 2, "two waits")
            yield process
        finally:
            process.kill()


def test_a_sweep_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Its workers end by themselves; what was over stays, and nothing else."""
    with sweeping(tmp_path) as process:
        pids = workers(process.pid)
        assert len(pids) == 2
        process.kill()
    wait_until(lambda: not any(alive(pid) for pid in pids), "the end of the workers")
    assert {path.name for path in (tmp_path / "sweep").iterdir()} == {"done.jsonl"}
    tasks = [task_for("square", number=number) for number in (1, 2)]
    assert [
        outcome.value for outcome in sweep(tasks, Store(tmp_path / "sweep"), Means(), Silent())
    ] == [
        1,
        4,
    ]


def test_sweep_opens_no_socket_that_others_reach(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(tmp_path / "door"))
        assert set(doors([os.getpid()])) >= {
            Door("tcp", *server.getsockname()),
            Door("unix", str(tmp_path / "door"), 0),
        }, "it would be seen"
    with sweeping(tmp_path) as process:
        pids = [process.pid, *workers(process.pid)]
        assert len(pids) == 3
        assert doors(pids) == []


# ---- pcn sweep ----

SHORT = ["--set", "duration=2ms"]


def test_a_scenario_with_seeds_and_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_picture_of_a_sweep_speaks_in_words_and_units() -> None:
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


def test_a_run_that_fails_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(plan: Plan, progress: RunProgress, *rest: Any) -> Recording:
        if plan.values.get("w_min") == 0.5:
            raise ExperimentError("half is too much")
        return run_virtual(plan, progress, *rest)

    monkeypatch.setattr("pcn.experiments.run.virtual.run_virtual", broken)
    out = tmp_path / "sweep"
    command = [
        "sweep",
        "dumbbell",
        "--scheme",
        "pcn,pfc",
        *SHORT,
        "--set",
        "w_min=0.01,0.5",
        "--jobs",
        "1",
    ]
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


def test_run_beyond_its_time_limit_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pcn.virtualnet.timed._Progress._EVERY_S", 0.0)
    command = [
        "sweep",
        "dumbbell",
        "--scheme",
        "pcn",
        "--set",
        "duration=50ms",
        "--limit",
        "1us",
        "--jobs",
        "1",
    ]
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
    ],
)
def test_sweep_refuses_impossible_arguments(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pcn(["sweep", *words, "--out", str(tmp_path / "out")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seeds", ["", "x", "3:1", "1,,2", "1:2:3"])
def test_seeds_that_are_none(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert pcn(["sweep", "dumbbell", "--seeds", seeds]) == 2
    assert "write them as 1:20 or 1,2,5" in capsys.readouterr().err


def test_sweep_prints_remarks_of_plans_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything runs; those of a combination that can't be planned come with its failure."""
    monkeypatch.setattr("pcn.topologies.extras.installed", lambda extra: extra != "figures")
    words = [
        "sweep",
        "traffic",
        "--topology",
        "star",
        "--scheme",
        "dcqcn-ns3",
        "--seeds",
        "1:2",
        "--set",
        "count=5,6",
    ]
    assert (
        pcn([*words, "--set", "rate_bps=10G", "--jobs", "1", "--out", str(tmp_path / "out")]) == 0
    )
    printed = capsys.readouterr()
    text = printed.out + printed.err
    assert text.count("its timers are for hosts of 40") == 1
    assert text.index("its timers are for hosts of 40") < text.index("traffic: 4 runs")


def test_module_that_a_user_s_files_import_makes_a_run_another(tmp_path: Path) -> None:
    """A scheme's file imports one that imports another, and so does a topology's. Each command is a
    process: a module is loaded once in each."""
    (tmp_path / "far.py").write_text("DELAY_S = 1e-6\nSTEP = 2e9\n")
    (tmp_path / "near.py").write_text("import far\n")
    (tmp_path / "net.py").write_text(
        "import near\nfrom pcn.topologies.star import star\ndef slow():\n    return "
        "star(delay_s=near.far.DELAY_S)\n"
    )
    (tmp_path / "mine.py").write_text(
        "from dataclasses import replace\nimport near\nfrom pcn.hosts.algorithms import "
        "find_scheme\n"
        "MINE = replace(find_scheme('pfc'), name='mine')\n"
    )
    out = tmp_path / "out"
    command = [
        str(Path(sys.executable).parent / "pcn"),
        "sweep",
        "traffic",
        "--topology",
        f"{tmp_path}/net.py:slow",
    ]
    command += [
        "--scheme",
        f"{tmp_path}/mine.py:MINE,pfc",
        "--set",
        "count=12",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]

    def means() -> dict[str, float]:
        subprocess.run(command, check=True, capture_output=True, cwd="/")
        rows = csv.DictReader((out / "means.csv").read_text().splitlines())
        return {row["scheme"]: float(row["mean"]) for row in rows if row["number"] == "mean_ms all"}

    before = means()
    assert before.keys() == {"mine", "pfc"}
    assert means() == before
    assert len((out / "done.jsonl").read_text().splitlines()) == 2
    (tmp_path / "far.py").write_text("DELAY_S = 50e-6\nSTEP = 2e9\n")
    after = means()
    assert all(after[scheme] > before[scheme] + 0.08 for scheme in before)
    assert len((out / "done.jsonl").read_text().splitlines()) == 4
