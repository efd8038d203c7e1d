"""A host's link in memory: frames with their times, however late the process is; and the ways
around it."""

import ctypes
import os
import socket
import struct
import threading

import pytest
from hypothesis import given, strategies as st
from test_loop import IP, LINE, MAC, PEER, PEER_MAC, Host, data
from waiting import wait_until

from pcn.hosts import wire
from pcn.hosts.loop import HostLink, Loop, LoopPort
from pcn.hosts.memory_link import CHANNEL_BYTES, Ends, promiscuity
from pcn.hosts.native import library
from pcn.hosts.sent_flow import FlowRequest

DELAY_S = 100.0  # what may be late by so much changes nothing
NEVER = 2**64 - 1
FRAME_S = 1058 * 8 / LINE
# Offsets in struct sw_channel
SLEEPS_UNTIL, WATCHED, DOWN = 72, 88, 89


class LinkedHost(Host):
    """A host whose link is in memory, and that link's far end."""

    def __init__(self):
        super().__init__(delay_s=DELAY_S)
        self.ends = Ends.make()
        self.loop = Loop(
            IP,
            self.clock,
            [LoopPort(self.nic, self.near.fileno(), HostLink(self.ends.memory, self.ends.bell_1,
            DELAY_S))],
            self.receiver,
            self.events,
            self.quiet.fileno(),
        )  # fmt: skip
        self.library = library()
        for name, result in (
            ("next", ctypes.c_uint64),
            ("begin", ctypes.c_void_p),
            ("first", ctypes.c_void_p),
        ):
            getattr(self.library, f"sw_channel_{name}").restype = result
        self.inward = ctypes.c_void_p(self.library.sw_channels_map(self.ends.memory))
        assert self.inward.value is not None
        self.outward = ctypes.c_void_p(self.inward.value + CHANNEL_BYTES)

    def __exit__(self, *_):
        self.ends.close()
        self.library.sw_channels_unmap(self.inward)
        super().__exit__()

    def put(self, frame: bytes, at_s: float):
        """A frame arrives at the host then."""
        ctypes.memmove(self.library.sw_channel_begin(self.outward), frame, len(frame))
        at_ns = ctypes.c_uint64(round((at_s + self.clock.origin) * 1e9))
        self.library.sw_channel_end(self.outward, ctypes.c_uint32(len(frame)), at_ns)

    def taken(self) -> list[tuple[float, bytes]]:
        """What the host has sent by the link, and when it arrives."""
        frames = []
        while (at_ns := self.library.sw_channel_next(self.inward)) != NEVER:
            length = ctypes.c_uint32()
            frame = self.library.sw_channel_first(self.inward, ctypes.byref(length))
            frames.append((at_ns / 1e9 - self.clock.origin, ctypes.string_at(frame, length.value)))
            self.library.sw_channel_drop(self.inward, length)
        return frames

    def set_flag(self, offset: int, value: bool):
        """Of the direction to the switch."""
        assert self.inward.value is not None
        ctypes.c_bool.from_address(self.inward.value + offset).value = value

    def send(self, packets: int):
        """Starts a flow of `packets` packets at line rate, of 1000 B each."""
        now = self.clock.now()
        self.nic.advance(now)
        self.sender.start(
            FlowRequest(
                flow=1, dst_ip="10.0.0.1", dst_mac="00:00:00:00:00:01", size_bytes=1000 * packets,
                start_s=now,
            ),
            now,
        )  # fmt: skip

    def sent(self) -> int:
        return sum(flow.packets for flow in self.sender.stats())


def test_frames_have_the_times_at_which_they_are_due():
    """However early or late the process puts them: one after the other at line rate, a delay after
    they left."""
    with LinkedHost() as host:
        host.send(50)
        host.run_until(lambda: host.sent() == 50)
        frames = host.taken()
        assert [wire.decode(frame).psn for _, frame in frames] == list(range(50))
        start = frames[0][0]
        assert start >= DELAY_S
        assert [at for at, _ in frames] == pytest.approx(
            [start + n * FRAME_S for n in range(50)], abs=1e-8
        )


