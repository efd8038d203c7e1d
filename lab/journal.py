"""What a network made on this machine, written down as it is made: so that `pcn down` removes that,
and only that.

A network of the name N has /run/pcn-lab/N.lock, locked while its process lives, and /run/pcn-lab/N/
with `record.json` and its sockets. The record is a line of JSON, and one more for each node that
was noted since: a network of hundreds doesn't write all of them for each. Namespaces and veths
belong to the processes in them and go with these, so processes are what is noted.

/run/pcn-lab is this user's alone (`pcn.base.owner_only`), whatever the umask: who opens a socket
commands an agent or a switch, and `pcn down` signals what a record names. A record that another
user may have written is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pcn.base import owner_only
from pcn.base.errors import NO_ROOM, LabError

DELAY_BY_NOBODY = "none"  # of a network by Mininet's command with BMv2
NO_SCHEME = "-"  # of a network of any P4 programs
BY_MININET = "mn"  # a network of Mininet's own command: its hosts are the kernel's, no agent runs
INSIDE = "inside"  # the target of a network whose nodes are all inside one engine
RUN_DIR = Path("/run/pcn-lab")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}\Z")


class NameInUseError(LabError):
    """A network of this name, or an interface that it needs, is there already."""


class NetworkNameError(LabError):
    """A network can't have this name."""


class RunDirError(LabError):
    """/run/pcn-lab, or something in it, can't be read or written by this user, or may be another
    user's work."""


