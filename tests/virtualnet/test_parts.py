"""A network whose parts are in several processes: the same run as in one, whatever is seen of it.
Here parts are threads, with the letters of processes; tests/pcn/test_mpirun.py has processes."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from credit_packets import by_credits
from hypothesis import given, settings, strategies as st
from networks import PCN, PFC_ONLY, all_link_stats, mesh, star, tree, with_flows
from test_virtual_callbacks import Np, Rp, scheme_of
from test_virtual_threads import NETWORKS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "softswitch_program"))
from program_json import Builder, assign, field, value

from pcn.hosts.algorithms import Configured, find_scheme
from pcn.hosts.virtual import VirtualNetwork, native as rdma
from pcn.softswitch.codegen.build import build_program
from pcn.softswitch.native import NativeSwitch
from pcn.topologies.clos import clos
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec, Link, Switch, Topology, make_hosts
from pcn.virtualnet import TimedNetwork, VirtualError, native
from pcn.virtualnet.part_threads import ThreadTransport, in_threads
from pcn.virtualnet.parts import OtherProcessError, Part, Transport, partition
from pcn.virtualnet.switch import switch_library

SCHEMES = ("dcqcn", "hpcc", "nscc", "pcn", "rccc", "swift")
"""Windows and rates, ACKs with telemetry, trimmed packets that are repeated, grants."""


def seen(
    topology: Topology, scheme: str, transport: Transport | None = None, threads: int = 1
) -> dict[str, Any] | None:
    """All that is read of a run in the first process, which ends with its flows."""
    names = [host.name for host in topology.hosts]
    link = topology.links[-1]
    with VirtualNetwork(
        topology, find_scheme(scheme).configure(), transport=transport, threads=threads
    ) as network:
        flows = [
            FlowSpec(i, name, names[0], size_bytes=150_000, group="all")
            for i, name in enumerate(names)
            if i
        ]
        # it waits for one that arrives where it starts, at once
        flows.append(
            FlowSpec(99, names[0], names[-1], after=(1, 2), start_s=0.0, size_bytes=20_000)
        )
        with_flows(network, flows)
        samples = network.sample(
            5e-6,
            [
                network.link_bytes(link.a.node, link.a.port),
                network.held_bytes(link.b.node, link.b.port),
                network.flow_rate(1),
                network.flow_received(1),
                network.of_group(network.flow_sent(1), "all"),
                network.of_group(network.flow_received_packets(1), "all"),
            ],
        )
        network.disturb(link.a.node, link.a.port, "notifications", lose=50)
        network.at(50e-6, lambda: network.set_link(link.a.node, link.a.port, rate_bps=5e9))
        network.run(until_s=100e-6)
        done = network.run(until_s=20e-3, finish=True)
        received, deadlock = network.received_packets(), network.deadlock()
        counters = network.collected(
            {name: switch.read_counters("transmitted") for name, switch in network.switches.items()}
        )
        if not network.gather():
            return None
        return {
            "done": done,
            "received": received,
            "deadlock": deadlock,
            "totals": replace(network.totals(), packets_most=0),
            "flows": network.flow_stats().tobytes(),
            "links": all_link_stats(network),
            "samples": (samples.times_s.tolist(), samples.values.tolist()),
            "counters": counters,
        }


def require_equal(topology: Topology, scheme: str, numbers: Sequence[int]):
    reference = seen(topology, scheme)
    assert reference["received"] > 500
    for n in numbers:
        first, *others = in_threads(n, lambda transport: seen(topology, scheme, transport))
        assert first == reference
        assert others == [None] * (n - 1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_parts_give_the_run_of_one(scheme):
    require_equal(fat_tree(4), scheme, (2, 3, 4))


@pytest.mark.parametrize("name", ["odd ring", "groups"])
def test_parts_of_networks_without_tiers_give_the_run_of_one(name):
    require_equal(NETWORKS[name](), "pcn", (2, 3))


def test_parts_with_credits_give_the_run_of_one():
    require_equal(by_credits(fat_tree(4)), "pfc", (2, 4))


def test_parts_have_threads():
    reference = seen(fat_tree(4), "pcn")
    first, _ = in_threads(2, lambda transport: seen(fat_tree(4), "pcn", transport, threads=2))
    assert first == reference


def test_parts_find_the_deadlock_of_one():
    """Of a ring of switches, whose links cross the cuts."""
    topology = mesh(5, [(i, (i + 1) % 5) for i in range(5)], [1e-6])
    topology = replace(
        topology, parameters={**topology.parameters, "xoff_bytes": 20e3, "xon_bytes": 18e3}
    )

    def run(transport: Transport | None):
        with VirtualNetwork(topology, PFC_ONLY, transport=transport) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", f"h{(i + 2) % 5}") for i in range(5)])
            network.run(until_s=2e-3)
            return network.deadlock()

    reference = run(None)
    assert reference is not None
    for n in (2, 3):
        assert in_threads(n, run) == [reference] * n


def test_parts_hold_their_nodes_alone():
    topology = fat_tree(4)

    def run(transport: Transport) -> tuple[set[str], int]:
        with VirtualNetwork(topology, PCN, transport=transport) as network:
            with_flows(network, [FlowSpec(1, "h0", "h15", size_bytes=100_000)])
            network.run(until_s=1e-3)
            return set(network.switches), network.part_stats().events

    parts = in_threads(4, run)
    names = [switch.name for switch in topology.switches]
    assert sorted(name for part, _ in parts for name in part) == sorted(names)
    assert all(part for part, _ in parts)
    with VirtualNetwork(topology, PCN) as network:
        with_flows(network, [FlowSpec(1, "h0", "h15", size_bytes=100_000)])
        network.run(until_s=1e-3)
        assert sum(events for _, events in parts) == network.totals().events


def test_partition_shares_tiers_and_keeps_racks_together():
    topology = clos(pods=4)
    owners = partition(topology, 4)
    tiers = {
        tier: [
            int(owner)
            for node, owner in zip((*topology.switches, *topology.hosts), owners, strict=True)
            if node.name[0] == tier
        ]
        for tier in "tlph"
    }
    for tier, of in tiers.items():
        assert [of.count(part) for part in range(4)] == [len(of) // 4] * 4, tier
    for host, owner in zip(topology.hosts, tiers["h"], strict=True):
        rack = topology.peer(host.name, 0).node
        assert owner == tiers["t"][int(rack[1:])]
    nodes = [node.name for node in (*topology.switches, *topology.hosts)]
    owner = dict(zip(nodes, owners, strict=True))
    inside = sum(owner[link.a.node] == owner[link.b.node] for link in topology.links)
    assert inside > 0.8 * len(topology.links)


# ---- frames over a cut ----

ETHERNET = [["dst", 48], ["src", 48], ["type", 16]]
OUT = field("standard_metadata", "egress_spec")


@pytest.fixture(scope="module")
def through():
    """A program that sends everything out by port 2."""
    builder = Builder().header("e", ETHERNET).run([assign(OUT, value(2))])
    return build_program(json.dumps(builder.json()), inplace=True)


def lines() -> Topology:
    """h0 - s0 - s1 - h1, and h2 - s2 - s3 - h3: each switch sends on by its port 2."""
    ends = [
        ("h0", 0, "s0", 1), ("s0", 2, "s1", 1), ("s1", 2, "h1", 0),
        ("h2", 0, "s2", 1), ("s2", 2, "s3", 1), ("s3", 2, "h3", 0),
    ]  # fmt: skip
    links = tuple(Link(Endpoint(a, i), Endpoint(b, j), 10e9, 1e-6) for a, i, b, j in ends)
    switches = tuple(Switch(f"s{i}", i + 1) for i in range(4))
    return Topology("lines", make_hosts([f"h{i}" for i in range(4)]), switches, links)


FRAMES = st.lists(
    st.tuples(
        st.integers(0, 200),  # when, in units of 50 ns
        st.binary(min_size=14, max_size=128),
        st.integers(64, 1500),
        st.integers(0, 7),
    ),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(FRAMES, FRAMES, st.sampled_from([None, 1500]))
def test_frames_cross_a_cut_as_they_are(through, here, there, whole_bytes):
    """Bytes, length, class and time, of frames stored whole or in part, on two cuts."""
    topology = lines()
    owners = {"h0": 0, "s0": 0, "s1": 1, "h1": 1, "h2": 1, "s2": 1, "s3": 0, "h3": 0}

    def run(transport: Transport | None) -> tuple[object, ...]:
        part = None
        if transport is not None:
            names = [*(switch.name for switch in topology.switches)]
            names += [host.name for host in topology.hosts]
            part = Part(topology, transport, np.array([owners[name] for name in names], np.uint32))
        with ExitStack() as stack:
            switches = {}
            for switch in topology.switches:
                if part is None or part.holds(switch.name):
                    loaded = stack.enter_context(NativeSwitch(switch_library()))
                    loaded.load(through)
                    switches[switch.name] = loaded
            network = stack.enter_context(
                TimedNetwork(topology, switches, whole_bytes=whole_bytes, part=part)
            )
            for host, frames in (("h0", here), ("h2", there)):
                for at, frame, length, traffic_class in sorted(frames, key=lambda of: of[0]):
                    network.send(
                        host, at * 50e-9, frame, length=max(length, len(frame)),
                        traffic_class=traffic_class,
                    )  # fmt: skip
            network.run(until_s=100e-6)
            arrived = {
                host.name: network.arrived(host.name)
                for host in topology.hosts
                if network.holds(host.name)
            }
            network.gather()
            return arrived, network.totals().digest, network.totals().events

    arrived, digest, events = run(None)
    first, second = in_threads(2, run)
    assert {**first[0], **second[0]} == arrived
    assert (first[1], first[2]) == (digest, events)
    assert len(arrived["h1"]) == len(here)


# ---- failures and refusals ----


def test_error_in_one_part_is_the_error_of_all():
    """The first node's, as with threads, at its time."""
    topology = fat_tree(4)

    def run(transport: Transport | None) -> tuple[str, ...]:
        with VirtualNetwork(topology, PFC_ONLY, transport=transport) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", "h0") for i in range(1, 16)])
            for switch in topology.switches:
                for port in topology.ports(switch.name) if network.holds(switch.name) else ():
                    network.protect(
                        switch.name, port, xoff_bytes=20_000, xon_bytes=10_000, quanta=1,
                        refresh_s=1.0, classes=255,
                        mac=bytes(6),
                    )  # fmt: skip
            with pytest.raises(VirtualError) as raised:
                network.run(until_s=5e-3)
            with pytest.raises(VirtualError):
                network.run(until_s=6e-3)
            return (str(raised.value),)

    reference = run(None)
    assert "more than XOFF" in reference[0]
    for n in (2, 4):
        assert in_threads(n, run) == [reference] * n


