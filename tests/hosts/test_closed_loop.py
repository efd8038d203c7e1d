"""The hosts' whole code in a closed loop, in virtual time: section 7.1's dumbbell with a model of
its bottleneck.

Only the switch is modelled here: a FIFO with NP-ECN (marks what found a packet waiting when it
arrived; nothing pauses this port), PFC towards the senders, and the delays. Everything else except
sockets is the agents' own code.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

from pcn.hosts import wire
from pcn.hosts.algorithms import Cnp, Mark, find_scheme
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowRequest

LINE = 10e9
RTT = 500e-6
XOFF, XON = 512_000, 509_884
FRAME = 1058
MACS = [wire.parse_mac(f"00:00:00:00:00:{n:02x}") for n in range(6)]
IPS = [wire.parse_ip(f"10.0.0.{n}") for n in range(6)]


class Dumbbell:
    """Hosts 0 to 2 send to hosts 3 to 5 through one port."""

    def __init__(self, w_min: float, seed: int):
        clock = DilatedClock(1, origin=0.0)
        log = EventLog(None, clock)
        configured = find_scheme("pcn").configure({"w_min": w_min, "period_s": RTT})
        self.now = 0.0
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.ticket = itertools.count()
        self.nics = [Nic(LINE, delay_s=RTT / 6) for _ in range(3)]
        self.senders = [
            Sender(MACS[n], IPS[n], configured, self.nics[n], clock, log) for n in range(3)
        ]
        events = [Events() for _ in range(3)]
        self.receivers = [
            Receiver(
                MACS[n + 3], IPS[n + 3], configured, clock, log, events[n], self.on_cnp_sent, seed
            )
            for n in range(3)
        ]
        idle = Nic(LINE)
        self.loops = [
            Loop(IPS[n + 3], clock, [LoopPort(idle)], self.receivers[n], events[n])
            for n in range(3)
        ]
        self.queue: deque[tuple[int, bytes]] = deque()
        self.busy = False
        self.held = [0, 0, 0]
        self.paused = [False] * 3
        self.pauses = 0
        self.samples: list[tuple[float, int, float]] = []
        self.woken = [float("inf")] * 3

    def at(self, time: float, action: Callable[..., None], *arguments):
        heapq.heappush(self.events, (time, next(self.ticket), action, arguments))

    def start(self, host: int, flow: int, at: float):
        request = FlowRequest(
            flow, wire.format_ip(IPS[host + 3]), wire.format_mac(MACS[host + 3]), at
        )
        self.senders[host].start(request, self.now)
        self.wake(host)

    def wake(self, host: int):
        """See to it that the NIC is called when it wants to be."""
        at = self.nics[host].wake()
        if at < self.woken[host]:
            self.woken[host] = at
            self.at(at, self.on_nic, host, at)

    def on_nic(self, host: int, at: float):
        if at != self.woken[host]:
            return
        self.woken[host] = float("inf")
        nic = self.nics[host]
        nic.advance(self.now)
        while (item := nic.due(self.now)) is not None:
            self.on_switch(host, item.frame)
        self.wake(host)

    def on_switch(self, port: int, frame: bytes):
        if self.queue:
            frame = marked(frame)
        self.queue.append((port, frame))
        self.held[port] += len(frame)
        if self.held[port] > XOFF and not self.paused[port]:
            self.paused[port] = True
            self.pauses += 1
            self.at(self.now + RTT / 6, self.on_pfc, port, 0xFFFF)
        if not self.busy:
            self.depart()

    def depart(self):
        self.busy = bool(self.queue)
        if not self.queue:
            return
        port, frame = self.queue.popleft()
        self.held[port] -= len(frame)
        if self.paused[port] and self.held[port] < XON:
            self.paused[port] = False
            self.at(self.now + RTT / 6, self.on_pfc, port, 0)
        sent = self.now + len(frame) * 8 / LINE
        self.at(sent, self.depart)
        self.at(sent + RTT / 3, self.on_arrival, frame)

    def on_pfc(self, port: int, quanta: int):
        self.nics[port].advance(self.now)
        self.nics[port].pfc({3: quanta}, self.now)
        self.wake(port)

    def on_arrival(self, frame: bytes):
        host = frame[33] - 3  # the last byte of the destination address
        receiver = self.receivers[host]
        before = receiver.timer_s
        self.loops[host].frame(frame, self.now)
        if receiver.timer_s != before:
            self.at(receiver.timer_s, self.on_window, receiver)

    def on_window(self, receiver: Receiver):
        receiver.on_timer(self.now)
        if receiver.timer_s < float("inf"):
            self.at(receiver.timer_s, self.on_window, receiver)

    def on_cnp_sent(self, frame: bytes, now: float):
        self.at(now + RTT / 2, self.on_cnp, frame)

    def on_cnp(self, frame: bytes):
        packet = wire.decode(frame)
        assert isinstance(packet, wire.CnpPacket)
        host = packet.dst_ip[3]
        self.nics[host].advance(self.now)
        cnp = Cnp(Mark(packet.ecn), packet.rec_rate_mbps * 1e6)
        self.senders[host].on_cnp(packet.flow, packet.src_ip, cnp, self.now)
        self.wake(host)

    def sample(self, every: float):
        offered = sum(min(LINE, sum(flow.rate_bps for flow in nic.flows)) for nic in self.nics)
        self.samples.append((self.now, sum(len(frame) for _, frame in self.queue), offered))
        self.at(self.now + every, self.sample, every)

    def run(self, until: float):
        while self.events[0][0] <= until:
            self.now, _, action, arguments = heapq.heappop(self.events)
            action(*arguments)


def marked(frame: bytes) -> bytes:
    """The frame with CE, and the IPv4 checksum that a switch would give it."""
    copy = bytearray(frame)
    copy[15] |= wire.ECN_CE
    copy[24:26] = b"\0\0"
    copy[24:26] = wire.ip_checksum(copy[14:34]).to_bytes(2, "big")
    return bytes(copy)


def test_the_dumbbell_of_section_7_1():
    duration = 60e-3
    network = Dumbbell(w_min=0.1 / 4, seed=1)
    for host, flow in ((0, 1), (0, 2), (1, 3), (2, 4)):
        network.start(host, flow, 0.0)
    network.sample(50e-6)
    network.run(duration * 2 / 3)
    before = [flow.bytes for receiver in network.receivers for flow in receiver.stats()]
    network.run(duration)
    flows = [flow for receiver in network.receivers for flow in receiver.stats()]
    gained = [flow.bytes - old for flow, old in zip(flows, before, strict=True)]
    third = duration / 3

    assert sum(gained) * 8 / third / LINE >= 0.97  # utilisation
    assert sum(gained) ** 2 / (4 * sum(x * x for x in gained)) >= 0.97  # Jain's index
    steady = [queue for at, queue, _ in network.samples if at > 2 * third]
    assert sum(steady) / len(steady) <= 120e3
    assert next(at for at, _, offered in network.samples if at > RTT and offered <= LINE) <= 2.5e-3
    full = next(at for at, queue, _ in network.samples if queue > 100 * FRAME)
    assert next(at for at, queue, _ in network.samples if at > full and queue <= 5 * FRAME) <= 12e-3
    assert all((flow.gaps, flow.duplicates, flow.reordered) == (0, 0, 0) for flow in flows)
    assert all(loop.state.bad_frames == 0 for loop in network.loops)
    assert 1 <= network.pauses <= 30
