"""Equal input gives equal output to the bit, however events are queued, and at any pace; and every
parameter matters."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st
from networks import PCN, dumbbell_network, flow_stats, mesh, star, tree, with_flows

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.programs import Program
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.softswitch.program.load import load_program
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet import Totals, timed as virtual_network
from pcn.virtualnet.switch import VirtualSwitch

DURATION_S = 4e-3


def digest(**options: float | str) -> Totals:
    with dumbbell_network(**options) as network:
        network.run(until_s=DURATION_S)
        return network.totals()


@pytest.fixture(scope="module")
def reference() -> Totals:
    return digest()


@pytest.fixture(autouse=True, params=[None, 1e-3, 2.0], ids=lambda k: f"k={k}")
def pace(request, monkeypatch, reference: Totals):
    """Each test with runs in virtual time, and with every second of its networks paced, so that it
    compares the two; `reference` is never paced. At k = 0.001 a run is late all the time."""
    k, begun, begin = request.param, itertools.count(), VirtualNetwork.__init__

    def paced(network: VirtualNetwork, *arguments, **options):
        begin(network, *arguments, **options)
        if next(begun) % 2 == 0:
            network.pace(k, 1e-4)

    monkeypatch.setattr(VirtualNetwork, "__init__", paced)


def test_nodes_by_themselves_do_what_they_do_in_strict_order(reference: Totals):
    assert digest(queues="one") == reference


def test_programs_in_place_do_what_their_general_form_does(reference: Totals):
    assert digest(inplace=False) == reference


@pytest.mark.parametrize("scheme", ["pfc", "pcn", "dcqcn"])
def test_both_forms_agree_under_pauses_and_random_marks(scheme):
    """Two switches, the first one paused by the second; DCQCN's RED draws random numbers."""
    seen = []
    for inplace in (True, False):
        with VirtualNetwork(
            tree(3, out_bps=7e9, xoff_bytes=50e3), find_scheme(scheme).configure(), inplace=inplace
        ) as network:
            with_flows(
                network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=500_000) for i in range(3)]
            )
            assert network.run(until_s=1.0, finish=True)
            cells = {
                name: [switch.read_registers(register) for register in switch.registers()]
                for name, switch in network.switches.items()
            }
            seen.append((network.totals(), flow_stats(network), cells))
    assert seen[0] == seen[1]
    assert sum(stats.marked_ce for stats in seen[0][1]) > 10


