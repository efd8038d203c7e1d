"""Controllers in virtual time: packet-ins, digests, idle timeouts at their simulated times, answers
a latency later."""

from functools import partial

import numpy as np
import pytest
from p4net_switches import BENCH, PROGRAMS

from pcn.controller.control_plane import (
    ControlPlane,
    DigestEntry,
    TableAction,
    TableActions,
    TableEntry,
    TableMatch,
)
from pcn.controller.programs import Program
from pcn.p4net.network import P4Network, P4Switch
from pcn.p4net.packets import udp
from pcn.p4net.virtual import VirtualP4
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts
from pcn.virtualnet.errors import CallbackError, VirtualError

IDLE = Program("idle", PROGRAMS / "idle.json", PROGRAMS / "idle.p4info.txtpb")
CPU_PORT = 255
TO_H1, LEARNT = 0xB1, 0xA0
FRAME = TO_H1.to_bytes(6, "big") + LEARNT.to_bytes(6, "big") + b"\x88\xb5" + bytes(range(50))
FRAME_S = len(FRAME) * 8 / 10e9
DELAY_S = 1e-6


def pair(program: Program) -> P4Network:
    """h0 - s0 - h1, 10 Gbit/s, 1 us each."""
    links = tuple(
        Link(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1), 10e9, DELAY_S) for i in range(2)
    )
    topology = Topology("pair", make_hosts(["h0", "h1"]), (Switch("s0", 1),), links)
    return P4Network(topology, {"s0": P4Switch(program, cpu_port=CPU_PORT)})


def to_cpu(switch: ControlPlane):
    switch.insert(
        [
            TableEntry(
                "l2", match=TableMatch(dst_addr=TO_H1), action=TableAction("send_to_cpu", reason=3)
            )
        ]
    )


def reactive(network: VirtualP4, seen: list[float], switch: ControlPlane):
    """Lets the flow of the first packet pass, and sends what came on."""
    for packet in switch.packets_in():
        seen.append(network.now_s)
        if len(seen) == 1:
            forward = TableAction("forward", port=2)
            switch.modify([TableEntry("l2", match=TableMatch(dst_addr=TO_H1), action=forward)])
        switch.packet_out(packet.payload, egress_port=2, queue=0)


@pytest.mark.parametrize("latency_s", [0.0, 3e-6, 47e-6])
def test_controller_answers_a_latency_after_each_packet(latency_s):
    """Frames come each 10 us; those that come before the first answer takes effect go by the
    controller, too."""
    with VirtualP4(pair(BENCH)) as network:
        to_cpu(network.switches["s0"])
        seen: list[float] = []
        network.control("s0", partial(reactive, network, seen), latency_s=latency_s)
        for number in range(10):
            network.send("h0", number * 10e-6, FRAME)
        network.run(until_s=1e-3)
        arrived = network.arrived("h1")
        way = FRAME_S + DELAY_S
        by_controller = 1 + int(latency_s / 10e-6)
        assert seen == pytest.approx(
            [number * 10e-6 + way + latency_s for number in range(by_controller)], abs=2e-9
        )
        assert sorted(arrived, key=lambda frame: frame.time_s) == arrived
        expected = [
            number * 10e-6 + 2 * way + latency_s * (number < by_controller) for number in range(10)
        ]
        assert [frame.time_s for frame in arrived] == pytest.approx(sorted(expected), abs=2e-9)
        assert {frame.start for frame in arrived} == {FRAME}


def test_controller_run_is_equal_twice():
    def run() -> tuple[int, list[object]]:
        with VirtualP4(pair(BENCH)) as network:
            to_cpu(network.switches["s0"])
            network.control("s0", partial(reactive, network, []), latency_s=7e-6)
            for number in range(20):
                network.send("h0", number * 3e-6, FRAME)
            network.run(until_s=1e-3)
            return network.totals().digest, [*network.arrived("h1")]

    assert run() == run()


def test_digest_list_comes_when_it_is_full_and_when_its_time_is_over():
    """Two sources fill a list; a third one's waits for the list's timeout."""
    with VirtualP4(pair(BENCH)) as network:
        network.switches["s0"].insert(
            [
                DigestEntry(
                    "learned_t", max_list_size=2, max_timeout_ns=100_000, ack_timeout_ns=10**9
                )
            ]
        )
        lists: list[tuple[float, list[int]]] = []

        def learn(switch: ControlPlane):
            for digest in switch.digests():
                lists.append((network.now_s, [entry["src_addr"] for entry in digest]))

        network.control("s0", learn, latency_s=1e-6)
        for number in range(3):
            network.send(
                "h0", number * 10e-6, FRAME[:6] + bytes([0, 0, 0, 0, 0, number + 1]) + FRAME[12:]
            )
        network.run(until_s=1e-3)
        way = FRAME_S + DELAY_S
        assert [sources for _, sources in lists] == [[1, 2], [3]]
        times = [10e-6 + way + 1e-6, 20e-6 + way + 100e-6 + 1e-6]
        assert [time for time, _ in lists] == pytest.approx(times, abs=2e-9)


