"""A task of a sweep: a function by name with its arguments, in JSON's terms. Any process carries it
out alone."""

from __future__ import annotations

import hashlib
import importlib
import json
import resource
import socket
import time
import traceback
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pcn.base.errors import LabError


@dataclass(frozen=True)
class Task:
    """`function` is "module:name", called with `arguments` and `limits`; it returns a JSON value.
    `keys` distinguish a task from others of its sweep. `limits` don't change what comes out, but
    whether something does."""

    function: str
    arguments: Mapping[str, Any]
    keys: Mapping[str, Any]
    limits: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def identity(self) -> str:
        """Equal for equal tasks, in whichever process."""
        return digest([self.function, dict(self.arguments), dict(self.keys)])[:24]

    @property
    def label(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.keys.items())


@dataclass(frozen=True)
class Done:
    """A task that is over: its value, or why it has none."""

    identity: str
    value: Any = None
    error: str = ""
    """Empty: it went well."""
    traceback: str = ""
    digest: str = ""
    """Of the value: equal wherever it was run."""
    host: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    max_rss_bytes: int = 0
    """The most that the process has had, over all its tasks so far."""


Ends = Generator[tuple[Task, Done], None, None]
"""Tasks that are carried out: each with its end, as they end."""


def execute(task: Task) -> Done:
    """Carries a task out here. An exception of the task is its result; what ends a process goes
    through."""
    wall_s, cpu_s = time.monotonic(), time.process_time()
    value, error, trace = None, "", ""
    try:
        module, _, name = task.function.partition(":")
        returned = getattr(importlib.import_module(module), name)(**task.arguments, **task.limits)
        value = json.loads(json.dumps(returned, allow_nan=False))  # as it comes back from a file
    except Exception as exception:
        error = (
            str(exception)
            if isinstance(exception, LabError)
            else f"{type(exception).__name__}: {exception}"
        )
        trace = traceback.format_exc()
    return Done(
        task.identity,
        value,
        error,
        trace,
        "" if error else digest(value),
        socket.gethostname(),
        time.monotonic() - wall_s,
        time.process_time() - cpu_s,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def digest(value: Any) -> str:
    """Returns a value's, of JSON's terms. Raises ValueError for others."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()
