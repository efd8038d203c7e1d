"""The manual clock: a switch whose time the test moves, with ports without interface. Every time
here is exact."""

import errno
from collections.abc import Callable
from ctypes import c_uint64

import pytest
import runtime
from links import Link
from runtime import (
    CLONE,
    CLONE_EGRESS,
    DROP,
    HOLD,
    LOG,
    LOGGED,
    MULTICAST,
    PACKET_IN,
    RECIRCULATE,
    RESUBMIT,
    Switch,
    SwitchError,
    frame,
    wait,
)

pytestmark = pytest.mark.usefixtures("both_ways")
MS = 1_000_000
LOOP_PAUSE_NS = 50_000


def two_ports(depth: int = 64) -> Switch:
    switch = Switch(depth=depth, manual=True)
    switch.port_add(1)
    switch.port_add(2)
    switch.forward(1, 2)
    return switch


def test_time_stands_until_it_is_moved():
    with two_ports() as switch:
        assert switch.now_ns == 0
        switch.inject(1, frame())
        assert switch.now_ns == 0
        assert [(port, at) for port, at, _ in switch.departed()] == [(2, 0)], (
            "without a rate nothing takes time"
        )
        switch.advance(3600)
        assert switch.now_ns == 3600 * 10**9
        switch.advance(0)
        assert switch.now_ns == 3600 * 10**9


def test_rate_and_delay_to_the_nanosecond():
    """100 packets of 1000 B at 8 Mbit/s after 50 ms; the last to come early by a nanosecond doesn't
    come."""
    with two_ports(200) as switch:
        switch.shape(2, 8e6, 0.05)
        switch.advance(0.007)
        switch.inject(1, *[frame(mark=i) for i in range(100)])
        switch.advance(0.15 - 1e-9)
        assert len(switch.departed()) == 99
        switch.advance(1e-9)
        (last,) = switch.departed()
        assert (last.at_ns, last.frame[23]) == (157 * MS, 99)


