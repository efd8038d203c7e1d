"""Root writes into a folder of another user, who changes it while root writes.

He acts before each of root's system calls in turn that change or open something (Python's audit
events): he puts links to root's folder into the place of his folder, or of what is in it. What is
in root's folder has the names that are written, so whatever follows a link changes it.
"""

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from others import NOBODY, as_nobody, shared_folder

from pcn.base.errors import LabError
from pcn.base.owner_only import NotPrivateError
from pcn.experiments.explain import keep
from pcn.experiments.explain.answers import Answer
from pcn.experiments.page.figures_page import sections
from pcn.experiments.results import atomic_folder
from pcn.experiments.results.atomic_folder import (
    remove_dead,
    remove_empty,
    replacing,
    result_directory,
    whole,
)
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Done, Task
from pcn.lab.log_folder import LogFolder, new

pytestmark = pytest.mark.root

_EVENTS = (
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.symlink",
    "os.chmod",
    "os.listdir",
)
_LIMIT = 300
"""Steps of one writing: more are a loop that the attacker keeps up."""


class Attacker:
    """Acts once, before the event of number `step`; counts the events."""

    def __init__(self):
        self.step = self.events = 0
        self.failure: BaseException | None = None
        self.act: Callable[[], None] | None = None

    def __call__(self, event: str, _arguments: tuple[object, ...]):
        if self.act is None or event not in _EVENTS:
            return
        self.events += 1
        if self.events == self.step:
            act, self.act = self.act, None
            os.seteuid(NOBODY)
            try:
                act()
            except OSError as error:
                self.failure = error
            finally:
                os.seteuid(0)
            self.act = lambda: None


@pytest.fixture(scope="module")
def attacker() -> Iterator[Attacker]:
    hook = Attacker()
    sys.addaudithook(hook)  # there is no way to remove it
    yield hook
    hook.act = None


def _result(folder: Path):
    with result_directory(folder / "out" / "pcn") as work:
        (work / "logs").mkdir()
        for name in ("logs/h0.log", "summary.json"):
            with whole(work / name) as file:
                file.write(b"{}")


def _failing_result(folder: Path):
    with (
        contextlib.suppress(KeyboardInterrupt),
        result_directory(folder / "deep" / "er" / "pcn") as work,
    ):
        with whole(work / "summary.json") as file:
            file.write(b"{}")
        raise KeyboardInterrupt


def _files(folder: Path):
    with whole(folder / "file") as file:
        file.write(b"content")
    with replacing(folder / "file") as file:
        file.write(b"content")


def _sweep(folder: Path):
    task = Task("module:name", {}, {"seed": 1})
    store = Store(folder / "sweep")
    store.add(task, Done(task.identity, 1))
    store = Store(folder / "sweep", fresh=True)
    store.complete()
    store.remove()


def _explanation(folder: Path):
    keep.keep(folder, Answer("port", result={}), ["a line"])


def _logs(folder: Path):
    with LogFolder(new(folder / "logs" / "up")) as logs:
        with logs.open("h0.log") as file:
            file.write(b"a line")
        logs.remove("h0.log")


def _empty_folders(folder: Path):
    remove_empty([folder / "deep" / "er", folder / "deep"])


WRITINGS = (_result, _failing_result, _files, _sweep, _explanation, _logs, _empty_folders)


def _fill(root: Path):
    """Root's folder: it has all names that are written, also those of what has names by chance."""
    names = (
        "file", "file.new", "h0.log", "logs/h0.log", "logs/up/h0.log", "up/h0.log", "summary.json",
        (
            "pcn/summary.json"
        ),
        "out/pcn/summary.json", "result/summary.json", "done.jsonl", "done.jsonl.new",
        "sweep/done.jsonl",
        "sweep/done.jsonl.new", keep.JSON, keep.TEXT, f"{keep.FOLDER}/{keep.JSON}", (
            f"{keep.FOLDER}/{keep.TEXT}"
        ),
    )  # fmt: skip
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    for name in ("deep/er", "er", "empty"):
        (root / name).mkdir(parents=True)


