"""P4 networks in virtual time: frames byte by byte, queues as the program sees them, and as the
engine does."""

import random
import struct
from dataclasses import replace

import numpy as np
import pytest
from exercise import IPS, MACS, exercise, write_exercise
from scapy.layers.l2 import Ether

from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Network
from pcn.p4net.packets import udp
from pcn.p4net.report import Queues
from pcn.p4net.traffic import poisson
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.frames import Arrived

PROBE = 5000
LINKS = [["h1", "s1-p1"], ["h2", "s1-p2"], ["s1-p3", "s2-p1", 0.0, 8], ["h3", "s2-p2"]]
"""8 Mbit/s between the switches: a byte a microsecond. No link has a delay, so times are those of
sending alone."""


@pytest.fixture(scope="module")
def network(tmp_path_factory) -> P4Network:
    return exercise(tmp_path_factory.mktemp("virtual"), LINKS)


def hops(frame: bytes) -> list[tuple[int, int, int]]:
    """Of a probe, in the order of the switches: id, queue depth at enqueue, us in the queue."""
    (count,) = struct.unpack_from(">H", frame, 42)
    return [struct.unpack_from(">HHI", frame, 44 + 8 * i) for i in reversed(range(count))]


def test_frames_arrive_with_every_byte(network: P4Network):
    """Payloads of random bytes and all lengths: only what the program changes is different."""
    draw = random.Random(1)
    payloads = [draw.randbytes(length) for length in (0, 1, 18, 100, 128, 400, 1000, 1472)]
    with VirtualP4(network) as simulation:
        for number, payload in enumerate(payloads):
            simulation.send("h1", number * 10e-3, udp(network, "h1", "h3", payload))
        simulation.run(until_s=1.0)
        arrived = simulation.arrived("h3")
        assert [len(frame.start) for frame in arrived] == [frame.length for frame in arrived]
        for frame, payload in zip(arrived, payloads, strict=True):
            expected = Ether(udp(network, "h1", "h3", payload, ttl=62))
            expected.dst, expected.src = MACS["h3"], MACS["h3"]  # s1's entry had set it
            assert frame.start == bytes(expected)
        assert simulation.switches["s1"].read_counter("forwarded", 3).packets == len(payloads)
        assert simulation.switches["s2"].read_counter("forwarded", 2).bytes == sum(
            len(payload) + 42 for payload in payloads
        )
        assert simulation.totals().dropped == 0


def test_frames_without_a_route_or_a_ttl_are_dropped(network: P4Network):
    lost = udp(network, "h1", "h3", b"x", ttl=0)
    unrouted = lost.replace(bytes(map(int, IPS["h3"].split("."))), bytes([9, 9, 9, 9]))
    with VirtualP4(network) as simulation:
        for frame in (lost, unrouted, b"\xff" * 12 + b"\x08\x06" + bytes(46)):
            simulation.send("h1", 0.0, frame)
        simulation.run(until_s=0.1)
        assert simulation.totals().dropped == 3
        assert not simulation.arrived("h3")


def test_probes_record_the_queue_that_samplers_see(network: P4Network):
    """h1 and h2 send more than the link between the switches carries; each probe's depth is the
    queue's, sampled just before it arrives, and its waiting time follows from what stood before
    it."""
    probe, load = (
        udp(network, "h1", "h3", bytes(2), dport=PROBE),
        udp(network, "h2", "h3", bytes(958)),
    )
    with VirtualP4(network) as simulation:
        simulation.send_all("h2", np.arange(20) * 400e-6, [load])  # 1 ms each at the bottleneck
        for number in range(8):
            simulation.send("h1", 0.1e-3 + number * 1e-3, probe)
        queue = simulation.sample(
            0.1e-3, [simulation.queue_packets("s1", 3, 0), simulation.queue_bytes("s1", 3, 0)]
        )
        simulation.run(until_s=0.1)
        probes = [hops(frame.start) for frame in simulation.arrived("h3") if frame.length < 100]
        depths, waiting = queue.values[:, 0], queue.values[:, 1]
        assert len(probes) == 8
        assert depths.max() > 10
        for number, (first, second) in enumerate(probes):
            at = 1 + 10 * number
            assert first[0] == 1
            assert second == (2, 0, 0)
            # The sample at the probe's start is just before it arrives; one packet more is being
            # sent.
            assert first[1] == depths[at]
            assert waiting[at] <= first[2] <= waiting[at] + 1000