def test_frames_arrive_at_their_times():
    """Not before; and late processing changes no time. The flow is new, which takes a turn of
    Python; the rest waits behind it."""
    with LinkedHost() as host:
        times = [host.clock.now() + 1e-3 * n for n in range(20)]
        for psn, at_s in enumerate(times):
            host.put(wire.encode_data(data(psn=psn)), at_s)
        host.run_until(lambda: sum(flow.packets for flow in host.receiver.stats()) == 20)
        (flow,) = host.receiver.stats()
        assert host.clock.now() >= times[-1]
        since = host.clock.since_epoch
        assert (flow.first_s, flow.last_s) == pytest.approx(
            (since(times[0]), since(times[-1])), abs=1e-8
        )
        assert (flow.gaps, flow.reordered) == (0, 0)


def test_sleeping_host_is_woken_for_a_frame():
    """It would sleep for an hour. Who puts a frame sees that, and rings."""
    with LinkedHost() as host, socket.socket(fileno=os.dup(host.ends.bell_0)) as bell:
        assert host.outward.value is not None
        sleeps = ctypes.c_uint64.from_address(host.outward.value + SLEEPS_UNTIL)

        def act():
            wait_until(lambda: sleeps.value != 0, "an agent that sleeps")
            host.put(
                wire.encode_cnp(wire.CnpPacket(PEER_MAC, MAC, PEER, IP, 5, True, 77)),
                host.clock.now(),
            )
            bell.send(b"x")

        thread = threading.Thread(target=act)
        thread.start()
        host.loop.run(host.clock.now() + 3600)  # an urgent event ends it
        thread.join()
        assert len(host.frames) == 1
        assert sleeps.value == 0


def test_frames_wait_while_the_link_is_down():
    with LinkedHost() as host:
        host.set_flag(DOWN, True)
        host.send(3)
        host.run_until(lambda: host.loop.state.send_retries > 2)
        assert host.taken() == []
        host.set_flag(DOWN, False)
        host.run_until(lambda: host.sent() == 3)
        assert len(host.taken()) == 3


@pytest.mark.parametrize("why", ["watched", "ended"])
def test_frames_leave_by_the_interface(why):
    """Where a process listens at its far end, or where the switch's process has ended. Not before
    they are due."""
    with LinkedHost() as host:
        if why == "watched":
            host.set_flag(WATCHED, True)
        else:
            os.close(os.dup(host.ends.bell_0))  # another descriptor of it changes nothing
            socket.socket(fileno=os.dup(host.ends.bell_0)).shutdown(socket.SHUT_RDWR)
            host.loop.run(host.clock.now() + 0.01)
        start = host.clock.now()
        host.send(3)
        host.run_until(lambda: host.nic.wake() < float("inf"))
        assert host.nic.wake() >= start + DELAY_S
        assert host.taken() == []
        host.set_flag(WATCHED, False)
        if why == "watched":
            host.run_until(lambda: host.sent() == 3)
            assert len(host.taken()) == 3


def message(index: int, listeners: int, kind: int = 16) -> bytes:
    """The kernel's message of how many listen at an interface."""
    attributes = struct.pack("=HH4sHHI", 8, 3, b"h0\0\0", 8, 30, listeners)
    body = struct.pack("=BxHiII", 0, 1, index, 0, 0) + attributes
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 5), st.sampled_from([16, 17]))))
def test_last_message_of_the_interface_counts(messages):
    data = b"".join(message(index, listeners, kind) for index, listeners, kind in messages)
    expected = [listeners for index, listeners, kind in messages if index == 2 and kind == 16]
    assert promiscuity(data, 2) == (expected[-1] if expected else None)


@given(st.binary(max_size=200), st.booleans())
def test_any_message_is_read(data, framed):
    promiscuity(message(2, 1)[: len(data)] + data if framed else data, 2)
