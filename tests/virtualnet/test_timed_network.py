"""A timed network of any programs, without RDMA: frames at given times, through switches that
differ."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "softswitch_program"))
from program_json import Builder, assign, field, parameter, value

from pcn.softswitch.codegen.build import build_program
from pcn.softswitch.native import NativeSwitch
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts
from pcn.virtualnet import TimedNetwork, VirtualError
from pcn.virtualnet.native import switch_library

ETHERNET = [["dst", 48], ["src", 48], ["type", 16]]
OUT = field("standard_metadata", "egress_spec")
FRAME = bytes.fromhex("0200000000020200000000018899") + bytes(range(20))


def relabelling() -> Builder:
    """Sends what comes in by 2, with another type."""
    return (
        Builder()
        .header("e", ETHERNET)
        .run([assign(OUT, value(2)), assign(field("e", "type"), value(0x88B5))])
    )


def switching() -> Builder:
    """Sends to the port of a table's entry for the frame's type; the table is 0, its action 0."""
    builder = Builder().header("e", ETHERNET)
    send = builder.action("send", [assign(OUT, parameter(0))], [("port", 9)])
    key = [{"match_type": "exact", "name": "e.type", "target": ["e", "type"], "mask": None}]
    builder.table("types", key=key, actions=[send], default=None)
    return builder


def loaded(program: Builder) -> NativeSwitch:
    switch = NativeSwitch(switch_library())
    switch.load(build_program(json.dumps(program.json()), inplace=True))
    return switch


def line() -> Topology:
    """h0 - s0 - s1 - h1, 10 Gbit/s, 1 us each."""
    ends = [("h0", 0, "s0", 1), ("s0", 2, "s1", 1), ("s1", 2, "h1", 0)]
    links = tuple(Link(Endpoint(a, i), Endpoint(b, j), 10e9, 1e-6) for a, i, b, j in ends)
    return Topology("line", make_hosts(["h0", "h1"]), (Switch("s0", 1), Switch("s1", 2)), links)


@pytest.fixture
def switches() -> Iterator[dict[str, NativeSwitch]]:
    with ExitStack() as stack:
        programs = {"s0": relabelling(), "s1": switching()}
        yield {name: stack.enter_context(loaded(program)) for name, program in programs.items()}


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_two_programs_carry_plain_frames_at_given_times(switches: dict[str, NativeSwitch], queues):
    with TimedNetwork(line(), switches, queues=queues) as network:
        network.send("h0", 1e-6, FRAME, length=1000)  # s1 has no entry yet
        network.at(
            10e-6, lambda: switches["s1"].table_add(0, b"\x88\xb5", None, 0, 0, 0, [2]) and None
        )
        for number in range(3):
            network.send("h0", 20e-6, FRAME + bytes([number]), length=1250, traffic_class=5)
        network.run(until_s=1e-3)
        arrived = network.arrived("h1")
        # 1 us to send 1,250 bytes, three times, and three delays of 1 us; then one after the other.
        assert [frame.time_s for frame in arrived] == pytest.approx([26e-6, 27e-6, 28e-6])
        expected = FRAME.replace(b"\x88\x99", b"\x88\xb5", 1)
        assert [frame.start[: len(FRAME) + 1] for frame in arrived] == [
            expected + bytes([n]) for n in range(3)
        ]
        assert {frame.length for frame in arrived} == {1250}
        totals = network.totals()
        assert (totals.dropped, totals.traversals, totals.packets, totals.stray_frames) == (
            1, 8, 0, 0,
        )  # fmt: skip
        assert network.arrived("h0") == []


def test_frames_obey_pause(switches: dict[str, NativeSwitch]):
    """s0 sends at a tenth of the rate at which frames come in: it pauses h0, and none is lost. Its
    program leaves them in class 0."""
    switches["s1"].table_add(0, b"\x88\xb5", None, 0, 0, 0, [2])
    with TimedNetwork(line(), switches) as network:
        mac = bytes.fromhex("020000000101")
        network.protect(
            "s0", 1, xoff_bytes=20_000, xon_bytes=10_000, quanta=0xFFFF, refresh_s=1e-3,
            classes=1, mac=mac,
        )  # fmt: skip
        network.set_link("s0", 2, rate_bps=1e9)
        for _ in range(100):
            network.send("h0", 0.0, FRAME, length=1250)
        network.run(until_s=0.01)
        assert len(network.arrived("h1")) == 100
        assert network.link_stats("s0", 1).pause > 0
        assert network.link_stats("h0", 0).held_max < 50_000


def test_network_refuses_frames_that_it_can_t_store(switches: dict[str, NativeSwitch]):
    with TimedNetwork(line(), switches) as network:
        with pytest.raises(VirtualError, match="behind the first 128 are zeros"):
            network.send("h0", 0.0, bytes(128) + b"x")
        with pytest.raises(VirtualError, match="a frame of 70000 bytes: 65535 is the most"):
            network.send("h0", 0.0, FRAME, length=70_000)
        with pytest.raises(VirtualError, match="no such class"):
            network.send("h0", 0.0, FRAME, traffic_class=8)
        network.run(until_s=1e-6)
        with pytest.raises(VirtualError, match="that time is over"):
            network.send("h0", 0.0, FRAME)
    with (
        TimedNetwork(line(), switches, endpoints=()) as network,
        pytest.raises(VirtualError, match="need a host with a link and a source"),
    ):
        network.send("h0", 0.0, FRAME)


def test_timed_network_imports_neither_rdma_nor_controllers():
    words = (
        "import sys, pcn.virtualnet; print(*sorted({name for name in sys.modules if "
        "name.count('.') == 1}))"
    )
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    loaded = {name.removeprefix("pcn.") for name in done.stdout.split() if name.startswith("pcn.")}
    assert "virtualnet" in loaded
    assert not {"hosts", "controller", "lab", "experiments", "cli"} & loaded
