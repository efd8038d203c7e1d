"""RED's thresholds by link rate and by port, instead of the scheme's."""

import json
from dataclasses import replace

import pytest

from pcn.base.errors import TopologyError
from pcn.controller.configure import plan
from pcn.controller.marking.arrival_ecn import ArrivalPort
from pcn.controller.marking.red_ecn import RedPort
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies import serialise
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.ecn import COLOURS, EcnThresholds
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star
from pcn.virtualnet import VirtualError

BY_RATE = (EcnThresholds(1, 2, 0.5, port=2), EcnThresholds(400e3, 1600e3, 0.2, rate_bps=10e9))


def with_ecn(topology: Topology, ecn: tuple[EcnThresholds, ...]) -> Topology:
    return replace(
        topology, switches=tuple(replace(switch, ecn=ecn) for switch in topology.switches)
    )


def test_port_has_the_first_thresholds_that_apply_or_the_schemes():
    first, *rest = dumbbell().links
    topology = with_ecn(replace(dumbbell(), links=(replace(first, rate_bps=40e9), *rest)), BY_RATE)
    switch_plan = plan(topology, "s0", 1.0, find_scheme("dcqcn").configure())
    ports = {
        red_port.port: red_port for red_port in switch_plan.marking if isinstance(red_port, RedPort)
    }
    assert ports[first.b.port if first.b.node == "s0" else first.a.port] == RedPort(
        1, 5000, 200_000, 0.01
    )
    assert ports[2] == RedPort(2, 1, 2, 0.5)
    assert ports[3] == RedPort(3, 400_000, 1_600_000, 0.2)


def test_port_has_the_first_thresholds_of_each_colour():
    yellow = (
        EcnThresholds(5, 6, 1, port=2, colour="yellow"),
        EcnThresholds(7, 8, 1, rate_bps=10e9, colour="yellow"),
    )
    ecn = (*BY_RATE, *yellow, EcnThresholds(9, 9, 0, colour="red"))
    switch_plan = plan(with_ecn(dumbbell(), ecn), "s0", 1.0, find_scheme("dcqcn").configure())
    ports = {
        red_port.port: red_port for red_port in switch_plan.marking if isinstance(red_port, RedPort)
    }
    red = ("red", RedPort(2, 9, 9, 0))
    assert ports[2] == RedPort(2, 1, 2, 0.5, (("yellow", RedPort(2, 5, 6, 1)), red))
    assert dict(ports[3].coloured)["yellow"] == RedPort(3, 7, 8, 1)
    entries = [(entry.table_id, entry.match) for entry in ports[2].entries()]
    assert [table for table, _ in entries] == ["red_config", "red_coloured", "red_coloured"]
    assert [match["precedence"] for _, match in entries[1:] if match] == [2, 3]


def test_queue_marks_packets_by_their_colour():
    """Of three flows into one port: yellow packets are marked, red ones never, green ones as the
    scheme has it."""
    ecn = (
        EcnThresholds(0, 0, 1, colour="yellow"),
        EcnThresholds(2**32 - 1, 2**32 - 1, 0, colour="red"),
    )
    topology = with_ecn(star(3, 1), ecn)
    scheme = find_scheme("red").configure({"k_min_bytes": 2e6, "k_max_bytes": 2e6})
    with VirtualNetwork(topology, scheme) as network:
        for number, colour in enumerate(COLOURS):
            network.add_flow(
                FlowSpec(number, f"h{number}", "r0", size_bytes=200_000, colour=colour)
            )
        assert network.run(until_s=0.1, finish=True)
        green, yellow, red = (network.flows[number].stats().marked_ce for number in range(3))
    assert (green, red) == (0, 0)
    assert yellow > 150


def test_flow_has_a_colour_in_classes_1_to_4_alone():
    with VirtualNetwork(
        star(3, 1, lossless_classes="3,4"), find_scheme("red").configure()
    ) as network:
        network.add_flow(FlowSpec(0, "h0", "r0", size_bytes=1, traffic_class=4, colour="red"))
        for number, colour in ((0, "red"), (5, "yellow"), (3, "blue")):
            with pytest.raises(
                VirtualError, match=f"{colour} in class {number}: classes 1 to 4 have colours"
            ):
                network.add_flow(
                    FlowSpec(1, "h0", "r0", size_bytes=1, traffic_class=number, colour=colour)
                )


def test_step_of_thresholds_is_k_of_dctcp():
    """Others are RED's: such a port has the scheme's K."""
    ecn = (
        *BY_RATE,
        EcnThresholds(30e3, 30e3, 1, port=1),
        EcnThresholds(20e3, 20e3, 1, rate_bps=10e9),
    )
    switch_plan = plan(
        with_ecn(dumbbell(), ecn), "s0", 1.0, find_scheme("dctcp").configure({"k_bytes": 7e3})
    )
    ports = {
        arrival_port.port: arrival_port.k_bytes
        for arrival_port in switch_plan.marking
        if isinstance(arrival_port, ArrivalPort)
    }
    assert ports == {1: 30_000, 2: 20_000, 3: 20_000, 4: 20_000}
    red = plan(
        with_ecn(dumbbell(), BY_RATE), "s0", 1.0, find_scheme("dctcp").configure({"k_bytes": 7e3})
    )
    assert {
        arrival_port.k_bytes
        for arrival_port in red.marking
        if isinstance(arrival_port, ArrivalPort)
    } == {7000}


@pytest.mark.parametrize(
    ("values", "why"),
    [((2, 1, 0.5), "k_min <= k_max"), ((1, 2**32, 0.5), "2\\^32"), ((1, 2, 1.5), "p_max 1.5")],
)
def test_thresholds_that_cannot_work_are_refused(values, why):
    with pytest.raises(TopologyError, match=why):
        EcnThresholds(*values)


@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_file_and_json_hold_thresholds(form, tmp_path):
    topology = with_ecn(dumbbell(), (*BY_RATE, EcnThresholds(5, 6, 1, colour="yellow")))
    file = tmp_path / f"made{FORMATS[form].suffix}"
    file.write_text(FORMATS[form].write(topology))
    assert find_topology(str(file)).build({}).switches == topology.switches
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology
