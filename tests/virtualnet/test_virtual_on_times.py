"""What max(Ton) is derived from, docs/tcd.md: how long a port is on between two pauses or lacks of
credits, and by how much its queue falls though nothing drains."""

from dataclasses import replace

import numpy as np
import pytest

from pcn.controller.constants import index
from pcn.controller.marking import tcd_port
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.head_of_line import P1, P2, XOFF_BYTES, XON_BYTES, head_of_line
from pcn.topologies.lossless import CREDITS, DATA_CLASS, MTU_BYTES
from pcn.topologies.model import FlowSpec, Topology

LINE_BPS = 40e9
MARKS = find_scheme("tcd").configure()
T0_P1, L0_P2 = (index(port.port, DATA_CLASS) for port in (P1, P2))


def senders(delay_s: float, *receivers: str) -> Topology:
    """Fig. 2's network, S0 and S1 with as much as P1's line takes."""
    flows = tuple(
        FlowSpec(number, f"s{number}", receiver) for number, receiver in enumerate(receivers)
    )
    return replace(head_of_line(delay_s=delay_s), flows=flows)


def with_credits(topology: Topology, interval_s: float) -> Topology:
    parameters = {**topology.parameters, "credit_interval_s": interval_s}
    return replace(topology, flow_control=CREDITS, parameters=parameters)


def on_times_s(topology: Topology, excess: float, from_s: float, until_s: float) -> list[float]:
    """Of P1, while it brings L0 40 Gbit/s and P2's line takes all of that except `excess`."""
    with VirtualNetwork(topology, MARKS) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        network.set_link(P2.node, P2.port, rate_bps=(1 - excess) * LINE_BPS)
        names = ("fctbs", "fccl") if topology.flow_control == CREDITS else ("tx_paused",)
        samples = network.sample(
            20e-9, [network.register(P1.node, name, T0_P1) for name in names], from_s
        )
        network.run(until_s=until_s)
        times, values = samples.times_s, samples.values
        if topology.flow_control == CREDITS:
            left = (
                values[:, 1] - values[:, 0] + 2048
            ) % 4096  # credit.p4's FCCL is without what it was at the start
            stopped = left < -(-MTU_BYTES // 64)
        else:
            stopped = values[:, 0] == 1
        begins, ends = (times[1:][np.diff(stopped.astype(int)) == change] for change in (-1, 1))
    ends = ends[ends > begins[0]]
    return list(ends - begins[: len(ends)])


@pytest.mark.parametrize("excess", [0.05, 0.2])
def test_with_pfc_a_port_is_on_for_max_ton(excess):
    """Without the two frames that can't be stopped at the least."""
    on_times = on_times_s(senders(4e-6, "r0", "r1"), excess, 2e-3, 4e-3)
    least, most = (
        tcd_port.max_ton_s(LINE_BPS, 4e-6, XOFF_BYTES - XON_BYTES, frame_bytes, excess)
        for frame_bytes in (0, MTU_BYTES)
    )
    assert len(on_times) > 5
    assert least <= min(on_times) <= max(on_times) <= most


@pytest.mark.parametrize("excess", [0.05, 0.2])
@pytest.mark.parametrize("interval_s", [2e-6, 8e-6])
def test_with_credits_a_port_is_on_for_what_one_packet_gives(excess, interval_s):
    """That is sent before the next one comes, however long the link is. Frames are whole, here and
    where they leave."""
    near, far = (
        on_times_s(with_credits(senders(delay_s, "r0", "r1"), interval_s), excess, 2e-3, 2.5e-3)
        for delay_s in (1e-6, 4e-6)
    )
    assert min(len(near), len(far)) > 50
    assert (1 - excess) * interval_s - 2 * 8 * MTU_BYTES / LINE_BPS < max(near) < interval_s
    assert max(far) == pytest.approx(max(near), abs=50e-9)


@pytest.mark.parametrize("delay_s", [1e-6, 4e-6])
@pytest.mark.parametrize("interval_s", [0.5e-6, 2e-6, 8e-6])
def test_max_ton_with_credits_is_how_long_epsilon_takes_to_outweigh_a_round_trip(
    delay_s, interval_s
):
    """P2 lacks credits until all is in its queue. Then it sends at line rate, and gets as much: the
    queue falls by what is on its way now, and no further."""
    topology = with_credits(senders(delay_s, "r0", "r0"), interval_s)
    with VirtualNetwork(topology, MARKS) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        network.set_link("t1", 2, up=False)
        network.run(until_s=1e-3)
        network.set_link("t1", 2, up=True)
        samples = network.sample(0.1e-6, [network.queue_bytes(P2.node, P2.port)])
        network.run(until_s=1.6e-3)
        queue = samples.values[:, 0]
    settled = queue[len(queue) // 2 :]
    assert settled.max() - settled.min() <= MTU_BYTES  # as much comes as leaves
    parameters = MARKS.parameters
    max_ton_s = tcd_port.configure(topology, P2.node, P2.port, 1.0, parameters).max_ton_us * 1e-6
    outweighed = parameters.epsilon * LINE_BPS / 8 * max_ton_s
    rounded = parameters.epsilon * LINE_BPS / 8 * 1e-6
    assert outweighed - rounded - MTU_BYTES <= queue[0] - settled.min() <= outweighed
