"""PFC watchdogs: a storm is detected, its packets are dropped or sent all the same, and its end
restores the port."""

import json
import struct
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given, strategies as st
from networks import PFC_ONLY, chain, mesh, star

from pcn.base.errors import TopologyError
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import NetworkError, require_live
from pcn.topologies import serialise
from pcn.topologies.model import FlowSpec, OutputBuffer, Topology
from pcn.topologies.watchdog import DROP, FORWARD, Watchdog
from pcn.virtualnet import VirtualError
from pcn.virtualnet.timed import TimedNetwork

QUICK = Watchdog(DROP, detection_s=200e-6, restoration_s=300e-6, poll_s=50e-6)
SWITCHES, REACH = 7, 3


def guarded(topology: Topology, watchdog: Watchdog | None) -> Topology:
    return replace(
        topology, switches=tuple(replace(switch, watchdog=watchdog) for switch in topology.switches)
    )


def storm(
    watchdog: Watchdog | None, queues: Literal["nodes", "one"] = "nodes", inplace: bool = True
) -> VirtualNetwork:
    """Behind s1 the line is down from the start, until 2 ms: s1 pauses s0 that long."""
    network = VirtualNetwork(
        guarded(chain(xoff_bytes=20e3), watchdog), PFC_ONLY, queues=queues, inplace=inplace
    )
    network.set_link("s1", 2, up=False)
    network.at(2e-3, lambda: network.set_link("s1", 2, up=True))
    network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=4_000_000))
    return network


def test_storm_is_detected_dropped_and_over():
    with storm(QUICK) as network:
        network.run(until_s=250e-6)
        assert network.watchdog_stats("s0", 2).storms == 0
        network.run(until_s=400e-6)
        counts = network.watchdog_stats("s0", 2)
        assert (counts.storms, counts.restored) == (1, 0)
        assert counts.dropped > 10
        network.run(until_s=2.2e-3)
        assert network.watchdog_stats("s0", 2).restored == 0
        network.run(until_s=10e-3)
        counts = network.watchdog_stats("s0", 2)
        assert (counts.storms, counts.restored) == (1, 1)
        stats = network.flows[1].stats()
        assert stats.lost_packets == counts.dropped
        assert stats.received_packets + stats.lost_packets == stats.sent_packets == 4000
        assert network.totals().packets == 0


def test_without_a_watchdog_the_storm_holds_all():
    with storm(None) as network:
        network.run(until_s=1.9e-3)
        assert network.flows[1].stats().sent_packets < 100
        assert network.watchdog_stats("s0", 2).storms == 0
        network.run(until_s=10e-3)
        assert network.flows[1].stats().received_packets == 4000


def test_forwarding_watchdog_ignores_pauses_and_the_far_end_has_no_room():
    """What s0 sends all the same overruns s1's headroom, and is counted there."""
    with storm(replace(QUICK, action=FORWARD)) as network:
        network.run(until_s=10e-3)
        counts = network.watchdog_stats("s0", 2)
        assert (counts.storms, counts.restored, counts.dropped) == (1, 1, 0)
        stats = network.flows[1].stats()
        assert stats.lost_packets == network.link_stats("s0", 2).overrun > 100
        assert stats.received_packets + stats.lost_packets == stats.sent_packets == 4000
        assert network.totals().packets == 0


def ring() -> Topology:
    """As test_virtual_deadlock.py's: flows clockwise over three switches each, with small
    thresholds."""
    topology = mesh(SWITCHES, [(n, (n + 1) % SWITCHES) for n in range(SWITCHES)], [1e-6])
    return replace(
        topology, parameters={**topology.parameters, "xoff_bytes": 20e3, "xon_bytes": 18e3}
    )