def test_part_that_gives_up_ends_the_others():
    """In its own words, wherever they wait for it."""
    reasons: list[str] = []

    def run(transport: ThreadTransport):
        with VirtualNetwork(fat_tree(4), PCN, transport=transport) as network:
            with_flows(network, [FlowSpec(1, "h0", "h15")])
            if transport.number == 1:
                transport.give_up("process 1: out of patience")
                return
            with pytest.raises(OtherProcessError) as raised:
                network.run(until_s=1e-3)
            reasons.append(str(raised.value))

    in_threads(3, run)
    assert reasons == ["process 1: out of patience"] * 2


class Breaking:
    """A transport that breaks at its nth exchange, or never, and reports it once."""

    def __init__(self, transport: Transport, n: int | None):
        self.number, self.n = transport.number, transport.n
        self.exchanges = 0
        self._transport, self._last, self._broken = transport, n, False

    def exchange(self, letters: Sequence[memoryview]) -> list[bytes]:
        assert not self._broken, "a second exchange"
        self.exchanges += 1
        try:
            if self.exchanges == self._last:
                raise OtherProcessError("broken")
            return self._transport.exchange(letters)
        except OtherProcessError:
            self._broken = True
            raise

    def give_up(self, why: str):
        self._transport.give_up(why)


def test_part_whose_transport_breaks_exchanges_no_more():
    """Whatever it exchanges then: a process that has given up answers no second question."""
    topology = mesh(5, [(i, (i + 1) % 5) for i in range(5)], [1e-6])

    def run(transport: ThreadTransport, n: int | None) -> int:
        breaking = Breaking(transport, n if transport.number == 0 else None)
        with VirtualNetwork(topology, PFC_ONLY, transport=breaking) as network:
            with_flows(
                network, [FlowSpec(i, f"h{i}", f"h{(i + 2) % 5}", 0.0, 3000) for i in range(5)]
            )
            network.run(until_s=1e-3, finish=True)
            assert network.deadlock() is None
        return breaking.exchanges

    exchanges = in_threads(2, lambda transport: run(transport, None))[0]
    for n in range(1, exchanges + 1):
        with pytest.raises(OtherProcessError, match="broken"):
            in_threads(2, lambda transport, n=n: run(transport, n))


