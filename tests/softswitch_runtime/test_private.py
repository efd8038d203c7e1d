"""Folders and files of this user alone: whatever the umask, another user's earlier folder, or
another user's links."""

import itertools
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from others import NOBODY, UMASKS, as_nobody, refused, shared_folder, umask

from pcn.base import owner_only
from pcn.base.owner_only import NotPrivateError
from pcn.hosts.control import ControlServer


@pytest.fixture
def shared() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.mark.parametrize("mask", UMASKS)
def test_folder_is_private_whatever_the_umask(tmp_path, mask):
    with umask(mask):
        folder = owner_only.folder(tmp_path / "home" / "cache" / "ours")
    assert folder == tmp_path / "home" / "cache" / "ours"
    assert [mode(path) for path in (folder, folder.parent, folder.parent.parent)] == [0o700] * 3


@pytest.mark.parametrize("mask", UMASKS)
def test_folders_of_results_are_never_written_by_others(tmp_path, mask):
    with umask(mask):
        os.close(owner_only.open_folder(tmp_path / "results" / "up"))
        owner_only.new_folder(tmp_path / "more" / "new")
        os.close(owner_only.new_file(tmp_path / "file"))
    for path in tmp_path.rglob("*"):
        assert mode(path) & 0o022 == 0, path


def test_folder_that_others_may_read_becomes_private(tmp_path):
    ours = tmp_path / "ours"
    ours.mkdir()
    ours.chmod(0o755)
    (ours / "kept").touch()
    owner_only.folder(ours)
    assert mode(ours) == 0o700
    assert (ours / "kept").exists()


@pytest.mark.parametrize("bits", [0o777, 0o757, 0o1777, 0o702])
def test_folder_that_others_may_write_is_refused_with_its_way_out(tmp_path, bits):
    ours = tmp_path / "ours"
    ours.mkdir()
    ours.chmod(bits)
    with pytest.raises(NotPrivateError) as refusal:
        owner_only.folder(ours)
    assert (
        refusal.value.line("else")
        == f"{ours} may be written by others (mode {bits:04o}): remove it, or else"
    )
    assert mode(ours) == bits


def test_folder_refuses_links(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    for opened in (owner_only.folder, owner_only.open_folder):
        with pytest.raises(NotPrivateError, match="link is a symbolic link"):
            opened(tmp_path / "link")


@pytest.mark.root
@pytest.mark.parametrize("is_link", [False, True])
def test_folder_below_one_that_another_user_makes_meanwhile_is_refused(
    shared: Path, tmp_path, monkeypatch, is_link
):
    """Between the check of what is above and making what is missing there."""
    base, make = shared / "missing", owner_only.make_folder

    def make_later(path: Path, mode: int = owner_only.PUBLIC):
        monkeypatch.setattr(owner_only, "make_folder", make)
        if is_link:
            base.symlink_to(tmp_path)
        else:
            base.mkdir(0o777)
        os.lchown(base, NOBODY, NOBODY)
        make(path, mode)

    monkeypatch.setattr(owner_only, "make_folder", make_later)
    message = "missing is a symbolic link" if is_link else f"{base} belongs to nobody"
    with pytest.raises(NotPrivateError, match=message):
        owner_only.folder(base / "pcn-lab")


def test_folder_is_found_through_a_link_of_this_user(tmp_path):
    (tmp_path / "large-disk").mkdir()
    (tmp_path / ".cache").symlink_to("large-disk")
    assert owner_only.folder(tmp_path / ".cache" / "ours") == tmp_path / "large-disk" / "ours"


@pytest.mark.parametrize("call", range(4))
def test_held_folder_that_is_interrupted_at_a_close_passes_the_interrupt_on(
    call, tmp_path, monkeypatch
):
    """Ctrl-C came between the close of a folder on the path and the next step: it was closed again,
    and 'Bad file descriptor' took the interrupt's place."""
    close, calls = os.close, itertools.count()

    def interrupted(descriptor: int):
        close(descriptor)
        if next(calls) == call:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt), owner_only.held(tmp_path / "a" / "b", owner_only.PUBLIC):
        pass


def test_folder_refuses_files(tmp_path):
    (tmp_path / "ours").touch()
    for opened in (owner_only.folder, owner_only.open_folder):
        with pytest.raises(NotADirectoryError):
            opened(tmp_path / "ours")


_MODES = st.integers(0, 0o1777)


@given(above=_MODES, inner=_MODES)
def test_folder_is_private_or_refused_whatever_the_modes(above, inner):
    """And accepted if no other user may write."""
    place = Path(tempfile.mkdtemp())
    ours = place / "above" / "ours"
    try:
        ours.mkdir(parents=True)
        ours.chmod(inner)
        ours.parent.chmod(above)
        try:
            owner_only.folder(ours)
        except (NotPrivateError, PermissionError):  # who isn't root can't pass some of these
            assert (above | inner) & 0o022 or os.geteuid() != 0
            ours.parent.chmod(0o700)
            assert mode(ours) == inner
        else:
            ours.parent.chmod(0o700)
            assert mode(ours) == inner & 0o700
            assert above & 0o1002 != 0o002
            assert inner & 0o002 == 0
    finally:
        ours.parent.chmod(0o700)
        ours.chmod(0o700)
        shutil.rmtree(place)