def test_idle_time_gives_no_credit():
    with two_ports() as switch:
        switch.shape(2, 8e5)  # 10 ms a packet
        switch.inject(1, frame())
        switch.advance(0.11)
        switch.inject(1, *[frame() for _ in range(5)])
        switch.advance(1)
        assert [at // MS for _, at, _ in switch.departed()] == [10, 120, 130, 140, 150, 160]


def test_departures_in_order_of_time_over_ports():
    with two_ports() as switch:
        switch.port_add(3)
        switch.forward(3, 1)
        switch.shape(2, 8e6)
        switch.shape(1, 4e6)
        switch.inject(1, *[frame() for _ in range(4)])
        switch.inject(3, *[frame() for _ in range(2)])
        switch.advance(1)
        times = [(at // MS, port) for port, at, _ in switch.departed()]
        assert times == [(1, 2), (2, 2), (2, 1), (3, 2), (4, 2), (4, 1)]


def test_a_lower_rate_is_for_what_starts_later():
    """What has started leaves when it would have; a live switch that finds it there keeps its
    distance first."""
    with two_ports() as switch:
        switch.shape(2, 8e6, 0.005)
        switch.inject(1, frame(), frame())
        switch.advance(0.0015)
        switch.shape(2, 8e3, 0.005)  # a second a packet
        switch.advance(0.1)
        assert [at for _, at, _ in switch.departed()] == [6 * MS, 7 * MS]


def test_a_new_rate_takes_effect_at_once():
    with two_ports() as switch:
        switch.shape(2, 8)
        switch.inject(1, frame(), frame(), frame())
        switch.shape(2, 0)
        assert switch.departed() == [], "the first is on the wire, for 1000 s"
        switch.advance(1000)
        assert [at for _, at, _ in switch.departed()] == [1000 * 10**9] * 3


def test_the_highest_number_is_served_first():
    with two_ports() as switch:
        switch.shape(2, 8e4)
        switch.inject(1, frame(), *[frame(priority=p) for p in range(8)])
        switch.advance(1)
        assert [f[16] for _, _, f in switch.departed()] == [0, 7, 6, 5, 4, 3, 2, 1, 0]


def test_what_a_packet_finds():
    """The first starts at once, so the second finds no packet waiting."""
    with two_ports() as switch:
        switch.shape(2, 8e6)
        switch.inject(1, *[frame() for _ in range(4)])
        switch.advance(1)
        assert [(f[19], f[20]) for _, _, f in switch.departed()] == [(0, 0), (0, 2), (1, 1), (2, 0)]


@pytest.mark.parametrize(("rate", "passes"), [(8e6, 100), (0, 2000)])
def test_held_packets_go_round_in_the_switchs_time(rate, passes):
    """Ten packets for 0.1 s: at the port's rate one a millisecond; without a rate each once in 50
    us."""
    with two_ports() as switch:
        switch.shape(2, rate)
        switch.write_register(0, 1)
        switch.inject(1, *[frame(HOLD, priority=5, mark=i) for i in range(10)])
        switch.advance(0.1)
        before = switch.counter(1).packets
        switch.advance(0.1)
        assert switch.counter(1).packets - before == passes * (1 if rate else 10)
        switch.inject(1, frame(priority=1))
        switch.advance(0.001)
        assert [f[16] for _, _, f in switch.departed()] == [1], "others go on"
        switch.write_register(0, 0)
        switch.advance(0.1)
        assert sorted(f[23] for _, _, f in switch.departed()) == list(range(10))


def test_a_loop_without_end_ends_with_the_time():
    """A hold without end, an hour of it: 20,000 passes a second. Others get in between."""
    with two_ports() as switch:
        switch.write_register(0, 1)
        switch.inject(1, frame(HOLD))
        start = switch.counter(1).packets
        switch.advance(60)
        assert switch.counter(1).packets - start == 60 * 10**9 // LOOP_PAUSE_NS
        assert switch.now_ns == 60 * 10**9


def test_resubmission_without_end_ends_with_the_time():
    """No port slows it down: 63 times at once, then again after 50 us. Others get in between."""
    with two_ports() as switch:
        switch.inject(1, frame(RESUBMIT, 255), frame())
        assert len(switch.departed()) == 1
        assert switch.counter(0, 0).packets == 63
        switch.advance(0.001)
        assert switch.counter(0, 0).packets == 63 * (1 + MS // LOOP_PAUSE_NS)


def test_recirculation_that_ends():
    with two_ports() as switch:
        switch.inject(1, frame(RECIRCULATE, 50))
        switch.advance(1)
        ((_, at, got),) = switch.departed()
        assert got[22] == 50
        assert at == 46 * LOOP_PAUSE_NS, "after four passes at once"


def test_reentry_takes_its_time():
    """A recirculated packet is in no queue meanwhile: one that comes then finds none. Frames and
    packet-outs don't wait."""
    with two_ports() as switch:
        assert switch.lib.sw_reentry(switch.handle, c_uint64(1000)) == 0
        switch.shape(2, 8e6)  # 1 ms a packet
        switch.write_register(0, 1)
        switch.inject(1, frame(HOLD, mark=1))
        assert switch.counter(0, 0).packets == 0, "on its way"
        switch.advance(999e-9)
        assert switch.counter(0, 0).packets == 0
        switch.advance(1e-9)
        assert switch.counter(0, 0).packets == 1, "at the parser again"
        switch.advance(0.001 - 1000e-9)
        switch.write_register(0, 0)
        switch.inject(1, frame(mark=2))
        assert switch.packet_out(1, frame(mark=3)) == 0
        switch.advance(0.01)
        departures = [(f[23], f[19], at) for _, at, f in switch.departed()]
        assert departures == [(2, 0, 3 * MS), (3, 1, 4 * MS), (1, 2, 5 * MS)], (
            "a class that is held has used its turn"
        )


def test_resubmission_takes_its_time_too():
    with two_ports() as switch:
        assert switch.lib.sw_reentry(switch.handle, c_uint64(1000)) == 0
        switch.inject(1, frame(RESUBMIT, 255))
        switch.advance(0.001)
        assert switch.counter(0, 0).packets == 1000


def test_clones_and_resubmission_and_groups():
    with two_ports() as switch:
        switch.port_add(3)
        switch.forward(0, 2)
        switch.group("clone_session", 7, [(3, 4)])
        switch.group("multicast_group", 9, [(2, 11), (3, 12), (3, 13)])
        for opcode, ports in (
            (CLONE, [2, 3]),
            (CLONE_EGRESS, [2, 3]),
            (RESUBMIT, [2]),
            (DROP, []),
            (MULTICAST, [2, 3, 3]),
        ):
            switch.inject(1, frame(opcode, 9 if opcode == MULTICAST else 7))
            assert sorted(port for port, _, _ in switch.departed()) == ports


@pytest.mark.parametrize("length", [0, 1, 13, 22, 23, 59, 60, 1514, 1665, 9216])
def test_frames_of_any_length_are_as_they_were(length):
    """None is padded. The program drops what is shorter than its header."""
    with two_ports() as switch:
        switch.inject(1, frame(length=length))
        assert [len(f) for _, _, f in switch.departed()] == ([length] if length >= 23 else [])
        stats = switch.stats(1)
        lost = runtime.BY_ENGINE and not length  # an engine has no packets without a byte
        assert (stats.rx_packets, stats.rx_bytes, stats.rx_dropped) == (1, length, lost)
        assert switch.stats(2).tx_bytes == (length if length >= 23 else 0)


def test_clock_stops_where_a_controller_is_notified():
    """So that the controller may act at that time. The next call continues."""
    with Switch(cpu_port=255, manual=True) as switch:
        switch.port_add(1)
        switch.forward(1, 255)
        switch.shape(255, 8e6)
        switch.inject(1, frame(LOGGED), frame())
        assert switch.event() == (LOG, 0, b"hello from P4")
        for ms in (1, 2):
            assert switch.step(10 * MS) == 1
            assert switch.now_ns == ms * MS
            assert (switch.event() or (0,))[0] == PACKET_IN
        assert switch.step(10 * MS) == 0
        assert switch.now_ns == 10 * MS


def test_the_clock_stops_where_a_frame_leaves():
    """Of two ports that send at that moment both have sent."""
    with two_ports() as switch:
        switch.port_add(3)
        switch.forward(3, 1)
        switch.shape(2, 8e6)
        switch.shape(1, 4e6)
        switch.inject(1, *[frame() for _ in range(4)])
        switch.inject(3, frame())
        assert switch.step(10 * MS, 2, 2) == 1
        assert switch.now_ns == 2 * MS
        assert [port for port, _, _ in switch.departed()] == [2, 2, 1]
        assert switch.lib.sw_tx_count(switch.handle, 2) == 2
        assert switch.step(10 * MS, 2, 2) == 1, "it has left already"
        assert switch.step(10 * MS, 2, 5) == 0, "there are four"
        assert switch.lib.sw_tx_count(switch.handle, 9) == 0


def test_full_queues_drop_and_count():
    with two_ports(depth=10) as switch:
        switch.shape(2, 80_000)
        switch.inject(1, *[frame(length=64) for _ in range(50)])
        assert switch.stats(2).queue_dropped == 39, "one is on the wire, ten wait"
        switch.advance(1)
        assert len(switch.departed()) == 11


def test_what_is_refused():
    with Switch(manual=True) as switch:
        with pytest.raises(SwitchError, match="port 1 is none of those without interface"):
            switch.inject(1, frame())
        switch.port_add(1)
        with pytest.raises(SwitchError, match="port 1 has the interface none already"):
            switch.port_add(1)
        with pytest.raises(SwitchError, match="a frame of 9217 bytes is longer than 9216"):
            switch.inject(1, bytes(9217))
    with Switch() as switch:
        with pytest.raises(SwitchError, match="port 1 needs an interface"):
            switch.port_add(1)
        assert switch.lib.sw_reentry(switch.handle, c_uint64(1)) == -errno.EPERM
        with pytest.raises(SwitchError) as failure:
            switch.advance(1)
        assert failure.value.code == -errno.EPERM


@pytest.mark.root
def test_interfaces_at_the_time_that_stands(make_links: Callable[..., list[Link]]):
    """A frame from an interface is taken in by itself; what it has to wait for is the clock's."""
    a, b = make_links(2)
    with Switch(manual=True) as switch:
        switch.join(a, b)
        switch.advance(7)
        a.send(frame(mark=1))
        assert [f[23] for f in b.receive(1)] == [1]
        switch.shape(2, 8e6)
        a.send(frame(mark=2), frame(mark=3))
        assert wait(lambda: switch.stats(1).rx_packets == 3)
        assert switch.stats(2).tx_packets == 1
        switch.advance(0.001)
        switch.advance(0.001)
        assert [f[23] for f in b.receive(2)] == [2, 3]
        assert switch.now_ns == 7_002 * MS
