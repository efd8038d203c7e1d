"""The worker processes that a sweep has started."""

from pathlib import Path


def workers(pid: int) -> list[int]:
    """Those of a process, whichever of its threads has started them."""
    listed = (path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children"))
    return [
        int(child)
        for children in listed
        for child in children
        if alive(int(child)) and _is_worker(child)
    ]


def alive(pid: int) -> bool:
    """Not so a zombie, which a container may keep."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _is_worker(pid: str) -> bool:
    try:
        return b"pcn.experiments.sweep.pool" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
