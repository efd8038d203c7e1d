"""The store of a sweep: what it keeps, what is run again, damage and full disks."""

import os

import pytest
from hypothesis import given, strategies as st
from sweep_tasks import Telling, task_for

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep import store as stores
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.run_task import run_tasks
from pcn.experiments.sweep.store import Store


def test_only_what_is_missing_or_failed_is_run(tmp_path):
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
def test_store_keeps_whole_lines_where_the_disk_is_full(tmp_path, monkeypatch, room):
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
def test_store_refuses_by_line_what_no_sweep_wrote(tmp_path, old, new):
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
def test_store_cuts_off_what_a_crash_left_of_a_line(tmp_path_factory, share):
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


def test_store_follows_no_link(tmp_path):
    (tmp_path / "theirs").write_text("mine")
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "done.jsonl").symlink_to(tmp_path / "theirs")
    with pytest.raises(ExperimentError, match="can't write into"):
        Store(tmp_path / "sweep")
    assert (tmp_path / "theirs").read_text() == "mine"


def test_other_sources_are_refused_and_fresh_forgets(tmp_path, monkeypatch):
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


def test_fresh_sweep_replaces_the_old_one_when_it_is_complete(tmp_path):
    class Interrupted(Silent):
        def advance(self, share: float, text: str):
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
