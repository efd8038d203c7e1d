"""How targets are started: with a packet generator, a slack, a place to report pace, and several in
a process."""

from pathlib import Path

import pytest

from pcn.controller.configure import packet_generator, plan
from pcn.controller.constants import GENERATOR_PORT, index
from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.loop import transmit_gap_s
from pcn.lab.launch import launch_spec, links, share_process, slack, switch_slack_s
from pcn.lab.network import Network
from pcn.lab.target import LaunchSpec, TargetError, target
from pcn.softswitch.options import Generator, parse
from pcn.softswitch.pace import Place
from pcn.topologies.star import star


def spec(**fields: float) -> LaunchSpec:
    topology = star(2)
    generator = packet_generator(topology, "s0", 500, find_scheme("qcn-os").configure(fields))
    return launch_spec(topology, "s0", 500, Path("grpc"), generator=generator)


def test_embedded_switch_gets_its_settings_on_its_command_line():
    def generator(spec: LaunchSpec) -> Generator | None:
        return parse(target("softswitch").command(spec)[3:]).generator

    assert generator(spec(keep_alive=2)) == Generator(
        GENERATOR_PORT, 60_000_000, (index(1), index(2), index(3))
    )
    assert generator(spec()) is None


def test_slack_and_tolerance_are_nominal_and_the_switch_gets_real_ones():
    topology = star(2)
    for k, slack_ns, late_ns in (
        (400, 40_000, 4_000_000),
        (10_000, 40_000, 50_000_000),
        (100, 10_000, 1_000_000),
    ):
        launch = launch_spec(topology, "s0", k, Path("grpc"), place="/proc/4711/fd/5:3")
        options = parse(target("softswitch").command(launch)[3:])
        assert options.slack_ns == slack_ns
        assert options.pace == (late_ns, Place(Path("/proc/4711/fd/5"), 3))
    assert (
        parse(target("softswitch").command(launch_spec(topology, "s0", 400, Path("grpc")))[3:]).pace
        is None
    )


@pytest.mark.parametrize("k", [100, 375, 1000, 17_000])
def test_slack_becomes_less_nominal_time_with_k(k):
    assert transmit_gap_s(k) == pytest.approx(150e-6 / k)
    assert switch_slack_s(k) == pytest.approx(min(0.1e-6, 40e-6 / k))
    assert slack("softswitch", k, agents=False) == f"{switch_slack_s(k) * 1e6:.2g} us in switches"
    assert slack("bmv2", k, agents=True) == f"{transmit_gap_s(k) * 1e6:.2g} us in hosts"
    assert slack("bmv2", k, agents=False) == ""
    assert slack("softswitch", k, agents=True).startswith("none")


def test_embedded_switches_share_a_process_unless_each_is_to_have_one():
    assert share_process("softswitch", processes=False)
    assert not share_process("softswitch", processes=True)
    assert not share_process("bmv2", processes=False)
    assert [links("softswitch", processes) for processes in (False, True)] == [
        "together",
        "processes",
    ]
    assert [links("bmv2", processes) for processes in (False, True)] == ["kernel", "kernel"]


def test_packets_of_bmv2s_rates_have_room_for_telemetry_where_the_scheme_wants_it():
    for scheme, longest in (
        ("pcn", wire.data_bytes(1000)),
        ("hpcc", wire.data_bytes(1000, telemetry=True)),
    ):
        network = Network(star(2), log_dir=Path("logs"), name="rates", dilation=500, scheme=scheme)
        assert network._frame_bytes() == longest
        assert (
            launch_spec(star(2), "s0", 500, Path("grpc"), frame_bytes=longest).nominal_packet_bytes
            == longest
        )


@pytest.mark.parametrize(
    ("scheme", "name", "k", "tick_ns"),
    [
        ("hpcc", "softswitch", 400, 400),
        ("hpcc", "softswitch", 0.5, 1),
        ("hpcc", "softswitch", 5000, 1000),
        ("hpcc", "bmv2", 5, 1000),
        ("pcn", "softswitch", 5, 1000),
    ],
)
def test_clock_ticks_as_the_scheme_has_it_where_the_target_can(scheme, name, k, tick_ns):
    """In real time, so that a quantum is as many ticks as longer a us is."""
    topology = star(2)
    network = Network(
        topology, log_dir=Path("logs"), name="ticks", dilation=k, scheme=scheme, target=name
    )
    assert network.tick_ns == tick_ns
    launch = launch_spec(topology, "s0", k, Path("grpc"), tick_ns=network.tick_ns)
    assert parse(target("softswitch").command(launch)[3:]).tick_ns == tick_ns
    quanta = [
        plan(topology, "s0", k, network.configured, tick).pfc[0].quantum_q16_us
        for tick in (1000, tick_ns)
    ]
    assert quanta[1] == pytest.approx(quanta[0] * 1000 / tick_ns, rel=1e-2)


def test_bmv2_has_none():
    with pytest.raises(
        TargetError, match=r"no packet generator: take --target softswitch, or .* keep_alive=1"
    ):
        target("bmv2").command(spec(keep_alive=2))
