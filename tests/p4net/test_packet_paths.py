"""Packets' ways: which hop follows which, with queue times; filters; files of live switches;
refusals."""

import json
from functools import lru_cache

import pytest
from exercise import EXAMPLE
from hypothesis import given, strategies as st
from p4net_switches import PROGRAMS, error_of

from pcn.cli import run
from pcn.controller.control_plane import CloneSession, TableAction, TableEntry, TableMatch
from pcn.controller.entities import Replica
from pcn.p4net.alone import network_at
from pcn.p4net.packet_path_text import lines
from pcn.p4net.packet_paths import Hop, Ways, read
from pcn.p4net.packets import udp
from pcn.p4net.report import whole
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.softswitch.trace import json_lines, tracer
from pcn.softswitch.trace.decoder import Step
from pcn.topologies.model import Topology

TRACE = ["p4", "trace", str(EXAMPLE)]


def ways(*sends: tuple[float, str, str, int]) -> tuple[list[Hop], Topology]:
    """The ways of UDP datagrams: time, source, destination, payload's length."""
    recorded = Ways()
    with VirtualP4(read_exercise(EXAMPLE), trace=recorded.take) as network:
        for time_s, src, dst, length in sends:
            network.send(src, time_s, udp(network.value, src, dst, bytes(length)))
        network.run(until_s=1.0)
        return recorded.all(network.topology), network.topology


def places(first: Hop) -> list[str]:
    return [f"{hop.switch}:{hop.port}" for hop in first.later()]


def test_way_goes_from_switch_to_switch():
    first_hops, _ = ways((0.0, "h1", "h3", 10), (0.1, "h3", "h2", 10), (0.2, "h1", "h2", 10))
    assert [places(way) for way in first_hops] == [["s1:1", "s2:1"], ["s2:2", "s1:3"], ["s1:1"]]
    assert [way.departures[0].port for way in first_hops] == [3, 1, 2]


def test_queue_times_are_those_of_the_link():
    """At once, 1,000 bytes each at 8 Mbit/s: the n-th waits n - 1 milliseconds."""
    first_hops, _ = ways(*[(0.0, "h1", "h3", 1000 - 42)] * 5)
    waits = []
    for way in first_hops:
        (decided,) = [step for step in way.steps if step.kind == "decided"]
        waits.append((way.departures[0].queued.time_ns - decided.time_ns) / 1e6)
    assert waits == pytest.approx([0, 1, 2, 3, 4], abs=0.01)
    assert [way.departures[0].queued.fields["enq_qdepth"] for way in first_hops] == [0, 0, 1, 2, 3]


def test_interrupt_ends_a_traced_run_at_once(monkeypatch):
    """Ctrl-C comes while the engine waits for room: no step of that switch is decoded after it."""
    monkeypatch.setattr(tracer, "MOST_BYTES", 1 << 16)
    calls: list[Step] = []

    def interrupted(_switch: str, step: Step):
        calls.append(step)
        raise KeyboardInterrupt

    with VirtualP4(read_exercise(EXAMPLE), trace=interrupted) as network:
        for number in range(500):
            network.send("h1", number * 1e-5, udp(network.value, "h1", "h3", bytes(100)))
        with pytest.raises(KeyboardInterrupt):
            network.run(until_s=1.0)
        assert len(calls) <= len(network.topology.switches)


def test_equal_frames_keep_their_order():
    """All frames are equal; each way has the hop that follows by time."""
    first_hops, _ = ways(*[(n * 1e-4, "h1", "h3", 20) for n in range(30)])
    arrived = [[hop.received.time_ns for hop in way.later()] for way in first_hops]
    assert all(len(times) == 2 for times in arrived)
    assert sorted(arrived) == arrived
    assert len({times[1] - times[0] for times in arrived}) == 1


def test_packet_that_a_queue_refuses_has_no_egress(capsys):
    assert run([*TRACE, "--send", "h1,h3,rate=1G,length=1000,until=800us"]) == 0
    text = capsys.readouterr().out
    assert text.count("didn't come to egress: the queue was full") == 100 - 65
    assert text.endswith("packets: 100\n")


BENCH_MAC = 0x020000000000


def bench(action: str, **arguments: int) -> tuple[list[str], dict[str, object]]:
    """The lines of a packet that an entry of programs/bench.p4 takes, and the run's counts. Clone
    session 7 goes to port 3."""
    recorded = Ways()
    with VirtualP4(network_at(PROGRAMS / "bench.json", hosts=3), trace=recorded.take) as network:
        switch = network.switches["s1"]
        key = TableMatch(dst_addr=BENCH_MAC)
        switch.insert([TableEntry("l2", match=key, action=TableAction(action, **arguments))])
        switch.insert([CloneSession(7, replicas=[Replica(3, instance=1)])])
        network.send(
            "h1", 0.0, BENCH_MAC.to_bytes(6, "big") + bytes([2, 0, 0, 0, 0, 1, 8, 0]) + bytes(46)
        )
        network.run(until_s=1.0)
        (way,) = recorded.all(network.topology)
        return list(lines(1, way, network.topology, steps=False)), dict(whole(network))


