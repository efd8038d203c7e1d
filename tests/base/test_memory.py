"""What a process may still take of memory, and what is refused that needs more."""

import resource
from pathlib import Path

import pytest

from pcn.base import memory
from pcn.base.memory import MemoryShortError, Need

GB = 10**9


@pytest.fixture
def system(tmp_path, monkeypatch) -> Path:
    """A folder with a machine's proc, of 8 GB, and control groups without limits."""
    for folder in ("proc/self", "cgroup/jobs/one"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("1:cpu:/other\n0::/jobs/one\n")
    (tmp_path / "proc/self/statm").write_text("1000 500 100 1 0 400 0\n")
    limit(tmp_path / "cgroup/jobs/one", "max", 0, 0)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    return tmp_path


def limit(folder: Path, most, current: int, files: int):
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{current}\n")
    (folder / "memory.stat").write_text(
        f"anon 1\nactive_file {files // 2}\ninactive_file {files // 4}\n"
        f"slab_reclaimable {files // 4}\nslab 7\n"
    )


def test_machine_has_what_the_kernel_calls_available(system: Path):
    assert memory.available_bytes() == 8_000_000 * 1024


def test_group_above_that_of_the_process_limits_it(system: Path):
    limit(system / "cgroup/jobs", 3 * GB, 2 * GB, GB // 2)
    assert memory.available_bytes() == 1.5 * GB
    limit(system / "cgroup/jobs/one", GB, GB + 5, 0)
    assert memory.available_bytes() == 0


def test_address_space_limits_it(system: Path, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (GB, GB))
    assert memory.available_bytes() == GB - 1000 * resource.getpagesize()


def test_processes_of_mpirun_share_what_is_the_machine_s(system: Path, monkeypatch):
    """Of five two are here. The address space is each one's."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "5")
    assert memory.available_bytes() == 8_000_000 * 1024 / 5
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2")
    assert memory.available_bytes() == 4_000_000 * 1024
    limit(system / "cgroup/jobs", 3 * GB, 2 * GB, GB // 2)
    assert memory.available_bytes() == 0.75 * GB
    monkeypatch.setattr(resource, "getrlimit", lambda _: (GB // 2, GB // 2))
    assert memory.available_bytes() == GB // 2 - 1000 * resource.getpagesize()
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")  # where nothing is shared
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert memory.available_bytes() == 1.5 * GB


def test_unknown_memory_refuses_nothing(system: Path):
    (system / "proc/meminfo").unlink()
    (system / "proc/self/cgroup").write_text("")
    assert memory.available_bytes() is None
    memory.require("a run", [Need("series", 1e15)], "take less")


def test_require_names_needs_what_is_there_and_the_way_out(system: Path):
    memory.require("a run", [Need("flows", 5e9), Need("series", 3e9)], "take less")
    with pytest.raises(MemoryShortError) as caught:
        memory.require("a run", [Need("flows", 5.26e9), Need("links", 4e9)], "take less")
    assert str(caught.value) == (
        "a run: some 9.3 GB of memory are needed (flows 5.3 GB, links 4.0 GB), and 8.2 GB are "
        "there: take less"
    )


@pytest.mark.parametrize(
    ("size", "text"), [(3, "1 MB"), (250e6, "250 MB"), (1e9, "1.0 GB"), (7.96e9, "8.0 GB")]
)
def test_size_has_a_unit_that_people_read(size, text):
    assert memory.size_text(size) == text
