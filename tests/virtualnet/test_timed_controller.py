"""A controller of a program that isn't RDMA's in a timed network: entries, packets and digests at
simulated times."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pcn.controller.control_plane import DigestEntry, TableAction, TableEntry, TableMatch
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts
from pcn.virtualnet import TimedNetwork, VirtualError
from pcn.virtualnet.switch import VirtualSwitch, load

PLACE = Path(__file__).resolve().parents[1] / "p4runtime/programs"
BENCH = Program("bench", PLACE / "bench.json", PLACE / "bench.p4info.txtpb")
CPU_PORT = 255
TO_H1, LEARNT = 0xB1, 0xA0
FRAME = TO_H1.to_bytes(6, "big") + LEARNT.to_bytes(6, "big") + b"\x88\xb5" + bytes(50)
FRAME_NS = len(FRAME) * 8 // 10


@pytest.fixture(params=["nodes", "one"])
def network(request) -> Iterator[tuple[TimedNetwork, InProcessSwitch]]:
    """h0 - s0 - h1, 10 Gbit/s, 1 us each; s0 learns, and forwards by destination."""
    links = tuple(Link(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1), 10e9, 1e-6) for i in range(2))
    topology = Topology("pair", make_hosts(["h0", "h1"]), (Switch("s0", 1),), links)
    queues = request.param
    with ExitStack() as stack:
        switch = VirtualSwitch("s0", load(BENCH, inplace=False), seed=1, cpu_port=CPU_PORT)
        control = stack.enter_context(InProcessSwitch("s0", switch))
        timed = stack.enter_context(TimedNetwork(topology, {"s0": switch.native}, queues=queues))
        switch.join(timed)
        yield timed, control


def test_controller_learns_a_destination_and_sends_on_what_came_before(
    network: tuple[TimedNetwork, InProcessSwitch],
):
    """The first frame goes to the controller, which sends it on 5 us later, by its port, and lets
    the others pass."""
    timed, control = network
    control.insert(
        [
            TableEntry(
                "l2", match=TableMatch(dst_addr=TO_H1), action=TableAction("send_to_cpu", reason=3)
            )
        ]
    )
    control.insert([DigestEntry("learned_t", max_list_size=1, ack_timeout_ns=10**9)])
    for number in range(3):
        timed.send("h0", number * 10e-6, FRAME)

    def answer():
        (packet,) = control.packets_in()
        assert packet.metadata == {"ingress_port": 1, "reason": 3}
        forward = TableAction("forward", port=2)
        control.modify([TableEntry("l2", match=TableMatch(dst_addr=TO_H1), action=forward)])
        control.packet_out(packet.payload, egress_port=2, queue=0)

    timed.at(5e-6, answer)
    timed.run(until_s=1e-3)
    arrived = timed.arrived("h1")
    assert [frame.start[: frame.length] for frame in arrived] == [FRAME] * 3
    way_ns = 2 * (FRAME_NS + 1000)
    assert [round(frame.time_s * 1e9) for frame in arrived] == [
        5000 + FRAME_NS + 1000,
        10_000 + way_ns,
        20_000 + way_ns,
    ]
    (learned,) = control.digests()  # once, until it is acknowledged
    assert (learned.timestamp, [*learned]) == (FRAME_NS + 1000, [{"src_addr": LEARNT, "port": 1}])


def test_port_of_the_cpu_takes_no_link():
    links = (Link(Endpoint("h0", 0), Endpoint("s0", CPU_PORT), 10e9, 1e-6),)
    topology = Topology("alone", make_hosts(["h0"]), (Switch("s0", 1),), links)
    switch = VirtualSwitch("s0", load(BENCH, inplace=False), 1, CPU_PORT)
    with (
        InProcessSwitch("s0", switch),
        pytest.raises(VirtualError, match="no such port, or it has a link"),
    ):
        TimedNetwork(topology, {"s0": switch.native})