def test_clone_has_its_own_parse_and_tables():
    text, counts = bench("mirror", port=2)
    clone = text.index("    clone of ingress")
    assert [line.split() for line in text if "headers" in line] == [["headers", "ethernet"]] * 2
    assert text[1:clone].count("    headers ethernet") == 1
    assert text[clone + 1] == "      headers ethernet"
    (left,) = [line for line in text if "left for h3" in line]
    assert left.startswith("      port 3, queue 0:")
    assert any(line.startswith("    port 2, queue 0:") and "left for h2" in line for line in text)
    assert (
        counts["dropped_by_programs"],
        counts["for_ports_without_link"],
        counts["for_unknown_groups"],
    ) == (0, 0, 0)


@pytest.mark.parametrize(
    ("action", "arguments", "counts", "line"),
    [
        ("forward", {"port": 7}, (0, 1, 0), "bytes left by a port without a link"),
        (
            "multicast",
            {"group": 5},
            (0, 0, 1),
            "didn't come to egress: multicast group 5 has no members, or",
        ),
    ],
)
def test_packet_without_a_way_on_is_counted_and_shown_by_its_reason(
    action, arguments, counts, line
):
    text, report = bench(action, **arguments)
    names = ("dropped_by_programs", "for_ports_without_link", "for_unknown_groups")
    assert tuple(report[name] for name in names) == counts
    assert any(line in shown for shown in text)


def test_ways_are_chosen_by_number_place_and_header(capsys):
    def chosen(*words: str) -> list[str]:
        assert run([*TRACE, *words]) == 0
        return [
            line.partition(",")[0]
            for line in capsys.readouterr().out.splitlines()
            if line.startswith("packet ")
        ]

    assert chosen() == [f"packet {number}" for number in range(1, 7)]
    assert chosen("--packet", "2", "--packet", "5") == ["packet 2", "packet 5"]
    assert chosen("--at", "s2:2") == ["packet 2", "packet 4", "packet 5", "packet 6"]
    assert chosen("--match", "ipv4.dst_addr=10.0.3.3") == ["packet 2", "packet 4"]
    assert chosen("--match", "ipv4.dst_addr=0x0a000303", "--at", "s1:2") == ["packet 4"]
    assert chosen("--match", "ethernet.src_addr=08:00:00:00:02:11") == ["packet 3", "packet 4"]
    assert chosen("--match", "ipv4.ttl=63") == chosen("--at", "s1:3"), (
        "what a later switch found counts"
    )


def test_steps_are_those_of_a_switch_s_log(capsys):
    assert run([*TRACE, "--send", "h1,h2", "--steps"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "[0.0] [cxt 0] Parser 'parser' entering state 'parse_ipv4'" in lines
    assert "[0.0] [cxt 0] Transmitting packet of size 60 out of port 2" in lines


def test_files_of_switches_are_ways_again(tmp_path, capsys):
    path = tmp_path / "steps"
    assert run([*TRACE, "--send", "h1,h3", "--json", str(path)]) == 0
    first_hops, topology = ways((0.0, "h1", "h3", 18))
    (again,) = read([path], {}).all(topology)
    assert places(again) == places(first_hops[0])
    assert [json.loads(line)["step"] for line in path.read_text().splitlines()][-1] == "sent"
    for name in ("s1", "s2"):
        steps = [line for line in path.read_text().splitlines() if f'"switch":"{name}"' in line]
        number = {"s1": "0", "s2": "1"}[name]
        text = "\n".join(steps).replace(f'"switch":"{name}"', f'"switch":"{number}"')
        (tmp_path / f"{name}.steps.jsonl").write_text(text)
    assert run([*TRACE, "--logs", str(tmp_path)]) == 0
    assert "s2:1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["x", "{}", "[1]", '{"switch":"0","packet":1,"time_ns":2,"step":"no"}', "5"]
)
def test_file_of_something_else_is_refused_by_line(text, tmp_path):
    path = tmp_path / "steps"
    path.write_text(text)
    assert error_of(lambda: read([path], {})) == (
        f"{path}, line 1: no step of a packet, as `softswitch --trace` writes them"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"switch":"0","packet":1,"time_ns":1e999,"step":"emitted","header":"ipv4"}',
        '{"switch":"0","packet":1,"time_ns":2,"step":"emitted"}',
        '{"switch":"0","packet":1,"time_ns":2,"step":"emitted","header":"ipv4","more":1}',
        '{"switch":"0","packet":1,"time_ns":2,"step":["emitted"],"header":"ipv4"}',
        '{"switch":"0","packet":1,"time_ns":2,"step":"extracted","header":"ipv4","fields":{"ttl":"64"}}',
        '{"switch":"0","packet":1,"time_ns":2,"step":"extracted","header":"ipv4","fields":{"ttl":[]}}',
        '{"switch":"0","packet":1,"time_ns":2,"step":"decided","pipeline":"ingress","egress_spec":1,"length":60}',
        "[" * 100_000,
    ],
)
def test_step_with_other_fields_than_its_kind_s_is_refused(text, tmp_path):
    path = tmp_path / "steps"
    path.write_text(text)
    assert "line 1: no step of a packet" in error_of(lambda: read([path], {}))