def test_parts_of_different_networks_are_refused():
    """One has other flows, or another call."""

    def run(transport: Transport, divergence: Callable[[VirtualNetwork], object]) -> str:
        with VirtualNetwork(fat_tree(4), PCN, transport=transport) as network:
            with_flows(network, [FlowSpec(2, "h0", "h15")])
            if transport.number == 1:
                divergence(network)
            with pytest.raises(VirtualError) as raised:
                network.run(until_s=1e-3)
            return str(raised.value)

    for divergence in (
        lambda network: with_flows(network, [FlowSpec(i, "h1", "h14") for i in range(3, 80)]),
        lambda network: network.at(1e-6, lambda: None),
    ):
        texts = in_threads(2, lambda transport, divergence=divergence: run(transport, divergence))
        assert any("at another step of the run" in text for text in texts), texts


def refused(
    match: str, run: Callable[[VirtualNetwork], object], scheme: Configured | None = None, **options
):
    """Both parts refuse it."""
    reasons: list[str] = []
    configured = scheme or PCN

    def part(transport: Transport):
        with (
            pytest.raises(VirtualError, match=match) as raised,
            VirtualNetwork(fat_tree(4), configured, transport=transport, **options) as network,
        ):
            run(network)
        reasons.append(str(raised.value))

    in_threads(2, part)
    assert len(reasons) == 2
    assert all("one process" in reason for reason in reasons)


