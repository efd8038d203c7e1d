"""The tick of the clock that a program reads, on the manual clock: its frames' records, and its
pauses."""

import pytest

from pcn.controller.configure import plan, program_switch
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.hosts import telemetry, wire
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.star import star
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.switch import VirtualSwitch, load

IN, OUT, RATE_BPS = 1, 2, 8e6
SCHEME = find_scheme("hpcc").configure()
TOPOLOGY = star(1, 1, rate_bps=10e9)


def switch(tick_ns: int) -> tuple[VirtualSwitch, int]:
    """Returns HPCC's program with PFC in it, on ports of 8 Mbit/s, and a quantum there, ns."""
    virtual_switch = VirtualSwitch("s0", load(Program.find("hpcc"), False), 1, tick_ns=tick_ns)
    k = TOPOLOGY.link_at("s0", OUT).rate_bps / RATE_BPS
    planned = plan(TOPOLOGY, "s0", k, SCHEME, tick_ns)
    program_switch(InProcessSwitch("s0", virtual_switch), planned)
    for port in (IN, OUT):
        virtual_switch.native.port_add(port, None)
        virtual_switch.native.port_shape(port, rate_bps=int(RATE_BPS))
    return virtual_switch, round(512 / RATE_BPS * 1e9)


def data(psn: int) -> bytes:
    ends = [
        getattr(TOPOLOGY.host(name), attribute)
        for attribute in ("mac", "ip")
        for name in ("h0", "r0")
    ]
    macs, ips = map(wire.parse_mac, ends[:2]), map(wire.parse_ip, ends[2:])
    room = bytes(wire.TELEMETRY_BYTES)
    return wire.encode_data(wire.DataPacket(*macs, *ips, 1, psn, bytes(1000), telemetry=room))


@pytest.mark.parametrize("tick_ns", [1000, 100, 7, 1])
def test_records_have_times_in_ticks(tick_ns):
    embedded, _ = switch(tick_ns)
    with embedded.native:
        embedded.native.advance(1_234_567)
        for psn in range(10):
            embedded.native.inject(IN, data(psn))
        embedded.native.advance(20_000_000)
        frames = [frame.data for frame in embedded.native.departed()]
    packets = [packet for packet in map(wire.decode, frames) if isinstance(packet, wire.DataPacket)]
    (first, *_), *_ = stamps = [
        telemetry.decode(packet.telemetry or b"", tick_ns / 1e9).hops for packet in packets
    ]
    assert len(stamps) == 10
    frame_ns = round(len(frames[0]) * 8 / RATE_BPS * 1e9)
    for number, (hop,) in enumerate(stamps):
        assert hop.ticks == (1_234_567 + number * frame_ns) // tick_ns % 2**24
        assert hop.since(first)[0] == pytest.approx(number * frame_ns / tick_ns, abs=1)


@pytest.mark.parametrize("tick_ns", [1000, 100, 7])
def test_pause_lasts_as_long_whatever_the_tick_is(tick_ns):
    embedded, quantum_ns = switch(tick_ns)
    with embedded.native:
        embedded.native.set_reentry(1000)
        mac = wire.parse_mac(TOPOLOGY.host("r0").mac)
        embedded.native.inject(OUT, wire.encode_pfc(wire.PfcFrame(mac, {3: 100})))
        embedded.native.inject(IN, data(0))
        embedded.native.advance(99 * quantum_ns)
        assert not [frame for frame in embedded.native.departed() if frame.port == OUT]
        embedded.native.advance(101 * quantum_ns + 2_000_000)
        assert [frame.port for frame in embedded.native.departed()] == [OUT]


@pytest.mark.parametrize("tick_ns", [0, 1001])
def test_switch_refuses_other_ticks(tick_ns):
    with pytest.raises(VirtualError, match=f"a tick of {tick_ns} ns: 1 to 1000 ns are possible"):
        switch(tick_ns)
