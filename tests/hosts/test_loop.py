"""The loop in C reads frames as `pcn.hosts.wire` does; and its sockets: time stamps, batches, flows
that are new."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from waiting import wait_until

from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowRequest
from pcn.hosts.structures import FRAME, Event
from pcn.hosts.wire import CnpPacket, DataPacket, PfcFrame

LINE = 1e9
SO_TIMESTAMPNS = 35
MAC, IP = wire.parse_mac("00:00:00:00:00:02"), wire.parse_ip("10.0.1.2")
PEER_MAC, PEER = wire.parse_mac("00:00:00:00:00:01"), wire.parse_ip("10.0.0.1")


class Host:
    """A host behind a datagram socket, which carries frames as a packet socket does."""

    def __init__(self, dilation: float = 1.0, origin: float | None = None, delay_s: float = 0.0):
        self.clock = DilatedClock(dilation, origin)
        configured = find_scheme("pfc").configure()
        log = EventLog(None, self.clock)
        self.events = Events()
        self.frames: list[bytes] = []
        self.events.listen(FRAME, self._on_frame)
        self.nic = Nic(
            LINE,
            delay_s=delay_s,
            events=self.events,
            on_end=lambda flow, at_s: self.sender.on_end(flow, at_s),
        )
        self.sender = Sender(MAC, IP, configured, self.nic, self.clock, log)
        self.receiver = Receiver(
            MAC, IP, configured, self.clock, log, self.events, self.nic.send_control
        )
        self.near, self.far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.quiet, self.caller = socket.socketpair()
        self.loop = Loop(
            IP, self.clock, [LoopPort(self.nic, self.near.fileno())], self.receiver, self.events,
            self.quiet.fileno(),
        )  # fmt: skip

    def _on_frame(self, event: Event):
        self.frames.append(event.frame)

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_):
        for end in (self.near, self.far, self.quiet, self.caller):
            end.close()

    def run_until(self, condition: Callable[[], object]):
        """In turns of a millisecond of real time, however many it takes."""

        def after_a_turn():
            self.loop.run(self.clock.now() + 1e-3 / self.clock.dilation)
            return condition()

        wait_until(after_a_turn)


def data(psn: int = 0, flow: int = 1, payload: int = 100, ecn: int = wire.ECN_ECT0) -> DataPacket:
    return DataPacket(PEER_MAC, MAC, PEER, IP, flow, psn, bytes(payload), ecn)


def samples() -> list[bytes]:
    return [
        *(wire.encode_data(data(payload=size)) for size in (1, 2, 3, 4, 150, 1000)),
        wire.encode_data(DataPacket(PEER_MAC, MAC, PEER, PEER, 1, 0, bytes(20))),
        wire.encode_cnp(CnpPacket(PEER_MAC, MAC, PEER, IP, 5, True, 77)),
        wire.encode_pfc(PfcFrame(PEER_MAC, {3: 0xFFFF, 0: 1})),
    ]


def reading(frame: bytes) -> str:
    """The kind of a frame for this host by `pcn.hosts.wire`."""
    try:
        packet = wire.decode(frame)
    except wire.WireError:
        return "bad"
    if isinstance(packet, PfcFrame):
        return "pfc"
    return "data" if isinstance(packet, DataPacket) and packet.dst_ip == IP else "other"


def taken(host: Host, frame: bytes) -> str:
    """What the loop took a frame for."""
    host.loop.frame(frame, host.clock.now())
    state = host.loop.state
    pfc = any(pause.pause or pause.resume for pause in host.nic.pauses)
    kinds = {"data": bool(host.receiver.stats()), "pfc": pfc, "bad": bool(state.bad_frames)}
    kinds["other"] = bool(state.other_frames or host.frames)
    host.receiver.reset()
    host.loop.reset_counters()
    host.nic.reset_counters(host.clock.now())
    host.frames.clear()
    (kind,) = (name for name, is_it in kinds.items() if is_it)
    return kind


@pytest.mark.parametrize("index", range(9))
def test_frames_are_what_they_are(index):
    frame = samples()[index]
    with Host() as host:
        assert taken(host, frame) == reading(frame)
        assert taken(host, frame + bytes(7)) == reading(frame + bytes(7))  # padding behind it


@given(st.integers(0, 8), st.randoms(use_true_random=False))
def test_damaged_frames_are_never_taken_for_data(index, rng):
    """Nor for anything that `pcn.hosts.wire` doesn't take them for."""
    frame = bytearray(samples()[index])
    for _ in range(rng.choice([0, 1, 1, 2])):
        frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.3:
        del frame[rng.randrange(1, len(frame)) :]
    if rng.random() < 0.2:
        frame += bytes(rng.randrange(1, 20))
    expected = reading(bytes(frame))
    with Host() as host:
        kind = taken(host, bytes(frame))
    # A broken frame may look like one for somebody else, or one that Python reads: it refuses that
    assert kind == expected or (expected == "bad" and kind == "other")