def _state(root: Path) -> dict[str, tuple[int, ...]]:
    states = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        states[str(path)] = (
            status.st_ino, status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns,
        )  # fmt: skip
    return states


def _swap_folder(folder: Path, root: Path):
    folder.rename(folder.with_name("away"))
    folder.symlink_to(root)


def _swap_contents(folder: Path, root: Path):
    for path in [*folder.iterdir()]:
        path.rename(folder / f"away-{path.name}")
        path.symlink_to(root / path.name if (root / path.name).exists() else root)


@pytest.mark.parametrize("swap", [_swap_folder, _swap_contents])
@pytest.mark.parametrize("write", WRITINGS)
def test_writing_into_a_foreign_folder_never_follows_its_owner(
    write, swap, attacker: Attacker, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    step = 0
    while step == 0 or attacker.events >= step:
        assert step < _LIMIT
        with shared_folder() as shared:
            root, home = shared / "root", shared / "home"
            root.mkdir()
            _fill(root)
            home.mkdir()
            (home / "theirs").mkdir()
            for path in (home, home / "theirs"):
                os.chown(path, NOBODY, NOBODY)
            if step % 2:  # into an empty folder, and into one where root has written before
                write(home / "theirs")
            before = _state(root)
            attacker.step, attacker.events, attacker.act = (
                step,
                0,
                lambda h=home, r=root: swap(h / "theirs", r),
            )
            try:
                with contextlib.suppress(OSError, LabError, NotPrivateError):
                    write(home / "theirs")
            finally:
                attacker.act = None
            assert attacker.failure is None
            remove_dead()
            assert _state(root) == before, f"step {step} of {attacker.events}"
            hidden = [
                path for path in home.rglob(".*") if not path.is_symlink() and any(path.iterdir())
            ]
            assert hidden == [], f"step {step} of {attacker.events}"
        step += 1
    assert step > 1
    assert [*(tmp_path / "cache" / "pcn-lab" / "runs").glob("*")] == []


@pytest.mark.parametrize("write", [_result, _failing_result, _files, _sweep, _logs])
def test_link_of_another_user_on_the_way_is_named(write, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with shared_folder() as shared:
        as_nobody(lambda: (shared / "theirs").symlink_to(tmp_path))
        with pytest.raises(
            LabError, match=r"theirs is a symbolic link of .* \(uid 65534\): .*another"
        ):
            write(shared / "theirs")
        assert [path.name for path in tmp_path.iterdir()] in ([], ["cache"])


def test_folder_that_another_user_locks_is_written_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(atomic_folder, "_LOCKED_S", 0.02)
    with shared_folder() as shared:
        lock = os.open(shared, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with result_directory(shared / "pcn") as work, whole(work / "summary.json") as file:
                file.write(b"{}")
        finally:
            os.close(lock)
        assert (shared / "pcn" / "summary.json").is_file()


def test_picture_that_is_a_link_or_no_picture_is_in_no_page(tmp_path):
    """Who may write the folder of figures could have root read any file into a page."""
    secret = tmp_path / "secret"
    (tmp_path / "fig10").mkdir()
    (tmp_path / "fig10" / "figure.json").write_text(json.dumps({"provenance": {}}))
    picture = tmp_path / "fig10" / "figure.png"
    secret.write_bytes(b"root:$6$")
    picture.symlink_to(secret)
    assert [section.picture for section in sections(tmp_path)] == [None]
    picture.unlink()
    picture.hardlink_to(secret)
    assert [section.picture for section in sections(tmp_path)] == [None]
    picture.unlink()
    picture.write_bytes(b"\x89PNG\r\n\x1a\nIHDR")
    assert [section.picture for section in sections(tmp_path)] == [picture.read_bytes()]
