"""Ping in virtual time: hosts answer echo requests as the kernel does."""

import json
import struct

import pytest
from exercise import exercise, write_exercise

from pcn.cli import run
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Network
from pcn.p4net.packets import ipv4
from pcn.p4net.ping import ICMP, LEAST_BYTES, ping
from pcn.p4net.virtual import VirtualP4

ROUTER_PASSES = {("h1", "h2"): 1, ("h1", "h3"): 2}


@pytest.fixture
def network(tmp_path) -> P4Network:
    return exercise(tmp_path)


@pytest.mark.parametrize(("pair", "passes"), ROUTER_PASSES.items())
def test_round_trip_is_that_of_the_links(network: P4Network, pair, passes):
    """Links of hosts have 10 Gbit/s and no latency; s1 to s2 has 100 Mbit/s and 1 us."""
    length = 1000
    with VirtualP4(network) as simulation:
        echoes = ping(simulation, *pair, count=3, every_s=0.1, from_s=1e-3, length=length)
        simulation.run(until_s=1.0)
        one_way_s = 2 * length * 8 / 10e9 + (passes - 1) * (length * 8 / 100e6 + 1e-6)
        assert list(echoes.round_trips_s.values()) == pytest.approx([2 * one_way_s] * 3, abs=2e-9)
        summary = echoes.summary()
        assert (summary["requests"], summary["answers"]) == (3, 3)
        assert summary["rtt_least_s"] == pytest.approx(2 * one_way_s, abs=2e-9)


def test_frames_are_those_of_icmp(network: P4Network):
    with VirtualP4(network) as simulation:
        ping(simulation, "h1", "h2", count=2)
        simulation.run(until_s=5.0)
        requests, replies = (
            [frame.start for frame in simulation.arrived(name)] for name in ("h2", "h1")
        )
    assert [len(frame) for frame in requests + replies] == [98] * 4  # ping's default of 56 bytes
    assert [struct.unpack_from(">BB2xHH", frame, 34) for frame in requests] == [
        (8, 0, 0, 0),
        (8, 0, 0, 1),
    ]
    assert [struct.unpack_from(">BB2xHH", frame, 34) for frame in replies] == [
        (0, 0, 0, 0),
        (0, 0, 0, 1),
    ]
    assert all(frame[30:34] == bytes([10, 0, 1, 1]) for frame in replies)
    assert all(frame[22] == 63 for frame in requests + replies)  # one router


def test_pings_beside_each_other_get_their_own_answers(network: P4Network):
    with VirtualP4(network) as simulation:
        first, second, back = (
            ping(simulation, "h1", "h2"),
            ping(simulation, "h1", "h2", from_s=1e-3),
            ping(simulation, "h2", "h1"),
        )
        simulation.run(until_s=1.0)
        assert [echoes.summary()["answers"] for echoes in (first, second, back)] == [1, 1, 1]
        assert len(simulation.arrived("h1")) == 3


def damaged(network: P4Network) -> dict[str, bytes]:
    """Echo requests to h2 that its kernel would drop."""
    body = struct.pack(">BBHHH", 8, 0, 0, 0, 0)
    right = struct.pack(">BBHHH", 8, 0, 0xF7FF, 0, 0)
    sent = ipv4(network, "h1", "h2", right, protocol=ICMP)
    return {
        "checksum": ipv4(network, "h1", "h2", body, protocol=ICMP),
        "protocol": ipv4(network, "h1", "h2", right, protocol=17),
        "short": ipv4(network, "h1", "h2", right[:6], protocol=ICMP),
        "identifier": ipv4(
            network, "h1", "h2", struct.pack(">BBHHH", 8, 0, 0xF7FE, 1, 0), protocol=ICMP
        ),
        "code": ipv4(network, "h1", "h2", struct.pack(">BBHHH", 8, 1, 0xF7FE, 0, 0), protocol=ICMP),
        "length": sent[:16] + b"\xff\xff" + sent[18:],
    }


def test_host_answers_whole_requests_alone(network: P4Network):
    """What a router forwards of them is not answered, but the one of the ping itself is."""
    with VirtualP4(network) as simulation:
        echoes = ping(simulation, "h1", "h2")
        for number, frame in enumerate(damaged(network).values()):
            simulation.send("h1", 0.01 * (number + 1), frame.ljust(LEAST_BYTES, b"\0"))
        simulation.run(until_s=1.0)
        assert len(simulation.arrived("h1")) == 1
        assert echoes.summary()["answers"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "from 1 to 65535"),
        ({"length": 41}, "42 to 2048 bytes"),
        ({"length": 2049}, "42 to 2048 bytes"),
        ({"every_s": 0.0}, "some time between"),
    ],
)
def test_ping_that_can_not_be_sent_is_refused(network: P4Network, options, message):
    with VirtualP4(network) as simulation, pytest.raises(P4NetError, match=message):
        ping(simulation, "h1", "h2", **options)


def test_command_waits_for_pings_beyond_its_time(tmp_path, capsys):
    """A request a second, of a run of one second."""
    folder = write_exercise(tmp_path / "exercise")
    assert (
        run(["p4", "run", str(folder), "--clock", "virtual", "--send", "h1,h3,ping=4", "--json"])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert [(summary["requests"], summary["answers"]) for summary in printed["pings"]] == [(4, 4)]
    assert printed["inside"] == 0


def test_command_prints_round_trips(tmp_path, capsys):
    folder = write_exercise(tmp_path / "exercise")
    words = ["p4", "run", str(folder), "--clock", "virtual", "--send", "h1,h3,ping=2,every=10ms"]
    assert run([*words, "--json"]) == 0
    (summary,) = json.loads(capsys.readouterr().out)["pings"]
    assert (summary["from"], summary["to"], summary["requests"], summary["answers"]) == (
        "h1",
        "h3",
        2,
        2,
    )
    assert run(words) == 0
    assert "Ping" in capsys.readouterr().out
    assert run([*words[:-1], "h1,h3,ping=2,rate=1M"]) != 0
    assert "rate: a ping has no such value" in capsys.readouterr().err
