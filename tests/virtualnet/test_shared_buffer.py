"""A switch's shared buffer: thresholds in closed form, RESUME by occupancies alone, and that
nothing is lost."""

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from networks import MTU, PFC_ONLY, star

from pcn.base.errors import TopologyError
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, require_live
from pcn.topologies import headroom, serialise
from pcn.topologies.buffers import Share, SharedBuffer, hpcc_buffer
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Endpoint, FlowSpec, Link, OutputBuffer, Topology, make_hosts
from pcn.topologies.star import star as many
from pcn.virtualnet import VirtualError

FRAME = 1058


def with_buffer(topology: Topology, buffer: SharedBuffer | None) -> Topology:
    return replace(
        topology, switches=tuple(replace(switch, buffer=buffer) for switch in topology.switches)
    )


def incast(
    network: VirtualNetwork, senders: int, size_bytes: int | None = None, traffic_class: int = 3
):
    for number in range(senders):
        network.add_flow(
            FlowSpec(
                number + 1, f"h{number}", "r0", size_bytes=size_bytes, traffic_class=traffic_class
            )
        )


@pytest.mark.parametrize(
    ("senders", "alpha", "size_bytes", "of_pool"),
    [
        *((senders, 1 / 8, 8 << 20, 3e-3) for senders in (2, 4, 15)),
        *((8, alpha, 8 << 20, 3e-3) for alpha in (1 / 2, 1)),
        (4, 4, 8 << 20, 3e-3),
        (8, 1 / 8, 2 << 20, 1e-2),
    ],
)
def test_ports_hold_what_the_closed_form_has(senders, alpha, size_bytes, of_pool):
    """n senders into one port: each holds reserve + S a / (1 + n a) when it is paused, and the pool
    n S a / (1 + n a) (Choudhury and Hahne), within two frames."""
    share = Share(alpha, resume_bytes=1)
    topology = with_buffer(
        many(senders, 1, rate_bps=100e9, delay_s=1e-6), SharedBuffer(size_bytes, (share,))
    )
    with VirtualNetwork(topology, PFC_ONLY) as network:
        incast(network, senders)
        held = network.sample(
            1e-6,
            [
                source("s0", port + 1)
                for port in range(senders)
                for source in (network.held_bytes, network.headroom_bytes)
            ],
        )
        network.run(until_s=1e-3)
        stats = network.buffer_stats("s0")
        port_bytes = stats.shared_bytes * alpha / (1 + senders * alpha)
        assert stats.used_max_bytes == pytest.approx(senders * port_bytes, rel=of_pool)
        outside = held.values[500:, 0::2] - held.values[500:, 1::2]
        assert abs(np.median(outside, axis=0) - share.reserve_bytes - port_bytes).max() <= 2 * FRAME
        assert stats.summed_bytes == stats.used_bytes
        assert network.link_stats("s0", senders + 1).bytes * 8 / 1e-3 > 99.5e9
        assert stats.headroom_max_bytes > 0


def digest(
    topology: Topology,
    senders: int,
    queues: Literal["nodes", "one"] = "nodes",
    inplace: bool = True,
) -> tuple[int, int]:
    """Of a run, and how often it paused."""
    with VirtualNetwork(topology, PFC_ONLY, queues=queues, inplace=inplace) as network:
        incast(network, senders, size_bytes=200_000)
        network.run(finish=True, until_s=0.1)
        return network.totals().digest, sum(
            network.link_stats("s0", port + 1).pause for port in range(senders)
        )


def test_run_without_pause_is_that_of_a_static_threshold():
    static = replace(star(6), parameters={**star(6).parameters, "xoff_bytes": 10e6})
    dynamic = digest(with_buffer(static, SharedBuffer(64 << 20)), 6)
    assert dynamic == digest(static, 6)
    assert dynamic[1] == 0


def test_run_with_pauses_depends_on_neither_queues_nor_form():
    topology = with_buffer(star(6), SharedBuffer(400_000))
    expected = digest(topology, 6)
    assert expected[1] > 10
    assert (
        expected
        == digest(topology, 6, queues="one")
        == digest(topology, 6, queues="one", inplace=False)
    )


