"""The memory that a process may still take, and work that needs more than that: refused before it
takes any."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pcn.base import mpirun
from pcn.base.errors import LabError

_GB, _MB = 1e9, 1e6
_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
_GIVEN_BACK = ("active_file", "inactive_file", "slab_reclaimable")
"""What a control group has that the kernel takes back when memory is needed: pages of files that
were read, and what is known of them."""


class Need(NamedTuple):
    """What takes memory, and how much, in bytes."""

    part: str
    size: float


class MemoryShortError(LabError):
    """The memory that something needs is missing."""


def total(needs: Sequence[Need]) -> float:
    """Returns the bytes of all together."""
    return sum(need.size for need in needs)


def size_text(size: float) -> str:
    """Returns bytes as people read them: 3.1 GB, 250 MB."""
    return f"{size / _GB:.1f} GB" if size >= _GB else f"{max(size / _MB, 1):.0f} MB"


def require(whose: str, needs: Sequence[Need], way_out: str) -> None:
    """Raises MemoryShortError where the needs are more than what is available. `whose`: what needs
    them, as the message begins."""
    available = available_bytes()
    if available is None or total(needs) <= available:
        return
    parts = ", ".join(f"{need.part} {size_text(need.size)}" for need in needs)
    raise MemoryShortError(
        f"{whose}: some {size_text(total(needs))} of memory are needed ({parts}), and "
        f"{size_text(available)} are there: {way_out}"
    )


def available_bytes() -> float | None:
    """Returns what the process may still take: of the machine's memory and of its control group's,
    a like share of what the processes have that `mpirun` has started here, and of its address space
    (ulimit -v), whichever is least; None where nothing states it."""
    return min(_limits(), default=None)


def _limits() -> Iterator[float]:
    sharing = mpirun.on_this_machine()
    with suppress(OSError, ValueError, LookupError):
        yield _fields(_PROC / "meminfo")["MemAvailable:"] * 1024 / sharing
    with suppress(OSError, ValueError, LookupError):
        yield from (left / sharing for left in _of_groups())
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError, LookupError):
            pages = int((_PROC / "self/statm").read_text(encoding="utf-8").split()[0])
            yield max(limit - pages * resource.getpagesize(), 0)


def _of_groups() -> Iterator[float]:
    """Yields the rest of the limit of each control group (version 2) that the process is in."""
    lines = (_PROC / "self/cgroup").read_text(encoding="utf-8").splitlines()
    paths = [line[3:].strip("/") for line in lines if line.startswith("0::")]
    group = _CGROUPS / paths[0]
    for folder in (group, *group.parents):
        if folder == _CGROUPS.parent:
            return
        with suppress(OSError, ValueError, LookupError):
            limit = int((folder / "memory.max").read_text(encoding="utf-8"))  # or "max"
            used = int((folder / "memory.current").read_text(encoding="utf-8"))
            counts = _fields(folder / "memory.stat")
            yield max(limit - used + sum(counts[name] for name in _GIVEN_BACK), 0)


def _fields(path: Path) -> dict[str, int]:
    """Returns the first number of each line by its first word."""
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {words[0]: int(words[1]) for words in lines}