def test_a_second_run_is_equal(reference: Totals):
    assert digest() == reference


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"w_min": 0.026},
        {"rtt_s": 500.006e-6},
        {"rate_bps": 10.00001e9},
        {"xoff_bytes": 511e3},
        {"xon_bytes": 400e3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_result_changes_with_each_parameter(change, reference: Totals):
    assert digest(**change).digest != reference.digest


def test_samples_are_in_no_digest(reference: Totals):
    with dumbbell_network() as network:
        network.sample(7e-6, [network.queue_bytes("s0", 1, 3)])
        network.run(until_s=DURATION_S)
        totals = network.totals()
    assert totals.digest == reference.digest
    assert totals.events > reference.events


def test_steps_don_t_matter(reference: Totals):
    with dumbbell_network() as network:
        for step in range(1, 9):
            network.run(until_s=step * DURATION_S / 8)
        assert network.totals() == reference


def test_many_flows_on_one_nic_in_both_queues():
    """300 flows that come and go, of three sizes, at the same times."""
    flows = [
        FlowSpec(
            i, f"h{i % 3}", "r0", start_s=(i % 7) * 1e-5, size_bytes=(500, 10_000, 77_001)[i % 3]
        )
        for i in range(300)
    ]
    seen = []
    for queues in ("nodes", "one"):
        scheme = find_scheme("pcn").configure({"period_s": 50e-6})
        with VirtualNetwork(star(3), scheme, queues=queues) as network:
            assert with_flows(network, flows).run(until_s=0.1, finish=True)
            seen.append((network.totals(), flow_stats(network)))
    assert seen[0] == seen[1]
    assert all(
        stats.received_payload == flow.size_bytes
        for stats, flow in zip(seen[0][1], flows, strict=True)
    )


def test_more_packets_than_caches_hold():
    """Over 1 MB of them on their way."""
    flows = [FlowSpec(i, f"h{i % 4}", "r0", size_bytes=1_500_000) for i in range(16)]
    seen = []
    for options in ({}, {"queues": "one"}, {"inplace": False}, {"prefetch": False}):
        topology = star(4, rate_bps=40e9, delay_s=500e-6, xoff_bytes=10e6)
        with VirtualNetwork(topology, PCN, **options) as network:
            assert with_flows(network, flows).run(until_s=0.1, finish=True)
            seen.append(network.totals())
    assert seen[0].packets_most > 2**20 // 128
    assert all(totals == seen[0] for totals in seen)


def _forget(switch: VirtualSwitch, routes: Iterable[int]):
    tables = load_program(bytes(Program.compiled("pcn_native")).decode()).tables
    number = next(i for i, table in enumerate(tables) if table.name.endswith("ipv4_lpm"))
    for handle in routes:
        switch.native.table_delete(number, handle)


def test_routes_that_come_and_go_under_many_packets():
    """What is read of the tables before a switch's turn is what they have then: few routes, many,
    few, none."""
    topology = star(4, rate_bps=40e9, delay_s=500e-6, xoff_bytes=10e6)
    table_action = TableAction("drop_no_route")
    routes = [
        TableEntry("ipv4_lpm", match=TableMatch(dst_addr=f"10.9.{i}.0/24"), action=table_action)
        for i in range(100)
    ]
    flows = [FlowSpec(i, f"h{i % 4}", "r0", size_bytes=1_500_000) for i in range(16)]
    seen = []
    for queues in ("nodes", "one"):
        with with_flows(VirtualNetwork(topology, PCN, queues=queues), flows) as network:
            switch = network.switches["s0"]
            network.at(0.6e-3, partial(switch.insert, routes[:30]))
            network.at(0.8e-3, partial(switch.insert, routes[30:]))
            network.at(1e-3, partial(_forget, switch, range(5, 105)))
            network.at(1.2e-3, partial(_forget, switch, range(5)))
            network.run(until_s=5e-3)
            seen.append(network.totals())
    assert seen[0] == seen[1]
    assert seen[0].packets_most > 2**20 // 128
    assert 0 < seen[0].dropped < seen[0].traversals


@pytest.mark.parametrize("delay_s", [0.0, 1e-6])
def test_calls_and_samples_find_all_nodes_at_their_time(delay_s):
    """Without delay there is no stretch of time in which nodes could go by themselves."""
    seen = []
    for queues in ("nodes", "one"):
        topology = star(3, delay_s=delay_s, xoff_bytes=50e3)
        with VirtualNetwork(topology, PCN, queues=queues) as network:
            sources = [network.queue_bytes("s0", port + 1) for port in range(4)]
            sources += [
                network.register("s0", "waiting_bytes", 8 * (port + 1) + 3) for port in range(4)
            ]
            samples = network.sample(0.7e-6, [*sources, network.link_bytes("h0", 0)])
            with_flows(network, [FlowSpec(i, f"h{i}", "r0") for i in range(3)])
            network.at(50e-6, partial(network.set_link, "s0", 4, rate_bps=3e9))
            network.at(
                90e-6,
                partial(
                    with_flows, network, [FlowSpec(9, "h1", "h2", start_s=91e-6, size_bytes=50_000)]
                ),
            )
            network.run(until_s=300e-6)
            seen.append((network.totals(), samples.values.tolist()))
    assert seen[0] == seen[1]
    assert max(max(row) for row in seen[0][1]) > 50e3


DELAYS_S = (0.3e-6, 1e-6, 5e-6, 40e-6)
SHORT_S = (0.0, 1e-12, 1e-9, 30e-9)


@st.composite
def meshes(
    draw: st.DrawFn, delays: tuple[float, ...] = DELAYS_S
) -> tuple[Topology, list[FlowSpec]]:
    """Two to five switches in a tree, and up to three links more; flows of all sizes among their
    hosts."""
    n = draw(st.integers(2, 5))
    ends = [(draw(st.integers(0, i - 1)), i) for i in range(1, n)]
    for a, b in draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3)):
        if a != b and (a, b) not in ends and (b, a) not in ends:
            ends.append((a, b))
    delays_s = draw(st.lists(st.sampled_from(delays), min_size=1, max_size=4))
    flows = []
    for i in range(draw(st.integers(1, 12))):
        src = draw(st.integers(0, n - 1))
        dst = (src + draw(st.integers(1, n - 1))) % n
        start_s = draw(st.sampled_from([0.0, 1e-6, 33.3e-6]))
        flows.append(
            FlowSpec(
                i, f"h{src}", f"h{dst}", start_s=start_s, size_bytes=draw(st.integers(1, 150_000))
            )
        )
    return mesh(n, ends, delays_s), flows