def test_a_burst_of_new_flows_is_taken_in_order():
    with Host() as host:
        for number in range(200):
            host.far.send(wire.encode_data(data(psn=number // 40, flow=number % 40)))
        host.run_until(lambda: sum(flow.packets for flow in host.receiver.stats()) == 200)
        flows = host.receiver.stats()
        assert [(flow.flow, flow.packets, flow.gaps, flow.reordered) for flow in flows] == [
            (number, 5, 0, 0) for number in range(40)
        ]


def test_what_is_due_leaves_and_what_the_kernel_refuses_leaves_later():
    with Host(dilation=10) as host:
        host.near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # a few frames
        request = FlowRequest(
            7, "10.0.0.1", "00:00:00:00:00:01", host.clock.now(), size_bytes=50_000
        )
        host.sender.start(request, host.clock.now())
        host.run_until(lambda: host.loop.state.send_retries > 0)
        host.far.setblocking(False)
        received: list[bytes] = []

        def all_came() -> bool:
            with contextlib.suppress(BlockingIOError):
                received.append(host.far.recv(2000))
            return len(received) == 50

        host.run_until(all_came)
        packets = [wire.decode(frame) for frame in received]
        assert [packet.psn for packet in packets if isinstance(packet, DataPacket)] == list(
            range(50)
        )
        assert host.sender.stats()[0].state == "done"


def test_paused_host_reads_frames_at_once():
    """Where they are dense it lets them wait for each other, here for ten seconds: not while RESUME
    may be next."""
    with Host(dilation=5e6) as host:
        # Python reads it: a turn ends
        cnp = wire.encode_cnp(CnpPacket(PEER_MAC, MAC, PEER, IP, 1, True, 77))
        for quanta in (None, 0xFFFF, 0):
            began_s = host.clock.now()
            if quanta is not None:
                host.far.send(wire.encode_pfc(PfcFrame(PEER_MAC, {3: quanta})))
            host.far.send(cnp)
            host.loop.run(began_s + 1.0)
        assert host.clock.now() - began_s < 1.5e-6
        assert (host.nic.pauses[3].pause, host.nic.pauses[3].resume) == (1, 1)


def test_how_late_a_frame_left_is_no_time_of_the_clock():
    long_s = 10_000.0
    with Host(origin=time.monotonic() - long_s) as host:
        due_s = host.clock.now()
        host.sender.start(
            FlowRequest(7, "10.0.0.1", "00:00:00:00:00:01", due_s, size_bytes=5_000), due_s
        )
        host.run_until(lambda: host.sender.stats()[0].state == "done")
        assert 0 < host.loop.state.late_s <= host.loop.state.now_s - due_s < long_s


@pytest.mark.parametrize("stopped", [False, True])
def test_a_flow_whose_last_packet_leaves_beside_a_cnp_for_it_has_ended(stopped):
    """Python reads the CNP first: it sets the rate of a flow, or stops one, that the NIC has ended
    already."""
    with Host() as host:
        now = host.clock.now()
        for number, size in ((1, 1000), (2, None)):
            request = FlowRequest(number, "10.0.0.1", "00:00:00:00:00:01", now, size_bytes=size)
            host.sender.start(request, now)
        ending, endless = host.nic.flows
        known_to_have_ended: list[bool] = []

        def on_cnp(event: Event):
            known_to_have_ended.append(ending not in host.nic.flows)
            if stopped:
                host.nic.remove(ending, event.at_s)
            else:
                host.nic.set_rate(ending, LINE / 2, event.at_s)

        host.events.listen(FRAME, on_cnp)
        host.far.send(wire.encode_cnp(CnpPacket(PEER_MAC, MAC, PEER, IP, 1, True, 77)))
        host.run_until(lambda: ending.delivered == 1 and endless.delivered > 1)
        assert known_to_have_ended == [False]
        assert host.nic.flows == (endless,)
        assert [flow.state for flow in host.sender.stats()] == ["done", "sending"]
        assert endless.rate_bps == LINE


def test_it_returns_when_it_is_called():
    with Host() as host:
        host.caller.send(b"x")
        assert host.loop.run(math.inf)


def test_a_packet_arrived_when_the_kernel_got_it():
    with Host() as host:
        host.near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        times = []
        for psn in range(3):
            before = host.clock.now()
            host.far.send(wire.encode_data(data(psn=psn)))
            times.append((before, host.clock.now()))
            time.sleep(0.02)  # so that the loop is late by more than a stamp may be wrong
        host.run_until(lambda: host.receiver.stats() and host.receiver.stats()[0].packets == 3)
        (flow,) = host.receiver.stats()
        assert times[0][0] - 1e-4 <= flow.first_s <= times[0][1] + 1e-4
        assert times[2][0] - 1e-4 <= flow.last_s <= times[2][1] + 1e-4


def test_a_pause_counts_from_its_arrival_however_late_it_is_read():
    with Host() as host:
        host.near.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        before = host.clock.now()
        host.far.send(wire.encode_pfc(PfcFrame(PEER_MAC, {3: 0xFFFF})))
        after = host.clock.now()
        time.sleep(0.02)
        host.run_until(lambda: host.nic.pauses[3].pause)
        length_s = 0xFFFF * wire.QUANTUM_BITS / LINE
        assert before - 1e-4 <= host.nic.pauses[3].until_ps / 1e12 - length_s <= after + 1e-4


def test_a_failed_interface_raises():
    with Host() as host:
        host.near.close()
        with pytest.raises(OSError, match="the interface failed"):
            host.loop.run(host.clock.now() + 1)