@pytest.mark.parametrize(("queues", "inplace"), [("nodes", True), ("one", True), ("nodes", False)])
def test_deadlock_dissolves_with_a_watchdog(queues, inplace):
    def play(watchdog: Watchdog | None) -> tuple[bool, int, int, int]:
        with VirtualNetwork(
            guarded(ring(), watchdog), PFC_ONLY, queues=queues, inplace=inplace
        ) as network:
            for n in range(SWITCHES):
                spec = FlowSpec(
                    n, f"h{n}", f"h{(n + REACH) % SWITCHES}", 3e-6 * (3 * n % SWITCHES),
                    size_bytes=500_000,
                )  # fmt: skip
                network.add_flow(spec)
            network.run(until_s=20e-3)
            stuck = network.deadlock() is not None
            ports = [
                (switch.name, port)
                for switch in network.topology.switches
                for port in network.topology.ports(switch.name)
            ]
            port_counts = [network.watchdog_stats(*port) for port in ports]
            lost = sum(flow.stats().lost_packets for flow in network.flows.values())
            assert lost == sum(counts.dropped for counts in port_counts)
            return (
                stuck,
                network.totals().packets,
                lost,
                sum(counts.storms - counts.restored for counts in port_counts),
            )

    assert play(None)[0]
    stuck, inside, lost, open_storms = play(QUICK)
    assert (stuck, inside, open_storms) == (False, 0, 0)
    assert lost > 0


def test_run_with_storms_depends_on_neither_queues_nor_form():
    def digest(queues: Literal["nodes", "one"], inplace: bool) -> int:
        with storm(QUICK, queues, inplace) as network:
            network.run(until_s=5e-3)
            return network.totals().digest

    assert digest("nodes", True) == digest("one", True) == digest("nodes", False)


@given(
    poll_us=st.integers(1, 80),
    detection_us=st.integers(0, 300),
    restoration_us=st.integers(0, 300),
    up_us=st.integers(100, 2500),
    lossy=st.booleans(),
)
def test_every_packet_is_accounted_for(poll_us, detection_us, restoration_us, up_us, lossy):
    watchdog = Watchdog(DROP, detection_us * 1e-6, restoration_us * 1e-6, poll_us * 1e-6)
    with VirtualNetwork(guarded(chain(xoff_bytes=20e3), watchdog), PFC_ONLY) as network:
        network.set_link("s1", 2, up=False)
        network.at(up_us * 1e-6, lambda: network.set_link("s1", 2, up=True))
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1_000_000))
        if lossy:
            network.add_flow(FlowSpec(2, "h0", "r0", size_bytes=100_000, traffic_class=1))
        network.run(until_s=8e-3)
        counts = network.watchdog_stats("s0", 2)
        assert network.flows[1].stats().lost_packets == counts.dropped
        assert all(
            flow.stats().sent_packets == flow.stats().received_packets + flow.stats().lost_packets
            for flow in network.flows.values()
        )
        assert counts.storms == counts.restored
        assert network.totals().packets == 0


def pause(quanta: int, *classes: int) -> bytes:
    """Returns a PFC frame (IEEE 802.1Qbb) of these classes."""
    times = b"".join(
        struct.pack(">H", quanta if traffic_class in classes else 0) for traffic_class in range(8)
    )
    head = struct.pack(">HHH", 0x8808, 0x0101, sum(1 << traffic_class for traffic_class in classes))
    return (bytes.fromhex("0180c2000001 020000000099") + head + times).ljust(60, b"\0")


def paused_by(
    monkeypatch: pytest.MonkeyPatch,
    watchdog: Watchdog,
    frames: list[tuple[float, bytes]],
    *classes: int,
) -> VirtualNetwork:
    """A flow of each class from h0 to r0, which sends these PFC frames to s0's port 2, by times in
    us."""
    build = TimedNetwork.__init__

    def with_sources(self: TimedNetwork, *args, **options):
        build(self, *args, **{**options, "endpoints": ("rdma", "source")})

    monkeypatch.setattr(TimedNetwork, "__init__", with_sources)
    topology = guarded(star(1), watchdog)
    topology = replace(topology, parameters={**topology.parameters, "lossless_classes": "3,4"})
    network = VirtualNetwork(topology, PFC_ONLY)
    for number in classes:
        network.add_flow(FlowSpec(number, "h0", "r0", size_bytes=30_000_000, traffic_class=number))
    frames = sorted(frames, key=lambda frame: frame[0])
    times = [at_us * 1e-6 for at_us, _ in frames]
    network.send_all(
        "r0", times, [frame for _, frame in frames], which=list(range(len(frames))), traffic_class=7
    )
    return network


