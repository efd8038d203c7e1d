"""TCD's table: what a topology and a scheme's parameters make of it, and what changes do."""

import pytest

from pcn.controller.marking import tcd_port
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.head_of_line import P1, head_of_line


def configured(dilation: float = 1.0, **fields: float) -> tcd_port.TcdPort:
    parameters = find_scheme("dcqcn-tcd").configure(fields).parameters
    return tcd_port.configure(head_of_line(), P1.node, P1.port, dilation, parameters)


def on_s(
    rate_bps: float, delay_s: float, span_bytes: float, frame_bytes: float, excess: float
) -> float:
    """How long a port is on: its neighbour's input drains for two delays, then fills with what is
    beyond its output."""
    inside, time_s, step_s = 0.0, 0.0, 1e-9
    while inside < span_bytes + 2 * frame_bytes:
        rate = -(1 - excess) if time_s < 2 * delay_s else excess
        inside += rate * rate_bps / 8 * step_s
        time_s += step_s
    return time_s


@pytest.mark.parametrize("excess", [0.05, 0.2, 0.5])
def test_the_formula_is_how_long_a_port_is_on(excess):
    arguments = (40e9, 4e-6, 2000, 1058)
    assert tcd_port.max_ton_s(*arguments, excess) == pytest.approx(
        on_s(*arguments, excess), rel=0.01
    )


def test_max_ton_of_the_paper_s_network():
    """177 us with XOFF 320 KB, XON 318 KB, 40 Gbit/s, 4 us and epsilon 0.05; it falls as epsilon
    rises."""
    assert configured().max_ton_us == 177
    assert configured(dilation=100).max_ton_us == 17_647
    assert configured(epsilon=0.1).max_ton_us == 89
    assert configured(max_ton_s=97e-6).max_ton_us == 97


def test_a_queue_of_two_frames_is_none():
    assert configured().empty_bytes == 2 * 1058


def test_a_change_keeps_the_rest():
    port = configured()
    arguments = port.arguments()
    assert tcd_port.show(arguments) == pytest.approx({"max_ton": 177e-6, "looks": 6})
    assert tcd_port.change(3, arguments, {"looks": 1}) == configured(looks=1)
    assert tcd_port.change(3, arguments, {"max_ton": 97e-6}) == configured(max_ton_s=97e-6)


@pytest.mark.parametrize(
    "fields", [{"max_ton_us": 0}, {"max_ton_us": 2**48}, {"looks": 0}, {"looks": 256}]
)
def test_values_that_cannot_work_are_refused(fields):
    with pytest.raises(ValueError, match="must be from"):
        tcd_port.TcdPort(**{"port": 1, "max_ton_us": 10, "empty_bytes": 0, "looks": 1, **fields})