def test_two_threads_give_the_run_of_one():
    topology = with_buffer(fat_tree(k=4), SharedBuffer(600_000))

    def seen(threads: int) -> tuple[int, list[object]]:
        with VirtualNetwork(topology, PFC_ONLY, threads=threads) as network:
            for number in range(8):
                network.add_flow(FlowSpec(number, f"h{number}", "h15", size_bytes=300_000))
            assert network.run(until_s=0.1, finish=True)
            return network.totals().digest, [
                network.buffer_stats(switch.name) for switch in topology.switches
            ]

    single = seen(1)
    assert single == seen(2)
    assert sum(stats.headroom_max_bytes > 0 for stats in single[1]) > 1


def two_outputs() -> Topology:
    """h0, h1, h2 and r0, r1 around s0, at ports 1 to 5."""
    hosts = make_hosts(["h0", "h1", "h2", "r0", "r1"])
    links = tuple(
        Link(Endpoint(host.name, 0), Endpoint("s0", port), 10e9, 1e-6)
        for port, host in enumerate(hosts, 1)
    )
    return replace(star(1), hosts=hosts, links=links)


def test_paused_port_resumes_when_others_leave_the_pool():
    """Links to receivers are down. The last packet of h1 takes it to its threshold; then what h0
    has sent leaves, and RESUME comes, though nothing of h1's departs."""
    topology = with_buffer(two_outputs(), SharedBuffer(1_000_000, (Share(1.0),)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        for port in (4, 5):
            network.set_link("s0", port, up=False)
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=100_000))
        shared = network.buffer_stats("s0").shared_bytes
        others = 100 * FRAME - 4096
        packets = math.ceil(((shared - others) / 2 + 4096) / FRAME)
        network.add_flow(FlowSpec(2, "h1", "r1", start_s=1e-3, size_bytes=packets * 1000))
        network.run(until_s=3e-3)
        stats = network.buffer_stats("s0")
        assert (stats.paused, stats.headroom_bytes) == (1, 0)
        assert stats.used_bytes == packets * FRAME - 4096 + others
        network.set_link("s0", 4, up=True)
        network.run(until_s=6e-3)
        assert network.link_stats("s0", 2).resume == 1
        assert network.flows[2].stats().received_packets == 0
        assert (network.buffer_stats("s0").paused, network.totals().packets) == (0, packets)


