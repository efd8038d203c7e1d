"""Flows' paths: logged as programs choose them, given, and as files."""

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, strategies as st
from networks import PFC_ONLY

from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.paths import read_paths, write_paths
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec, Topology
from pcn.virtualnet import VirtualError

FLOWS = [
    FlowSpec(number, f"h{number}", f"h{15 - number}", size_bytes=20_000) for number in range(8)
]


def tree() -> Topology:
    return fat_tree(k=4)


def paths_and_digest(
    given_paths: dict[int, tuple[Endpoint, ...]] | None = None,
    log: bool = True,
    queues: Literal["nodes", "one"] = "nodes",
    inplace: bool = True,
    threads: int = 1,
) -> tuple[dict[int, tuple[Endpoint, ...]], int]:
    with VirtualNetwork(
        tree(), PFC_ONLY, queues=queues, inplace=inplace, threads=threads
    ) as network:
        for flow in FLOWS:
            network.add_flow(flow)
        if log:
            network.log_paths()
        network.set_paths(given_paths or {})
        assert network.run(until_s=1.0, finish=True)
        return network.paths(), network.totals().digest


def test_logged_path_leads_to_the_receiver_and_changes_nothing():
    topology = tree()
    paths, digest = paths_and_digest()
    assert (digest, {}) == (
        paths_and_digest(log=False)[1],
        {number: path for number, path in paths.items() if not path},
    )
    for flow in FLOWS:
        node = topology.peer(flow.src, 0).node
        for end in paths[flow.id]:
            assert end.node == node
            node = topology.peer(end.node, end.port).node
        assert node == flow.dst
    assert paths == paths_and_digest(queues="one")[0] == paths_and_digest(inplace=False)[0]


def test_given_path_that_the_program_chooses_anyway_changes_nothing():
    paths, digest = paths_and_digest()
    assert paths_and_digest(paths) == (paths, digest)


def test_paths_are_logged_and_taken_alike_on_two_threads():
    paths, digest = paths_and_digest()
    assert paths_and_digest(threads=2) == (paths, digest)
    end = next(path for path in paths[0] if len(tree().next_hops(path.node, FLOWS[0].dst)) > 1)
    detour = next(port for port in tree().next_hops(end.node, FLOWS[0].dst) if port != end.port)
    given_path = {0: (Endpoint(end.node, detour),)}
    single, threaded = paths_and_digest(given_path), paths_and_digest(given_path, threads=2)
    assert single == threaded
    assert threaded[1] != digest


@pytest.mark.parametrize("inplace", [True, False])
def test_given_path_is_taken_instead_of_the_programs(inplace):
    topology = tree()
    chosen = paths_and_digest()[0][0]
    first = chosen[0]
    detour = next(
        port for port in topology.next_hops(first.node, FLOWS[0].dst) if port != first.port
    )
    given_path = {0: (Endpoint(first.node, detour),)}
    paths, digest = paths_and_digest(given_path, inplace=inplace)
    assert paths[0][0] == Endpoint(first.node, detour)
    assert topology.peer(paths[0][-1].node, paths[0][-1].port).node == FLOWS[0].dst
    assert (
        digest
        == paths_and_digest(given_path, queues="one", inplace=inplace)[1]
        != paths_and_digest()[1]
    )


def test_path_of_no_flow_or_by_no_switch_is_refused():
    with VirtualNetwork(tree(), PFC_ONLY) as network:
        network.add_flow(FLOWS[0])
        with pytest.raises(VirtualError, match="a path of flow 3: no such flow"):
            network.set_paths({3: ()})
        with pytest.raises(
            VirtualError, match="a path of flow 0 by h1:0: no link that starts at a switch"
        ):
            network.set_paths({0: (Endpoint("h1", 0),)})
        ends = tuple(Endpoint(tree().peer("h0", 0).node, port) for port in (3, 4))
        with pytest.raises(VirtualError, match="the flow has a path there already"):
            network.set_paths({0: ends})


def test_file_holds_paths_and_parallel_links(tmp_path):
    topology = tree()
    link = next(
        link
        for link in topology.links
        if not topology.is_host(link.a.node) and not topology.is_host(link.b.node)
    )
    taken = {
        end.port
        for candidate in topology.links
        for end in (candidate.a, candidate.b)
        if end.node in (link.a.node, link.b.node)
    }
    port = max(taken) + 1
    parallel = replace(link, a=Endpoint(link.a.node, port), b=Endpoint(link.b.node, port))
    both = replace(topology, links=(*topology.links, parallel))
    paths = {7: (link.a, link.b), 2: (parallel.a,)}
    write_paths(tmp_path / "paths.csv", both, paths)
    assert f"2,{link.a.node},{link.b.node}:{port}" in (tmp_path / "paths.csv").read_text()
    assert read_paths(tmp_path / "paths.csv", both) == paths


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "its first line is flow,switch,next"),
        ("flow,switch,next\n1,s0", ":2: 2 columns"),
        ("flow,switch,next\nx,s0,s1", ":2: 'x' is no flow's number"),
        ("flow,switch,next\n1,s99,s1", ":2: no switch 's99'"),
        ("flow,switch,next\n1,{switch},h15", ":2: {switch} has no link to 'h15'"),
        ("flow,switch,next\n1,{switch},h0\n1,{switch},h1", ":3: flow 1 leaves {switch} twice"),
    ],
)
def test_bad_file_is_refused_with_its_line(tmp_path, text, why):
    switch = tree().peer("h0", 0).node
    (tmp_path / "paths.csv").write_text(text.format(switch=switch))
    with pytest.raises(VirtualError, match=why.format(switch=switch)):
        read_paths(tmp_path / "paths.csv", tree())


@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused_in_a_line(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("paths") / "paths.csv"
    file.write_bytes(b"flow,switch,next\n" + text)
    why = ""
    try:
        read_paths(file, tree())
    except VirtualError as error:
        why = str(error)
    assert "\n" not in why
