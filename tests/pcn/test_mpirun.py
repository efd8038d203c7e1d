"""`pcn run` in the processes that mpirun starts: the result of one process, one output, one end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import forks
import needs
import pyarrow.parquet as pq
import pytest
from waiting import LIMIT_S, wait_until

RUN = (
    "run", "traffic", "--clock", "virtual", "--topology", "fat-tree", "--set", "k=4",
    "--workload", "W1", "--load", "0.4", "-q",
)  # fmt: skip
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TCP = ("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo")
CHANGING = ("notes", "provenance", "wall_s")


def mpirun(n: int, options: Sequence[str], words: Sequence[str]) -> subprocess.Popen[str]:
    program = needs.program("mpirun", needs.MPI)
    return subprocess.Popen(
        [
            program, "--oversubscribe", *options, "-n", str(n), sys.executable, "-c",
            "from pcn.cli import main; main()", *words,
        ],
        env={**os.environ, **AS_ROOT, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )  # fmt: skip


def ours(text: str) -> list[str]:
    """Lines of `pcn`, without mpirun's own about exit codes."""
    return [line for line in text.splitlines() if line.startswith("pcn")]


def test_processes_write_the_result_of_one(tmp_path):
    """Over shared memory and over TCP: the summary, its digest, and both files' tables."""
    words = [*RUN, "--set", "count=100", "--json", "--out"]
    done = forks.run("pcn", *words, str(tmp_path / "alone"))
    assert done.returncode == 0, done.stderr
    alone = json.loads((tmp_path / "alone/summary.json").read_text())
    for n, options in ((2, ()), (3, TCP)):
        folder = tmp_path / f"of {n}"
        with mpirun(n, options, [*words, str(folder)]) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, err) == (0, "")
        summary = json.loads((folder / "summary.json").read_text())
        assert json.loads(out) == summary  # once
        assert any(note.startswith("Several processes:") for note in summary["notes"])
        for key in CHANGING:
            summary[key] = alone[key]
        assert summary == alone
        for name in ("series.parquet", "flows.parquet"):
            assert pq.read_table(folder / name).equals(pq.read_table(tmp_path / "alone" / name))
        assert sorted(path.name for path in folder.iterdir()) == sorted(
            path.name for path in (tmp_path / "alone").iterdir()
        )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*RUN, "--scheme", "timely"), "timely runs in Python"),
        ((*RUN, "--events"), "the log of PFC frames is in the order of all nodes"),
        ((*RUN, "--series", "flows=1,2"), "series of single flows"),
        (("run", "dumbbell", "-q"), "a live network is on one machine"),
        (("sweep", "traffic"), "mpirun starts the parts of one `pcn run`"),
    ],
    ids=["algorithm", "events", "single flows", "live", "sweep"],
)
def test_refusal_is_one_line_and_leaves_nothing(words, message, tmp_path):
    with mpirun(2, (), [*words, "--out", str(tmp_path / "out")]) as process:
        out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode != 0
    assert len(ours(err)) == 1, err
    assert message in ours(err)[0]
    assert "without mpirun" in err or "one process" in err
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("victim", ["mpirun", "another process"])
def test_signal_to_any_ends_all_with_one_message(victim, tmp_path):
    """Ctrl-C of mpirun, or the end of one process that isn't the first."""
    words = [*RUN, "--set", "count=3e4", "--out", str(tmp_path / "out")]
    with mpirun(2, (), words) as process:

        def parts() -> list[int]:
            """Those that run: with an engine of some megabytes."""
            assert process.poll() is None
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            pids = [int(pid) for pid in children.split()]
            return [pid for pid in pids if "libvirtualnet" in Path(f"/proc/{pid}/maps").read_text()]

        wait_until(lambda: len(parts()) == 2, "parts")
        pids = parts()
        if victim == "mpirun":
            process.send_signal(signal.SIGINT)
        else:
            os.kill(pids[1], signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode != 0
    assert len(ours(err)) == 1, err
    assert any(word in ours(err)[0] for word in ("interrupted", "ended by SIGTERM")), err
    for pid in pids:
        wait_until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), "end")
    assert list(tmp_path.rglob("*")) == []
