"""The table of credits: what a topology makes of it."""

from dataclasses import replace

from pcn.controller.marking import credit, tcd_port
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.head_of_line import P1, head_of_line
from pcn.topologies.model import Topology


def with_credits(**parameters: float) -> Topology:
    topology = head_of_line()
    return replace(
        topology, flow_control="credits", parameters={**topology.parameters, **parameters}
    )


def test_a_port_starts_with_its_buffer_or_2048_blocks():
    assert credit.configure(with_credits(), "t0", 3, 1.0) == credit.CreditPort(3, 2048, 17)
    assert credit.configure(with_credits(buffer_bytes=20e3), "t0", 3, 1.0) == credit.CreditPort(
        3, 312, 17
    )


def test_with_pfc_there_is_no_entry():
    assert credit.configure(head_of_line(), "t0", 3, 1.0).entries() == []


def test_max_ton_goes_by_what_a_flow_control_packet_gives():
    """(2 us + two delays of 4 us + two frames of 212 ns) / 0.05."""
    parameters = find_scheme("ibcc-tcd").configure().parameters
    assert tcd_port.configure(with_credits(), P1.node, P1.port, 1.0, parameters).max_ton_us == 209
    longer = with_credits(credit_interval_s=4e-6)
    assert tcd_port.configure(longer, P1.node, P1.port, 1.0, parameters).max_ton_us == 249
