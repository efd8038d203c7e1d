"""The engine's NIC against hosts/nic.py and its csrc, the live agents': the same frames at the same
times, under random flows, rates that change, PAUSE and RESUME. And what a capture holds, byte for
byte and as tshark reads it."""

import dataclasses
import random
import subprocess

import needs
import pytest
from networks import PCN, chain, read_pcap, star, with_flows
from waiting import LIMIT_S

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, ReactionPoint, find_scheme
from pcn.hosts.nic import Nic, NicFlow
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

LINE = 10e9


class Changing(ReactionPoint):
    """Takes a new rate at each of some times."""

    def __init__(self, changes: list[tuple[float, float]]):
        self.changes = list(changes)
        self.rate_bps = self.changes.pop(0)[1]
        self.timer_s = self.changes[0][0] if self.changes else None

    def on_timer(self, now_s: float):
        self.rate_bps = self.changes.pop(0)[1]
        self.timer_s = self.changes[0][0] if self.changes else None


def nanoseconds(time_s: float) -> int:
    return round(time_s * 1e9)


@pytest.mark.parametrize("seed", [*range(6), 60])
def test_the_nic_of_the_agents(seed, tmp_path):
    """Flows of h0 share the bottleneck with h1, so that PAUSE comes; h0's NIC is followed frame by
    frame."""
    random_ = random.Random(seed)
    specs, changes = [], {}
    for number in range(1, 2 + seed):
        start = random_.choice([0.0, random_.uniform(0, 200e-6)])
        size = random_.choice([None, random_.randint(1, 60_000)])
        duration = random_.choice([None, random_.uniform(20e-6, 400e-6)])
        specs.append(
            FlowSpec(number, "h0", "r0", start_s=start, size_bytes=size, duration_s=duration)
        )
        times = sorted(random_.uniform(start, 500e-6) for _ in range(random_.randint(0, 5)))
        changes[number] = [(0.0, LINE)] + [
            (time, random_.choice([LINE, random_.uniform(5e7, LINE)])) for time in times
        ]
    rps = iter([Changing(changes[spec.id]) for spec in specs] + [Changing([(0.0, LINE)])])
    pfc = find_scheme("pfc")
    scheme = Configured(
        dataclasses.replace(pfc, reaction_point=lambda line, _: next(rps)),
        pfc.configure().parameters,
    )
    with VirtualNetwork(star(2, xoff_bytes=20e3), scheme) as network:
        with_flows(network, [*specs, FlowSpec(99, "h1", "r0")])
        network.capture("h0", 0, tmp_path / "out.pcap")
        network.capture("s0", 1, tmp_path / "back.pcap")
        network.run(until_s=500e-6)
    sent = read_pcap(tmp_path / "out.pcap")
    assert len(sent) > 2

    # What came to h0: PFC frames, a microsecond after they had left the switch
    events = [
        (time + 1e-6, "pfc", wire.decode_pfc_quanta(frame))
        for time, frame in read_pcap(tmp_path / "back.pcap")
    ]
    assert seed == 0 or len(events) > 2
    nic, flows = Nic(LINE), {}
    for spec in specs:
        frames = None if spec.size_bytes is None else -(-spec.size_bytes // 1000)
        last = 1000 if spec.size_bytes is None else spec.size_bytes - ((frames or 1) - 1) * 1000
        flows[spec.id] = NicFlow(
            3, 1058 * 8, LINE, spec.start_s, packets=frames, last_bits=(58 + -(-last // 4) * 4) * 8,
            end_s=float("inf") if spec.duration_s is None else spec.start_s + spec.duration_s,
        )  # fmt: skip
        nic.add(flows[spec.id], 0.0)
        events += [(time, "rate", (spec.id, rate)) for time, rate in changes[spec.id][1:]]
    numbers = {id(flow): number for number, flow in flows.items()}
    expected: list[tuple[int, int, int]] = []

    def until(now: float):
        while (wake := nic.wake()) <= now:
            nic.advance(wake)
            while (item := nic.due(wake)) is not None:
                expected.append((nanoseconds(item.due_s), numbers[id(item.flow)], item.number))
        nic.advance(now)

    for time, kind, change in sorted(events, key=lambda event: event[0]):
        until(time)
        if kind == "pfc":
            nic.pfc(change, time)
        else:
            number, rate = change
            if flows[number] in nic.flows:
                nic.set_rate(flows[number], rate, time)
    until(500e-6)

    packets = [(time, wire.decode(frame)) for time, frame in sent if time <= 500e-6]
    seen = [
        (time, packet.flow, packet.psn)
        for time, packet in packets
        if time <= 500e-6 and isinstance(packet, wire.DataPacket)
    ]
    assert [row[1:] for row in seen] == [row[1:] for row in expected]
    # Captures have whole nanoseconds, cut; the model here is of floats
    assert all(
        abs(nanoseconds(time) - at) <= 2
        for (time, *_), (at, *_) in zip(seen, expected, strict=True)
    )


def test_frames_of_a_run_are_whole_and_sound(tmp_path):
    """wire.decode checks lengths, checksum and ICRC of what the program forwarded."""
    scheme = find_scheme("pcn").configure({"period_s": 50e-6})
    with VirtualNetwork(chain(2, out_bps=5e9), scheme) as network:
        network.add_flow(FlowSpec(7, "h0", "r0", size_bytes=100_001))
        network.capture("s1", 2, tmp_path / "data.pcap")
        network.capture("s0", 1, tmp_path / "cnps.pcap")
        assert network.run(until_s=1, finish=True)
        network.run(until_s=network.now_s + 1e-3)
        received = network.flows[7].stats()
    data = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "data.pcap")]
    assert [packet.psn for packet in data if isinstance(packet, wire.DataPacket)] == list(
        range(101)
    )
    assert sum(packet.ecn == wire.ECN_CE for packet in data) == received.marked_ce > 50
    assert data[-1].payload == bytes(1)
    assert data[-1].last
    # TTL, after two switches
    assert {frame[0][22] for frame in [read_pcap(tmp_path / "data.pcap")[0][1:]]} == {62}
    cnps = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "cnps.pcap")]
    assert cnps
    assert all(isinstance(packet, wire.CnpPacket) and packet.flow == 7 for packet in cnps)
    assert {packet.ecn for packet in cnps if isinstance(packet, wire.CnpPacket)} == {
        wire.ECN_CE,
        wire.ECN_ECT0,
    }


