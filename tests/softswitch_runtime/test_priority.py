"""What a system refuses: the switch and the agents go on without it."""

import errno
import mmap
import os
import resource

import needs
import pytest
from others import as_nobody, in_child

from pcn.base import priority

MOST = 1 << 30
"""A limit of locked memory: more than this process has now, less than it may use later."""


@pytest.mark.root
def test_user_without_privileges_has_normal_priority():
    assert as_nobody(
        lambda: (priority.refused(), priority.raise_priority(-10), priority.real_time(True))
    ) == [True, False, False]


@pytest.mark.root
def test_locked_memory_leaves_room_for_later_pages():
    """Within a limit, mlockall would take what is there, and the kernel refuse what comes."""

    def grow() -> int:
        priority.lock_memory()
        return len(mmap.mmap(-1, 2 * MOST))

    def limited():
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (MOST, MOST))
        except ValueError:
            return None
        return as_nobody(grow)

    if (size := in_child(limited)) is None:
        needs.missing(needs.SYS_RESOURCE)
    assert size == 2 * MOST


@pytest.mark.root
def test_privileged_process_locks_its_memory():
    def locked() -> int:
        priority.lock_memory()
        with open("/proc/self/status") as status:  # noqa: PTH123
            return int(next(line for line in status if line.startswith("VmLck")).split()[1])

    assert in_child(locked) > 0


def test_refused_limits_and_priorities_raise_nothing(monkeypatch):
    """As seccomp's filters and sandboxes refuse even what lowers a limit."""

    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    for module, name in ((resource, "setrlimit"), (os, "setpriority"), (os, "sched_setscheduler")):
        monkeypatch.setattr(module, name, refuse)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    priority.lock_memory()
    priority.raise_descriptors(least=limit + 1, more=1)
    assert priority.refused()
    assert not priority.real_time(False)