@settings(max_examples=50)
@given(
    meshes() | meshes((*SHORT_S, *DELAYS_S)),
    st.sampled_from(["pcn", "pfc", "qcn"]),
    st.booleans(),
    st.integers(10, 400),
)
def test_any_network_in_both_queues(case, scheme, finish, chunk):
    """Nodes ahead of others come back to one time wherever a run is left: here, after every few
    events."""
    topology, flows = case
    seen = []
    for queues, events in (("nodes", chunk), ("one", 10**9)):
        with (
            mock.patch.object(virtual_network, "_CHUNK", events),
            VirtualNetwork(topology, find_scheme(scheme).configure(), queues=queues) as network,
        ):
            with_flows(network, flows).run(until_s=1.0 if finish else 200e-6, finish=finish)
            seen.append((network.totals(), flow_stats(network)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("finish", [True, False])
@pytest.mark.parametrize("short", ["h0", "all hosts"])
def test_short_links_cost_no_more_rounds(short, finish):
    """Nodes that links of 1 ns join have turns together, as long as those of the others."""
    rounds = []
    for short_s in (1e-6, 1e-9):
        topology = fat_tree(4, delay_s=1e-6)
        near = {host.name for host in topology.hosts} if short == "all hosts" else {short}
        links = [
            replace(link, delay_s=short_s) if {link.a.node, link.b.node} & near else link
            for link in topology.links
        ]
        shortened = replace(topology, links=tuple(links))
        with VirtualNetwork(shortened, PCN) as network:
            with_flows(
                network, [FlowSpec(i, f"h{i}", f"h{i ^ 5}", size_bytes=200_000) for i in range(16)]
            )
            network.run(until_s=1.0 if finish else 200e-6, finish=finish)
            rounds.append(network.call("vn_rounds"))
    assert 0 < rounds[1] < 2 * rounds[0]


@pytest.mark.parametrize(
    "flows",
    [
        [FlowSpec(i, f"h{i % 8}", "r0", size_bytes=2_000) for i in range(400)],
        [
            FlowSpec(i, f"h{i % 8}", f"h{(i + 1) % 8}", start_s=i * 10e-6, size_bytes=1_000)
            for i in range(80)
        ],
    ],
    ids=["to one receiver", "one after the other"],
)
def test_short_flows_leave_nodes_their_turns(flows):
    """Each flow alone could complete within the shortest link's delay; all of them take far
    longer, so a run up to their end has turns as another run has."""
    delay_s, seen = 5e-6, []
    for options in ({}, {"queues": "one"}, {"threads": 2}):
        topology = star(8, delay_s=delay_s)
        with VirtualNetwork(topology, PCN, **options) as network:
            assert with_flows(network, flows).run(until_s=0.1, finish=True)
            seen.append((network.totals(), flow_stats(network)))
            if not options:
                rounds = network.call("vn_rounds")
    assert seen[0] == seen[1] == seen[2]
    with VirtualNetwork(star(8, delay_s=delay_s), PCN) as network:
        with_flows(network, flows).run(until_s=seen[0][0].now_s)
        # rounds in one order aren't counted; turns are as long as where no end is looked for
        assert 0.8 < rounds / network.call("vn_rounds") < 1.3
