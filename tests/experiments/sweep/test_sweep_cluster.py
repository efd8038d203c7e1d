"""Sweeps by the workers of a Dask scheduler: with TLS, as docs/sweeps.md prints it, and without."""

import contextlib
import itertools
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import distributed
import needs
import psutil
import pyarrow.parquet as pq
import pytest
from sockets import Door, doors
from waiting import LIMIT_S, wait_until

from pcn.cli import run as pcn
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.run.progress import Silent
from pcn.experiments.sweep import cluster
from pcn.experiments.sweep.cluster import Tls
from pcn.experiments.sweep.executor import Means, sweep
from pcn.experiments.sweep.store import Store
from pcn.experiments.sweep.task import Task, execute

pytestmark = pytest.mark.long

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[2]
PAGE = (ROOT / "docs/sweeps.md").read_text()
(PRINTED,) = re.findall(r"^((?:    .+\n)*    dask scheduler.+\n(?:    .+\n)+)", PAGE, re.MULTILINE)
FILES = {"--tls-ca": "cert.pem", "--tls-cert": "cert.pem", "--tls-key": "key.pem"}


def task_for(name: str, **arguments) -> Task:
    return Task(f"sweep_functions:{name}", arguments, {"function": name, **arguments})


class Dask:
    """The page's scheduler on this machine, its workers, and its sweep. `tls` False: the same
    without TLS."""

    def __init__(self, folder: Path, tls: bool):
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"{'tls' if tls else 'tcp'}://127.0.0.1:{port}"
        text = PRINTED if tls else PRINTED.replace("--protocol tls", "")
        for old, new in (
            ("tls://HOST:8786", self.address),
            ("--port 8786", f"--host 127.0.0.1 --port {port}"),
            ("--nworkers 32", "--nworkers 1"),
            ("fig21 --seeds 1:1000", "dumbbell --scheme pcn --set duration=2ms --seeds 1:2"),
        ):
            assert old in text, old
            text = text.replace(old, new)
        certificate, options, scheduler, self._worker, self.sweep = (
            re.split(r" +# ", line)[0].strip() for line in text.splitlines()
        )
        self._options = options if tls else "tls="
        if tls:
            subprocess.run(certificate, shell=True, cwd=folder, check=True, capture_output=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start(scheduler)

    def need_worker(self):
        """Starts it where there is none."""
        if len(self.processes) == 1:
            self._start(self._worker)

    def kill_scheduler(self):
        self.processes[0].kill()
        self.processes[0].wait()

    def kill_workers(self):
        for process in self.processes[1:]:
            for member in (
                psutil.Process(process.pid),
                *psutil.Process(process.pid).children(recursive=True),
            ):
                member.kill()
            process.wait()
        del self.processes[1:]

    def family(self) -> list[int]:
        """Scheduler, workers, and what these have started."""
        parents = [
            psutil.Process(process.pid) for process in self.processes if process.poll() is None
        ]
        return [
            member.pid
            for parent in parents
            for member in (parent, *parent.children(recursive=True))
        ]

    def close(self):
        for pid in self.family():
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()
        for process in self.processes:
            process.wait()

    def _start(self, line: str):
        paths = os.pathsep.join([str(ROOT), str(TESTS)])
        programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {
            "PYTHONPATH": paths,
            "PATH": programs,
            "DASK_TEMPORARY_DIRECTORY": str(self.folder),
        }
        with (self.folder / "log").open("ab") as log:
            self.processes.append(
                subprocess.Popen(
                    ["sh", "-c", f"{self._options}; exec {line}"],
                    stdout=log, stderr=log, env={**os.environ, **environment}, cwd=self.folder,
                )
            )  # fmt: skip


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(cluster, "_ANSWER_S", LIMIT_S)
    monkeypatch.setattr(cluster, "_WORKERS_S", LIMIT_S)


@pytest.fixture(scope="module")
def dask(tmp_path_factory) -> Iterator[Dask]:
    """Without workers at first; the last test kills it."""
    with contextlib.closing(Dask(tmp_path_factory.mktemp("dask"), tls=False)) as scheduler:
        yield scheduler


@pytest.fixture(scope="module")
def secure(tmp_path_factory) -> Iterator[Dask]:
    needs.program("openssl", needs.OPENSSL)
    with contextlib.closing(Dask(tmp_path_factory.mktemp("secure"), tls=True)) as scheduler:
        scheduler.need_worker()
        yield scheduler


@pytest.fixture(scope="module")
def stranger(tmp_path_factory) -> Path:
    """A folder with another's key and certificate."""
    folder = tmp_path_factory.mktemp("other")
    new = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=sweeps -keyout key.pem -out "
        "cert.pem"
    )
    subprocess.run(new.split(), cwd=folder, check=True, capture_output=True)
    return folder


