"""Queues on real interfaces and the live clock: that they shape, delay, hold, and that the worker
wakes up for it. A packet may be as late as the machine makes it, never early. When what happens, to
the nanosecond: test_manual_clock."""

import ctypes
import time
from collections.abc import Callable
from contextlib import closing
from ctypes import c_void_p

import pytest
from links import Link
from runtime import HOLD, MULTICAST, Switch, frame, wait

from pcn.softswitch.native_types import MeterCell
from pcn.softswitch.pace import Board, Pace

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("both_ways")]
Links = Callable[..., list[Link]]


def test_rate_and_delay(make_links: Links):
    """100 packets of 1000 B at 8 Mbit/s after 50 ms: not before their time, and all, though nothing
    else happens."""
    a, b = make_links(2)
    with Switch(depth=200) as switch:
        switch.join(a, b)
        switch.shape(2, 8e6, 0.05)
        start = time.monotonic()
        a.send(*[frame(mark=i) for i in range(100)])
        got = b.receive_timed(100)
        assert [f[23] for _, f in got] == list(range(100))
        for i, (at, _) in enumerate(got):
            assert at - start >= (i + 1) * 0.001 + 0.05


def test_frame_that_waits_finds_the_queue_of_its_arrival(make_links: Links):
    """While the worker is held up, five frames come, each after the one before has left the wire.
    With room for one in the queue none is lost: each is taken in at the time of its arrival,
    whenever the worker comes to it."""
    a, b = make_links(2)
    with Switch(depth=1) as switch:
        switch.join(a, b)
        switch.shape(1, 8e5, 0.05)
        switch.shape(2, 8e5, 0.05)  # a frame of 1000 B takes 10 ms
        assert b.silent()
        switch.lib.sw_lock(switch.handle)
        try:
            for mark in range(5):
                a.send(frame(mark=mark))
                time.sleep(0.011)
        finally:
            switch.lib.sw_unlock(switch.handle)
        assert [f[23] for f in b.receive(5)] == list(range(5))
        assert switch.stats(2).queue_dropped == 0


def test_frame_within_its_link_delay_is_not_late(make_links: Links):
    """While the worker is held up for longer than the tolerance, frames wait. For less than three
    quarters of the delay that changes no time; for longer it does."""
    a, b = make_links(2)
    board = Board.make(nodes=1, most_percent=40)
    with closing(board), Switch() as switch:
        switch.join(a, b)
        switch.lib.sw_stop(switch.handle)
        board.begin(0, tolerance_ns=1_000_000)
        switch.lib.sw_report_pace(
            switch.handle, c_void_p(board.address), c_void_p(board.slot_address(0))
        )
        switch.call("sw_start")

        def worst_ns(delay_s: float) -> int:
            """Of 20 frames that wait for 20 ms, as the windows report that have them."""
            for port in (1, 2):
                switch.shape(port, 0, delay_s)
            before_ns = board.read()[0].updated_ns
            switch.lib.sw_lock(switch.handle)
            try:
                a.send(*[frame() for _ in range(20)])
                time.sleep(0.02)
            finally:
                switch.lib.sw_unlock(switch.handle)
            seen: dict[int, Pace] = {}

            def all_reported() -> bool:
                switch.lib.sw_wake(switch.handle)
                pace = board.read()[0]
                if pace.updated_ns != before_ns:
                    seen[pace.updated_ns] = pace
                return sum(node_pace.frames for node_pace in seen.values()) >= 20

            assert wait(all_reported)
            return max(pace.worst_ns for pace in seen.values())

        assert worst_ns(1e-3) >= 18_000_000
        assert worst_ns(30) < 1_000_000


@pytest.mark.parametrize("rate", [0, 40e6])
def test_held_packets_stop_no_other_packets(make_links: Links, rate):
    """Packets of class 5 recirculate until a register lets them go. Lower classes of the same port,
    other ports and the control plane go on; when released, all of them come, none twice."""
    a, b, c = make_links(3)
    with Switch(depth=1000) as switch:
        switch.join(a, b)
        switch.port_add(3, c.near)
        switch.forward(3, 1)
        switch.shape(2, rate)
        switch.write_register(0, 1)
        a.send(*[frame(HOLD, priority=5, mark=i) for i in range(200)])
        assert wait(lambda: switch.counter(1).packets > 400), "they go round"
        a.send(*[frame(priority=1) for _ in range(50)])
        assert {f[16] for f in b.receive(50)} == {1}
        c.send(*[frame() for _ in range(50)])
        assert len(a.receive(50)) == 50
        for i in range(200):
            switch.write_register(2, i, 7)
        start, before = time.monotonic(), switch.counter(1).packets
        assert wait(lambda: switch.counter(1).packets > before + 400)
        passes = switch.counter(1).packets - before
        took = time.monotonic() - start  # by no less than that of the passes
        assert passes <= 1.1 * (took * rate / 8000 if rate else (took / 50e-6 + 2) * 200) + 10
        switch.write_register(0, 0)
        assert sorted(f[23] for f in b.receive(200)) == list(range(200))
        assert b.silent()


def test_endless_copies_use_up_the_pool_and_no_more(make_links: Links):
    """A program that multiplies packets without end runs into the pool's limit; the switch still
    answers."""
    (a,) = make_links(1)
    with Switch(depth=100_000) as switch:
        switch.port_add(1, a.near)
        switch.forward(1, 2)
        switch.write_register(0, 1)
        switch.group("multicast_group", 3, [(2, 1), (2, 2), (2, 3)])
        switch.shape(2, 1)  # one packet in hours: what is queued stays
        for sent in range(1000, 7000, 1000):  # less than a ring holds at once
            a.send(*[frame(MULTICAST, 3) for _ in range(1000)])
            assert wait(
                lambda sent=sent: switch.stats(1).rx_packets + switch.stats(1).rx_dropped == sent
            )
        inside = sum(switch.stats(2).queue_packets)
        assert 16000 < inside <= 16384
        assert switch.counter(0, 1).packets > 0


def test_meters_are_configured_and_read_back():
    with Switch() as switch:
        config = MeterCell()
        assert switch.lib.sw_meter_read(switch.handle, 0, 1, ctypes.byref(config)) == 0
        assert config.cir == 2**64 - 1
        wanted = MeterCell(1000, 100, 2000, 200, 10**6)
        assert switch.lib.sw_meter_write(switch.handle, 0, 1, ctypes.byref(wanted)) == 0
        assert switch.lib.sw_meter_read(switch.handle, 0, 1, ctypes.byref(config)) == 0
        assert (config.cir, config.cburst, config.pir, config.pburst) == (1000, 100, 2000, 200)
        assert switch.lib.sw_meter_write(switch.handle, 0, 4, ctypes.byref(wanted)) < 0
        assert (
            switch.lib.sw_meter_write(
                switch.handle, 0, 1, ctypes.byref(MeterCell(2, 1, 1, 1, 10**6))
            )
            < 0
        )
        assert switch.lib.sw_meter_write(switch.handle, 0, 1, None) == 0
        assert switch.lib.sw_meter_read(switch.handle, 0, 1, ctypes.byref(config)) == 0
        assert config.pburst == 2**64 - 1
