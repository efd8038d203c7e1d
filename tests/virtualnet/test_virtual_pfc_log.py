"""The log of PFC frames and the latency of packets: what they hold, and that no result depends on
them."""

import ctypes
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from networks import read_pcap

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.hosts.virtual.latency import BUCKETS, STEPS, bounds_s
from pcn.topologies.model import Endpoint
from pcn.topologies.star import star
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.pfc_log import KINDS, PfcLog

TOPOLOGY = star(4)


def incast(scheme: str) -> VirtualNetwork:
    network = VirtualNetwork(TOPOLOGY, find_scheme(scheme).configure())
    for flow in TOPOLOGY.flows:
        network.add_flow(replace(flow, size_bytes=2_000_000))
    return network


@pytest.mark.parametrize("scheme", ["pfc", "pcn", "timely"])
def test_log_and_latency_change_no_event(scheme):
    totals = []
    for recorded in (False, True):
        with incast(scheme) as network:
            if recorded:
                network.log_pfc()
                network.measure_latency()
            assert network.run(until_s=1.0, finish=True)
            totals.append(network.totals())
    assert totals[0] == totals[1]


def test_log_keeps_the_order_of_events_of_one_picosecond():
    """A RESUME, and a PAUSE in the same picosecond, of one class of a port; others come before and
    behind."""
    happened = [
        (9, 2, 3, 0), (5, 1, 3, 1), (5, 0, 3, 2), (5, 1, 3, 0), (5, 1, 2, 3), (5, 1, 2, 2),
        (4, 1, 3, 0),
    ]  # fmt: skip
    events = (native.PfcEvent * len(happened))(*happened)

    class Library:
        def vn_pfc_events(self, _: int, out) -> int:
            out._obj.contents = events[0]
            return len(events)

    ports = tuple(Endpoint("s0", number) for number in range(3))
    read = PfcLog(cast(ctypes.CDLL, Library()), 0, ports).read()
    rows = zip(read.times_s, read.which, read.classes, read.kinds, strict=True)
    assert [(round(time_s * 1e12), *map(int, rest)) for time_s, *rest in rows] == [
        (4, 1, 3, 0), (5, 0, 3, 2), (5, 1, 2, 3), (5, 1, 2, 2), (5, 1, 3, 1), (5, 1, 3, 0), (9, 2,
        3, 0),
    ]  # fmt: skip


def test_log_has_each_frame_that_links_count():
    with incast("pfc") as network:
        log = network.log_pfc()
        network.run(until_s=1.0, finish=True)
        events = log.read()
        ends = {end: network.link_stats(end.node, end.port) for end in events.ports}
    assert (np.diff(events.times_s) >= 0).all()
    counts = Counter(
        (events.ports[port], KINDS[kind])
        for port, kind in zip(events.which, events.kinds, strict=True)
    )
    for end, stats in ends.items():
        peer = TOPOLOGY.peer(end.node, end.port)
        assert counts[end, "PAUSE queued"] == counts[peer, "paused"] == stats.pause
        assert counts[end, "RESUME queued"] == counts[peer, "resumed"] == stats.resume
        port_events = [
            (time_s, KINDS[kind])
            for time_s, port, kind in zip(events.times_s, events.which, events.kinds, strict=True)
            if events.ports[port] == end
        ]
        assert _stopped_s(port_events) == pytest.approx(stats.paused_s)
    assert sum(stats.pause for stats in ends.values()) > 0
    assert set(events.classes) == {3}


def _stopped_s(events: list[tuple[float, str]]) -> float:
    """From the first PAUSE that a port queues to its RESUME, added up."""
    total, since = 0.0, None
    for time_s, kind in events:
        if kind == "PAUSE queued" and since is None:
            since = time_s
        elif kind == "RESUME queued" and since is not None:
            total, since = total + time_s - since, None
    return total


def test_latency_is_that_of_the_captured_packets(tmp_path):
    """A flow's packets arrive in order: the n-th that leaves its sender is the n-th that reaches
    the receiver."""
    receiver = TOPOLOGY.flows[0].dst
    with incast("pcn") as network:
        network.measure_latency()
        for flow in TOPOLOGY.flows:
            network.capture(flow.src, 0, tmp_path / flow.src)
        last = TOPOLOGY.peer(receiver, 0)
        network.capture(last.node, last.port, tmp_path / "last")
        network.run(until_s=1.0, finish=True)
        measured = network.latency(3)
        rate_bps, delay_s = (
            getattr(TOPOLOGY.link_at(receiver, 0), name) for name in ("rate_bps", "delay_s")
        )
    sent, got = {}, _data(tmp_path / "last")
    for flow in TOPOLOGY.flows:
        sent |= _data(tmp_path / flow.src)
    assert sent.keys() == got.keys()
    latencies = [
        end_s + delay_s - (start_s - length * 8 / rate_bps)
        for flow in sent
        for (start_s, length), (end_s, _) in zip(sent[flow], got[flow], strict=True)
    ]
    assert measured.packets == len(latencies) == 8000
    for q in (1, 50, 95, 99, 99.9):
        expected = np.percentile(latencies, q, method="inverted_cdf")
        assert measured.percentile_s(q) == pytest.approx(expected, rel=1 / STEPS)
    assert measured.mean_s() == pytest.approx(np.mean(latencies), rel=1 / STEPS)


def _data(path: Path) -> dict[str, list[tuple[float, int]]]:
    """Times in s at which data packets had left, and their lengths, by sender."""
    departures: dict[str, list[tuple[float, int]]] = {}
    for time_s, frame in read_pcap(path):
        if frame[12:14] == b"\x08\x00" and len(frame) > 100:
            departures.setdefault(frame[26:30].hex(), []).append((time_s, len(frame)))
    return departures


def test_buckets_of_latency_are_adjacent_and_narrow():
    edges = bounds_s()
    assert len(edges) == BUCKETS + 1
    assert (np.diff(edges) > 0).all()
    assert (np.diff(edges)[STEPS:] <= edges[STEPS:-1] / STEPS * (1 + 1e-9)).all()


def test_latency_needs_a_request_before_the_first_packet():
    with incast("pcn") as network:
        network.run(until_s=1e-4)
        with pytest.raises(VirtualError, match="call measure_latency before the run"):
            network.latency(3)
        with pytest.raises(VirtualError, match="latency is measured from a flow's first packet on"):
            network.measure_latency()
