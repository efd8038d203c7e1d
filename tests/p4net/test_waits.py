"""Behind what packets wait: exact in a queue, the same as a second account, beside an idle port."""

import json

import pytest
from exercise import EXAMPLE
from hypothesis import given, settings, strategies as st

from pcn.cli import run
from pcn.p4net.packet_paths import Hop, Ways
from pcn.p4net.packets import udp
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.p4net.waits import Behind, Wait, Waits
from pcn.topologies.model import Topology

HEADERS = 42
FRAME_NS = 1_000_000
"""Of 1,000 bytes at 8 Mbit/s, the link from s1 to s2."""


def ways_of(sends: list[tuple[float, str, int]], queue_rate: int = 0) -> tuple[list[Hop], Topology]:
    """Returns the ways of datagrams to h3: time, source, frame's length."""
    steps = Ways()
    with VirtualP4(read_exercise(EXAMPLE), trace=steps.take) as network:
        if queue_rate:
            network.set_queue("s1", 3, 0, depth=64, rate_pps=queue_rate)
        for time_s, source, length in sends:
            network.send(source, time_s, udp(network.value, source, "h3", bytes(length - HEADERS)))
        network.run(until_s=2.0)
        return steps.all(network.topology), network.topology


def wait_at_s1(ways: list[Hop], topology: Topology, number: int) -> Wait:
    way = ways[number - 1]
    return Waits(ways, topology).of(way, way.departures[0])


def test_packet_waits_behind_each_frame_that_left_before_it():
    sends = [(0.0, "h1", 1000), (0.2e-3, "h2", 1000), (0.4e-3, "h1", 1000)]
    ways, topology = ways_of(sends)
    first, last = wait_at_s1(ways, topology, 1), wait_at_s1(ways, topology, 3)
    assert (first.behind, first.idle_ns) == ((), 0)
    # The first frame was under way for 0.4 ms when the third came.
    assert last.behind == (Behind(1, "h1", FRAME_NS * 6 // 10), Behind(2, "h2", FRAME_NS))
    assert (last.wait_ns, last.idle_ns) == (FRAME_NS * 16 // 10, 0)


def test_packet_waits_beside_an_idle_port_where_its_queue_has_a_rate():
    """100 packets/s: a frame is served for 1 ms of 10; the second comes 800 ns behind the first."""
    ways, topology = ways_of([(0.0, "h1", 1000), (0.0, "h1", 1000)], queue_rate=100)
    wait = wait_at_s1(ways, topology, 2)
    assert wait.behind == (Behind(1, "h1", FRAME_NS - 800),)
    assert wait.idle_ns == wait.wait_ns - (FRAME_NS - 800) > 8 * FRAME_NS


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 5000), st.sampled_from(["h1", "h2"]), st.integers(64, 1500)),
        min_size=1,
        max_size=40,
    )
)
def test_parts_of_a_wait_sum_to_it(sends):
    """Without a rate of queues a port never stands idle beside a packet, and what a packet waits
    behind are the frames that left after it came and before it did."""
    ways, topology = ways_of([(time_us / 1e6, source, length) for time_us, source, length in sends])
    waits = Waits(ways, topology)
    for way in ways:
        for hop in way.later():
            for departure in hop.departures:
                wait = waits.of(hop, departure)
                assert sum(part.wait_ns for part in wait.behind) + wait.idle_ns == wait.wait_ns
                assert abs(wait.idle_ns) <= len(wait.behind)  # ns that times are rounded to
                ahead = departure.queued.fields["enq_qdepth"]
                # One more is under way, unless the last one's end is the packet's arrival.
                assert len(wait.behind) in (ahead, ahead + 1)


def test_command_prints_whose_frames_a_packet_waited_behind(capsys):
    traffic = [
        "--send", "h1,h3,rate=20M,length=1000,until=5ms",
        "--send", "h2,h3,rate=10M,length=1000,until=5ms",
    ]  # fmt: skip
    command = ["p4", "trace", str(EXAMPLE), *traffic, "--why", "--packet", "9"]
    assert run(command) == 0
    assert "waited behind 4 of h1 4000.000 us, 2 of h2 2000.000 us\n" in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    (way,) = json.loads(capsys.readouterr().out)
    departure = way["hops"][0]["departures"][0]
    parts = [part["wait_s"] for part in departure["behind"]]
    assert sum(parts) + departure["idle_s"] == pytest.approx(departure["waited_s"], abs=1e-12)
    assert {part["from"] for part in departure["behind"]} == {"h1", "h2"}
