"""Congestion points at inputs: what a topology and a scheme's parameters make of their entries, and
what changes do."""

from dataclasses import replace

import pytest

from pcn.controller.configure import packet_generator
from pcn.controller.constants import GENERATOR_PORT, index
from pcn.controller.marking import qcn_in_cp
from pcn.controller.marking.qcn_in_cp import Culprit
from pcn.controller.marking_contract import PacketGenerator
from pcn.hosts.algorithms import Configured, SchemeError, find_scheme
from pcn.topologies.model import Endpoint, Topology, TopologyError
from pcn.topologies.star import star

STAR = star(4, xoff_bytes=110e3, xon_bytes=44e3)


def configured(scheme: str, dilation: float = 1.0, **fields: float) -> qcn_in_cp.QcnInPort:
    parameters = find_scheme(scheme).configure(fields).parameters
    return qcn_in_cp.configure(STAR, "s0", 1, dilation, parameters)


@pytest.mark.parametrize(
    ("scheme", "culprit"),
    [
        ("qcn-in", Culprit.ARRIVAL),
        ("qcn-os", Culprit.RANDOM),
        ("qcn-os-largest", Culprit.LARGEST),
        ("qcn-os-sojourn", Culprit.SOJOURN),
    ],
)
def test_scheme_sets_which_flow_a_sample_notifies(scheme, culprit):
    port = configured(scheme)
    assert port.culprit is culprit
    assert bool(port.keep_alive_us) == (culprit is not Culprit.ARRIVAL)


def test_a_packet_waits_longest_where_xoff_leaves_at_a_sixteenth_of_the_line():
    assert configured("qcn-os-sojourn").sojourn_us == round(110e3 * 8 / (10e9 / 16) * 1e6)
    assert configured("qcn-os-sojourn", dilation=100).sojourn_us == 140_800
    assert configured("qcn-os-sojourn", longest_wait_s=2e-3).sojourn_us == 2000


def test_keep_alive_follows_the_sampling_interval():
    port = configured("qcn-os", sample_bytes=150e3, dilation=10)
    assert port.keep_alive_us == 1200
    changed = qcn_in_cp.change(1, port.arguments(), {"sample": 15e3})
    assert changed == configured("qcn-os", sample_bytes=15e3, dilation=10)
    without = configured("qcn-os", keep_alive=0)
    assert qcn_in_cp.change(1, without.arguments(), {"sample": 15e3}).keep_alive_us == 0


def generator(
    scheme: str, topology: Topology = STAR, dilation: float = 1.0, **fields: float
) -> PacketGenerator | None:
    return packet_generator(topology, "s0", dilation, find_scheme(scheme).configure(fields))


@pytest.mark.parametrize("scheme", ["qcn-os", "qcn-os-largest"])
def test_the_packet_generator_samples_each_input_as_often_as_departures_do(scheme):
    inputs = tuple(index(port) for port in range(1, 6))
    assert generator(scheme, keep_alive=2, dilation=10) == PacketGenerator(
        GENERATOR_PORT, 1200, inputs
    )
    port = configured(scheme, keep_alive=2, dilation=10)
    assert port == configured(scheme, keep_alive=1, dilation=10)
    assert port.keep_alive_us == 1200


def test_the_fastest_port_sets_the_period_and_each_lossless_class_is_an_input():
    fast = [
        replace(link, rate_bps=40e9) if link.a == Endpoint("h1", 0) else link for link in STAR.links
    ]
    topology = replace(star(4, lossless_classes="3,5", xoff_bytes=110e3), links=tuple(fast))
    packet_generator = generator("qcn-os", topology, keep_alive=2, dilation=1)
    assert packet_generator.period_us == 30
    assert packet_generator.packet_ids == tuple(
        index(port, number) for port in range(1, 6) for number in (3, 5)
    )


@pytest.mark.parametrize(
    ("scheme", "fields"),
    [("qcn-os", {}), ("qcn-os", {"keep_alive": 0}), ("qcn-in", {}), ("qcn-both", {}), ("pcn", {})],
)
def test_otherwise_there_is_none(scheme, fields):
    assert generator(scheme, **fields) is None


def test_sojourn_refuses_keep_alive_by_generator():
    with pytest.raises(SchemeError, match="keep_alive = 2: it must be from 0 to 1"):
        find_scheme("qcn-os-sojourn").configure({"keep_alive": 2})


def test_a_switch_has_one_packet_generator():
    scheme = find_scheme("qcn-os").configure({"keep_alive": 2})
    twice = Configured(
        replace(scheme.scheme, marking=("qcn_in_cp", "qcn_in_cp")), scheme.parameters
    )
    with pytest.raises(
        TopologyError,
        match="s0: 2 marking points of qcn-os need a packet generator, and it has one",
    ):
        packet_generator(STAR, "s0", 1.0, twice)


def test_an_arriving_packet_keeps_nothing_alive():
    with pytest.raises(ValueError, match="keep-alive needs a culprit"):
        replace(configured("qcn-in"), keep_alive_us=1)