def test_what_one_process_has_is_refused_with_its_reason(tmp_path):
    def calls(network: VirtualNetwork):
        with_flows(network, [FlowSpec(1, "h0", "h15")])
        network.on_rate = lambda flow, now_s: None
        network.run(until_s=1e-5)

    for match, run in (
        ("the flows of all nodes", calls),
        ("the order of all nodes", VirtualNetwork.log_pfc),
        ("at all switches", VirtualNetwork.log_paths),
        ("at all hosts", VirtualNetwork.measure_latency),
        ("one process's file", lambda network: network.capture("h0", 0, tmp_path / "x.pcap")),
        ("one process's clock", lambda network: network.pace(10)),
    ):
        refused(match, run)
    assert not list(tmp_path.iterdir())
    refused("both its ends have seen", lambda network: None, explain=True)
    refused("have all switches", lambda network: None, cpu_port=255)
    refused("everywhere at once", lambda network: None, reroute_s=1e-3)


def test_algorithms_in_python_are_refused():
    """Flows of one class may share what a process has."""
    refused(
        "runs in Python",
        lambda network: network.add_flow(FlowSpec(1, "h0", "h15")),
        scheme=scheme_of(Rp, Np),
    )


def test_flow_that_waits_for_another_part_s_arrival_is_refused():
    def run(network: VirtualNetwork):
        network.add_flow(FlowSpec(1, "h0", "h15", size_bytes=1000))
        network.add_flow(FlowSpec(2, "h0", "h7", size_bytes=1000, after=(1,), start_s=0.0))

    refused("flow 2 of h0 starts when flow 1 is over at h15, in another process", run)


@pytest.mark.parametrize(
    ("topology", "n", "match"),
    [
        (star(4), 2, "of its 1 switches process [01] of 2 would have none"),
        (tree(2, delay_s=1e-9), 2, "2 processes: links of some length join 1 parts"),
    ],
    ids=["one switch", "short links"],
)
def test_networks_that_cannot_be_split_are_refused(topology, n, match):
    library = rdma.engine()

    class Alone:
        number = 0

        def __init__(self):
            self.n = n

    with pytest.raises(VirtualError, match=match):
        Part.of(topology, Alone(), library)


def test_engine_is_split_before_its_first_node():
    library = native.engine()
    handle = library.vn_create(True, False, 1, 0)
    try:
        library.vn_add_host(handle, bytes(4))
        owners = (native.ctypes.c_uint32 * 1)(0)
        exchange = native.Exchanging(lambda n, out, into: 1)
        assert library.vn_split(handle, 2, 0, owners, 1, exchange) < 0
        assert b"before its first node" in library.vn_error(handle)
    finally:
        library.vn_destroy(handle)
