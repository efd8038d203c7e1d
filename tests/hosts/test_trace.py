"""The trace of flows, under a fake clock: totals at equal intervals, of those flows that moved."""

import json
from pathlib import Path
from typing import Any

import pytest

from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.clock import DilatedClock
from pcn.hosts.log import EventLog
from pcn.hosts.loop import Loop, LoopPort
from pcn.hosts.native import Events
from pcn.hosts.nic import INFINITY, Nic
from pcn.hosts.receiver import Receiver
from pcn.hosts.sender import Sender
from pcn.hosts.sent_flow import FlowRequest
from pcn.hosts.trace import FlowTrace

PERIOD = 100e-6
MAC, IP = wire.parse_mac("00:00:00:00:00:01"), wire.parse_ip("10.0.0.1")


class Bench:
    """A host's both sides; what it sends comes back to it."""

    def __init__(self, log: Path, period_s: float | None = PERIOD):
        clock = DilatedClock(1, origin=0.0)
        configured = find_scheme("pfc").configure()
        self.path = log
        self.log = EventLog(log, clock)
        events = Events()
        self.nic = Nic(10e9, events=events, on_end=lambda flow, at: self.sender.on_end(flow, at))
        self.sender = Sender(MAC, IP, configured, self.nic, clock, self.log)
        self.receiver = Receiver(
            MAC, IP, configured, clock, self.log, events, self.nic.send_control
        )
        self.loop = Loop(IP, clock, [LoopPort(self.nic)], self.receiver, events)
        self.trace = FlowTrace(period_s, self.sender, self.receiver, self.log, clock)

    def run(self, until: float):
        while (now := min(self.nic.wake(), self.trace.timer_s)) <= until:
            self.nic.advance(now)
            while (item := self.nic.due(now)) is not None:
                self.loop.frame(item.frame, now)
            if self.trace.timer_s <= now:
                self.trace.on_timer(now)

    def events(self) -> list[dict[str, Any]]:
        self.log.flush()
        return [
            event
            for event in map(json.loads, self.path.read_text().splitlines())
            if event["ev"] == "flows"
        ]


def test_totals_of_the_flows_that_moved(tmp_path):
    bench = Bench(tmp_path / "log")
    bench.sender.start(
        FlowRequest(1, "10.0.0.1", "00:00:00:00:00:01", 0.0, size_bytes=300_000), 0.0
    )
    bench.sender.start(
        FlowRequest(2, "10.0.0.1", "00:00:00:00:00:01", 250e-6, size_bytes=5000), 0.0
    )
    bench.run(1e-3)
    events = bench.events()
    # 305 packets of 1058 B at 10 Gbit/s take 258 us
    assert [event["t"] for event in events] == pytest.approx([100e-6, 200e-6, 300e-6])
    assert [event["since"] for event in events] == pytest.approx([0, 100e-6, 200e-6])
    assert [sorted(event["sent"]) for event in events] == [["1"], ["1"], ["1", "2"]]
    assert events[0]["received"]["1"] == [118_000, 118, 0, 0]
    assert events[0]["sent"]["1"] in (118 * 1058, 119 * 1058)  # one may be on its way out
    assert events[-1]["sent"] == {"1": 300 * 1058, "2": 5 * 1058}
    assert events[-1]["received"] == {"1": [300_000, 300, 0, 0], "2": [5000, 5, 0, 0]}


def test_without_a_period_nothing_is_traced(tmp_path):
    bench = Bench(tmp_path / "log", None)
    assert bench.trace.timer_s == INFINITY
    bench.sender.start(FlowRequest(1, "10.0.0.1", "00:00:00:00:00:01", 0.0, size_bytes=3000), 0.0)
    bench.run(1e-3)
    assert bench.events() == []
