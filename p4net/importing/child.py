"""The process that runs a script: a keeper, which leaves the network and its own user's rights
behind, and the script's own process, which it ends with all of its children.

The request is a line of JSON among the arguments. What the keeper and the script's process report
are lines of JSON, in a pipe: networks, how the script ended, how its process did.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pcn.p4net.importing import modules, networks, python2, started
from pcn.p4net.importing.record import NetworkRecord
from pcn.p4net.importing.recorder import RECORDER, EndedError

_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_MOST_FILE, _MOST_FILES, _MOST_PROCESSES = 64 * 2**20, 256, 64
_ASLEEP_S = 600.0
"""Of a network that is up: a script that sleeps longer only waits."""
_USUAL = (
    *("argparse", "copy", "csv", "datetime", "glob", "ipaddress", "logging", "math", "optparse"),
    *("random", "shutil", "socket", "string", "struct", "tempfile", "textwrap", "threading"),
    *("encodings.idna", "encodings.latin_1"),
)
"""Modules that scripts import, for a user who can't read the folder of root's Python."""
_LIBC = ctypes.CDLL(None, use_errno=True)
_OURS = str(Path(__file__).parent)


def main(request: Mapping[str, Any]) -> None:
    """Runs a script as a request has it, and reports."""
    user = request["user"]
    if user is not None and not _is_open_to_all(Path(os.__file__).parent):
        for name in _USUAL:
            importlib.import_module(name)
    reason = _isolate(user)
    if reason and not request["with_network"]:
        _report(request, kind="refused", reason=reason)
        return
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    waited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    keeper, script = os.getpid(), os.fork()
    if script == 0:
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
            _limit(request, keeper, in_user_namespace=user is None and not reason)
            code = _run(request)
        finally:
            os._exit(code)
    timed_out, deadline = False, time.monotonic() + request["seconds"]
    status: int | None = None
    while status is None:
        ended, ended_with = os.waitpid(script, os.WNOHANG)
        if ended:
            status = ended_with
            break
        left = deadline - time.monotonic()
        signalled = signal.sigtimedwait(waited, max(left, 0.0))
        if signalled is None or signalled.si_signo == signal.SIGTERM:
            timed_out = signalled is None
            break
    _end_children(script)
    code = 0 if status is None else os.waitstatus_to_exitcode(status)
    _report(request, kind="closed", timed_out=timed_out, code=code)


def _is_open_to_all(folder: Path) -> bool:
    """Returns whether every user may read what a folder has."""
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents))


def _isolate(user: list[int] | None) -> str:
    """Leaves the network, and takes a namespace of processes; returns why that isn't possible.
    Without root by a namespace of users, in which the user keeps the number."""
    spaces = _NEWNET | _NEWPID
    uid, gid = os.getuid(), os.getgid()
    if _LIBC.unshare(spaces if user is not None else spaces | _NEWUSER) != 0:
        return os.strerror(ctypes.get_errno())
    if user is None:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            Path(f"/proc/self/{name}").write_text(text, "ascii")
    return ""


def _limit(request: Mapping[str, Any], keeper: int, *, in_user_namespace: bool) -> None:
    """Takes the user's rights, none of which grow, and bounds of what a process may use."""
    if request["user"] is not None:
        uid, gid = request["user"]
        os.setgroups(request["groups"])
        os.setgid(gid)
        os.setuid(uid)
    _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() not in (keeper, 0):  # it has ended before it could take this process along
        os._exit(1)
    os.umask(0o022)
    bounds = [
        (resource.RLIMIT_CPU, request["seconds"]),
        (resource.RLIMIT_AS, request["memory"]),
        (resource.RLIMIT_FSIZE, _MOST_FILE),
        (resource.RLIMIT_NOFILE, _MOST_FILES),
        (resource.RLIMIT_CORE, 0),
    ]
    if in_user_namespace:  # elsewhere all of the user's processes count
        bounds.append((resource.RLIMIT_NPROC, _MOST_PROCESSES))
    for kind, most in bounds:
        hard = resource.getrlimit(kind)[1]
        bound = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(kind, (bound, bound))


