"""What is made for each core counts those that the process may use, as `taskset` and cpusets have
it."""

import os
from types import SimpleNamespace

import pytest

from pcn.commands import execution
from pcn.softswitch import serve


@pytest.mark.parametrize(("usable", "workers", "jobs"), [(1, 1, 1), (4, 2, 4), (64, 5, 64)])
def test_workers_and_jobs_are_for_usable_cores(monkeypatch, usable, workers, jobs):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(usable)))
    monkeypatch.delenv("PCN_THREADS", raising=False)
    natives = [SimpleNamespace(name=number) for number in range(5)]
    shared = serve._by_worker(natives)
    assert (len(shared), [native for few in shared for native in few]) == (workers, natives)
    assert execution._execution(None, None, (None, None, None), None, None).means.jobs == jobs