@dataclass(frozen=True)
class Process:
    """A process, distinguished from later ones of the same pid by its start time (clock ticks since
    boot)."""

    pid: int
    started: int

    @staticmethod
    def of(pid: int) -> Process:
        return Process(pid, _start_time(pid) or 0)

    def alive(self) -> bool:
        return _start_time(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        """Sends a signal, except if the process has ended (also if another has its pid by now), or
        is another user's."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            handle = os.pidfd_open(self.pid)
            try:
                if self.alive() and Path(f"/proc/{self.pid}").stat().st_uid == os.geteuid():
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)


@dataclass
class NodeRecord:
    """One node of a running network. `shell` holds its namespace; `process` is the switch or the
    agent, None of a host that the kernel speaks for."""

    name: str
    shell: Process
    interfaces: list[str] = field(default_factory=list)
    process: Process | None = None
    control: str = ""  # a switch's P4Runtime address, an agent's control socket
    log: str = ""


@dataclass
class Record:
    """A running network as other processes see it. Rates and times are nominal."""

    name: str
    owner: Process
    topology: dict[str, Any]  # pcn.topologies.serialise
    target: str
    dilation: float
    scheme: str
    program: str
    log_dir: str
    role: str = "run"  # "up": held for `pcn down`; BY_MININET
    state: str = "starting"  # or "up"
    # a dilation at which all hosts may send at line rate (pcn.lab.calibrate); 0: not measured
    enough_k: float = 0.0
    board: str = ""  # where its nodes report whether they keep pace (pcn.lab.pace)
    # the scheme's marking points (pcn.controller.marking)
    marking: list[str] = field(default_factory=list)
    features: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, NodeRecord] = field(default_factory=dict)

    @property
    def has_scheme(self) -> bool:
        return self.scheme != NO_SCHEME

    @property
    def is_inside(self) -> bool:
        """Whether its nodes are inside one engine: none has a namespace or an interface."""
        return self.target == INSIDE

    @property
    def description(self) -> str:
        """What runs in it, for a title; of a network without a scheme its programs."""
        scheme = f"{self.scheme}, {self.target}, k = {self.dilation:g}"
        return scheme if self.has_scheme else self.program

    @property
    def directory(self) -> Path:
        return directory(self.name)

    def save(self) -> None:
        """Raises RunDirError."""
        path = self.directory / "record.json"
        scratch = path.with_suffix(".new")
        with _reached(path):
            scratch.unlink(missing_ok=True)
            with os.fdopen(owner_only.new_file(scratch), "w", encoding="utf-8") as file:
                file.write(json.dumps(vars(self), default=vars) + "\n")
            scratch.replace(path)

    def note(self, node: NodeRecord) -> None:
        """Adds a node to what `save` wrote, or what has changed of it. Raises RunDirError."""
        self.nodes[node.name] = node
        path = self.directory / "record.json"
        with _reached(path), os.fdopen(owner_only.append_to(path), "w", encoding="utf-8") as file:
            file.write(json.dumps(node, default=vars) + "\n")

    def processes(self) -> list[Process]:
        """Returns what was started, the inner ones first."""
        inner = [node.process for node in self.nodes.values() if node.process]
        return inner + [node.shell for node in self.nodes.values()]


def directory(name: str) -> Path:
    """Returns where the network's record and sockets are. Raises NetworkNameError for a name that
    can't be one."""
    if not _NAME.match(name):
        raise NetworkNameError(
            f"network name {name!r}: up to 32 lower-case letters, digits, - and _, a letter first"
        )
    return RUN_DIR / name


def load(name: str) -> Record | None:
    """Returns the record of a network, whether it still runs or not; None if there is none. Raises
    RunDirError."""
    path = directory(name) / "record.json"
    try:
        with _reached(path):
            first, *others = owner_only.read(path).splitlines(keepends=True) or [b""]
        raw = json.loads(first)
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    # the last one may be half written
    noted = [json.loads(line) for line in others if line.endswith(b"\n")]
    nodes = {
        node["name"]: NodeRecord(
            **{
                **node,
                "shell": Process(**node["shell"]),
                "process": node["process"] and Process(**node["process"]),
            }
        )
        for node in (*raw.pop("nodes").values(), *noted)
    }
    known = {
        field.name for field in fields(Record)
    }  # another version of this package may have more
    ours = {name: value for name, value in raw.items() if name in known}
    return Record(**{**ours, "owner": Process(**raw["owner"]), "nodes": nodes})


def names() -> list[str]:
    """Returns the names of the networks that have left a trace, running or not. Raises
    RunDirError."""
    try:
        with _reached(RUN_DIR):
            return sorted(path.name for path in RUN_DIR.iterdir() if path.is_dir())
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def owned(name: str) -> Iterator[Path]:
    """Holds the name: its directory, empty at first, is ours and gone afterwards. Leftovers of a
    dead run are removed.

    Raises NameInUseError when another process holds it, RunDirError.
    """
    path = directory(name)
    with _locked(name):
        _remove(name)
        with _reached(path):
            path.mkdir(mode=owner_only.PRIVATE)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def claimed(name: str, taken: Callable[[], LabError]) -> Iterator[None]:
    """Holds a name in /run/pcn-lab, a network's or another one, for one process at a time. Raises
    `taken` when another process holds it, RunDirError."""
    path = RUN_DIR / f"{name}.lock"
    with _reached(path):
        owner_only.folder(RUN_DIR)
    with _lock(path, taken):
        yield


def remove_leftovers(name: str) -> list[str]:
    """Removes the remains of a dead run, and returns their names. Raises NameInUseError when the
    run isn't dead."""
    if not RUN_DIR.is_dir():
        return []
    with _locked(name):
        return _remove(name)


def is_held(name: str) -> bool:
    """Returns whether a process holds the network. Raises RunDirError."""
    try:
        with _lock(RUN_DIR / f"{name}.lock", lambda: NameInUseError(name), create=False):
            return False
    except FileNotFoundError:
        return False
    except NameInUseError:
        return True


def free_name(name: str) -> str:
    """Returns `name`, or the first of NAME-2, NAME-3, ... that no process holds."""
    return next(
        candidate
        for number in itertools.count(1)
        if not is_held(candidate := name if number == 1 else f"{name}-{number}")
    )


def _locked(name: str) -> contextlib.AbstractContextManager[None]:
    return claimed(name, lambda: NameInUseError(in_use_message(name)))


@contextlib.contextmanager
def _lock(path: Path, taken: Callable[[], LabError], create: bool = True) -> Iterator[None]:
    while True:
        with _reached(path):
            handle = os.open(
                path,
                (os.O_CREAT if create else 0) | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise taken() from None
        # Somebody may have removed the file between open and lock: then this lock locks nothing.
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                break
        except FileNotFoundError:
            pass
        os.close(handle)
    try:
        yield
    finally:
        if create:
            path.unlink(missing_ok=True)
        os.close(handle)


@contextlib.contextmanager
def _reached(path: Path) -> Iterator[None]:
    """Raises what prevents the block from reading or writing `path` as RunDirError, with the way
    out."""
    try:
        yield
    except owner_only.NotPrivateError as error:
        raise RunDirError(
            f"{error}: {'remove it' if error.removable else 'root has to mend that'}"
        ) from None
    except PermissionError:
        raise RunDirError(
            f"{path}: networks are root's, and this user can't see them: use `sudo \"$(which "
            'pcn)"`'
        ) from None
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise RunDirError(f"can't write {path}: {os.strerror(error.errno or 0)}") from None


def in_use_message(name: str) -> str:
    record = _obeyed(name)
    owner = f" (process {record.owner.pid})" if record else ""
    way_out = (
        f"`pcn down {name}` ends it"
        if record is None or record.role == "up"
        else "wait for its end, or end it"
    )
    return (
        f"a network named {name} is running already{owner}: {way_out}, or give this one another "
        "name"
    )


def _obeyed(name: str) -> Record | None:
    """Returns the record of a network, if it is there and only this user can have written it."""
    try:
        return load(name)
    except RunDirError:
        return None


def _remove(name: str) -> list[str]:
    record = _obeyed(name)
    removed: list[str] = []
    if record:
        removed = [f"process {process.pid}" for process in record.processes() if process.alive()]
        end_processes(record.processes())
    if directory(name).is_dir():
        shutil.rmtree(directory(name))
        removed.append(str(directory(name)))
    return removed


def end_processes(processes: list[Process], grace_s: float = 2.0) -> None:
    """SIGTERM, SIGKILL after the grace; waits until all are gone. A pid that another process has by
    now is skipped."""
    for number, limit in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        left = [process for process in processes if process.alive()]
        for process in left:
            process.send(number)
        wait_gone(left, limit)


def wait_gone(processes: list[Process], limit_s: float) -> None:
    """Waits until the processes have ended, or the limit has passed."""
    end = time.monotonic() + limit_s
    for process in processes:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        try:
            # A leader may be a zombie while threads of its process still hold files and locks.
            if _start_time(process.pid) in (process.started, None):
                _poll_readable(handle, max(0.0, end - time.monotonic()))
        finally:
            os.close(handle)


def _poll_readable(handle: int, limit_s: float) -> None:
    import select

    poller = select.poll()
    poller.register(handle, select.POLLIN)
    poller.poll(limit_s * 1000)


def _start_time(pid: int) -> int | None:
    """Returns the start; None when there is no such process, or only its zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])
