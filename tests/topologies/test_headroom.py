"""Headroom of shared buffers, and what a live network lacks: named before anything runs, all at
once."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from pcn.commands.topology import topology as command
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.launch import LEFT_OUT, NetworkError, require_live, virtual_alone, without
from pcn.topologies import headroom
from pcn.topologies.buffers import OutputBuffer, Share, SharedBuffer
from pcn.topologies.formats.pcn import FORMAT
from pcn.topologies.model import ROUND_ROBIN, FlowSpec, Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.star import star
from pcn.topologies.watchdog import Watchdog
from pcn.virtualnet import VirtualError

FRAME = 1058


def buffered(
    headroom_bytes: float, rate_bps: float = 100e9, delay_s: float = 1e-6, **switch
) -> Topology:
    topology = star(2, 1, rate_bps, delay_s)
    buffer = SharedBuffer(8e6, (Share(headroom_bytes=headroom_bytes),))
    return replace(
        topology,
        switches=tuple(replace(plain, buffer=buffer, **switch) for plain in topology.switches),
    )


@pytest.mark.parametrize("rate_bps", [1e9, 40e9, 400e9])
@pytest.mark.parametrize("delay_s", [0.0, 50e-9, 3e-6])
@pytest.mark.parametrize("response_s", [0.0, 2e-6])
@pytest.mark.parametrize("latency_s", [0.0, 400e-9])
def test_headroom_is_what_virtual_time_reckons(rate_bps, delay_s, response_s, latency_s):
    topology = star(2, 1, rate_bps, delay_s)
    topology = replace(
        topology,
        switches=tuple(replace(switch, latency_s=latency_s) for switch in topology.switches),
    )
    with VirtualNetwork(topology, find_scheme("pfc").configure(), response_s=response_s) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=50_000))
        network.run(until_s=1e-3)
        reckoned = network.link_stats("h0", 0).held_limit - topology.number("xoff_bytes")
    assert abs(headroom.needed_bytes(topology, "s0", 1, FRAME, response_s) - reckoned) <= 1


def test_headroom_that_is_just_enough_runs_and_less_is_refused():
    needed = headroom.needed_bytes(buffered(1), "s0", 1, FRAME)
    with VirtualNetwork(buffered(needed + 1), find_scheme("pfc").configure()) as network:
        for number in range(2):
            network.add_flow(FlowSpec(number, f"h{number}", "r0", size_bytes=5_000_000))
        assert network.run(until_s=0.1, finish=True)
    with pytest.raises(VirtualError) as error:
        VirtualNetwork(buffered(needed - 1), find_scheme("pfc").configure())
    line = (
        f"s0:1,2,3: class 3: a headroom of {needed - 1} bytes: after a PAUSE falls due {needed} "
        "can still come in"
    )
    assert str(error.value) == f"{line}, with frames of 1058 bytes"


def everything() -> Topology:
    """All that a live network lacks and one topology can have: a buffer at outputs takes other
    switches."""
    topology = buffered(
        1000,
        watchdog=Watchdog(),
        schedules=(Schedule((1,) * 8),),
        latency_s=1e-6,
        arbitration=ROUND_ROBIN,
    )
    return replace(topology, parameters={**topology.parameters, "queue_packets": 9})


def test_live_network_names_all_that_it_lacks_and_goes_without():
    with pytest.raises(NetworkError) as error:
        require_live(everything())
    lines = str(error.value).splitlines()
    assert [line.partition(": ")[2].partition(" ")[0] for line in lines[:-1]] == [
        "queue_packets", "arbitration", "a", "a", "weights", "a",
    ]  # fmt: skip
    assert (
        lines[-1]
        == "`pcn up --leave-out queue,arbitration,watchdog,latency,weights,buffer` goes without"
    )
    rest = [name for name, _ in virtual_alone(without(everything(), ["watchdog", "buffer"]))]
    assert rest == ["queue", "arbitration", "latency", "weights"]
    require_live(without(everything(), LEFT_OUT))
    plain = star(2, 1, 100e9, 1e-6)
    assert without(everything(), LEFT_OUT).switches == plain.switches
    outputs = replace(
        plain, switches=tuple(replace(switch, output=OutputBuffer()) for switch in plain.switches)
    )
    require_live(without(outputs, ["output"]))
    with pytest.raises(
        NetworkError, match="'watchdogs' can't be left out; did you mean 'watchdog'"
    ):
        without(plain, ["watchdogs"])


def test_credits_have_no_way_out():
    with pytest.raises(NetworkError) as error:
        require_live(replace(star(2, 1), flow_control="credits"))
    assert "--leave-out" not in str(error.value)


def test_check_names_all_that_runs_and_live_networks_refuse(tmp_path):
    file = tmp_path / "net.yaml"
    file.write_text(FORMAT.write(everything()))
    done = CliRunner().invoke(command, ["check", str(file)])
    notes = [line for line in done.output.splitlines() if line.startswith("note: ")]
    assert done.exit_code == 0
    assert (
        sum("runs refuse it: s0:1,2,3: class 3: a headroom of 1000 bytes" in note for note in notes)
        == 1
    )
    assert sum(note.startswith("note: not live: ") for note in notes) == 6