def test_marks_begin_where_the_queue_reaches_the_threshold(network: P4Network):
    frame = udp(network, "h1", "h3", bytes(958), tos=2)
    with VirtualP4(network) as simulation:
        simulation.switches["s1"].write([register(simulation, "threshold", 5)])
        simulation.send_all("h1", np.zeros(20), [frame])
        simulation.run(until_s=0.1)
        marks = [arrived.start[15] & 3 == 3 for arrived in simulation.arrived("h3")]
        # The first is sent at once, so the seventh finds five waiting.
        assert marks == [number >= 6 for number in range(20)]


def register(simulation: VirtualP4, name: str, value: int):
    from pcn.base.p4rt import p4r
    from pcn.controller.entities import RegisterEntry

    schema = simulation.switches["s1"].schema
    entity = RegisterEntry(name, index=0, data=value).encode(schema)
    return p4r.Update(type=p4r.Update.MODIFY, entity=entity)


def test_queue_depth_drops_at_the_tail_by_queue(tmp_path):
    """Of 100 frames at once, the port holds 10 and sends 1; another queue has its own depth, by a
    command."""
    folder = write_exercise(tmp_path / "exercise", LINKS, queue_depth=10, cli_input="commands")
    (folder / "commands").write_text("set_queue_depth 3 3 7\nset_queue_depth 5 1")
    network = read_exercise(folder)
    low, high = (
        udp(network, "h1", "h3", bytes(958)),
        udp(network, "h2", "h3", bytes(958), tos=7 << 5),
    )
    with VirtualP4(network) as simulation:
        simulation.send_all("h1", np.zeros(100), [low])
        simulation.run(until_s=0.5)
        assert len(simulation.arrived("h3")) == 11
        assert simulation.tail_drops("s1", 3) == (89, 0, 0, 0, 0, 0, 0, 0)
        simulation.send_all("h2", np.full(100, 0.6), [high])
        simulation.run(until_s=1.0)
        assert simulation.tail_drops("s1", 3) == (89, 0, 0, 0, 0, 0, 0, 96)
        assert simulation.tail_drops("s1", 1) == (0,) * 8
        assert simulation.totals().dropped == 0


def test_queue_rate_lets_packets_go_at_equal_distances(tmp_path):
    """100 packets a second of queue 0; another queue has the link, also while that one rests."""
    folder = write_exercise(tmp_path / "exercise", LINKS, cli_input="commands")
    (folder / "commands").write_text("set_queue_rate 100 3 0")
    network = read_exercise(folder)
    slow, fast = (
        udp(network, "h1", "h3", bytes(958)),
        udp(network, "h2", "h3", bytes(958), tos=7 << 5),
    )
    with VirtualP4(network) as simulation:
        simulation.send_all("h1", np.zeros(10), [slow])
        simulation.send_all("h2", 5.5e-3 + np.arange(40) * 1e-3, [fast])
        simulation.run(until_s=1.0)
        arrived = simulation.arrived("h3")
        times = {
            tos: [frame.time_s for frame in arrived if frame.start[15] == tos]
            for tos in (0, 7 << 5)
        }
        assert np.diff(times[0])[4:] == pytest.approx(10e-3)
        assert len(times[0]) == 10
        # Each of the fast ones leaves when it comes, or when the frame that is being sent has left:
        # at most 1 ms later.
        waits = np.array(times[7 << 5]) - (5.5e-3 + np.arange(40) * 1e-3) - 1.0e-3
        assert waits.min() >= 0
        assert waits.max() <= 1.01e-3


def test_higher_queue_is_served_first(network: P4Network):
    frames = [udp(network, "h1", "h3", bytes(958), tos=queue << 5) for queue in range(8)]
    with VirtualP4(network) as simulation:
        for frame in frames:
            simulation.send_all("h1", np.zeros(2), [frame])
        simulation.run(until_s=0.1)
        order = [arrived.start[15] >> 5 for arrived in simulation.arrived("h3")]
        assert order == [0, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0]


def test_priority_beyond_the_queues_is_dropped(tmp_path):
    network = exercise(tmp_path, LINKS, priority_queues=2)
    with VirtualP4(network) as simulation:
        for queue in range(8):
            simulation.send("h1", 0.0, udp(network, "h1", "h3", b"", tos=queue << 5))
        simulation.run(until_s=0.1)
        assert sorted(arrived.start[15] >> 5 for arrived in simulation.arrived("h3")) == [0, 1]
        assert simulation.tail_drops("s1", 3) == (0, 0, 1, 1, 1, 1, 1, 1)