STEADY = [(100.0 + 20 * n, pause(65535, 3)) for n in range(25)]
"""Until 0.6 ms, which a quick watchdog detects."""


def choppy(begin_us: float, end_us: float) -> list[tuple[float, bytes]]:
    """PAUSE for 44 us of each 50, which lets go when a watchdog of this period looks."""
    frames, poll_us = list[tuple[float, bytes]](), 50.0 * (begin_us // 50)
    while poll_us < end_us:
        frames += [(poll_us + 2, pause(65535, 3)), (poll_us + 46, pause(0, 3))]
        poll_us += 50
    return frames


@pytest.mark.parametrize("action", [DROP, FORWARD])
def test_pause_that_lets_go_only_at_each_look_keeps_the_storm(monkeypatch, action):
    """By the time at which the watchdog looks the class is free, and it was held 88% of the
    time."""
    with paused_by(
        monkeypatch, replace(QUICK, action=action), STEADY + choppy(600, 3000), 3
    ) as network:
        network.run(until_s=3e-3)
        counts = network.watchdog_stats("s0", 2)
        assert (counts.storms, counts.restored) == (1, 0)
        network.run(until_s=3.29e-3)
        assert network.watchdog_stats("s0", 2).restored == 0
        network.run(until_s=3.5e-3)
        assert network.watchdog_stats("s0", 2).restored == 1


def test_resume_frames_alone_hold_nothing(monkeypatch):
    """A storm of PAUSE that becomes one of RESUME is over after the restoration time."""
    frees = [(600.0 + 20 * n, pause(0, 3)) for n in range(120)]
    with paused_by(monkeypatch, QUICK, STEADY + frees, 3) as network:
        network.run(until_s=3e-3)
        counts = network.watchdog_stats("s0", 2)
        assert (counts.storms, counts.restored) == (1, 1)


def test_watchdog_looks_at_its_classes_and_ports_alone(monkeypatch):
    frames = [(100.0 + 20 * n, pause(65535, 3, 4)) for n in range(100)]
    for watchdog, storms in (
        (QUICK, 2),
        (replace(QUICK, classes=(4,)), 1),
        (replace(QUICK, ports=(1,)), 0),
    ):
        with paused_by(monkeypatch, watchdog, frames, 3, 4) as network:
            network.run(until_s=2e-3)
            assert network.watchdog_stats("s0", 2).storms == storms


def test_watchdog_that_cannot_work_is_refused():
    with pytest.raises(TopologyError, match="choose from drop and forward"):
        Watchdog("wait")
    with pytest.raises(TopologyError, match="a period above 0"):
        Watchdog(poll_s=0)
    with pytest.raises(TopologyError, match=r"classes \(8,\): 0 to 7 are possible"):
        Watchdog(classes=(8,))
    topology = guarded(star(1), replace(QUICK, ports=(1, 2), classes=(3,)))
    with pytest.raises(
        TopologyError, match="s0: output buffers have strict priorities, and no PFC watchdog"
    ):
        replace(topology, switches=(replace(topology.switches[0], output=OutputBuffer()),))
    with pytest.raises(TopologyError, match="s0: a PFC watchdog is there with PFC"):
        replace(topology, flow_control="credits")
    with pytest.raises(NetworkError, match="s0: a PFC watchdog is there in virtual time alone"):
        require_live(topology)
    with pytest.raises(VirtualError, match="s0: its buffer and its watchdog need PFC"):
        VirtualNetwork(topology, PFC_ONLY, pfc=False)
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology
