"""The board on which nodes report whether they keep pace."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from softswitch import pace
from softswitch.errors import StartError
from softswitch.pace import Board, Pace, Window


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """In shared memory, as the real one."""
    path = Path(f"/dev/shm/pcn-lab-test-{os.getpid()}-{tmp_path.name}")
    yield path
    path.unlink(missing_ok=True)


def test_readers_see_what_nodes_write(path: Path) -> None:
    board = Board.open(path)
    slot, other = board.claim(7, 4_000_000), board.claim(8, 5)
    board.write(slot, frames=100, late=50)
    first, second = Board.open(path).read()
    assert (first.pid, first.number, first.tolerance_ns, first.frames, first.late) == (
        os.getpid(),
        7,
        4_000_000,
        100,
        50,
    )
    assert (second.number, second.frames, second.sent_ppm) == (8, 0, pace.MILLION)
    board.release(slot)
    assert [one.number for one in board.read()] == [8]
    assert board.claim(9, 1) == slot != other
    assert [(one.number, one.frames) for one in board.read()] == [(9, 0), (8, 0)]


def test_slot_of_dead_process_is_free(path: Path) -> None:
    board = Board.open(path)
    code = "import sys; from softswitch.pace import Board; Board.open(sys.argv[1]).claim(1, 1)"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=60)
    assert [one.pid == os.getpid() for one in board.read()] == [False]
    assert board.claim(2, 1) == 0
    assert [one.number for one in board.read()] == [2]


def test_full_board_refuses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "SLOTS", 3)
    board = Board.open(path)
    for number in range(3):
        board.claim(number, 1)
    with pytest.raises(StartError, match="3 nodes report their pace already"):
        board.claim(3, 1)


def test_board_of_another_user_or_through_a_link_is_refused(path: Path, tmp_path: Path) -> None:
    """Another user who made it first could cut it short under a switch."""
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StartError, match="remove it"):
        Board.open(path)
    assert not (tmp_path / "elsewhere").exists()
    path.unlink()
    if os.geteuid() == 0:
        path.touch()
        os.chown(path, 65534, 65534)
        with pytest.raises(StartError, match="another user's"):
            Board.open(path)


def _pace(**fields: int) -> Pace:
    return Pace(**{**dict.fromkeys(Pace._fields, 0), "due_ns": pace.NEVER, **fields})


def test_node_that_sleeps_keeps_pace_and_one_that_is_kept_from_running_does_not() -> None:
    now = 10**12
    assert _pace(behind_since_ns=now - 9, updated_ns=now - 1).behind_ns(now) == now - 9
    assert _pace(behind_since_ns=now - 9 * pace.WINDOW_NS, updated_ns=now - pace.FRESH_NS).behind_ns(now) == 0
    due = now - pace.WINDOW_NS - 1
    assert _pace(updated_ns=now - pace.FRESH_NS, due_ns=due).behind_ns(now) == due
    assert _pace(updated_ns=now, due_ns=due, tolerance_ns=2 * pace.WINDOW_NS).behind_ns(now) == 0
    assert _pace(updated_ns=now, due_ns=due + 1).behind_ns(now) == 0


def test_window_counts_what_is_new_and_decides(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [10**12]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    board = Board.open(path)
    window = Window(board, 1000)

    def after(frames: int, late: int, share: float = 1.0) -> Pace:
        assert not window.update(frames, late, 0, share, 0.95)
        clock[0] += pace.WINDOW_NS
        assert window.update(frames, late, 77, share, 0.95)
        (one,) = board.read()
        return one

    assert after(1000, 50)[8:11] == (1000, 50, 77)
    assert after(2000, 100).behind_ns(clock[0]) == 0
    began = clock[0]
    assert after(3000, 151).behind_ns(clock[0]) == began
    assert after(3009, 160).behind_ns(clock[0]) == 0  # too few to decide
    assert after(3009, 160, 0.94).behind_ns(clock[0]) == clock[0] - pace.WINDOW_NS
    window.close()
    assert board.read() == []