def recirculated(packet: int, time_ns: int, came: str = "recirculated") -> list[Step]:
    """Steps of a visit that ends with another one, at the time at which it began."""
    queued = dict.fromkeys(
        ("queue", "enq_timestamp_us", "deq_timedelta_us", "enq_qdepth", "deq_qdepth"), 0
    )
    decided = {"length": 60, "dropped": False}
    return [
        Step(packet, time_ns, "received", {"port": 1, "instance": came, "length": 60, "frame": ""}),
        Step(packet, time_ns, "decided", {"pipeline": "ingress", "egress_spec": 3, **decided}),
        Step(
            packet,
            time_ns,
            "dequeued",
            {"port": 3, **queued, "egress_rid": 0, "instance": came, "length": 60},
        ),
        Step(
            packet,
            time_ns,
            "decided",
            {"pipeline": "egress", "egress_spec": 3, **decided, "recirculated": True},
        ),
    ]


def test_packet_that_comes_back_for_long_has_one_way():
    recorded, topology = Ways(), read_exercise(EXAMPLE).topology
    for number in range(1, 3001):
        for step in recirculated(number, number, "normal" if number == 1 else "recirculated"):
            recorded.take("s1", step)
    (way,) = recorded.all(topology)
    assert [hop.number for hop in way.later()] == list(range(1, 3001))
    assert len(list(lines(1, way, topology, steps=True))) > 3000


@pytest.mark.parametrize("option", ["--strict", "--jumbo", "--seed=2", "--for=1ms"])
def test_option_of_a_run_is_refused_beside_logs(option, tmp_path, capsys):
    assert run([*TRACE, "--logs", str(tmp_path), option]) == 2
    assert f"{option.partition('=')[0]}: not beside --logs" in capsys.readouterr().err


def test_visit_does_not_follow_from_itself():
    recorded, topology = Ways(), read_exercise(EXAMPLE).topology
    for step in recirculated(1, 5):
        recorded.take("s1", step)
    (way,) = recorded.all(topology)
    assert list(way.later()) == [way]


def test_wrong_filters_are_refused_in_a_line(tmp_path, capsys):
    for words, why in (
        (
            ["--match", "ipv4.dst=1"],
            "no program has a header with the field 'ipv4.dst'; did you mean",
        ),
        (["--at", "s9"], "no switch 's9' in router; choose from s1, s2"),
        (["--at", "s1:9"], "s1:9: s1 has the ports 1, 2, 3"),
        (["--match", "ipv4.ttl"], "write HEADER.FIELD=VALUE"),
        (["--match", "ipv4.ttl=many"], "'many' is no number, address of IPv4 or MAC"),
        (["--logs", str(tmp_path)], "pcn p4 run --trace writes them"),
    ):
        assert run([*TRACE, *words]) == 1
        error = capsys.readouterr().err
        assert why in error
        assert len(error.splitlines()) == 1


@given(st.sets(st.integers(1, 4)))
def test_lost_frames_end_their_ways_alone(gone):
    """Steps without some of the second switch's visits: those ways end there, the others stay
    whole."""
    recorded = Ways()
    for switch, step in four_packets():
        if switch == "s1" or step.packet not in gone:
            recorded.take(switch, step)
    ends = recorded.all(read_exercise(EXAMPLE).topology)
    assert [len(places(way)) for way in ends] == [
        1 if number in gone else 2 for number in range(1, 5)
    ]


@lru_cache(maxsize=1)
def four_packets() -> list[tuple[str, Step]]:
    """Steps of four packets that differ, from h1 to h3."""
    steps: list[tuple[str, Step]] = []
    with VirtualP4(
        read_exercise(EXAMPLE), trace=lambda switch, step: steps.append((switch, step))
    ) as network:
        for number in range(4):
            network.send("h1", number * 0.01, udp(network.value, "h1", "h3", bytes([number])))
        network.run(until_s=1.0)
    return steps


def test_json_of_a_step_is_one_line():
    first_hops, _ = ways((0.0, "h1", "h2", 10))
    for step in first_hops[0].steps:
        text = json_lines.line("s1", step)
        assert "\n" not in text
        assert json.loads(text)["step"] == step.kind