def test_runs_are_equal_to_the_bit_in_either_order_of_events(network: P4Network):
    """Two runs of random traffic, and one by nodes; another seed gives others."""

    def run(queues: str, seed: int) -> tuple[int, list[object]]:
        with VirtualP4(network, queues=queues) as simulation:
            for number, host in enumerate(("h1", "h2")):
                frame = udp(network, host, "h3", bytes(500), tos=number << 5)
                simulation.send_all(host, poisson(900, 0.0, 0.5, seed + number), [frame])
            simulation.run(until_s=1.0)
            return simulation.totals().digest, [*simulation.arrived("h3")]

    first = run("one", 1)
    assert first == run("one", 1) == run("nodes", 1)
    assert first[0] != run("one", 5)[0]
    assert len(first[1]) > 300


def test_frames_are_cut_and_filled_to_their_lengths(network: P4Network):
    frame = udp(network, "h1", "h2", bytes(range(1, 101)))
    with VirtualP4(network) as simulation:
        simulation.send_all(
            "h1", [0.0, 1e-3, 2e-3], [frame, frame[:60]], which=[0, 1, 0], lengths=[200, 60, 80]
        )
        simulation.run(until_s=0.1)
        frames = [arrived.start for arrived in simulation.arrived("h2")]
        assert [len(frame) for frame in frames] == [200, 60, 80]
        assert frames[0][42:] == bytes(range(1, 101)) + bytes(58)
        assert frames[2][42:] == bytes(range(1, 39))


def test_host_that_counts_alone_forgets_frames_that_it_reacted_to(network: P4Network):
    frame = udp(network, "h1", "h3", bytes(58), tos=3)
    with VirtualP4(network) as simulation:
        simulation.send("h1", 0.0, frame)
        simulation.run(until_s=0.1)
        lengths: list[int] = []
        reacted: list[tuple[float, bytes]] = []

        def take(arrived: Arrived):
            lengths.append(len(simulation.arrived("h3")))
            reacted.append((arrived.time_s, arrived.start))

        simulation.count_alone("h3")
        simulation.react("h3", take)
        simulation.send_all("h1", [0.1 + 1e-3 * number for number in range(20)], [frame])
        simulation.run(until_s=0.2)
        assert len(reacted) == 20
        assert reacted == sorted(reacted)
        assert max(lengths) == 2  # the one from before, and the one that it reacts to
        assert len(simulation.arrived("h3")) == 1
        arrivals = simulation.arrivals("h3")
        assert (arrivals.frames, arrivals.marked_ce_frames) == (21, 21)


def test_host_counts_alone_and_measures_delays(network: P4Network):
    frame = udp(network, "h1", "h3", bytes(958))
    with VirtualP4(network) as simulation:
        simulation.count_alone("h3")
        simulation.send_all("h1", [0.0, 0.0], [frame])
        simulation.run(until_s=0.1)
        arrivals = simulation.arrivals("h3")
        assert (arrivals.frames, arrivals.bytes, arrivals.timed_frames) == (2, 2000, 2)
        assert not simulation.arrived("h3")
        # host's link and last link at 10 Gbit/s, the middle one at 8 Mbit/s
        once = 2 * 0.8e-6 + 1e-3
        assert arrivals.first_s == pytest.approx(once)
        assert arrivals.last_s == pytest.approx(once + 1e-3)
        assert arrivals.mean_delay_s == pytest.approx(once + 0.5e-3)
        assert arrivals.longest_delay_s == pytest.approx(once + 1e-3)


def test_application_answers_at_the_time_of_its_frame(network: P4Network):
    """h3 echoes each frame: the answer starts when the frame has arrived."""
    with VirtualP4(network) as simulation:
        answer = udp(network, "h3", "h1", b"answer")
        simulation.react("h3", lambda frame: simulation.send("h3", frame.time_s, answer))
        for number in range(3):
            simulation.send("h1", number * 1e-3, udp(network, "h1", "h3", b"?"))
        simulation.run(until_s=0.1)
        assert len(simulation.arrived("h1")) == 3
        out, back = (simulation.arrived(host)[1].time_s for host in ("h3", "h1"))
        assert back - out == pytest.approx(2 * len(answer) * 8 / 10e9 + len(answer) * 1e-6)
    with (
        VirtualP4(network, queues="nodes") as simulation,
        pytest.raises(VirtualError, match='queues="one"'),
    ):
        simulation.react("h3", lambda frame: None)


