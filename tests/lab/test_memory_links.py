"""Which links of a network are in memory, and which processes share it."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, strategies as st

from pcn.lab.memory_links import MemoryLinks
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology

FAT_TREE = find_topology("fat-tree").build()
SWITCHES = [switch.name for switch in FAT_TREE.switches]


@contextmanager
def memory_links(
    topology: Topology, groups: list[list[str]], agents: bool
) -> Iterator[MemoryLinks]:
    with closing(MemoryLinks(topology, groups, agents)) as links:
        yield links


@given(st.lists(st.integers(0, 3), min_size=len(SWITCHES), max_size=len(SWITCHES)), st.booleans())
def test_each_link_has_one_way_and_its_ends_find_each_other(process, agents):
    """Within a process by the ports' names, between two by one memory, one bell each, and both of
    its ends."""
    groups = [
        [name for name, number in zip(SWITCHES, process, strict=True) if number == n]
        for n in sorted(set(process))
    ]
    of = dict(zip(SWITCHES, process, strict=True))
    with memory_links(FAT_TREE, groups, agents) as links:
        for link in FAT_TREE.links:
            ways = [links.of(end.node).get(end.port) for end in (link.a, link.b)]
            if any(FAT_TREE.is_host(end.node) for end in (link.a, link.b)):
                between = agents
            else:
                between = of[link.a.node] != of[link.b.node]
                devices = {end: FAT_TREE.switch(end.node).device_id for end in (link.a, link.b)}
                for end, far in ((link.a, link.b), (link.b, link.a)):
                    inner = links.inner(end.node).get(end.port)
                    assert inner == (None if between else (devices[far], far.port))
            if not between:
                assert ways == [None, None]
                continue
            (memory, bell, end), (other_memory, other_bell, other_end) = (
                way for way in ways if way
            )
            assert memory == other_memory
            assert bell != other_bell
            assert {end, other_end} == {0, 1}
            if FAT_TREE.is_host(link.a.node):
                assert end == 1
            if FAT_TREE.is_host(link.b.node):
                assert other_end == 1


def test_processes_inherit_their_ends_alone():
    topology = find_topology("dumbbell").build({"pairs": "1"})
    with memory_links(topology, [["s0"], ["s1"]], agents=True) as links:
        owned = {node: set(links.descriptors([node])) for node in ("h0", "s0", "s1", "r0")}
        assert {node: len(some) for node, some in owned.items()} == {
            "h0": 2, "s0": 4, "s1": 4, "r0": 2,
        }  # fmt: skip
        assert len(owned["s0"] & owned["s1"]) == 1  # the memory of the link between them
        assert not owned["h0"] & owned["s1"]
        opened = set().union(*owned.values())
        for descriptor in opened:
            os.fstat(descriptor)
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)


def test_switches_of_other_targets_have_no_links_in_memory():
    with memory_links(FAT_TREE, [], agents=True) as links:
        assert not any(
            links.of(node) for node in (*SWITCHES, *(host.name for host in FAT_TREE.hosts))
        )
        assert not any(links.inner(switch) for switch in SWITCHES)