def test_lossy_class_is_refused_what_is_above_its_threshold():
    topology = with_buffer(star(4), SharedBuffer(500_000, (Share(1 / 2),)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        incast(network, 4, traffic_class=1)
        threshold = network.sample(
            1e-6, [network.threshold("s0", 1, 1), network.held_bytes("s0", 1, 1)]
        )
        network.run(until_s=3e-3)
        out = network.link_stats("s0", 5)
        assert (
            out.refused_by_class[1]
            == sum(flow.stats().lost_packets for flow in network.flows.values())
            > 0
        )
        assert sum(network.link_stats("s0", port).pause for port in range(1, 5)) == 0
        stats = network.buffer_stats("s0")
        port_bytes = stats.shared_bytes * 0.5 / (1 + 4 * 0.5)
        assert threshold.values[-500:, 1].mean() == pytest.approx(port_bytes, abs=2 * FRAME)
        assert stats.headroom_max_bytes == 0


def test_lossless_class_waits_while_a_lossy_one_fills_the_pool():
    topology = with_buffer(star(4), SharedBuffer(500_000, (Share(8.0, reserve_bytes=10_000),)))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        incast(network, 3, traffic_class=1)
        network.add_flow(FlowSpec(9, "h3", "r0", start_s=1e-3, size_bytes=100_000))
        network.run(until_s=3e-3)
        # a higher class, from its reserve
        assert network.flows[9].stats().received_payload == 100_000


def test_share_of_a_named_class_and_rate_is_its_own():
    shares = (
        Share(1 / 2, traffic_class=1, reserve_bytes=5000),
        Share(1 / 4, rate_bps=40e9),
        Share(1 / 8),
    )
    buffer = SharedBuffer(1e6, shares)
    assert buffer.share(1, 40e9, 1, lossless=False) == shares[0]
    assert buffer.share(1, 40e9, 3, lossless=True) == shares[1]
    assert buffer.share(1, 10e9, 3, lossless=True) == shares[2]
    assert buffer.share(1, 10e9, 2, lossless=False) == replace(shares[2], reserve_bytes=0)


def test_hpcc_buffer_doubles_alpha_with_the_rate_up_to_one():
    ports = {1: (100e9, 1e-6), 2: (400e9, 1e-6), 3: (3.2e12, 1e-6), 4: (25e9, 1e-6)}
    buffer = hpcc_buffer(32 << 20, ports, 100e9)
    assert [share.alpha for share in buffer.shares[:4]] == [1 / 8, 1 / 2, 1, 1 / 8]
    assert [share.headroom_bytes for share in buffer.shares[:3]] == [37_500, 150_000, 1_200_000]


def test_headroom_that_is_too_small_is_refused_with_the_port():
    topology = with_buffer(star(2), SharedBuffer(1e6, (Share(headroom_bytes=1000),)))
    with pytest.raises(
        VirtualError,
        match=r"s0:1,2,3: class 3: .*headroom of 1000 bytes: after a PAUSE falls due \d+ can",
    ):
        VirtualNetwork(topology, PFC_ONLY)


def test_headroom_that_longer_frames_outgrow_ends_the_run():
    """Those with telemetry, of which the payload gives no account."""
    needed = headroom.needed_bytes(star(2, rate_bps=1e9), "s0", 1, MTU)
    topology = with_buffer(
        star(2, rate_bps=1e9), SharedBuffer(1e6, (Share(headroom_bytes=needed),))
    )
    with VirtualNetwork(topology, find_scheme("hpcc").configure()) as network:
        incast(network, 2)
        with pytest.raises(VirtualError, match=f"headroom of {needed} bytes"):
            network.run(until_s=1e-3)


def run_incast(topology: Topology):
    with VirtualNetwork(topology, PFC_ONLY) as network:
        incast(network, 4)
        network.run(until_s=1e-3)


@pytest.mark.parametrize(
    ("size_bytes", "why"), [(10_000, "leave nothing"), (30_000, "no room for the headroom")]
)
def test_buffer_without_room_for_headroom_is_refused(size_bytes, why):
    topology = with_buffer(star(4), SharedBuffer(size_bytes))
    with pytest.raises(VirtualError, match=why):
        run_incast(topology)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda: Share(alpha=-1), "alpha -1"),
        (lambda: Share(alpha=2**15 + 1), "alpha 32769"),
        (lambda: Share(reserve_bytes=2**32), "reserve_bytes"),
        (lambda: Share(headroom_bytes=0), "without headroom"),
        (lambda: Share(traffic_class=8), "class 8"),
        (lambda: SharedBuffer(0), "0 bytes"),
        (lambda: SharedBuffer(1e6, ()), "last share"),
        (lambda: SharedBuffer(1e6, (Share(port=1),)), "last share"),
        (
            lambda: replace(
                star(1),
                flow_control="credits",
                switches=(replace(star(1).switches[0], buffer=SharedBuffer(1e6)),),
            ),
            "PFC",
        ),
        (
            lambda: replace(
                star(1),
                switches=(
                    replace(star(1).switches[0], buffer=SharedBuffer(1e6), output=OutputBuffer()),
                ),
            ),
            "output",
        ),
    ],
)
def test_buffer_that_cannot_work_is_refused(build, why):
    with pytest.raises(TopologyError, match=why):
        build()


def test_lost_pauses_overrun_the_headroom_and_are_counted():
    topology = with_buffer(star(4), SharedBuffer(200_000))
    with VirtualNetwork(topology, PFC_ONLY) as network:
        for port in range(1, 5):
            network.disturb("s0", port, "flow control", lose=1)
        incast(network, 4, size_bytes=500_000)
        network.run(until_s=5e-3)
        overrun = sum(network.link_stats(f"h{number}", 0).overrun for number in range(4))
        assert overrun == sum(flow.stats().lost_packets for flow in network.flows.values()) > 0
        assert network.buffer_stats("s0").held_bytes == 0