def test_datagram_goes_to_an_address_without_a_host(network: P4Network):
    """To h1's gateway, as the router's entries have it; to a group, with the MAC of RFC 1112 and
    without ARP."""
    with VirtualP4(network) as simulation:
        targets = ("10.0.3.77", "239.255.0.5", "255.255.255.255")
        sent = [udp(network, "h1", dst, b"x") for dst in targets]
        assert [frame[:6].hex(":") for frame in sent] == [
            "08:00:00:00:01:00",
            "01:00:5e:7f:00:05",
            "ff:ff:ff:ff:ff:ff",
        ]
        assert [".".join(map(str, frame[30:34])) for frame in sent] == list(targets)
        simulation.arp.send("h1", 0.0, "239.255.0.5", sent[1])
        simulation.run(until_s=0.1)
        assert simulation.totals().traversals == 1
        assert list(simulation.arp.unanswered()) == []


def test_frame_that_grows_beyond_the_longest_ends_the_run(network: P4Network):
    probe = udp(network, "h1", "h3", bytes(150 - 42), dport=PROBE)
    with VirtualP4(network, frame_bytes=160) as simulation:
        simulation.send("h1", 0.0, probe)
        with pytest.raises(
            VirtualError,
            match=(
                "us: s2, a packet that came by port 1: headers that a program adds make a frame of "
                "166 bytes: 160 is"
            ),
        ):
            simulation.run(until_s=0.1)
    with VirtualP4(network, frame_bytes=160) as simulation:
        simulation.survive()
        simulation.send("h1", 0.0, probe)
        simulation.send("h1", 0.0, udp(network, "h1", "h3", b"x"))
        simulation.run(until_s=0.1)
        assert (simulation.unable("s2"), len(simulation.arrived("h3"))) == (1, 1)
    with (
        VirtualP4(network, frame_bytes=160) as simulation,
        pytest.raises(VirtualError, match="a frame of 161 bytes: 160 is the most"),
    ):
        simulation.send("h1", 0.0, bytes(161))


def test_capture_has_frames_as_they_are_stored(network: P4Network, tmp_path):
    """RoCE's port is a port like any other: no checksum is written into the frame."""
    from pcn.p4net.traffic import capture

    frame = udp(network, "h1", "h2", bytes(range(100)), dport=4791)
    with VirtualP4(network) as simulation:
        simulation.capture("h1", 0, tmp_path / "h1.pcap")
        simulation.send("h1", 1e-3, frame)
        simulation.run(until_s=0.1)
    assert capture(tmp_path / "h1.pcap").frames == [frame]


def test_link_without_a_rate_is_one_of_the_topology(network: P4Network):
    with VirtualP4(network) as simulation:
        simulation.send("h1", 0.0, udp(network, "h1", "h2", bytes(1208)))
        simulation.run(until_s=0.1)
        # 1,250 bytes at 10 Gbit/s, twice
        assert simulation.arrived("h2")[0].time_s == pytest.approx(2e-6)


def test_entries_that_a_switch_refuses_name_their_file(tmp_path):
    folder = write_exercise(tmp_path / "exercise", cli_input="commands")
    (folder / "commands").write_text("table_add routes drop 10.0.1.1/32 =>")
    with (
        pytest.raises(P4NetError, match=r"s1-runtime.json:1: s1: .*ALREADY_EXISTS"),
        VirtualP4(read_exercise(folder)),
    ):
        pass
    (folder / "commands").write_text("register_write threshold 0 7\nregister_read threshold 0")
    with VirtualP4(read_exercise(folder)) as simulation:
        assert {name: outcome.lines for name, outcome in simulation.written.items()} == {
            "s1": ["threshold[0] = 7"],
            "s2": [],
        }
    (folder / "commands").write_text("set_queue_depth 65535")
    with (
        pytest.raises(VirtualError, match="s1: a depth of 65535 packets"),
        VirtualP4(read_exercise(folder)),
    ):
        pass
    value = read_exercise(folder)
    with pytest.raises(P4NetError, match="at least 1 packet"):
        replace(
            value, switches={**value.switches, "s1": replace(value.switches["s1"], queue_depth=0)}
        )


def test_queues_are_sampled_until_the_run_ends_alone(network: P4Network):
    """What is inside leaves afterwards, which may take a thousand times as long."""
    with VirtualP4(network) as simulation:
        simulation.send_all("h1", [0.0] * 5, [udp(network, "h1", "h3", bytes(958))])
        queues = Queues(simulation, 10e-6, 1e-3)
        queue = simulation.sample(
            10e-6, [simulation.queue_packets("s1", 3, 0)], from_s=20e-6, until_s=1e-3
        )
        simulation.run(until_s=2.0)
        assert queue.times_s == pytest.approx(np.arange(2, 101) * 10e-6)
        assert queues.by_port()["s1", 3]["queue_mean_packets"] == pytest.approx(4, abs=0.1)
