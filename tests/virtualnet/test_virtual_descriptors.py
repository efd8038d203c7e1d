"""A virtual network moves its switches' packets and time itself: they wait for nothing."""

from pathlib import Path

from networks import PFC_ONLY, star

from pcn.hosts.virtual import VirtualNetwork


def test_switches_of_a_virtual_network_take_no_descriptors():
    with VirtualNetwork(star(1), PFC_ONLY):
        before = sorted(Path("/proc/self/fd").iterdir())
        with VirtualNetwork(star(1), PFC_ONLY):
            assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
