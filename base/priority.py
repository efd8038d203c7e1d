"""What a system may refuse a process: priority, memory that stays in place, more descriptors.
Containers refuse the first two by default. Nothing here raises: without them a network is late more
often, and goes on."""

from __future__ import annotations

import ctypes
import os
import resource
import threading
from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # malloc.h
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
REFUSED = (
    "this system refuses real-time priority, as containers without CAP_SYS_NICE do: switches and "
    "agents run at normal priority, and are late more often while the machine is busy"
)


def raise_priority(nice: int) -> bool:
    """Gives the calling thread, and those that it starts from now on, a nice value; returns whether
    it has it."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    except OSError:
        return False
    return True


def real_time(active: bool) -> bool:
    """Takes the lowest real-time priority for the calling thread, round robin, or gives it back;
    returns whether the system permits it."""
    policy, priority = (os.SCHED_RR, 1) if active else (os.SCHED_OTHER, 0)
    try:
        os.sched_setscheduler(0, policy, os.sched_param(priority))
    except OSError:
        return False
    return True


def refused() -> bool:
    """Returns whether switches and agents run at normal priority here. Tried in a thread, which
    ends with it."""
    permitted: list[bool] = []
    trial = threading.Thread(target=lambda: permitted.extend((raise_priority(-1), real_time(True))))
    trial.start()
    trial.join()
    return not all(permitted)


def lock_memory() -> None:
    """Keeps all pages of this process in memory, those of later, too, once they are used
    (mlock(2)). Only where no limit holds: beyond a limit of locked memory, each new page would be
    refused, and the process end of it."""
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        # Who may exceed a limit may do so at 0 as well.
        resource.setrlimit(
            resource.RLIMIT_MEMLOCK, (soft if soft == resource.RLIM_INFINITY else 0, hard)
        )
        try:
            ctypes.CDLL(None).mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT)
        finally:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (soft, hard))


def map_arrays() -> None:
    """Gives each large array of this process separate pages, which take no memory before they are
    used and go back when it is freed (mallopt(3)). glibc does so at first, and no longer once a
    larger block was freed: a program's registers, mostly never written, were 0.8 MB then."""
    with suppress(AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 128 << 10)


def raise_descriptors(least: int = 0, more: int = 0) -> None:
    """Raises the limit of open descriptors to `least`, or by `more`, as far as the system
    permits."""
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = max(least, soft + more)
        if resource.RLIM_INFINITY != soft < wanted:
            most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