def _end_children(script: int) -> None:
    """Kills the script's process, and what it has left behind: as a subreaper this process is the
    parent of all."""
    alive = {script}
    while True:
        for process in alive | _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return
        alive = set()


def _children() -> set[int]:
    """Returns the children of this process."""
    keeper, children = os.getpid(), set[int]()
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == keeper:
                children.add(int(place.name))
    return children


def _report(request: Mapping[str, Any], **line: Any) -> None:
    text = json.dumps(line).encode() + b"\n"
    while text:
        text = text[os.write(request["report"], text) :]


# ---- the script's own process ----


def _run(request: Mapping[str, Any]) -> int:
    """Runs the script; returns its exit code."""
    process = os.getpid()

    def report(record: NetworkRecord) -> None:
        if os.getpid() == process:  # and not one that the script has forked
            _report(request, kind="network", network=record.document())

    RECORDER.report = report
    failure = None
    try:
        _execute(Path(request["script"]), request["arguments"])
    except EndedError:
        pass
    except EOFError as error:
        # Of input() beside a network that is up, which has no one to answer
        failure = None if RECORDER.started is not None else _failure(error, request)
    except BaseException as error:  # a script may raise any
        failure = _failure(error, request)
    if os.getpid() != process:
        return 0
    RECORDER.save()
    sys.stdout.flush()
    sys.stderr.flush()
    _report(request, kind="ended", failure=failure, started=RECORDER.started is not None)
    return 0


def _execute(script: Path, arguments: list[str]) -> None:
    """Executes the script as `python SCRIPT ARGUMENTS` does, with stand-ins for what it imports.
    Modules of the current folder, which scripts have by PYTHONPATH, are found last."""
    source = script.read_bytes()
    code = compile(source, str(script), "exec", dont_inherit=True)
    modules.install()
    started.install()
    _pretend()
    module = ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    sys.argv = [str(script), *arguments]
    sys.path[:] = [str(script.absolute().parent), *sys.path, str(Path.cwd())]
    exec(code, module.__dict__)
    if not RECORDER.networks and isinstance(topos := getattr(module, "topos", None), dict):
        for topology in [*topos.values()][:1]:  # as `mn --custom` has them
            networks.Mininet(topo=topology())


def _pretend() -> None:
    """Lets a script that requires root go on, and ends one that waits."""
    os.getuid = os.geteuid = lambda: 0
    slept_s = 0.0

    def sleep(seconds: float) -> None:
        nonlocal slept_s
        slept_s += max(float(seconds), 0.001)
        if RECORDER.started is not None and slept_s > _ASLEEP_S:
            raise EndedError

    def pause() -> None:
        raise EndedError

    time.sleep = sleep  # type: ignore[assignment]
    signal.pause = pause


def _failure(error: BaseException, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns how a script failed, with the place in its files that did; None: it ended well."""
    if isinstance(error, SystemExit):
        if error.code in (None, 0, False):
            return None
        code = error.code if isinstance(error.code, int) else 1
        text = f"exit code {code}" if isinstance(error.code, int) else str(error.code)
        return {"kind": "exit", "text": text, "place": ""}
    place = request["script"]
    if isinstance(error, SyntaxError):
        place = f"{error.filename or place}:{error.lineno or 1}"
        text = error.msg
    else:
        frames = traceback.extract_tb(error.__traceback__)
        folder = str(Path(place).absolute().parent)
        near = [frame for frame in frames if frame.filename == place]
        near += [
            frame
            for frame in frames
            if frame.filename.startswith(folder + os.sep) and not frame.filename.startswith(_OURS)
        ]
        if near:
            place = f"{near[-1].filename}:{near[-1].lineno}"
        text = str(error)
    first = text.splitlines()[0] if text else ""
    return {
        "kind": "python2" if (sign := python2.sign_of(error)) else "error",
        "text": sign or f"{type(error).__name__}{': ' if first else ''}{first}",
        "module": (error.name or "") if isinstance(error, ModuleNotFoundError) else "",
        "place": place,
    }


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
