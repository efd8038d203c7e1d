"""Two hosts at the ends of a link, with the test's clock and all of their code except sockets."""

from pcn.hosts import wire
from pcn.hosts.algorithms import Configured, Mark
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowRequest, SentFlow
from pcn.hosts.structures import FRAME, Event

LINE, DELAY, DATA, ACK = 10e9, 5e-6, 1058, 62
RTT = 2 * DELAY + (DATA + ACK) * 8 / LINE


class Host:
    """A host, and the frames that have left it."""

    def __init__(self, number: int, configured: Configured, stretch: float):
        clock = DilatedClock(stretch, origin=0.0)
        log = EventLog(None, clock)
        self.mac, self.ip = (
            wire.parse_mac(f"00:00:00:00:00:0{number}"),
            wire.parse_ip(f"10.0.0.{number}"),
        )
        events = Events()
        self.nic = Nic(
            LINE,
            delay_s=DELAY,
            events=events,
            on_end=lambda flow, at_s: self.sender.on_end(flow, at_s),
        )
        self.sender = Sender(self.mac, self.ip, configured, self.nic, clock, log)
        self.receiver = Receiver(
            self.mac, self.ip, configured, clock, log, events, self.nic.send_control
        )
        self.loop = Loop(self.ip, clock, [LoopPort(self.nic)], self.receiver, events)
        self.marks = 0  # of the next acknowledgements
        events.listen(FRAME, self._on_frame)

    def _on_frame(self, event: Event):
        packet = wire.decode(event.frame)
        assert isinstance(packet, wire.AckPacket)
        mark, self.marks = (Mark.CE, self.marks - 1) if self.marks else (Mark(packet.ecn), 0)
        answer = packet.telemetry, packet.in_order, packet.nak
        self.sender.on_ack(packet.flow, packet.src_ip, packet.psn, mark, event.at_s, *answer)

    def leave(self, now: float) -> list[bytes]:
        self.nic.advance(now)
        frames = []
        while (item := self.nic.due(now)) is not None:
            frames.append(item.frame)
        return frames


class Pair:
    """Two hosts at the ends of a link."""

    def __init__(self, configured: Configured, stretch: float = 1):
        self.hosts = [Host(number, configured, stretch) for number in (1, 2)]
        self.now = 0.0
        self.largest = 0
        self.on_the_way = lambda frame, now: frame  # what a switch does; None: lost

    def start(self, **limits: float) -> SentFlow:
        to = self.hosts[1]
        request = FlowRequest(1, wire.format_ip(to.ip), wire.format_mac(to.mac), self.now, **limits)
        self.hosts[0].sender.start(request, self.now)
        flow = self.hosts[0].nic.flows[-1]
        assert isinstance(flow, SentFlow)
        return flow

    def run(self, until: float):
        here, there = self.hosts
        while (
            wake := max(self.now, min(here.nic.wake(), there.nic.wake(), here.sender.timer_s))
        ) <= until:
            self.now = wake
            if here.sender.timer_s <= wake:
                here.nic.advance(wake)
                here.sender.on_timer(wake)
            for host, peer in ((here, there), (there, here)):
                for frame in host.leave(self.now):
                    peer.nic.advance(self.now)
                    if (arrived := self.on_the_way(frame, self.now)) is not None:
                        peer.loop.frame(arrived, self.now)
            for flow in here.nic.flows:
                self.largest = max(
                    self.largest, (flow.transport.sent - flow.transport.acked) * DATA
                )
        self.now = until