def test_a_switch_s_message_is_captured_as_it_is(tmp_path):
    """It ends with the sampled packet's PSN, where RoCEv2's frames have an ICRC."""
    with VirtualNetwork(star(2), find_scheme("qcn").configure()) as network:
        with_flows(
            network, [FlowSpec(5 + i, f"h{i}", "r0", size_bytes=3_000_000) for i in range(2)]
        )
        network.capture("s0", 1, tmp_path / "cnms.pcap")
        assert network.run(until_s=1, finish=True)
    packets = [wire.decode(frame) for _, frame in read_pcap(tmp_path / "cnms.pcap")]
    messages = [packet for packet in packets if isinstance(packet, wire.CnmPacket)]
    assert messages
    assert all(packet.flow == 5 and packet.psn < 3000 for packet in messages)
    assert [packet.psn for packet in messages] == sorted(packet.psn for packet in messages)


def test_tshark_reads_a_capture(tmp_path):
    tshark = needs.program("tshark", needs.TSHARK)
    with VirtualNetwork(star(2, xoff_bytes=20e3), PCN) as network:
        with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=300_000) for i in range(2)])
        network.capture("s0", 1, tmp_path / "back.pcap")
        network.run(until_s=1e-3, finish=True)
        frames = network.link_stats("s0", 1)
    fields = ["frame.time_relative", "infiniband.bth.opcode", "macc.opcode", "eth.type"]
    command = [tshark, "-r", str(tmp_path / "back.pcap"), "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == frames.packets
    assert sum(row[3] == "0x8808" for row in rows) == frames.pause + frames.resume > 0
    assert sum(row[1] == "129" for row in rows) == frames.packets - frames.pause - frames.resume > 0
    times = [float(row[0]) for row in rows]
    assert times == sorted(times)
    assert 0 < times[-1] < 1e-3
