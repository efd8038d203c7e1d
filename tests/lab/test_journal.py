"""/run/pcn-lab: this user's alone; names that one process holds; records and pids that are judged
before they are obeyed."""

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from others import NOBODY, UMASKS, as_nobody, refused, shared_folder, umask
from waiting import LIMIT_S

from pcn import cli
from pcn.base.errors import LabError
from pcn.lab import journal as records
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.serialise import to_dict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shared() -> Iterator[Path]:
    with shared_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def run_dir(shared: Path, monkeypatch) -> Path:
    monkeypatch.setattr(records, "RUN_DIR", shared / "run")
    return shared / "run"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def record(name: str, *nodes: records.NodeRecord, owner: int | None = None) -> records.Record:
    return records.Record(
        name=name,
        owner=records.Process.of(owner or os.getpid()),
        topology=to_dict(dumbbell(pairs=1)), target="softswitch", dilation=400.0, scheme="pcn",
        program="pcn", log_dir="/nowhere", nodes={node.name: node for node in nodes},
    )  # fmt: skip


@contextlib.contextmanager
def sleeper(user: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its end, of this user or of another one."""
    command = ["sh", "-c", "echo; exec sleep 3600"]
    with subprocess.Popen(command, user=user, stdout=subprocess.PIPE, cwd="/") as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def test_record_of_another_version_may_have_more(run_dir: Path):
    with records.owned("net") as directory:
        record("net").save()
        path = directory / "record.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "later": 1}))
        assert records.load("net") == record("net")


@pytest.mark.parametrize("mask", UMASKS)
def test_network_s_folder_and_record_are_private_whatever_the_umask(run_dir: Path, mask):
    with umask(mask), records.owned("net") as directory:
        record("net").save()
        assert (mode(run_dir), mode(directory)) == (0o700, 0o700)
        assert mode(directory / "record.json") & 0o022 == 0
        assert mode(run_dir / "net.lock") & 0o077 == 0
        assert records.load("net") == record("net")
    assert list(run_dir.iterdir()) == []


def test_run_dir_of_an_older_version_becomes_private(run_dir: Path):
    run_dir.mkdir()
    run_dir.chmod(0o755)
    with records.owned("net"):
        assert mode(run_dir) == 0o700


def test_run_dir_that_others_may_write_is_refused(run_dir: Path):
    run_dir.mkdir()
    run_dir.chmod(0o777)
    with (
        pytest.raises(records.RunDirError, match=r"run may be written by others \(mode 0777\)"),
        records.owned("net"),
    ):
        pass
    assert list(run_dir.iterdir()) == []


@pytest.mark.root
def test_run_dir_of_another_user_is_refused(run_dir: Path):
    as_nobody(run_dir.mkdir)
    with pytest.raises(records.RunDirError, match=r"run belongs to nobody"), records.owned("net"):
        pass


def test_one_of_three_processes_gets_the_name(run_dir: Path):
    """All try at once, and hold what they got until all have tried."""
    script = """
import sys
from pathlib import Path
from pcn.lab import journal as records
records.RUN_DIR = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
try:
    with records.owned("net"):
        print("got it", flush=True)
        sys.stdin.readline()
except records.NameInUseError:
    print("in use", flush=True)
"""
    command = [sys.executable, "-c", script, str(run_dir)]
    with contextlib.ExitStack() as stack:
        tries = [
            stack.enter_context(
                subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
                )
            )
            for _ in range(3)
        ]
        answers = []
        for step in range(2):
            for attempt in tries:
                if step:
                    attempt.stdin.write("\n")
                    attempt.stdin.flush()
            for attempt in tries:
                answers.append(attempt.stdout.readline().strip())
        for attempt in tries:
            attempt.communicate("\n", timeout=LIMIT_S)
    assert answers[:3] == ["ready"] * 3
    assert sorted(answers[3:]) == ["got it", "in use", "in use"]
    assert list(run_dir.iterdir()) == []


def test_record_has_what_was_noted_of_nodes_since_it_was_saved(run_dir: Path):
    """Also while a line is half written: of every prefix the whole lines count."""
    shell, program = records.Process(2, 3), records.Process(4, 5)
    with records.owned("net") as directory:
        net = record("net", records.NodeRecord("h0", shell))
        net.save()
        path = directory / "record.json"
        saved = path.read_bytes()
        net.note(records.NodeRecord("h1", shell, ["h1-eth0"]))
        net.note(records.NodeRecord("h0", shell, ["h0-eth0"], program, "/h0.sock", "/h0.log"))
        assert path.read_bytes().startswith(saved)  # a node more costs a line
        assert records.load("net") == net
        whole = path.read_bytes()
        for length in range(len(saved), len(whole)):
            path.write_bytes(whole[:length])
            loaded = records.load("net")
            assert loaded.nodes["h0"] == records.NodeRecord("h0", shell)
            assert ("h1" in loaded.nodes) == (whole[:length].count(b"\n") == 2)
        path.write_bytes(whole)
        net.save()
        assert records.load("net") == net
        assert path.read_bytes().count(b"\n") == 1


@pytest.mark.root
@pytest.mark.parametrize("spoil", ["owner", "mode", "link"])
def test_record_that_another_user_may_have_written_is_not_obeyed(run_dir: Path, spoil):
    run_dir.mkdir(0o700)
    with sleeper() as victim:
        net = record("net", records.NodeRecord("h0", records.Process.of(victim.pid)))
        net.directory.mkdir()
        net.save()
        path = net.directory / "record.json"
        if spoil == "owner":
            os.chown(path, NOBODY, NOBODY)
        elif spoil == "mode":
            path.chmod(0o666)
        else:
            path.rename(path.with_suffix(".theirs"))
            path.symlink_to(path.with_suffix(".theirs"))
        with pytest.raises(
            records.RunDirError, match=f"{path} (belongs to|may be written by|is a symbolic link)"
        ):
            records.load("net")
        assert records.remove_leftovers("net") == [str(net.directory)]
        assert records.Process.of(victim.pid).alive()
        assert victim.poll() is None


@pytest.mark.root
def test_process_of_another_user_gets_no_signal(run_dir: Path):
    run_dir.mkdir(0o700)
    with sleeper(user=NOBODY) as theirs, sleeper() as ours:
        processes = [records.Process.of(theirs.pid), records.Process.of(ours.pid)]
        for process in processes:
            process.send(signal.SIGKILL)
        assert ours.wait(LIMIT_S) == -signal.SIGKILL
        assert theirs.poll() is None
        assert [process.alive() for process in processes] == [True, False]


def test_process_with_a_pid_of_an_ended_one_gets_no_signal():
    with sleeper() as process:
        started = records.Process.of(process.pid).started
        records.Process(process.pid, started - 1).send(signal.SIGKILL)
        assert process.poll() is None


@pytest.mark.root
@pytest.mark.parametrize(
    "command", [["status"], ["down"], ["down", "net"], ["watch", "--once"], ["flow", "list"]]
)
def test_another_user_gets_one_line(command, run_dir: Path, monkeypatch, capfd):
    monkeypatch.setenv("XDG_CACHE_HOME", str(run_dir.parent))
    cli.run(command)  # imports what the command needs: nobody can't
    (run_dir.parent / "theirs").mkdir()
    os.chown(run_dir.parent / "theirs", NOBODY, NOBODY)
    monkeypatch.setenv("XDG_CACHE_HOME", str(run_dir.parent / "theirs"))
    with records.owned("net"):
        record("net").save()
        capfd.readouterr()
        assert as_nobody(lambda: cli.run(command)) == 1
    output = capfd.readouterr()
    assert output.out == ""
    assert output.err == (
        f"pcn: {run_dir}: networks are root's, and this user can't see them: use `sudo "
        '"$(which pcn)"`\n'
    )


@pytest.mark.root
def test_another_user_reaches_nothing_of_a_network(run_dir: Path):
    with umask(0), records.owned("net") as directory:
        record("net").save()
        path = directory / "h0.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            path.chmod(0o777)
            listener.listen()

            def tries() -> list[str]:
                with socket.socket(socket.AF_UNIX) as client:
                    return [
                        refused(lambda: client.connect(str(path))),
                        refused((directory / "record.json").read_bytes),
                        refused((directory / "record.json").unlink),
                        refused(lambda: os.open(run_dir / "net.lock", os.O_RDONLY)),
                        refused(lambda: list(run_dir.iterdir())),
                    ]

            assert as_nobody(tries) == ["PermissionError"] * 5


def test_claim_is_one_process_s_and_leaves_nothing(run_dir: Path):
    taken = LabError("taken")
    with records.claimed("host.1.eth2", lambda: taken):
        with pytest.raises(LabError, match="taken"), records.claimed("host.1.eth2", lambda: taken):
            pass
        with records.claimed("host.1.eth3", lambda: taken):
            pass
        assert records.names() == []
    assert list(run_dir.iterdir()) == []


FULL = """
import os, sys
from pathlib import Path
from pcn.lab import journal as records
records.RUN_DIR = Path(sys.argv[1]) / "run"
records.RUN_DIR.mkdir(0o700)
with open(records.RUN_DIR.parent / "filling", "wb", buffering=0) as filling:
    while True:
        try:
            filling.write(bytes(4096))
        except OSError:
            break
try:
    with records.owned("net"):
        records.Record("net", records.Process.of(os.getpid()), {}, "softswitch", 400.0, "pcn", "pcn", "/x").save()
    print("there was room")
except records.RunDirError as error:
    print(error)
print(*records.RUN_DIR.iterdir())
"""  # noqa: E501


@pytest.mark.root
def test_full_run_is_one_line_and_nothing_is_left(tmp_path):
    """In a separate mount namespace."""
    mounting = 'mount -t tmpfs -o mode=700,size=64k tmpfs "$0" && exec "$@"'
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c", mounting, str(tmp_path)]
    done = subprocess.run(
        [*command, sys.executable, "-c", FULL, str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    record_json = tmp_path / "run" / "net" / "record.json"
    assert done.stdout == f"can't write {record_json}: No space left on device\n\n"
