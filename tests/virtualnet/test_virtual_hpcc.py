"""HPCC in virtual time (SIGCOMM'19), with the telemetry that its program writes."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
import pytest
from networks import assert_one_outcome, read_pcap, star, with_flows

from pcn.experiments.data.series_math import jain
from pcn.hosts import telemetry, wire
from pcn.hosts.algorithms import Ack, find_scheme
from pcn.hosts.algorithms.hpcc import HpccReactionPoint
from pcn.hosts.recommended import recommended
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.switch_clock import unfit
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError

LINE, DELAY, FRAME, ACK = 100e9, 3e-6, 1102, 106
HPCC = find_scheme("hpcc")


def hpcc_network(
    senders: int,
    line_bps: float = LINE,
    delay_s: float = DELAY,
    scheme=HPCC,
    settings: Mapping[str, float] = MappingProxyType({}),
    **more,
) -> VirtualNetwork:
    topology = star(senders, line_bps, delay_s=delay_s, xoff_bytes=50e6)
    network = VirtualNetwork(
        topology, scheme.configure({**recommended(topology, scheme), **settings}), **more
    )
    return with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0") for i in range(senders)])


@pytest.mark.parametrize("flows", [1, 2, 4, 8, 11, 16, 17])
@pytest.mark.parametrize(("line_bps", "delay_s"), [(10e9, 30e-6), (LINE, DELAY)])
def test_bottleneck_carries_eta(line_bps, delay_s, flows):
    """Whatever the number of flows, and without a queue: U = eta, from which W_AI takes little
    (3.3)."""
    with hpcc_network(flows, line_bps, delay_s) as network:
        round_s, end = network.scheme.parameters.base_rtt_s, ("s0", flows + 1)
        seen = network.sample(
            round_s / 8, [network.queue_bytes(*end), network.link_bytes(*end)], from_s=200 * round_s
        )
        network.run(until_s=600 * round_s)
        queue, sent = seen.values.T
    assert (sent[-1] - sent[0]) * 8 / line_bps / (
        seen.times_s[-1] - seen.times_s[0]
    ) == pytest.approx(0.95, abs=0.01)
    assert queue.mean() < 2e3


def fairness(flows: int, line_bps: float, delay_s: float, round_trips: int, **more) -> float:
    """Returns Jain's index of what arrives of long flows in the second half of `round_trips`."""
    rtt_s = 4 * delay_s
    topology = star(flows, line_bps, delay_s=delay_s, xoff_bytes=50e6)
    network = VirtualNetwork(topology, HPCC.configure(recommended(topology, HPCC)), **more)
    specs = [FlowSpec(i + 1, f"h{i}", "r0", start_s=i * rtt_s / flows) for i in range(flows)]
    with with_flows(network, specs):
        network.run(until_s=round_trips / 2 * rtt_s)
        before = np.array([flow.stats().received_bytes for flow in network.flows.values()])
        network.run(until_s=round_trips * rtt_s)
        return jain(
            np.array([flow.stats().received_bytes for flow in network.flows.values()]) - before
        )


@pytest.mark.parametrize("flows", range(3, 9))
@pytest.mark.parametrize(("line_bps", "delay_s"), [(LINE, DELAY), (400e9, DELAY / 4)])
def test_few_long_flows_share_a_bottleneck_equally(line_bps, delay_s, flows):
    assert fairness(flows, line_bps, delay_s, 10_000) >= 0.98


def test_clock_of_few_ticks_a_round_trip_makes_shares_unequal():
    """v1model's, of 1 us, has 12 here: what it is that 1 ns mends."""
    assert fairness(4, LINE, DELAY, 2000, switch_tick_s=1e-6) < 0.8


@pytest.mark.parametrize(
    ("line_bps", "delay_s", "round_trips", "mean_bytes"),
    [(1e9, 100e-6, 5, 3e3), (LINE, DELAY, 8, 2e3)],
)
def test_first_windows_of_an_incast_drain_in_the_time_they_take(
    line_bps, delay_s, round_trips, mean_bytes
):
    """16 windows of a BDP meet, and the queue is gone 5 or 8 round trips after it could have been:
    the reference window is the first one until all of it is acknowledged, so that windows rise
    again before the queue is empty. On a line of 1 Gbit/s a window is three frames then."""
    flows = 16
    with hpcc_network(flows, line_bps, delay_s) as network:
        base_rtt_s = network.scheme.parameters.base_rtt_s
        seen = network.sample(base_rtt_s / 20, [network.queue_bytes("s0", flows + 1)])
        network.run(until_s=100 * base_rtt_s)
        queue = seen.values[:, 0]
    highest = int(queue.argmax())
    drained = highest + int(np.argmax(queue[highest:] <= flows * FRAME))
    assert queue.max() > 14 * line_bps * base_rtt_s / 8
    assert seen.times_s[drained] <= queue.max() * 8 / line_bps + round_trips * base_rtt_s
    assert queue[drained:].mean() <= mean_bytes


@pytest.mark.parametrize(
    "settings", [{}, {"frame_per_payload": 1.102, "min_rate_bps": 1e9, "first_rtt": 1}]
)
def test_run_is_the_same_with_either_queue_and_form_and_in_c(settings):
    build = partial(hpcc_network, 4, settings=settings)
    assert_one_outcome(build, 2e-4, {"in_c": False}, {"prefetch": False})