def test_idle_entry_is_reported_at_its_time_after_the_last_hit():
    """Hits at 5, 25 and 45 ms; 20 ms of silence are idle, and again 20 ms later."""
    with VirtualP4(pair(IDLE)) as network:
        switch = network.switches["s0"]
        table = next(
            table.alias for table in switch.schema.tables if table.spec.idle_timeout_behavior
        )
        key = next(
            iter(
                next(
                    candidate for candidate in switch.schema.tables if candidate.alias == table
                ).match_fields
            )
        ).name
        action = next(action.alias for action in switch.schema.tables[table].actions)
        params = {param.name: 1 for param in switch.schema.actions[action].params}
        entry = TableEntry(
            table, match=TableMatch({key: 7}), action=TableAction(action, **params), priority=1,
            idle_timeout_ns=20_000_000,
        )  # fmt: skip
        reports: list[tuple[float, int]] = []

        def idle(switch: ControlPlane):
            for timeout in switch.idle_timeouts():
                reports.append((network.now_s, len(timeout.table_entry)))

        network.control("s0", idle, latency_s=1e-3)
        network.switches["s0"].insert([entry])
        for time_s in (5e-3, 25e-3, 45e-3):
            network.at(time_s, lambda: network.switches["s0"].packet_out(bytes([7]) + bytes(20)))
        network.run(until_s=0.1)
        assert [count for _, count in reports] == [1, 1]
        assert [time for time, _ in reports] == pytest.approx([66e-3, 86e-3], abs=2e-6)


def test_controller_may_start_while_the_network_runs():
    with VirtualP4(pair(BENCH)) as network:
        to_cpu(network.switches["s0"])
        network.send("h0", 0.0, FRAME)
        network.run(until_s=10e-6)
        seen: list[float] = []
        network.control("s0", partial(reactive, network, seen))
        network.send("h0", 20e-6, FRAME)
        network.run(until_s=1e-3)
        assert len(network.arrived("h1")) == 2
        assert len(seen) == 2


def test_controller_that_raises_ends_the_run_with_its_time():
    def broken(switch: ControlPlane):
        raise ValueError("out of ideas")

    with VirtualP4(pair(BENCH)) as network:
        to_cpu(network.switches["s0"])
        network.control("s0", broken, latency_s=1e-6)
        network.send("h0", 0.0, FRAME)
        with pytest.raises(
            CallbackError, match=r"2.05\d+ us of simulated time: ValueError: out of ideas"
        ):
            network.run(until_s=1e-3)


def test_controller_needs_events_in_order_and_a_latency():
    with (
        VirtualP4(pair(BENCH), queues="nodes") as network,
        pytest.raises(VirtualError, match='queues="one"'),
    ):
        network.control("s0", lambda switch: None)
    with (
        VirtualP4(pair(BENCH)) as network,
        pytest.raises(VirtualError, match="a controller's latency of -1 s"),
    ):
        network.control("s0", lambda switch: None, latency_s=-1.0)


def test_group_change_moves_flows_from_a_link_that_failed():
    """h0 - s0 = s1 - h1, two links: what comes for the failed one waits up to the queue's depth,
    and the rest is lost, until the controller has changed the group."""
    depth, failed_s, changed_s, flows = 8, 1e-3, 2e-3, 16
    program = Program.compiled("plain_native")
    ends = [("h0", 0, "s0", 1), ("s0", 2, "s1", 2), ("s0", 3, "s1", 3), ("s1", 1, "h1", 0)]
    links = tuple(Link(Endpoint(a, i), Endpoint(b, j), 10e9, DELAY_S) for a, i, b, j in ends)
    topology = Topology("two", make_hosts(["h0", "h1"]), (Switch("s0", 1), Switch("s1", 2)), links)
    network = P4Network(
        topology, {name: P4Switch(program, queue_depth=depth) for name in ("s0", "s1")}
    )
    prefix = TableMatch(dst_addr=f"{topology.host('h1').ip}/32")
    forward = TableAction("ipv4_forward", dst_mac=topology.host("h1").mac, port=1)

    def group(*ports: int) -> TableEntry:
        hops = TableActions([(1, TableAction("next_hop", port=port)) for port in ports])
        return TableEntry("next_hop_group", match=TableMatch(group=1), action=hops)

    with VirtualP4(network) as simulation:
        multipath = TableAction(
            "ipv4_multipath", dst_mac=topology.host("h1").mac, group_id=1, hash_shift=0
        )
        simulation.switches["s0"].insert(
            [TableEntry("ipv4_lpm", match=prefix, action=multipath), group(2, 3)]
        )
        simulation.switches["s1"].insert([TableEntry("ipv4_lpm", match=prefix, action=forward)])
        frames = [udp(network, "h0", "h1", sport=1000 + flow) for flow in range(flows)]
        simulation.send_all("h0", np.arange(400) * 1e-5, frames)
        simulation.run(until_s=failed_s - 1e-9)
        shares = [simulation.link_stats("s0", port).packets for port in (2, 3)]
        assert min(shares) > 0
        assert sum(shares) == 100
        simulation.set_link("s0", 2, up=False)
        simulation.at(changed_s, lambda: simulation.switches["s0"].modify([group(3)]))
        simulation.run(until_s=1.0)
        lost = simulation.tail_drops("s0", 2)[0]
        assert lost > 0
        assert len(simulation.arrived("h1")) == 400 - lost - depth
        simulation.set_link("s0", 2, up=True)
        simulation.run(until_s=2.0)
        assert len(simulation.arrived("h1")) == 400 - lost
