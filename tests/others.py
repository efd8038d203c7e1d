"""Another user of the machine, in tests that run as root: a child process without root's rights
tries things."""

import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NOBODY = 65534
UMASKS = (0o000, 0o002, 0o022, 0o077)


def in_child(work: Callable[[], Any]):
    """What `work` returns, as JSON carries it, in a child process that may change its user, its
    umask or its limits.

    The child has what the parent has imported: another user may not be able to read Python's
    files."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = {"result": work()}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        with os.fdopen(write, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child, 0)
    answer = json.loads(text)
    assert "result" in answer, answer.get("error")
    return answer["result"]


def as_nobody(work: Callable[[], Any]):
    """The same, as an unprivileged user, who has no group of ours."""

    def inside():
        os.umask(0)
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return work()

    return in_child(inside)


def refused(work: Callable[[], object]) -> str:
    """The name of the OSError by which the system refuses it; empty if it doesn't."""
    try:
        work()
    except OSError as error:
        return type(error).__name__
    return ""


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder where every user may make files of his own, as /tmp is; pytest's own aren't open to
    others."""
    path = Path(tempfile.mkdtemp(prefix="pcn-shared-"))
    path.chmod(0o1777)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