def said_to(door: Door, files: Tls | None, encrypted: bool) -> bytes:
    """What a listener sends before it ends the connection; Dask's ones send first, and don't."""
    with (
        contextlib.suppress(ssl.SSLError, ConnectionError),
        socket.create_connection((door.address, door.port)) as plain,
    ):
        if not encrypted:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            return plain.recv(100)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if files:
            context.load_cert_chain(files.cert, files.key)
        with context.wrap_socket(plain) as connection:
            return connection.recv(100)
    return b""


def test_cluster_with_tls_as_printed_answers_its_own_alone(
    secure: Dask, stranger: Path, monkeypatch, capsys
):
    monkeypatch.chdir(secure.folder)
    command = [*secure.sweep.split()[1:], "--out", "out"]
    code, lines = pcn(command), capsys.readouterr().err
    # 1 of 30 times with Python 3.14 and OpenSSL 3.6
    if "connection to Dask's scheduler was lost" in lines:
        code, lines = pcn(command), capsys.readouterr().err
    assert code == 0, lines
    rows = pq.read_table("out/runs.parquet").to_pylist()
    assert [(row["seed"], row["error"]) for row in rows] == [(1, ""), (2, "")]
    mine, theirs = (
        Tls(folder / "cert.pem", folder / "cert.pem", folder / "key.pem")
        for folder in (secure.folder, stranger)
    )
    open_doors = doors(secure.family())
    web = [door for door in open_doors if said_to(door, None, encrypted=False).startswith(b"HTTP/")]
    assert len(open_doors) - len(web) >= 3, "the scheduler, a worker and its nanny"
    assert {door.address for door in web} == {"127.0.0.1"}
    for door in open_doors:
        if door not in web:
            assert said_to(door, mine, encrypted=True), "Dask's greeting"
            assert not said_to(door, theirs, encrypted=True)
            assert not said_to(door, None, encrypted=True)
            assert said_to(door, None, encrypted=False)[:1] in (b"", b"\x15"), "an alert of TLS"


def test_client_refuses_a_scheduler_that_another_signed(
    secure: Dask, stranger: Path, tmp_path, monkeypatch
):
    monkeypatch.setattr(cluster, "_ANSWER_S", 1.0)
    files = Tls(stranger / "cert.pem", secure.folder / "cert.pem", secure.folder / "key.pem")
    means = Means(scheduler=secure.address, tls=files)
    with pytest.raises(ExperimentError, match="no Dask scheduler answers there"):
        sweep([task_for("square", number=1)], Store(tmp_path / "sweep"), means, Silent())


