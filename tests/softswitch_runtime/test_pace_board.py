"""The board on which nodes report whether they keep pace."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pcn.base import owner_only
from pcn.softswitch import pace
from pcn.softswitch.errors import StartError
from pcn.softswitch.pace import Board, Pace, Place, Window


def test_readers_see_what_nodes_write():
    board = Board.make(2, 85)
    board.begin(0, 4_000_000)
    board.begin(1, 5)
    board.write(0, frames=100, late=50)
    first, second = Board.open(board.path).read()
    assert (first.tolerance_ns, first.frames, first.late) == (4_000_000, 100, 50)
    assert (second.tolerance_ns, second.frames, second.sent_ppm) == (5, 0, pace.MILLION)
    board.begin(0, 7)
    assert board.read()[0].frames == 0
    with pytest.raises(StartError, match="2 slots, from 0: no slot 2"):
        board.begin(2, 1)


def test_node_in_another_process_writes_its_place():
    board = Board.make(3, 85)
    code = (
        "import sys; from pcn.softswitch.pace import Place, Window; "
        "Window(Place.parse(sys.argv[1]), 9)"
    )
    subprocess.run([sys.executable, "-c", code, board.place(2)], check=True, timeout=60)
    assert [node_pace.tolerance_ns for node_pace in board.read()] == [0, 0, 9]


def test_board_lasts_as_long_as_it_is_open():
    board = Board.make(1, 85)
    reader = Board.open(board.path)
    path = board.path
    board.close()
    with pytest.raises(StartError, match=r"no board of nodes that keep pace: .*No such file"):
        Board.open(path)
    reader.begin(0, 8)
    assert board.read()[0].tolerance_ns == 8


def test_board_of_another_user_is_refused():
    board = Board.make(1, 85)
    assert stat.S_IMODE(board.path.stat().st_mode) == 0o600
    if os.geteuid() == 0:
        os.chown(board.path, 65534, 65534)
        with pytest.raises(StartError, match="belongs to"):
            Board.open(board.path)


def test_file_that_another_process_could_truncate_is_no_board(tmp_path):
    """A switch that has it mapped would end."""
    (tmp_path / "file").write_bytes(bytes(4096))
    with pytest.raises(StartError, match="is no memory of a fixed size"):
        Board.open(tmp_path / "file")
    board = Board.make(1, 85)
    with pytest.raises(PermissionError):
        os.truncate(board.path, 0)


@pytest.mark.parametrize("size", [0, 128, 300])
def test_memory_without_whole_slots_is_no_board(size):
    handle = owner_only.memory("test", size)
    try:
        with pytest.raises(StartError, match=f"can't have {size} bytes"):
            Board.open(Path(f"/proc/self/fd/{handle}"))
    finally:
        os.close(handle)


@pytest.mark.parametrize("text", ["", "/a", "a:1", "/a:", "/a:x", "/a:-1", ":1", "/a:1234567890"])
def test_place_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="write FILE:SLOT"):
        Place.parse(text)


def _pace(**fields: int) -> Pace:
    return Pace(**{**dict.fromkeys(Pace._fields, 0), "due_ns": pace.NEVER, **fields})


def test_node_that_sleeps_keeps_pace_and_one_that_is_kept_from_running_does_not():
    now = 10**12
    assert _pace(behind_since_ns=now - 9, updated_ns=now - 1).behind_ns(now) == now - 9
    assert (
        _pace(behind_since_ns=now - 9 * pace.WINDOW_NS, updated_ns=now - pace.FRESH_NS).behind_ns(
            now
        )
        == 0
    )
    due = now - pace.WINDOW_NS - 1
    assert _pace(updated_ns=now - pace.FRESH_NS, due_ns=due).behind_ns(now) == due
    assert _pace(updated_ns=now, due_ns=due, tolerance_ns=2 * pace.WINDOW_NS).behind_ns(now) == 0
    assert _pace(updated_ns=now, due_ns=due + 1).behind_ns(now) == 0


def test_window_counts_what_is_new_and_decides(monkeypatch):
    clock = [10**12]
    monkeypatch.setattr(time, "monotonic_ns", lambda: clock[0])
    board = Board.make(1, 85)
    window = Window(Place.parse(board.place(0)), 1000)

    def after(frames: int, late: int, share: float = 1.0) -> Pace:
        assert not window.update(frames, late, 0, share, 0.95)
        clock[0] += pace.WINDOW_NS
        assert window.update(frames, late, 77, share, 0.95)
        (node_pace,) = board.read()
        return node_pace

    measured = after(1000, 50)
    assert (measured.frames, measured.late, measured.worst_ns) == (1000, 50, 77)
    assert after(2000, 100).behind_ns(clock[0]) == 0
    began = clock[0]
    assert after(3000, 151).behind_ns(clock[0]) == began
    assert after(3009, 160).behind_ns(clock[0]) == 0  # too few to decide
    assert after(3009, 160, 0.94).behind_ns(clock[0]) == clock[0] - pace.WINDOW_NS
    window.close()
    assert board.read()[0].behind_ns(clock[0]) == 0
    assert board.read()[0].due_ns == pace.NEVER


def test_nodes_share_what_one_of_them_computed_for_half_a_window():
    """Else each of n nodes reads n slots twice a second."""
    board = Board.make(2, 85)
    now = 10**12
    cores = os.cpu_count() or 1
    board.write(0, updated_ns=now, window_ns=1000, cpu_ns=1000 * cores // 2)
    assert board.shared_percent(now) == (50, False)
    board.write(1, updated_ns=now, window_ns=1000, cpu_ns=1000 * cores // 4, behind_since_ns=1)
    reader = Board.open(board.path)
    assert reader.shared_percent(now + pace.WINDOW_NS // 2 - 1) == (50, False)
    assert reader.shared_percent(now + pace.WINDOW_NS // 2) == (75, True)
    assert board.shared_percent(now + pace.WINDOW_NS // 2 + 1) == (75, True)
