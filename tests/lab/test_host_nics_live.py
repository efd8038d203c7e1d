"""Hosts with several NICs in a network that is up: flows leave by the route's choice, as in virtual
time, and by another NIC when a link is down."""

import os
import time
import uuid
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

import needs
import pytest
from waiting import wait_until

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.lab.links import reroute, set_link
from pcn.lab.observe import Observer
from pcn.lab.pause import pause, resume
from pcn.topologies.model import Endpoint, FlowSpec, Link, Switch, Topology, make_hosts

pytestmark = [pytest.mark.root, pytest.mark.long]

RATE, DELAY = 10e9, 5e-6
FLOWS = 6


def dual(delay_s: float = DELAY) -> Topology:
    """Two hosts, each with a link to each of two ToRs, and h2 at t0; t0 and t1 are linked."""
    ends = [(f"h{host}", nic, f"t{nic}", host + 1) for host in range(2) for nic in range(2)]
    ends += [("h2", 0, "t0", 3), ("t0", 4, "t1", 4)]
    links = tuple(Link(Endpoint(a, i), Endpoint(b, k), RATE, delay_s) for a, i, b, k in ends)
    return Topology(
        "dual", make_hosts(["h0", "h1", "h2"]), (Switch("t0", 1), Switch("t1", 2)), links
    )