@pytest.mark.parametrize(
    ("options", "address", "message"),
    [
        (
            list(FILES)[:2],
            "tls://127.0.0.1:1",
            "--tls-ca, --tls-cert and --tls-key go together: give all three",
        ),
        (list(FILES)[2:], None, "--tls-ca, --tls-cert and --tls-key go together: give all three"),
        (list(FILES), None, "are for a --scheduler"),
        (
            list(FILES),
            "tcp://127.0.0.1:1",
            "tls://HOST:PORT, --tls-ca, --tls-cert and --tls-key go together",
        ),
        (
            [],
            "tls://127.0.0.1:1",
            "tls://HOST:PORT, --tls-ca, --tls-cert and --tls-key go together",
        ),
        (
            list(FILES),
            "tls://127.0.0.1:1",
            "--tls-ca cert.pem, --tls-cert cert.pem, --tls-key key.pem: ",
        ),
    ],
)
@pytest.mark.parametrize("command", [["sweep", "dumbbell"], ["figure", "fig19"]])
def test_command_refuses_half_of_tls(
    command, options, address, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in FILES.values():
        Path(name).write_text("no PEM")
    words = [word for option in options for word in (option, FILES[option])]
    assert (
        pcn([*command, *words, *(["--scheduler", address] if address else []), "--out", "out"]) == 1
    )
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_a_scheduler_s_workers(dask: Dask, tmp_path, monkeypatch):
    means, task = Means(scheduler=dask.address), task_for("square", number=1 / 3)
    with monkeypatch.context() as patched:
        patched.setattr(cluster, "_WORKERS_S", 1.0)
        with pytest.raises(
            ExperimentError, match=f"it has no workers. Start some: dask worker {dask.address}"
        ):
            sweep([task], Store(tmp_path / "none"), means, Silent())
    dask.need_worker()
    (done,) = sweep([task], Store(tmp_path / "one"), means, Silent())
    assert done.digest == execute(task).digest
    with monkeypatch.context() as patched:
        patched.setattr("pcn.experiments.sweep.store.version", lambda: "mine")
        with pytest.raises(ExperimentError, match="has other sources than these"):
            sweep([task], Store(tmp_path / "other"), means, Silent())


def test_workers_with_another_dask_are_refused(dask: Dask, tmp_path, monkeypatch):
    """Of another version a worker dies at the first message."""
    get_versions = distributed.Client.get_versions

    def with_another(self: distributed.Client, check: bool):
        versions = get_versions(self, check=check)
        for worker in versions["workers"].values():
            worker["packages"]["distributed"] = "2025.1.0"
        return versions

    dask.need_worker()
    monkeypatch.setattr(distributed.Client, "get_versions", with_another)
    line = (
        rf"--scheduler {dask.address}: worker tcp://.* has Dask 2025.1.0, this machine "
        rf"{distributed.__version__}: "
    )
    with pytest.raises(ExperimentError, match=line):
        sweep(
            [task_for("square", number=1)], Store(tmp_path), Means(scheduler=dask.address), Silent()
        )


def test_connection_lost_before_any_run_ends_in_one_line(dask: Dask, tmp_path, monkeypatch):
    """Where a new one is lost, too."""
    versions, resets = distributed.Client.get_versions, itertools.count(1)
    ends = cluster._QUESTIONS

    def reset(self: distributed.Client, check: bool):
        if next(resets) <= ends:
            raise distributed.comm.core.CommClosedError(
                "ConnectionResetError: [Errno 104] Connection reset by peer"
            )
        return versions(self, check=check)

    dask.need_worker()
    monkeypatch.setattr(distributed.Client, "get_versions", reset)
    task, means = task_for("square", number=3), Means(scheduler=dask.address)
    with pytest.raises(
        ExperimentError,
        match=rf"--scheduler {dask.address}: its connection was lost.*reset by peer",
    ):
        sweep([task], Store(tmp_path / "lost"), means, Silent())
    resets, ends = itertools.count(1), cluster._QUESTIONS - 1
    (done,) = sweep([task], Store(tmp_path / "sweep"), means, Silent())
    assert done.value == 9


def test_sweep_whose_workers_are_all_gone_ends_in_one_line(dask: Dask, tmp_path, monkeypatch):
    """What was over stays."""
    monkeypatch.setattr(cluster, "_GONE_S", 0.5)
    monkeypatch.setattr(cluster, "_GONE_LOOK_S", 0.1)
    place, store = tmp_path / "waits", Store(tmp_path / "lost")
    place.mkdir()
    tasks = [task_for("square", number=2), task_for("wait", place=str(place))]

    class Killing(Silent):
        def advance(self, share: float, text: str):
            wait_until(lambda: any(place.iterdir()), "the second run")
            dask.kill_workers()

    dask.need_worker()
    with pytest.raises(
        ExperimentError, match=f"all workers of {dask.address} have ended, and none came for 0.5 s"
    ):
        sweep(tasks, store, Means(scheduler=dask.address), Killing())
    assert list(store.done) == [tasks[0].identity]


def test_what_dask_gives_up_is_computed_again(dask: Dask, tmp_path):
    """As it does, now and then, with the value of a worker that ended."""

    class Disturbing(Silent):
        def advance(self, share: float, text: str):
            client = distributed.default_client()
            client.cancel([distributed.Future(key, client) for key in first & set(client.futures)])
            given_up.touch()

    dask.need_worker()
    given_up = tmp_path / "given up"
    tasks = [
        task_for("square", number=0),
        *(task_for("once", file=str(given_up), number=number) for number in range(1, 6)),
    ]
    first = {f"task-{task.identity}" for task in tasks}
    outcomes = sweep(tasks, Store(tmp_path / "sweep"), Means(scheduler=dask.address), Disturbing())
    assert [done.value for done in outcomes] == [0, 1, 4, 9, 16, 25]


def test_a_scheduler_that_is_gone(dask: Dask, tmp_path):
    """What was over stays, what was under way is no failed run."""
    place, store = tmp_path / "waits", Store(tmp_path / "lost")
    place.mkdir()
    tasks = [task_for("square", number=2), task_for("wait", place=str(place))]

    class Killing(Silent):
        def advance(self, share: float, text: str):
            wait_until(lambda: any(place.iterdir()), "the second run")
            dask.kill_scheduler()

    dask.need_worker()
    with pytest.raises(ExperimentError, match="the connection to Dask's scheduler was lost"):
        sweep(tasks, store, Means(scheduler=dask.address), Killing())
    assert list(store.done) == [tasks[0].identity]


def test_where_no_scheduler_is(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_ANSWER_S", 1.0)
    for address in ("tcp://127.0.0.1:1", "nonsense://1"):
        with pytest.raises(
            ExperimentError, match=f"--scheduler {address}: no Dask scheduler answers there"
        ):
            sweep([task_for("die")], Store(tmp_path), Means(scheduler=address), Silent())