class Recording(HpccReactionPoint):
    """Keeps what acknowledgements bring."""

    def __init__(self, line_rate_bps: float, parameters):
        super().__init__(line_rate_bps, parameters)
        self.brought: list[Ack] = []

    def on_ack(self, ack: Ack, now_s: float):
        self.brought.append(ack)
        super().on_ack(ack, now_s)


@pytest.mark.parametrize("inplace", [True, False])
def test_acknowledgements_bring_back_what_the_switch_wrote(tmp_path, inplace):
    """Frames on either side of the switch fit their ICRC; the one that leaves has the record that
    its ACK brings."""
    scheme = replace(HPCC, reaction_point=Recording)
    names = {"in": ("h0", 0), "out": ("s0", 2), "acks": ("s0", 1)}
    with hpcc_network(1, scheme=scheme, inplace=inplace) as network:
        for name, end in names.items():
            network.capture(*end, tmp_path / name)
        network.run(until_s=5e-5)
        rp = network.flows[1].rp
    frames = {
        name: [wire.decode(frame) for _, frame in read_pcap(tmp_path / name)] for name in names
    }
    assert {packet.telemetry for packet in frames["in"]} == {bytes(wire.TELEMETRY_BYTES)}
    left = {packet.psn: telemetry.decode(packet.telemetry, 1e-9) for packet in frames["out"]}
    assert isinstance(rp, Recording)
    assert len(rp.brought) > 100
    for ack in rp.brought:
        assert ack.telemetry == left[ack.psn]
        assert len(left[ack.psn].hops) == 1
    assert {packet.telemetry for packet in frames["acks"]} <= {
        packet.telemetry for packet in frames["out"]
    }
    sent = [left[psn].hops[0].sent_bytes for psn in range(100)]
    assert sent == [psn * FRAME // 128 * 128 for psn in range(100)]


def test_telemetry_costs_its_bytes():
    """Data of 1,102 bytes for 1,058, and acknowledgements of 106 for 62."""
    with hpcc_network(1) as network:
        network.run(until_s=1e-4)
        stats, back = network.flows[1].stats(), network.link_stats("s0", 1)
    assert stats.received_bytes == FRAME * stats.received_packets
    assert back.bytes == ACK * back.packets


def test_hpcc_goes_on_after_losses():
    lossy = {3: Reliability(Repeats.GO_BACK_N, 1e-3)}
    topology = star(1, LINE, delay_s=DELAY)
    network = VirtualNetwork(
        topology, HPCC.configure(recommended(topology, HPCC)), reliability=lossy
    )
    with with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=5_000_000)]):
        network.disturb("s0", 2, "data", p_lose=1e-3)
        assert network.run(until_s=1, finish=True)
        stats = network.flows[1].stats()
    assert stats.received_packets == 5000
    assert stats.repeated_packets > 0


def test_program_without_telemetry_brings_back_none():
    """The room stays empty, and the window as it was."""
    with hpcc_network(1, scheme=replace(HPCC, program="plain", marking=())) as network:
        network.run(until_s=1e-4)
        assert (
            network.flows[1].stats().window_bytes == network.scheme.parameters.base_rtt_s * LINE / 8
        )
        assert network.flows[1].stats().received_packets > 500


@pytest.mark.parametrize("inplace", [True, False])
def test_switch_clock_ticks_as_the_network_has_it(inplace):
    """Two packets' records are as far apart as the packets, in whole ticks."""
    frame_s = FRAME * 8 / LINE
    for tick_s in (1e-9, 16e-9, 1e-6):
        with hpcc_network(
            1, scheme=replace(HPCC, reaction_point=Recording), inplace=inplace, switch_tick_s=tick_s
        ) as network:
            network.run(until_s=5e-5)
            rp = network.flows[1].rp
        assert isinstance(rp, Recording)
        seen = [ack.telemetry for ack in rp.brought if ack.telemetry is not None]
        assert {record.tick_s for record in seen} == {tick_s}
        ticks = [record.hops[0].ticks for record in seen[:101]]
        assert (ticks[-1] - ticks[0]) * tick_s == pytest.approx(100 * frame_s, abs=2 * tick_s)


@pytest.mark.parametrize("tick_s", [0.0, 0.4e-9, 2e-6])
def test_switch_clock_refuses_other_ticks(tick_s):
    with pytest.raises(VirtualError, match="a tick of"):
        hpcc_network(1, switch_tick_s=tick_s)


@pytest.mark.parametrize(
    ("delay_s", "tick_s", "rate_bps", "words"),
    [
        (DELAY, 1e-9, LINE, ""),
        (DELAY, 1e-6, LINE, "less than 40 ticks"),
        (3e-3, 1e-9, LINE, "longer than 8.39 ms"),
        # 134 MB at 400 Gbit/s: 2.68 ms
        (0.66e-3, 1e-9, 400e9, ""),
        (0.68e-3, 1e-9, 400e9, "up to 134 MB"),
    ],
)
def test_remark_states_where_telemetry_is_too_coarse_or_its_range_too_short(
    delay_s, tick_s, rate_bps, words
):
    topology = star(1, rate_bps=rate_bps, delay_s=delay_s)
    remark = unfit(topology, HPCC.configure(), tick_s)
    assert words in remark
    assert bool(remark) == bool(words)
    assert not unfit(topology, find_scheme("dctcp").configure(), tick_s)