@pytest.mark.root
def test_folder_of_another_user_is_refused_with_its_owner(shared: Path):
    as_nobody(lambda: (shared / "ours").mkdir())
    for opened in (owner_only.folder, owner_only.open_folder):
        with pytest.raises(
            NotPrivateError, match=r"ours belongs to nobody \(uid 65534\), not to root \(uid 0\)"
        ):
            opened(shared / "ours")


@pytest.mark.root
def test_folder_below_another_user_s_is_refused_and_not_made(shared: Path):
    """As root's with HOME of a user: he may put another folder into its place."""
    as_nobody(lambda: (shared / "home").mkdir())
    with pytest.raises(NotPrivateError, match=r"home belongs to nobody .*, who may replace "):
        owner_only.folder(shared / "home" / ".cache" / "ours")
    assert list((shared / "home").iterdir()) == []


@pytest.mark.root
def test_folder_behind_another_user_s_link_is_judged_where_it_is(shared: Path):
    def lead():
        (shared / "theirs").mkdir()
        (shared / "link").symlink_to("theirs")

    as_nobody(lead)
    with pytest.raises(NotPrivateError, match=r"theirs belongs to nobody"):
        owner_only.folder(shared / "link" / "ours")


@pytest.mark.root
def test_file_of_an_opened_folder_stays_in_it_when_another_user_moves_it(shared: Path):
    """Root works in a folder of another user, who puts his own into the place of root's."""
    secret = shared / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    as_nobody(lambda: (shared / "theirs").mkdir())
    handle = owner_only.open_folder(shared / "theirs" / "logs")
    try:

        def replace():
            (shared / "theirs" / "logs").rename(shared / "theirs" / "away")
            (shared / "theirs" / "logs").mkdir()
            (shared / "theirs" / "logs" / "h0.log").symlink_to(secret)

        as_nobody(replace)
        os.close(owner_only.open_file("h0.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, handle))
    finally:
        os.close(handle)
    assert secret.read_text() == "root's"
    assert (shared / "theirs" / "away" / "h0.log").exists()


@pytest.mark.root
def test_new_folder_is_never_one_that_was_there(shared: Path):
    def plant():
        (shared / "logs").mkdir()
        (shared / "logs.2").symlink_to("/root")
        (shared / "logs.3").touch()

    as_nobody(plant)
    folder = owner_only.new_folder(shared / "logs")
    assert folder == shared / "logs.4"
    assert (folder.stat().st_uid, mode(folder)) == (0, 0o755)


def test_new_file_follows_no_link(tmp_path):
    (tmp_path / "secret").write_text("kept")
    (tmp_path / "link").symlink_to("secret")
    with pytest.raises(FileExistsError):
        owner_only.new_file(tmp_path / "link")
    assert (tmp_path / "secret").read_text() == "kept"


def test_read_refuses_what_another_user_may_have_written(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    assert owner_only.read(tmp_path / "file") == b"content"
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(NotPrivateError, match="link is a symbolic link"):
        owner_only.read(tmp_path / "link")
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(NotPrivateError, match="is no file"):
        owner_only.read(tmp_path / "fifo")
    (tmp_path / "file").chmod(0o666)
    with pytest.raises(NotPrivateError, match=r"may be written by others \(mode 0666\)"):
        owner_only.read(tmp_path / "file")


@pytest.mark.root
def test_read_refuses_another_user_s_file(tmp_path):
    (tmp_path / "file").touch()
    os.chown(tmp_path / "file", NOBODY, NOBODY)
    with pytest.raises(NotPrivateError, match="belongs to nobody"):
        owner_only.read(tmp_path / "file")


@pytest.mark.root
@pytest.mark.parametrize("mask", UMASKS)
def test_agent_s_socket_is_this_user_s_whatever_the_umask(shared: Path, mask):
    path = shared / "h0.sock"

    def connect():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))

    with umask(mask), ControlServer(path, lambda _request: None):
        assert os.umask(mask) == mask
        assert mode(path) == 0o600
        connect()
        assert as_nobody(lambda: refused(connect)) == "PermissionError"


@pytest.mark.root
@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_switch_s_socket_is_this_user_s_whatever_the_umask(shared: Path, mask):
    path = shared / "s0.grpc"

    def connect():
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))

    command = [
        sys.executable, "-m", "pcn.softswitch", "--no-p4", "--grpc-server-addr", f"unix:{path}",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, umask=mask) as switch:
        try:
            assert "listening" in switch.stderr.readline()
            assert mode(path) == 0o600
            connect()
            assert as_nobody(lambda: refused(connect)) == "PermissionError"
        finally:
            switch.terminate()


def test_folder_is_made_while_another_thread_makes_those_above(tmp_path, monkeypatch):
    """The other one is faster each time: a folder is missing when this one makes a folder in it,
    and there right after."""
    path, make = tmp_path / "a/b/c", Path.mkdir

    def late(folder: Path, mode: int = 0o777):
        try:
            make(folder, mode)
        except FileNotFoundError:
            subprocess.run(["mkdir", "-p", folder.parent], check=True)
            raise

    monkeypatch.setattr(Path, "mkdir", late)
    owner_only.make_folder(path)
    assert path.is_dir()


def test_folder_in_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        owner_only.make_folder(tmp_path / "gone/a/b")