def test_deadlock_is_refused_with_a_shared_buffer():
    with (
        VirtualNetwork(with_buffer(star(1), SharedBuffer(1e6)), PFC_ONLY) as network,
        pytest.raises(VirtualError, match="s0 has a shared buffer"),
    ):
        network.deadlock()


SHARES = st.builds(
    Share,
    alpha=st.sampled_from([0.0, 1 / 64, 1 / 8, 1 / 3, 1.0, 7.0, 128.0]),
    fixed_bytes=st.sampled_from([0.0, 1.0, 20e3, 1e9]),
    reserve_bytes=st.sampled_from([0.0, 1.0, 1500.0, 6000.0]),
    resume_bytes=st.sampled_from([0.0, 1.0, 3072.0, 50e3]),
)


@given(
    shares=st.lists(st.builds(replace, SHARES, port=st.integers(1, 5)), max_size=3),
    last=SHARES,
    size=st.integers(100_000, 900_000),
    senders=st.integers(1, 5),
    lossy=st.booleans(),
    response_s=st.sampled_from([0.0, 2e-6]),
)
@example(
    shares=[],
    last=Share(0.0, 0.0, 0.0, None, 0.0),
    size=100_000,
    senders=5,
    lossy=False,
    response_s=0.0,
)
def test_accounts_agree_and_nothing_is_lost(shares, last, size, senders, lossy, response_s):
    """Whatever the thresholds: the pool is never more than full, its account is the sum of its
    shares', lossless flows arrive whole, and in the end nothing is inside and no class is
    paused."""
    topology = with_buffer(star(5), SharedBuffer(size, (*shares, last)))
    with VirtualNetwork(topology, PFC_ONLY, response_s=response_s) as network:
        incast(network, senders, size_bytes=100_000)
        if lossy:
            network.add_flow(FlowSpec(9, "h4", "r0", size_bytes=300_000, traffic_class=1))
        for step in range(1, 100):
            network.run(until_s=step * 20e-6)
            stats = network.buffer_stats("s0")
            assert (
                stats.used_bytes == stats.summed_bytes <= stats.used_max_bytes <= stats.shared_bytes
            )
            assert stats.held_bytes <= stats.size_bytes
        for number in range(senders):
            assert network.flows[number + 1].stats().received_payload == 100_000
        assert (stats.used_bytes, stats.held_bytes, stats.headroom_bytes, stats.paused) == (
            0, 0, 0, 0,
        )  # fmt: skip


def test_topology_with_buffers_is_the_same_after_json():
    topology = with_buffer(
        star(2), SharedBuffer(1e6, (Share(0.5, port=1), Share(headroom_bytes=9e3)))
    )
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology


def test_file_of_a_topology_holds_shared_buffers():
    shares = (
        Share(1 / 3, 5.0, 7.0, 90e3, 11.0, 40e9, 2, 1),
        Share(alpha=0.0, fixed_bytes=12_345.0),
    )
    topology = with_buffer(star(2), SharedBuffer(32 * 2**20, shares))
    for form in ("pcn", "pcn-json"):
        with TemporaryDirectory() as folder:
            file = Path(folder, f"made{FORMATS[form].suffix}")
            file.write_text(FORMATS[form].write(topology))
            assert find_topology(str(file)).build({}).switches == topology.switches


def test_file_with_a_bad_share_is_refused_with_its_line(tmp_path):
    file = tmp_path / "made.yaml"
    text = FORMATS["pcn"].write(with_buffer(star(2), SharedBuffer(1e6)))
    file.write_text(text.replace("alpha: 0.125", "alpha: 0.125, class: 8"))
    with pytest.raises(
        TopologyError, match=r"made.yaml:9: switches\[0\].buffer.shares\[0\]: a share of class 8"
    ):
        find_topology(str(file)).build({})


def test_live_network_refuses_a_shared_buffer():
    with pytest.raises(NetworkError, match="s0: a shared buffer is there in virtual time alone"):
        require_live(with_buffer(star(1), SharedBuffer(1e6)))
