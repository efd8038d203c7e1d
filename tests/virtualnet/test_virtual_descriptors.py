"""Switches need descriptors: a network raises the limit as far as it may, and names it where it may
not."""

import resource
from pathlib import Path

import pytest
from networks import PFC_ONLY, star
from others import in_child

from pcn.hosts.virtual import VirtualNetwork
from pcn.virtualnet import VirtualError


def result_of(more: int) -> str:
    """Returns what becomes of a network where a process may open `more` descriptors, and may
    raise that to 200, or may not."""
    with VirtualNetwork(star(1), PFC_ONLY):
        pass  # what all networks load is there
    paths = list(Path("/proc/self/fd").iterdir())
    used = {int(path.name) for path in paths if path.is_symlink()}  # that of the folder is closed
    # the limit is one of descriptors' numbers, and there may be gaps between those in use
    free = [number for number in range(max(used) + more + 2) if number not in used]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[1], free[more]))
    try:
        with VirtualNetwork(star(1), PFC_ONLY):
            return "made"
    except VirtualError as error:
        return str(error)


@pytest.mark.parametrize(
    ("more", "becomes"),
    [
        (200, "made"),
        (1, "s0: cannot set up the switch: Too many open files; raise the limit (ulimit -n)"),
    ],
)
def test_network_raises_the_limit_of_descriptors_or_names_it(more, becomes):
    assert in_child(lambda: result_of(more)) == becomes