@pytest.fixture(scope="module", params=needs.TARGETS)
def running(request, tmp_path_factory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("nics")
    name = f"n{os.getpid()}-{uuid.uuid4().hex[:8]}"
    target = needs.target(request.param)
    with Lab(
        dual(), log_dir=folder, name=name, target=target, dilation=2000, scheme="pfc", role="up"
    ) as lab:
        yield lab


@pytest.fixture
def lab(running: Lab) -> Iterator[Lab]:
    """No flow sends before, none after."""
    yield running
    flows.stop(running.agents)
    wait_until(
        lambda: (
            not any(
                flow.state == "sending"
                for agent in running.agents.values()
                for flow in agent.flows()
            )
        )
    )


def by_port(lab: Lab, numbers: Collection[int]) -> dict[int, int | None]:
    return {
        flow.id: flow.src_port
        for flow in flows.flows(lab.topology, flows.ask(lab.agents))
        if flow.id in numbers
    }


def received(lab: Lab, host: str) -> dict[int, int]:
    return {flow.flow: flow.packets for flow in lab.agents[host].stats().received}


def test_flows_leave_by_the_ports_of_virtual_time(lab: Lab):
    """And a host with several ports to another by those on a shortest path alone."""
    numbers = flows.start(lab.topology, lab.agents, "h0", "h1", count=FLOWS, rate_bps=0.2e9)
    numbers += flows.start(lab.topology, lab.agents, "h1", "h2", count=2, rate_bps=0.2e9)
    with VirtualNetwork(lab.topology, find_scheme("pfc").configure()) as network:
        for number in numbers[:FLOWS]:
            network.add_flow(FlowSpec(number, "h0", "h1"))
        for number in numbers[FLOWS:]:
            network.add_flow(FlowSpec(number, "h1", "h2"))
        expected = {number: flow.port for number, flow in network.flows.items()}
    assert {expected[number] for number in numbers[:FLOWS]} == {0, 1}
    assert {expected[number] for number in numbers[FLOWS:]} == {0}
    assert by_port(lab, numbers) == expected
    wait_until(
        lambda: all(received(lab, "h1").get(number, 0) > 20 for number in numbers[:FLOWS]),
        "all flows",
    )
    wait_until(
        lambda: all(received(lab, "h2").get(number, 0) > 20 for number in numbers[FLOWS:]),
        "those to h2",
    )


def test_pause_stops_the_flows_of_its_nic_alone(lab: Lab):
    numbers = flows.start(lab.topology, lab.agents, "h0", "h1", count=FLOWS, rate_bps=0.2e9)
    ports = by_port(lab, numbers)
    with ThreadPoolExecutor() as others:
        paused = others.submit(pause, lab, "h0", 1)
        wait_until(lambda: any(counts.pause for counts in lab.agents["h0"].stats().pauses), "PAUSE")
        before = {flow.flow: flow.packets for flow in lab.agents["h0"].flows()}
        goes_on = [number for number in numbers if ports[number] == 0]

        def sent(number: int) -> int:
            return {flow.flow: flow.packets for flow in lab.agents["h0"].flows()}[number] - before[
                number
            ]

        wait_until(lambda: all(sent(number) > 50 for number in goes_on), "flows of the other NIC")
        assert all(sent(number) <= 2 for number in numbers if ports[number] == 1)
        assert {counts.port for counts in lab.agents["h0"].stats().pauses} == {1}
        resume(lab, "h0", 1)
        assert paused.result().resumed
    wait_until(lambda: all(sent(number) > 50 for number in numbers), "all flows")


@pytest.mark.parametrize("down", ["t0", "t1"])
def test_flows_move_to_the_other_nic_and_come_back(lab: Lab, down):
    numbers = flows.start(lab.topology, lab.agents, "h0", "h1", count=FLOWS, rate_bps=0.2e9)
    ports, dead = by_port(lab, numbers), int(down[1])
    wait_until(
        lambda: all(received(lab, "h1").get(number, 0) > 20 for number in numbers), "all flows"
    )
    set_link(lab, "h0", down, up=False)
    before = received(lab, "h1")
    reroute(lab)
    assert set(by_port(lab, numbers).values()) == {1 - dead}
    wait_until(
        lambda: all(received(lab, "h1")[number] > before[number] + 50 for number in numbers),
        "flows that moved",
    )
    set_link(lab, "h0", down, up=True)
    reroute(lab)
    assert by_port(lab, numbers) == ports
    before = received(lab, "h1")
    wait_until(
        lambda: all(received(lab, "h1")[number] > before[number] + 50 for number in numbers),
        "flows back",
    )


def test_what_waits_at_a_dead_nic_leaves_by_the_other_one(lab: Lab):
    """Frames that have started, too: flows that started when their link was down lose nothing."""
    set_link(lab, "h0", "t1", up=False)
    numbers = flows.start(lab.topology, lab.agents, "h0", "h1", count=FLOWS, size_bytes=2_000)
    stuck = [number for number, port in by_port(lab, numbers).items() if port == 1]
    wait_until(
        lambda: all(
            received(lab, "h1").get(number) == 2 for number in numbers if number not in stuck
        ),
        "others",
    )
    sent = {flow.flow: flow.packets for flow in lab.agents["h0"].flows()}
    assert stuck
    assert any(sent[number] for number in stuck)
    assert not any(number in received(lab, "h1") for number in stuck)
    reroute(lab)
    wait_until(lambda: all(received(lab, "h1").get(number) == 2 for number in numbers), "all flows")
    states = flows.flows(lab.topology, flows.ask(lab.agents))
    assert {flow.missing for flow in states if flow.id in numbers} == {0}
    set_link(lab, "h0", "t1", up=True)
    reroute(lab)


def test_looks_name_the_nic_of_each_flow(lab: Lab):
    numbers = flows.start(lab.topology, lab.agents, "h0", "h1", count=FLOWS, rate_bps=0.2e9)
    numbers += flows.start(lab.topology, lab.agents, "h2", "h1")
    ports = by_port(lab, numbers)
    senders = {flow.id: flow.sender for flow in Observer(lab).look().flows if flow.id in numbers}
    assert senders == {**{n: f"h0:{ports[n]}" for n in numbers[:FLOWS]}, numbers[-1]: "h2"}


def test_dual_homed_pair_has_the_times_of_virtual_time(tmp_path):
    """Flows share the lines of two NICs: each takes as long as in virtual time, by links of two
    seconds, which no loaded machine is late by."""
    topology, numbers = dual(delay_s=2e-3), range(1, FLOWS + 1)
    name = f"n{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(topology, log_dir=tmp_path, name=name, dilation=1000, scheme="pfc", role="up") as lab:
        at = time.monotonic() + 2
        started = flows.start(
            topology, lab.agents, "h0", "h1", count=FLOWS, size_bytes=20_000, at=at
        )
        assert started == list(numbers)

        def done() -> dict[int, float | None]:
            return {flow.id: flow.fct_s for flow in flows.flows(topology, flows.ask(lab.agents))}

        wait_until(lambda: None not in done().values(), "all flows")
        live, ports = done(), by_port(lab, numbers)
    with VirtualNetwork(topology, find_scheme("pfc").configure()) as network:
        for number in numbers:
            network.add_flow(FlowSpec(number, "h0", "h1", size_bytes=20_000))
        assert network.run(until_s=1, finish=True)
        assert ports == {number: flow.port for number, flow in network.flows.items()}
        assert live == pytest.approx(
            {number: flow.stats().complete_s for number, flow in network.flows.items()}, abs=2e-9
        )
